//! The whole retention policy in one run: expire, purge, forget addresses, forget events. Small
//! batches in the order of an index, a transaction each, passing over rows that are in use: safe
//! beside live traffic and beside another run. What the time does not suffice for is done by the
//! next run.

use std::time::{Duration, Instant};

use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::result::QueryResult;

use super::{Refusal, Result, endings, throttle};
use crate::config::{CleanupConfig, DatabaseConfig};
use crate::context::Context;
use crate::db::run::{blocking, transact};
use crate::db::{Failure, pool};
use crate::domain::cleanup::{Report, Trigger};
use crate::repositories::{cleanup_runs, session_events, sessions, sql};

/// How much longer than its budget a run may take to say what it did.
const RECORDING: Duration = Duration::from_millis(250);

/// One kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Expire,
    Purge,
    Addresses,
    Events,
}

const CLASSES: [Class; 4] = [Class::Expire, Class::Purge, Class::Addresses, Class::Events];

/// Runs a cleanup and keeps a record of it.
///
/// # Errors
/// `Unavailable` or `Internal`; batches that were finished stay done.
pub async fn run(context: &Context, trigger: Trigger) -> Result<Report> {
    let budget = match trigger {
        Trigger::Http => context.config.cleanup.http_budget,
        Trigger::Schedule | Trigger::Cli => context.config.cleanup.budget,
    };
    let done = on_own_connection(context, budget, move |conn, config, deadline| {
        let run = bounded(conn, deadline, |conn| cleanup_runs::start(conn, trigger))?;
        clean(conn, config, run, deadline)
    });
    let result = done.await;
    context.metrics.cleaned(trigger, result.as_ref().ok());
    result
}

/// Runs a cleanup unless another instance's schedule has done so lately or is doing so now.
///
/// # Errors
/// Like [`run`].
pub async fn run_scheduled(context: &Context, interval: Duration) -> Result<Option<Report>> {
    let budget = context.config.cleanup.budget;
    let delta = |duration| chrono::TimeDelta::from_std(duration).unwrap_or(chrono::TimeDelta::MAX);
    // The instances' timers differ by their jitter.
    let (lately, stale) = (delta(interval.mul_f32(0.9)), delta(2 * budget));
    let done = on_own_connection(context, budget, move |conn, config, deadline| {
        let claimed = transact(conn, |conn| {
            cleanup_runs::lock_claims(conn)?;
            match cleanup_runs::is_schedule_served(conn, lately, stale)? {
                true => Ok(None),
                false => cleanup_runs::start(conn, Trigger::Schedule).map(Some),
            }
        })?;
        claimed
            .map(|run| clean(conn, config, run, deadline))
            .transpose()
    });
    let result = done.await;
    match &result {
        // Another instance's turn.
        Ok(None) => {}
        Ok(Some(report)) => context.metrics.cleaned(Trigger::Schedule, Some(report)),
        Err(_) => context.metrics.cleaned(Trigger::Schedule, None),
    }
    result
}

/// Counts what a run would do, class by class.
///
/// # Errors
/// `Unavailable`.
pub async fn dry_run(context: &Context) -> Result<Report> {
    on_own_connection(context, context.config.cleanup.budget, |conn, config, _| {
        Ok(Report {
            expired: sessions::count_expirable(conn)?,
            purged: sessions::count_purgeable(conn, config.retention)?
                + sessions::count_expired_before(conn, config.retention)?,
            ip_scrubbed: sessions::count_scrubbable(conn, config.ip_retention, config.retention)?
                + session_events::count_scrubbable(conn, config.ip_retention)?,
            events_purged: session_events::count_purgeable(conn, config.event_retention)?,
            complete: true,
        })
    })
    .await
}

/// Not on a pooled connection: a cleanup must never be why a request waits.
async fn on_own_connection<T: Send + 'static>(
    context: &Context,
    budget: Duration,
    work: impl FnOnce(&mut PgConnection, &CleanupConfig, Instant) -> QueryResult<T> + Send + 'static,
) -> Result<T> {
    context.database.check_migrated()?;
    let deadline = Instant::now() + budget;
    let permit = tokio::time::timeout_at(
        deadline.into(),
        context.cleanup_slots.clone().acquire_owned(),
    )
    .await;
    let Ok(Ok(permit)) = permit else {
        return Err(Refusal::Unavailable(
            "too many cleanups are under way".to_owned(),
        ));
    };
    let (config, database): (CleanupConfig, DatabaseConfig) = (
        context.config.cleanup.clone(),
        context.config.database.clone(),
    );
    let done = blocking(Some(permit), move || {
        let mut conn = pool::dedicated(&database, database.url.expose())
            .map_err(|error| Failure::Unavailable(error.to_string()))?;
        work(&mut conn, &config, deadline).map_err(Failure::from)
    });
    // The server's end is bounded by statement_timeout; a frozen one is not.
    let patience = deadline + database_patience(context);
    match tokio::time::timeout_at(patience.into(), done).await {
        Ok(done) => Ok(done??),
        Err(_elapsed) => Err(Refusal::Unavailable(
            "the database did not answer in time".to_owned(),
        )),
    }
}

