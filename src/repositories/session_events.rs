//! The `session_events` table: the ledger.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::{array, case_when};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Inet, Nullable, Text};
use ipnetwork::IpNetwork;
use uuid::Uuid;

use super::sql::{exactly, statement_timestamp, timestamptz_mi_interval};
use crate::domain::event::{Actor, Event, EventKind};
use crate::domain::session::Reason;
use crate::schema::{session_events, sessions};

mod alias {
    use crate::schema::session_events;
    // The inner table where an UPDATE or DELETE chooses its own rows under SKIP LOCKED.
    diesel::alias!(session_events as candidates: Candidates);
}
use alias::candidates;

/// An entry to be made about something other than an ending.
#[derive(Debug, Clone, Default)]
pub struct Subject<'a> {
    /// Which session.
    pub session_id: Option<Uuid>,
    /// Whose.
    pub user_id: Option<i64>,
    /// The device's label.
    pub device_label: Option<&'a str>,
    /// A remark.
    pub note: Option<&'a str>,
}

/// Enters one event.
pub fn record(
    conn: &mut PgConnection,
    kind: EventKind,
    actor: Actor,
    subject: &Subject<'_>,
) -> QueryResult<()> {
    diesel::insert_into(session_events::table)
        .values((
            session_events::occurred_at.eq(statement_timestamp()),
            session_events::kind.eq(kind),
            session_events::session_id.eq(subject.session_id),
            session_events::user_id.eq(subject.user_id),
            session_events::actor.eq(actor.kind),
            session_events::actor_id.eq(actor.id),
            session_events::ip_address.eq(actor.address),
            session_events::device_label.eq(subject.device_label),
            session_events::note.eq(subject.note),
        ))
        .execute(conn)
        .map(|_| ())
}

/// Enters the endings of sessions that this transaction has just ended; kind and reason come from
/// the rows themselves, so that event and fact cannot differ.
pub fn record_ended(
    conn: &mut PgConnection,
    ids: &[Uuid],
    actor: Actor,
    note: Option<&str>,
) -> QueryResult<usize> {
    let kind = case_when(
        sessions::revoked_reason.eq(Reason::Expired),
        EventKind::SessionExpired.into_sql::<Text>(),
    )
    .otherwise(EventKind::SessionRevoked.into_sql::<Text>());
    sessions::table
        // By their ids alone: to ask beside it that they have ended lures the planner, which knows of
        // few such rows, into reading all of them through their partial index.
        .filter(sessions::id.eq_any(ids))
        .select((
            statement_timestamp(),
            kind,
            sessions::id.nullable(),
            sessions::user_id.nullable(),
            sessions::revoked_reason,
            actor.kind.into_sql::<Text>(),
            actor.id.into_sql::<Nullable<BigInt>>(),
            actor.address.into_sql::<Nullable<Inet>>(),
            sessions::device_label,
            note.into_sql::<Nullable<Text>>(),
        ))
        .insert_into(session_events::table)
        .into_columns((
            session_events::occurred_at,
            session_events::kind,
            session_events::session_id,
            session_events::user_id,
            session_events::reason,
            session_events::actor,
            session_events::actor_id,
            session_events::ip_address,
            session_events::device_label,
            session_events::note,
        ))
        .execute(conn)
}

/// A user's own history, newest first, before the event `before`.
pub fn list_of_user(
    conn: &mut PgConnection,
    user_id: i64,
    before: Option<i64>,
    limit: i64,
) -> QueryResult<Vec<Event>> {
    session_events::table
        .filter(session_events::user_id.eq(user_id))
        .filter(session_events::id.lt(before.unwrap_or(i64::MAX)))
        .order(session_events::id.desc())
        .limit(limit)
        .load(conn)
}

/// Forgets label and address wherever the ledger speaks of this user.
pub fn scrub_user(conn: &mut PgConnection, user_id: i64) -> QueryResult<usize> {
    diesel::update(session_events::table)
        .filter(session_events::user_id.eq(user_id))
        .filter(
            session_events::ip_address
                .is_not_null()
                .or(session_events::device_label.is_not_null()),
        )
        .set((
            session_events::ip_address.eq(None::<IpNetwork>),
            session_events::device_label.eq(None::<String>),
        ))
        .execute(conn)
}

/// Forgets the address of this user in entries about others: those of an administrator, and of a
/// log-in that superseded somebody else's session.
pub fn scrub_actor(conn: &mut PgConnection, user_id: i64) -> QueryResult<usize> {
    diesel::update(session_events::table)
        .filter(session_events::actor_id.eq(user_id))
        .filter(session_events::actor_id.ne(session_events::user_id))
        .set(session_events::ip_address.eq(None::<IpNetwork>))
        .execute(conn)
}

/// Forgets a batch of addresses older than the retention.
pub fn scrub_addresses_batch(
    conn: &mut PgConnection,
    retention: TimeDelta,
    limit: u32,
) -> QueryResult<usize> {
    let due = candidates
        .filter(candidates.field(session_events::ip_address).is_not_null())
        .filter(
            candidates
                .field(session_events::occurred_at)
                .lt(timestamptz_mi_interval(
                    statement_timestamp(),
                    exactly(retention),
                )),
        )
        .order(candidates.field(session_events::occurred_at).asc())
        .limit(i64::from(limit))
        .select(candidates.field(session_events::id))
        .for_update()
        .skip_locked();
    diesel::update(session_events::table.filter(session_events::id.eq_any(array::<BigInt, _>(due))))
        .set(session_events::ip_address.eq(None::<IpNetwork>))
        .execute(conn)
}

/// Deletes a batch of events older than the retention.
pub fn purge_batch(
    conn: &mut PgConnection,
    retention: TimeDelta,
    limit: u32,
) -> QueryResult<usize> {
    let due = candidates
        .filter(
            candidates
                .field(session_events::occurred_at)
                .lt(timestamptz_mi_interval(
                    statement_timestamp(),
                    exactly(retention),
                )),
        )
        .order(candidates.field(session_events::occurred_at).asc())
        .limit(i64::from(limit))
        .select(candidates.field(session_events::id))
        .for_update()
        .skip_locked();
    diesel::delete(session_events::table.filter(session_events::id.eq_any(array::<BigInt, _>(due))))
        .execute(conn)
}

/// How old the oldest event is.
pub fn oldest_age(conn: &mut PgConnection) -> QueryResult<Option<TimeDelta>> {
    let oldest: Option<(DateTime<Utc>, DateTime<Utc>)> = session_events::table
        .order(session_events::occurred_at.asc())
        .select((session_events::occurred_at, statement_timestamp()))
        .first(conn)
        .optional()?;
    Ok(oldest.map(|(then, now)| now - then))
}

/// How many [`scrub_addresses_batch`] would find now.
pub fn count_scrubbable(conn: &mut PgConnection, retention: TimeDelta) -> QueryResult<i64> {
    session_events::table
        .filter(session_events::ip_address.is_not_null())
        .filter(session_events::occurred_at.lt(timestamptz_mi_interval(
            statement_timestamp(),
            exactly(retention),
        )))
        .count()
        .get_result(conn)
}

/// How many [`purge_batch`] would find now.
pub fn count_purgeable(conn: &mut PgConnection, retention: TimeDelta) -> QueryResult<i64> {
    session_events::table
        .filter(session_events::occurred_at.lt(timestamptz_mi_interval(
            statement_timestamp(),
            exactly(retention),
        )))
        .count()
        .get_result(conn)
}
