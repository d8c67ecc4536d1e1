//! Ending sessions together with the events that say so. Everything that ends several sessions of
//! a user, or begins one, first locks the user's row (`users::lock`), as a statement of its own.

use diesel::pg::PgConnection;
use diesel::result::QueryResult;
use uuid::Uuid;

use crate::domain::event::Actor;
use crate::domain::session::{Ended, Reason};
use crate::domain::token::SessionHash;
use crate::metrics::tally;
use crate::repositories::{session_events, sessions};

/// Sessions that were still active, as `revoked_count` tells.
pub type RevokedCount = usize;

/// Enters endings that this transaction has just made; returns how many of them were still active.
fn record(
    conn: &mut PgConnection,
    ended: &[Ended],
    actor: Actor,
    note: Option<&str>,
) -> QueryResult<RevokedCount> {
    if ended.is_empty() {
        return Ok(0);
    }
    let ids: Vec<Uuid> = ended.iter().map(|ended| ended.id).collect();
    session_events::record_ended(conn, &ids, actor, note)?;
    for reason in ended.iter().filter_map(|ended| ended.reason) {
        tally::note(reason);
    }
    Ok(ended.iter().filter(|ended| ended.was_active()).count())
}

/// Ends the session of a token, unless it is `except`. One row: needs no lock on its user.
pub fn end_by_hash(
    conn: &mut PgConnection,
    hash: &SessionHash,
    reason: Reason,
    except: Option<Uuid>,
    actor: impl Fn(i64) -> Actor,
) -> QueryResult<RevokedCount> {
    let Some(ended) = sessions::end_by_hash(conn, hash, reason, except)? else {
        return Ok(0);
    };
    record(conn, &[ended], actor(ended.user_id), None)
}

/// Ends one session of a user. One row: needs no lock on its user.
pub fn end_one(
    conn: &mut PgConnection,
    id: Uuid,
    user_id: i64,
    reason: Reason,
    actor: Actor,
    note: Option<&str>,
) -> QueryResult<RevokedCount> {
    let ended = sessions::end_one_of_user(conn, id, user_id, reason)?;
    record(conn, ended.as_slice(), actor, note)
}

/// Ends every session of a user, unless it is `except`. The caller holds the lock on the user.
pub fn end_all(
    conn: &mut PgConnection,
    user_id: i64,
    reason: Reason,
    except: Option<Uuid>,
    actor: Actor,
    note: Option<&str>,
) -> QueryResult<RevokedCount> {
    let ended = sessions::end_all_of_user(conn, user_id, reason, except)?;
    record(conn, &ended, actor, note)
}

/// Ends the least recently seen sessions of a user beyond `keep`. The caller holds the lock.
pub fn end_beyond(
    conn: &mut PgConnection,
    user_id: i64,
    keep: u32,
    actor: Actor,
) -> QueryResult<RevokedCount> {
    let ids = sessions::least_recently_seen_beyond(conn, user_id, keep)?;
    end_some(conn, &ids, Reason::SessionLimit, actor, None)
}

/// Ends sessions of one user by their ids. The caller holds the lock on the user.
pub fn end_some(
    conn: &mut PgConnection,
    ids: &[Uuid],
    reason: Reason,
    actor: Actor,
    note: Option<&str>,
) -> QueryResult<RevokedCount> {
    if ids.is_empty() {
        return Ok(0);
    }
    let ended = sessions::end_many(conn, ids, reason)?;
    record(conn, &ended, actor, note)
}

/// Marks a batch of sessions past their deadline as expired.
pub fn expire_batch(conn: &mut PgConnection, limit: u32) -> QueryResult<usize> {
    let ids = sessions::expire_batch(conn, limit)?;
    if ids.is_empty() {
        return Ok(0);
    }
    session_events::record_ended(conn, &ids, Actor::system(), None)
}
