//! What administrators ask of the ledger.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::count_star;
use diesel::pg::Pg;
use diesel::prelude::*;

use super::sql::statement_timestamp;
use crate::domain::event::{Event, EventKind};
use crate::domain::search::{DailyCount, EventFilter};
use crate::domain::session::Reason;
use crate::schema::session_events;

fn matching(filter: &EventFilter) -> session_events::BoxedQuery<'_, Pg> {
    let mut query = session_events::table.into_boxed();
    if let Some(user_id) = filter.user_id {
        query = query.filter(session_events::user_id.eq(user_id));
    }
    if let Some(session_id) = filter.session_id {
        query = query.filter(session_events::session_id.eq(session_id));
    }
    if let Some(kind) = filter.kind {
        query = query.filter(session_events::kind.eq(kind));
    }
    if let Some(reason) = filter.reason {
        query = query.filter(session_events::reason.eq(reason));
    }
    if let Some(actor) = filter.actor {
        query = query.filter(session_events::actor.eq(actor));
    }
    if let Some(network) = filter.network {
        query = query.filter(session_events::ip_address.is_contained_by_or_eq(network));
    }
    if let Some(from) = filter.occurred.from {
        query = query.filter(session_events::occurred_at.ge(from));
    }
    if let Some(until) = filter.occurred.until {
        query = query.filter(session_events::occurred_at.lt(until));
    }
    query
}

/// Events that a filter matches, newest first, before the event `before`.
pub fn search(
    conn: &mut PgConnection,
    filter: &EventFilter,
    before: Option<i64>,
    limit: i64,
) -> QueryResult<Vec<Event>> {
    matching(filter)
        .filter(session_events::id.lt(before.unwrap_or(i64::MAX)))
        .order(session_events::id.desc())
        .limit(limit)
        .load(conn)
}

/// What happened how often on a day, told by its beginning in UTC.
pub fn count_day(conn: &mut PgConnection, day: DateTime<Utc>) -> QueryResult<Vec<DailyCount>> {
    let counts: Vec<(EventKind, Option<Reason>, i64)> = session_events::table
        .filter(session_events::occurred_at.ge(day))
        .filter(session_events::occurred_at.lt(day + TimeDelta::days(1)))
        .group_by((session_events::kind, session_events::reason))
        .select((session_events::kind, session_events::reason, count_star()))
        .load(conn)?;
    let counted = |(kind, reason, count)| DailyCount {
        day,
        kind,
        reason,
        count,
    };
    Ok(counts.into_iter().map(counted).collect())
}

/// The database's clock.
pub fn clock(conn: &mut PgConnection) -> QueryResult<DateTime<Utc>> {
    diesel::select(statement_timestamp()).get_result(conn)
}
