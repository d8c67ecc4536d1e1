//! The `cleanup_runs` table.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::exists;
use diesel::prelude::*;

use super::sql::{exactly, pg_advisory_xact_lock, statement_timestamp, timestamptz_mi_interval};
use crate::domain::cleanup::{Report, Trigger};
use crate::schema::cleanup_runs;

/// Key of the advisory lock under which scheduled runs are claimed; any constant would do.
const CLAIM_LOCK: i64 = 7_165_120_000_000_002;

/// A past or present run.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct CleanupRun {
    /// Order of starting.
    pub id: i64,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// When it ended; `None` while it runs, or where it was killed.
    pub finished_at: Option<DateTime<Utc>>,
    /// What started it.
    pub trigger: Trigger,
    /// Sessions marked as expired.
    pub expired: i64,
    /// Ended sessions deleted.
    pub purged: i64,
    /// Addresses forgotten.
    pub ip_scrubbed: i64,
    /// Events deleted.
    pub events_purged: i64,
    /// Whether everything was done.
    pub complete: bool,
    /// What stopped it.
    pub error: Option<String>,
}

/// Serialises the claiming of scheduled runs until the end of the transaction.
pub fn lock_claims(conn: &mut PgConnection) -> QueryResult<()> {
    diesel::select(pg_advisory_xact_lock(CLAIM_LOCK))
        .execute(conn)
        .map(|_| ())
}

/// Whether a scheduled run began less than `interval` ago, or is under way and not `stale` yet.
pub fn is_schedule_served(
    conn: &mut PgConnection,
    interval: TimeDelta,
    stale: TimeDelta,
) -> QueryResult<bool> {
    let since = |age: TimeDelta| timestamptz_mi_interval(statement_timestamp(), exactly(age));
    let recent = cleanup_runs::started_at
        .gt(since(interval))
        .and(cleanup_runs::finished_at.is_not_null());
    let running = cleanup_runs::started_at
        .gt(since(stale))
        .and(cleanup_runs::finished_at.is_null());
    let scheduled = cleanup_runs::table
        .filter(cleanup_runs::trigger.eq(Trigger::Schedule))
        .filter(recent.or(running));
    diesel::select(exists(scheduled)).get_result(conn)
}

/// Enters the start of a run.
pub fn start(conn: &mut PgConnection, trigger: Trigger) -> QueryResult<i64> {
    diesel::insert_into(cleanup_runs::table)
        .values((
            cleanup_runs::trigger.eq(trigger),
            cleanup_runs::started_at.eq(statement_timestamp()),
        ))
        .returning(cleanup_runs::id)
        .get_result(conn)
}

/// Enters what a run has done.
pub fn finish(
    conn: &mut PgConnection,
    id: i64,
    report: &Report,
    error: Option<&str>,
) -> QueryResult<usize> {
    diesel::update(cleanup_runs::table.filter(cleanup_runs::id.eq(id)))
        .set((
            cleanup_runs::finished_at.eq(statement_timestamp().nullable()),
            cleanup_runs::expired.eq(report.expired),
            cleanup_runs::purged.eq(report.purged),
            cleanup_runs::ip_scrubbed.eq(report.ip_scrubbed),
            cleanup_runs::events_purged.eq(report.events_purged),
            cleanup_runs::complete.eq(report.complete),
            cleanup_runs::error.eq(error),
        ))
        .execute(conn)
}

/// Past runs, newest first.
pub fn list(
    conn: &mut PgConnection,
    before: Option<i64>,
    limit: i64,
) -> QueryResult<Vec<CleanupRun>> {
    cleanup_runs::table
        .filter(cleanup_runs::id.lt(before.unwrap_or(i64::MAX)))
        .order(cleanup_runs::id.desc())
        .limit(limit)
        .load(conn)
}

/// Deletes the records of runs older than the retention.
pub fn purge(conn: &mut PgConnection, retention: TimeDelta) -> QueryResult<usize> {
    let before = timestamptz_mi_interval(statement_timestamp(), exactly(retention));
    diesel::delete(cleanup_runs::table.filter(cleanup_runs::started_at.lt(before))).execute(conn)
}