fn database_patience(context: &Context) -> Duration {
    context
        .config
        .database
        .timeout
        .min(Duration::from_millis(750))
}

fn clean(
    conn: &mut PgConnection,
    config: &CleanupConfig,
    run: i64,
    deadline: Instant,
) -> QueryResult<Report> {
    let mut report = Report::default();
    let result = work_through(conn, config, deadline, &mut report);
    let error = result.as_ref().err().map(ToString::to_string);
    // What was done is recorded even where the time is up, though not for ever.
    let grace = deadline.max(Instant::now()) + RECORDING;
    let recorded = bounded(conn, grace, |conn| {
        cleanup_runs::finish(conn, run, &report, error.as_deref())
    });
    result?;
    recorded?;
    if report.complete {
        bounded(conn, grace, |conn| {
            cleanup_runs::purge(conn, config.event_retention)?;
            throttle::purge(conn)
        })?;
    }
    Ok(report)
}

/// A transaction whose statements the server ends when the time is up.
fn bounded<T>(
    conn: &mut PgConnection,
    until: Instant,
    work: impl Fn(&mut PgConnection) -> QueryResult<T>,
) -> QueryResult<T> {
    let left = until.saturating_duration_since(Instant::now());
    transact(conn, |conn| {
        // Rounded up: cut off before `until`, it would look like a failure; and 0 is no limit.
        let left = format!("{}ms", left.as_millis() + 1);
        diesel::select(sql::set_config("statement_timeout", left, true)).execute(conn)?;
        work(conn)
    })
}

/// Each class is sure of a quarter of the time; then what is left of it goes to the unfinished, in
/// order.
fn work_through(
    conn: &mut PgConnection,
    config: &CleanupConfig,
    deadline: Instant,
    report: &mut Report,
) -> QueryResult<()> {
    let quarter = deadline.saturating_duration_since(Instant::now()) / 4;
    let mut unfinished = Vec::new();
    for class in CLASSES {
        if !work_until(
            conn,
            config,
            class,
            (Instant::now() + quarter).min(deadline),
            report,
        )? {
            unfinished.push(class);
        }
    }
    let mut complete = true;
    for class in unfinished {
        complete &= work_until(conn, config, class, deadline, report)?;
    }
    report.complete = complete;
    Ok(())
}

/// Runs batches of a class; returns whether it is done.
fn work_until(
    conn: &mut PgConnection,
    config: &CleanupConfig,
    class: Class,
    until: Instant,
    report: &mut Report,
) -> QueryResult<bool> {
    let limit = usize::try_from(config.batch_size).unwrap_or(usize::MAX);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left < Duration::from_millis(1) {
            return Ok(false);
        }
        let batch = bounded(conn, until, |conn| run_batch(conn, config, class));
        let (done, is_full) = match batch {
            Ok(counts) => (counts.0, counts.1 >= limit),
            // Cut off by its own time-out: rolled back, for the next run to do.
            Err(_) if Instant::now() >= until => return Ok(false),
            Err(error) => return Err(error),
        };
        let count = i64::try_from(done).unwrap_or(i64::MAX);
        match class {
            Class::Expire => report.expired += count,
            Class::Purge => report.purged += count,
            Class::Addresses => report.ip_scrubbed += count,
            Class::Events => report.events_purged += count,
        }
        if !is_full {
            return Ok(true);
        }
    }
}

/// Rows done, and the fullest batch among the statements.
fn run_batch(
    conn: &mut PgConnection,
    config: &CleanupConfig,
    class: Class,
) -> QueryResult<(usize, usize)> {
    let limit = config.batch_size;
    let whole = |count| (count, count);
    match class {
        Class::Expire => endings::expire_batch(conn, limit).map(whole),
        Class::Purge => sessions::purge_batch(conn, config.retention, limit).map(whole),
        Class::Addresses => {
            let of_sessions = sessions::scrub_addresses_batch(conn, config.ip_retention, limit)?;
            let of_events =
                session_events::scrub_addresses_batch(conn, config.ip_retention, limit)?;
            Ok((of_sessions + of_events, of_sessions.max(of_events)))
        }
        Class::Events => {
            session_events::purge_batch(conn, config.event_retention, limit).map(whole)
        }
    }
}
