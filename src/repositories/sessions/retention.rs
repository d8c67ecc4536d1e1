//! What the cleanup does to sessions: each statement one batch, taken in the order of an index,
//! passing over rows that somebody else holds.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::array;
use diesel::prelude::*;
use diesel::sql_types::Uuid as SqlUuid;
use ipnetwork::IpNetwork;
use uuid::Uuid;

use super::candidates;
use crate::domain::session::Reason;
use crate::repositories::sql::{ended_at, exactly, statement_timestamp, timestamptz_mi_interval};
use crate::schema::sessions;

/// Marks sessions past their deadline as expired, the longest expired first.
pub fn expire_batch(conn: &mut PgConnection, limit: u32) -> QueryResult<Vec<Uuid>> {
    let due = candidates
        .filter(candidates.field(sessions::revoked_at).is_null())
        .filter(
            candidates
                .field(sessions::expires_at)
                .le(statement_timestamp()),
        )
        .order(candidates.field(sessions::expires_at).asc())
        .limit(i64::from(limit))
        .select(candidates.field(sessions::id))
        .for_update()
        .skip_locked();
    diesel::update(sessions::table.filter(sessions::id.eq_any(array::<SqlUuid, _>(due))))
        .set((
            sessions::revoked_at.eq(statement_timestamp().nullable()),
            sessions::revoked_reason.eq(Reason::Expired),
        ))
        .returning(sessions::id)
        .get_results(conn)
}

/// Deletes sessions that ended longer ago than the retention.
pub fn purge_batch(
    conn: &mut PgConnection,
    retention: TimeDelta,
    limit: u32,
) -> QueryResult<usize> {
    let due = candidates
        .filter(candidates.field(sessions::revoked_at).is_not_null())
        .filter(
            ended_at(
                candidates.field(sessions::expires_at),
                candidates.field(sessions::revoked_at),
            )
            .lt(timestamptz_mi_interval(
                statement_timestamp(),
                exactly(retention),
            )),
        )
        .order(
            ended_at(
                candidates.field(sessions::expires_at),
                candidates.field(sessions::revoked_at),
            )
            .asc(),
        )
        .limit(i64::from(limit))
        .select(candidates.field(sessions::id))
        .for_update()
        .skip_locked();
    diesel::delete(sessions::table.filter(sessions::id.eq_any(array::<SqlUuid, _>(due))))
        .execute(conn)
}

/// Forgets addresses older than the retention.
pub fn scrub_addresses_batch(
    conn: &mut PgConnection,
    retention: TimeDelta,
    limit: u32,
) -> QueryResult<usize> {
    let due = candidates
        .filter(candidates.field(sessions::ip_address).is_not_null())
        .filter(
            candidates
                .field(sessions::created_at)
                .lt(timestamptz_mi_interval(
                    statement_timestamp(),
                    exactly(retention),
                )),
        )
        .order(candidates.field(sessions::created_at).asc())
        .limit(i64::from(limit))
        .select(candidates.field(sessions::id))
        .for_update()
        .skip_locked();
    diesel::update(sessions::table.filter(sessions::id.eq_any(array::<SqlUuid, _>(due))))
        .set(sessions::ip_address.eq(None::<IpNetwork>))
        .execute(conn)
}

/// How long ago the session passed its deadline that waits longest to be marked as expired.
pub fn oldest_expired_age(conn: &mut PgConnection) -> QueryResult<Option<TimeDelta>> {
    let oldest: Option<(DateTime<Utc>, DateTime<Utc>)> = sessions::table
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::expires_at.le(statement_timestamp()))
        .order(sessions::expires_at.asc())
        .select((sessions::expires_at, statement_timestamp()))
        .first(conn)
        .optional()?;
    Ok(oldest.map(|(then, now)| now - then))
}

/// How many [`expire_batch`] would find now.
pub fn count_expirable(conn: &mut PgConnection) -> QueryResult<i64> {
    sessions::table
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::expires_at.le(statement_timestamp()))
        .count()
        .get_result(conn)
}

/// How many unrevoked sessions expired longer ago than the retention: [`expire_batch`] marks them,
/// and then [`purge_batch`] finds them.
pub fn count_expired_before(conn: &mut PgConnection, retention: TimeDelta) -> QueryResult<i64> {
    sessions::table
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::expires_at.lt(timestamptz_mi_interval(
            statement_timestamp(),
            exactly(retention),
        )))
        .count()
        .get_result(conn)
}

/// How many [`purge_batch`] would find now, not counting what is still to be marked as expired.
pub fn count_purgeable(conn: &mut PgConnection, retention: TimeDelta) -> QueryResult<i64> {
    sessions::table
        .filter(sessions::revoked_at.is_not_null())
        .filter(
            ended_at(sessions::expires_at, sessions::revoked_at).lt(timestamptz_mi_interval(
                statement_timestamp(),
                exactly(retention),
            )),
        )
        .count()
        .get_result(conn)
}

/// How many [`scrub_addresses_batch`] would find after everything older than `purged` has gone.
pub fn count_scrubbable(
    conn: &mut PgConnection,
    retention: TimeDelta,
    purged: TimeDelta,
) -> QueryResult<i64> {
    sessions::table
        .filter(sessions::ip_address.is_not_null())
        .filter(
            ended_at(sessions::expires_at, sessions::revoked_at).ge(timestamptz_mi_interval(
                statement_timestamp(),
                exactly(purged),
            )),
        )
        .filter(sessions::created_at.lt(timestamptz_mi_interval(
            statement_timestamp(),
            exactly(retention),
        )))
        .count()
        .get_result(conn)
}
