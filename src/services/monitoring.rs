//! What operators are told of the service's state.

use std::time::Duration;

use chrono::TimeDelta;

use super::{Refusal, Result};
use crate::context::Context;
use crate::metrics::Snapshot;
use crate::repositories::{events_search, session_events, sessions};

/// The longest that a reading waits for the database: Prometheus gives up after 10 s by default,
/// and wants to know of an outage above all.
const PATIENCE: Duration = Duration::from_secs(1);

/// Every metric, as text.
///
/// # Errors
/// `Internal` when it cannot be written. An outage of the database is none: what only it knows is
/// left out.
pub async fn metrics(context: &Context) -> Result<String> {
    let (connections, idle) = context.database.connections();
    let number = |waiting: usize| i64::try_from(waiting).unwrap_or(i64::MAX);
    let snapshot = Snapshot {
        connections: (i64::from(connections) - i64::from(idle), idle.into()),
        waiting: [
            ("database", number(context.database.waiting())),
            ("lookups", number(context.lookups.waiting())),
            ("touches", number(context.touches.waiting())),
            ("password_hashes", number(context.hasher.waiting())),
        ],
        overdue: overdue(context).await,
    };
    context
        .metrics
        .encode(&snapshot)
        .map_err(|error| Refusal::Internal(error.to_string()))
}

/// How long cleaning up has been due, kind by kind. One reading at a time, so that asking often
/// costs the database no more.
async fn overdue(context: &Context) -> Option<[(&'static str, f64); 3]> {
    let config = &context.config.cleanup;
    let (retention, event_retention) = (config.retention, config.event_retention);
    let read = async {
        let _one_at_a_time = context.reading_overdue.lock().await;
        let ages = context.database.read(move |conn| {
            let now = events_search::clock(conn)?;
            Ok([
                sessions::oldest_expired_age(conn)?,
                sessions::oldest_ended(conn)?.map(|then| now - then - retention),
                session_events::oldest_age(conn)?.map(|age| age - event_retention),
            ])
        });
        ages.await
    };
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(Ok([expire, purge, events])) => Some([
            ("expire", seconds(expire)),
            ("purge", seconds(purge)),
            ("events", seconds(events)),
        ]),
        Ok(Err(failure)) => {
            log::debug!(error:% = failure; "what cleanup is due is not known");
            None
        }
        Err(_elapsed) => None,
    }
}

fn seconds(age: Option<TimeDelta>) -> f64 {
    age.map_or(0.0, |age| age.as_seconds_f64().max(0.0))
}
