//! Looking sessions up and listing them.

use chrono::TimeDelta;
use diesel::prelude::*;
use uuid::Uuid;

use super::columns;
use super::touching::is_stale;
use crate::domain::session::Session;
use crate::domain::token::SessionHash;
use crate::repositories::sql::is_active;
use crate::schema::sessions;

/// What a lookup by hash finds.
#[derive(Debug, Clone, Queryable)]
pub struct Found {
    /// The hash that was asked for.
    pub session_hash: String,
    /// Whether `last_seen_at` is due to be written.
    pub is_stale: bool,
    /// The session, valid or not.
    pub session: Session,
}

/// The sessions of some hashes, valid or not. Filters by hash alone: with the validity beside it
/// an un-analysed table was read through the wrong index, and a refusal needs the row anyway.
pub fn find_by_hashes(
    conn: &mut PgConnection,
    hashes: &[SessionHash],
    touch_interval: TimeDelta,
) -> QueryResult<Vec<Found>> {
    let keys: Vec<&str> = hashes.iter().map(SessionHash::as_str).collect();
    sessions::table
        .filter(sessions::session_hash.eq_any(keys))
        .select((
            sessions::session_hash,
            is_stale!(
                sessions::last_seen_at,
                sessions::idle_timeout,
                touch_interval
            ),
            columns(),
        ))
        .load(conn)
}

/// A user's valid sessions, most recently seen first.
pub fn list_active_of_user(conn: &mut PgConnection, user_id: i64) -> QueryResult<Vec<Session>> {
    sessions::table
        .filter(sessions::user_id.eq(user_id))
        .filter(is_active())
        .order((sessions::last_seen_at.desc(), sessions::id.desc()))
        .select(columns())
        .load(conn)
}

/// A user's valid sessions beyond the `keep` most recently seen.
pub fn least_recently_seen_beyond(
    conn: &mut PgConnection,
    user_id: i64,
    keep: u32,
) -> QueryResult<Vec<Uuid>> {
    sessions::table
        .filter(sessions::user_id.eq(user_id))
        .filter(is_active())
        .order((sessions::last_seen_at.desc(), sessions::id.desc()))
        .offset(i64::from(keep))
        .select(sessions::id)
        .load(conn)
}

/// Whether this session is valid now, and this its token still. Locks the row, so that it stays so to
/// the end of the transaction.
pub fn lock_active(conn: &mut PgConnection, id: Uuid, hash: &SessionHash) -> QueryResult<bool> {
    sessions::table
        .filter(sessions::id.eq(id))
        .filter(sessions::session_hash.eq(hash.as_str()))
        .select(is_active())
        .for_no_key_update()
        .first(conn)
        .optional()
        .map(Option::unwrap_or_default)
}

/// Whether this user has such a session, ended or not.
pub fn exists_for_user(conn: &mut PgConnection, id: Uuid, user_id: i64) -> QueryResult<bool> {
    diesel::select(diesel::dsl::exists(
        sessions::table
            .filter(sessions::id.eq(id))
            .filter(sessions::user_id.eq(user_id)),
    ))
    .get_result(conn)
}

/// Any session by its id.
pub fn find(conn: &mut PgConnection, id: Uuid) -> QueryResult<Option<Session>> {
    sessions::table
        .filter(sessions::id.eq(id))
        .select(columns())
        .first(conn)
        .optional()
}

/// Owners, after `after`, of sessions that have not been ended, in order: for work that goes
/// through all of them.
pub fn owners_after(conn: &mut PgConnection, after: i64, limit: i64) -> QueryResult<Vec<i64>> {
    sessions::table
        .filter(sessions::user_id.gt(after))
        .filter(sessions::revoked_at.is_null())
        .order(sessions::user_id)
        .distinct()
        .limit(limit)
        .select(sessions::user_id)
        .load(conn)
}
