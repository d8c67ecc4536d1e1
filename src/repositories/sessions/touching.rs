//! Recording use.

use chrono::TimeDelta;
use diesel::dsl::{array, case_when};
use diesel::prelude::*;
use diesel::sql_types::Uuid as SqlUuid;
use uuid::Uuid;

use super::candidates;
use crate::repositories::sql::{
    exactly, interval_mul, least, statement_timestamp, timestamptz_mi, timestamptz_pl_interval,
};
use crate::schema::sessions;

/// Whether `last_seen_at` is older than the touch interval, or than a quarter of the idle time-out
/// if that is less. A macro, because the aliased table's columns have other types.
macro_rules! is_stale {
    ($last_seen_at:expr, $idle_timeout:expr, $interval:expr) => {{
        use $crate::repositories::sql::{
            exactly, interval_mul, least, statement_timestamp, timestamptz_mi_interval,
        };
        let quarter: f64 = 0.25;
        $last_seen_at.lt(timestamptz_mi_interval(
            statement_timestamp(),
            least(exactly($interval), interval_mul($idle_timeout, quarter)),
        ))
    }};
}
pub(super) use is_stale;

/// Writes `last_seen_at` and slides the deadline of those sessions that are due. Never waits: rows
/// that somebody else holds are passed over, so a racing ending wins and no deadlock can arise.
/// Sessions with less than `margin` to live are left alone. The deadline moves only where it gains
/// a tenth of the idle time-out, because it is indexed while `last_seen_at` is not.
/// Returns how many were written.
pub fn touch(
    conn: &mut PgConnection,
    ids: &[Uuid],
    touch_interval: TimeDelta,
    margin: TimeDelta,
) -> QueryResult<usize> {
    let due = candidates
        .filter(candidates.field(sessions::id).eq_any(ids))
        .filter(candidates.field(sessions::revoked_at).is_null())
        .filter(is_stale!(
            candidates.field(sessions::last_seen_at),
            candidates.field(sessions::idle_timeout),
            touch_interval
        ))
        .filter(
            candidates
                .field(sessions::expires_at)
                .gt(timestamptz_pl_interval(
                    statement_timestamp(),
                    exactly(margin),
                )),
        )
        .select(candidates.field(sessions::id))
        .for_no_key_update()
        .skip_locked();
    let slid = || {
        least(
            sessions::absolute_expires_at,
            timestamptz_pl_interval(statement_timestamp(), sessions::idle_timeout),
        )
    };
    let tenth: f64 = 0.1;
    let gains = timestamptz_mi(slid(), sessions::expires_at)
        .ge(interval_mul(sessions::idle_timeout, tenth));
    diesel::update(sessions::table.filter(sessions::id.eq_any(array::<SqlUuid, _>(due))))
        .set((
            sessions::last_seen_at.eq(statement_timestamp()),
            sessions::expires_at.eq(case_when(gains, slid()).otherwise(sessions::expires_at)),
        ))
        .execute(conn)
}
