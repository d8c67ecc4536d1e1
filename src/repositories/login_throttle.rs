//! The `login_throttle` table.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::case_when;
use diesel::prelude::*;
use diesel::sql_types::Integer;

use super::sql::{exactly, statement_timestamp, timestamptz_mi_interval, timestamptz_pl_interval};
use crate::schema::login_throttle;

/// Keys forgotten at once; the next cleanup goes on.
const PURGE_BATCH: i64 = 10_000;

/// How much longer the most blocked of these keys is blocked; `None` where none is.
pub fn longest_block(conn: &mut PgConnection, keys: &[&str]) -> QueryResult<Option<TimeDelta>> {
    let found: Option<(DateTime<Utc>, DateTime<Utc>)> = login_throttle::table
        .filter(login_throttle::key.eq_any(keys))
        .filter(login_throttle::blocked_until.gt(statement_timestamp()))
        .order(login_throttle::blocked_until.desc())
        .select((login_throttle::blocked_until, statement_timestamp()))
        .first(conn)
        .optional()?;
    Ok(found.map(|(until, now)| until - now))
}

/// Failures of a key, none where the last is older than `memory`.
pub fn failures(conn: &mut PgConnection, key: &str, memory: TimeDelta) -> QueryResult<i32> {
    let forgotten = timestamptz_mi_interval(statement_timestamp(), exactly(memory));
    let found = login_throttle::table
        .filter(login_throttle::key.eq(key))
        .filter(login_throttle::last_failure_at.ge(forgotten))
        .select(login_throttle::failures)
        .first(conn)
        .optional()?;
    Ok(found.unwrap_or(0))
}

/// Refuses attempts from now on, unless they are refused already: returns whether it did. Of
/// several at once one does, because the others look again after waiting for the row.
pub fn claim(conn: &mut PgConnection, key: &str, delay: TimeDelta) -> QueryResult<bool> {
    let until = timestamptz_pl_interval(statement_timestamp(), exactly(delay));
    diesel::update(
        login_throttle::table
            .filter(login_throttle::key.eq(key))
            .filter(login_throttle::blocked_until.le(statement_timestamp())),
    )
    .set(login_throttle::blocked_until.eq(until))
    .execute(conn)
    .map(|claimed| claimed == 1)
}

/// Counts a failure, forgetting earlier ones where the last is older than `memory`. Returns the
/// count; the row stays locked to the end of the transaction.
pub fn count_failure(conn: &mut PgConnection, key: &str, memory: TimeDelta) -> QueryResult<i32> {
    let forgotten = timestamptz_mi_interval(statement_timestamp(), exactly(memory));
    diesel::insert_into(login_throttle::table)
        .values((
            login_throttle::key.eq(key),
            login_throttle::failures.eq(1),
            login_throttle::last_failure_at.eq(statement_timestamp()),
            login_throttle::blocked_until.eq(statement_timestamp()),
        ))
        .on_conflict(login_throttle::key)
        .do_update()
        .set((
            login_throttle::failures.eq(case_when(
                login_throttle::last_failure_at.lt(forgotten),
                1.into_sql::<Integer>(),
            )
            .otherwise(login_throttle::failures + 1)),
            login_throttle::last_failure_at.eq(statement_timestamp()),
        ))
        .returning(login_throttle::failures)
        .get_result(conn)
}

/// Refuses further attempts for a while.
pub fn block(conn: &mut PgConnection, key: &str, delay: TimeDelta) -> QueryResult<usize> {
    let until = timestamptz_pl_interval(statement_timestamp(), exactly(delay));
    diesel::update(login_throttle::table.filter(login_throttle::key.eq(key)))
        .set(login_throttle::blocked_until.eq(until))
        .execute(conn)
}

/// Forgets the failures of a key.
pub fn clear(conn: &mut PgConnection, key: &str) -> QueryResult<usize> {
    diesel::delete(login_throttle::table.filter(login_throttle::key.eq(key))).execute(conn)
}

/// Forgets keys whose last failure is older than `memory`, passing over those that somebody is
/// counting on at the moment.
pub fn purge(conn: &mut PgConnection, memory: TimeDelta) -> QueryResult<usize> {
    let before = timestamptz_mi_interval(statement_timestamp(), exactly(memory));
    let due: Vec<String> = login_throttle::table
        .filter(login_throttle::last_failure_at.lt(before))
        .order(login_throttle::last_failure_at)
        .limit(PURGE_BATCH)
        .select(login_throttle::key)
        .for_update()
        .skip_locked()
        .load(conn)?;
    diesel::delete(login_throttle::table.filter(login_throttle::key.eq_any(due))).execute(conn)
}
