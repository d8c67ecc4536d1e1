//! Making sessions, and giving them new tokens.

use diesel::prelude::*;
use ipnetwork::IpNetwork;
use uuid::Uuid;

use super::columns;
use crate::domain::session::{AuthLevel, Lifetime, Session};
use crate::domain::token::SessionHash;
use crate::repositories::sql::{
    exactly, is_active, least, statement_timestamp, timestamptz_pl_interval,
};
use crate::schema::sessions;

/// A session to be made.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Whose.
    pub user_id: i64,
    /// Hash of its token.
    pub hash: SessionHash,
    /// Label for display.
    pub device_label: Option<String>,
    /// Coarse address.
    pub ip_address: Option<IpNetwork>,
    /// Hex SHA-256 of the User-Agent.
    pub user_agent_hash: Option<String>,
    /// Strength of the authentication.
    pub auth_level: AuthLevel,
    /// Whether the cookie outlives the browser.
    pub remember_me: bool,
    /// How long it may live.
    pub lifetime: Lifetime,
}

/// Makes a session that begins now.
pub fn insert(conn: &mut PgConnection, id: Uuid, new: &NewSession) -> QueryResult<Session> {
    let absolute =
        || timestamptz_pl_interval(statement_timestamp(), exactly(new.lifetime.absolute));
    let idle = timestamptz_pl_interval(statement_timestamp(), exactly(new.lifetime.idle));
    diesel::insert_into(sessions::table)
        .values((
            sessions::id.eq(id),
            sessions::user_id.eq(new.user_id),
            sessions::session_hash.eq(new.hash.as_str()),
            sessions::device_label.eq(new.device_label.as_deref()),
            sessions::ip_address.eq(new.ip_address),
            sessions::user_agent_hash.eq(new.user_agent_hash.as_deref()),
            sessions::auth_level.eq(new.auth_level),
            sessions::remember_me.eq(new.remember_me),
            sessions::created_at.eq(statement_timestamp()),
            sessions::last_seen_at.eq(statement_timestamp()),
            sessions::authenticated_at.eq(statement_timestamp()),
            sessions::idle_timeout.eq(exactly(new.lifetime.idle)),
            sessions::absolute_expires_at.eq(absolute()),
            sessions::expires_at.eq(least(absolute(), idle)),
        ))
        .returning(columns())
        .get_result(conn)
}

/// Gives a valid session a new token, if the old one is still its token. Use is recorded by the
/// touch alone, which keeps its interval: written at each rotation, it would keep a client that rotates
/// often from ever being due to slide.
pub fn replace_hash(
    conn: &mut PgConnection,
    id: Uuid,
    old: &SessionHash,
    new: &SessionHash,
) -> QueryResult<Option<Session>> {
    let current = sessions::table
        .filter(sessions::id.eq(id))
        .filter(sessions::session_hash.eq(old.as_str()))
        .filter(is_active());
    diesel::update(current)
        .set(sessions::session_hash.eq(new.as_str()))
        .returning(columns())
        .get_result(conn)
        .optional()
}

/// The same after the user proved the password again: the cap begins anew, and with it the limits of
/// the user's role, as at a log-in.
pub fn reauthenticate(
    conn: &mut PgConnection,
    id: Uuid,
    old: &SessionHash,
    new: &SessionHash,
    (lifetime, remember_me): (Lifetime, bool),
) -> QueryResult<Option<Session>> {
    let absolute = || timestamptz_pl_interval(statement_timestamp(), exactly(lifetime.absolute));
    let idle = timestamptz_pl_interval(statement_timestamp(), exactly(lifetime.idle));
    let current = sessions::table
        .filter(sessions::id.eq(id))
        .filter(sessions::session_hash.eq(old.as_str()))
        .filter(is_active());
    diesel::update(current)
        .set((
            sessions::session_hash.eq(new.as_str()),
            sessions::last_seen_at.eq(statement_timestamp()),
            sessions::authenticated_at.eq(statement_timestamp()),
            sessions::auth_level.eq(AuthLevel::Password),
            sessions::remember_me.eq(remember_me),
            sessions::idle_timeout.eq(exactly(lifetime.idle)),
            sessions::absolute_expires_at.eq(absolute()),
            sessions::expires_at.eq(least(absolute(), idle)),
        ))
        .returning(columns())
        .get_result(conn)
        .optional()
}

/// Renames the device of a user's valid session.
pub fn rename(
    conn: &mut PgConnection,
    id: Uuid,
    user_id: i64,
    label: &str,
) -> QueryResult<Option<Session>> {
    let own = sessions::table
        .filter(sessions::id.eq(id))
        .filter(sessions::user_id.eq(user_id))
        .filter(is_active());
    diesel::update(own)
        .set(sessions::device_label.eq(label))
        .returning(columns())
        .get_result(conn)
        .optional()
}
