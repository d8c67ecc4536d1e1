//! Ending sessions. Every ending filters by `revoked_at IS NULL` alone, never by the deadline: a
//! touch that is under way could revive a session that an ending had skipped as expired. What was
//! past its deadline ends as `expired`.

use diesel::dsl::case_when;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use uuid::Uuid;

use crate::domain::session::{Ended, Reason};
use crate::domain::token::SessionHash;
use crate::repositories::sql::statement_timestamp;
use crate::schema::sessions;

/// The two columns that end a session now.
macro_rules! ended_because {
    ($reason:expr) => {
        (
            sessions::revoked_at.eq(statement_timestamp().nullable()),
            sessions::revoked_reason.eq(case_when(
                sessions::expires_at.gt(statement_timestamp()),
                $reason.into_sql::<Nullable<Text>>(),
            )
            .otherwise(Reason::Expired.into_sql::<Nullable<Text>>())),
        )
    };
}

/// Ends the session of a token, unless it is `except`.
pub fn end_by_hash(
    conn: &mut PgConnection,
    hash: &SessionHash,
    reason: Reason,
    except: Option<Uuid>,
) -> QueryResult<Option<Ended>> {
    // No session has the nil id.
    let except = except.unwrap_or(Uuid::nil());
    diesel::update(sessions::table)
        .filter(sessions::session_hash.eq(hash.as_str()))
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::id.ne(except))
        .set(ended_because!(reason))
        .returning((sessions::id, sessions::user_id, sessions::revoked_reason))
        .get_result(conn)
        .optional()
}

/// Ends one session of a user.
pub fn end_one_of_user(
    conn: &mut PgConnection,
    id: Uuid,
    user_id: i64,
    reason: Reason,
) -> QueryResult<Option<Ended>> {
    diesel::update(sessions::table)
        .filter(sessions::id.eq(id))
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::revoked_at.is_null())
        .set(ended_because!(reason))
        .returning((sessions::id, sessions::user_id, sessions::revoked_reason))
        .get_result(conn)
        .optional()
}

/// Ends sessions by their ids.
pub fn end_many(conn: &mut PgConnection, ids: &[Uuid], reason: Reason) -> QueryResult<Vec<Ended>> {
    diesel::update(sessions::table)
        .filter(sessions::id.eq_any(ids))
        .filter(sessions::revoked_at.is_null())
        .set(ended_because!(reason))
        .returning((sessions::id, sessions::user_id, sessions::revoked_reason))
        .get_results(conn)
}

/// Ends every session of a user, unless it is `except`.
pub fn end_all_of_user(
    conn: &mut PgConnection,
    user_id: i64,
    reason: Reason,
    except: Option<Uuid>,
) -> QueryResult<Vec<Ended>> {
    let except = except.unwrap_or(Uuid::nil());
    diesel::update(sessions::table)
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::id.ne(except))
        .set(ended_because!(reason))
        .returning((sessions::id, sessions::user_id, sessions::revoked_reason))
        .get_results(conn)
}

/// Deletes every session of a user whose account goes.
pub fn delete_all_of_user(conn: &mut PgConnection, user_id: i64) -> QueryResult<usize> {
    diesel::delete(sessions::table.filter(sessions::user_id.eq(user_id))).execute(conn)
}
