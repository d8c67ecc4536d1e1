//! What administrators ask. Pages follow the primary key: ids are UUIDs of version 7, so newer
//! sessions come first without an index of their own, and a page costs the same however many rows
//! there are. Instances whose clocks differ may be out of order by as much; no row is missed.

use chrono::{DateTime, Utc};
use diesel::dsl::{count, count_star};
use diesel::pg::Pg;
use diesel::prelude::*;
use uuid::Uuid;

use super::columns;
use crate::domain::search::{Match, SessionFilter, State};
use crate::domain::session::{Reason, Session};
use crate::repositories::sql::{ended_at, is_active, statement_timestamp};
use crate::schema::sessions;

type Query<'a> = sessions::BoxedQuery<'a, Pg>;

fn matching(filter: &SessionFilter) -> Query<'_> {
    let mut query = sessions::table.into_boxed();
    if let Some(user_id) = filter.user_id {
        query = query.filter(sessions::user_id.eq(user_id));
    }
    match filter.state {
        Some(State::Active) => query = query.filter(is_active()),
        Some(State::Expired) => {
            let unmarked = sessions::revoked_at
                .is_null()
                .and(sessions::expires_at.le(statement_timestamp()));
            let marked = sessions::revoked_reason.eq(Reason::Expired);
            query = query.filter(unmarked.nullable().or(marked));
        }
        Some(State::Revoked) => {
            query = query
                .filter(sessions::revoked_at.is_not_null())
                .filter(sessions::revoked_reason.ne(Reason::Expired));
        }
        None => {}
    }
    if let Some(reason) = filter.reason {
        query = query.filter(sessions::revoked_reason.eq(reason));
    }
    if let Some(network) = filter.network {
        query = query.filter(sessions::ip_address.is_contained_by_or_eq(network));
    }
    if let Some(auth_level) = filter.auth_level {
        query = query.filter(sessions::auth_level.eq(auth_level));
    }
    if let Some(from) = filter.created.from {
        query = query.filter(sessions::created_at.ge(from));
    }
    if let Some(until) = filter.created.until {
        query = query.filter(sessions::created_at.lt(until));
    }
    if let Some(from) = filter.seen.from {
        query = query.filter(sessions::last_seen_at.ge(from));
    }
    if let Some(until) = filter.seen.until {
        query = query.filter(sessions::last_seen_at.lt(until));
    }
    query
}

/// Sessions that a filter matches, newest first, before the session `before`.
pub fn search(
    conn: &mut PgConnection,
    filter: &SessionFilter,
    before: Option<Uuid>,
    limit: i64,
) -> QueryResult<Vec<Session>> {
    matching(filter)
        .filter(sessions::id.lt(before.unwrap_or(Uuid::max())))
        .order(sessions::id.desc())
        .limit(limit)
        .select(columns())
        .load(conn)
}

/// How many sessions that could be ended a filter matches, one left out.
pub fn count_endable(
    conn: &mut PgConnection,
    filter: &SessionFilter,
    except: Uuid,
) -> QueryResult<Match> {
    matching(filter)
        .filter(is_active())
        .filter(sessions::id.ne(except))
        .select((
            count_star(),
            count(sessions::user_id).aggregate_distinct(),
            statement_timestamp(),
        ))
        .get_result(conn)
}

/// Users after `after` of whose sessions a filter matches some that have not ended, in order.
pub fn users_with_endable(
    conn: &mut PgConnection,
    filter: &SessionFilter,
    after: i64,
    limit: i64,
) -> QueryResult<Vec<i64>> {
    matching(filter)
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::user_id.gt(after))
        .select(sessions::user_id)
        .distinct()
        .order(sessions::user_id)
        .limit(limit)
        .load(conn)
}

/// Sessions of a user that a filter matches and that have not ended, one left out.
pub fn endable_of_user(
    conn: &mut PgConnection,
    filter: &SessionFilter,
    user_id: i64,
    except: Uuid,
) -> QueryResult<Vec<Uuid>> {
    matching(filter)
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::id.ne(except))
        .select(sessions::id)
        .load(conn)
}

/// How many sessions are valid now.
pub fn count_active(conn: &mut PgConnection) -> QueryResult<i64> {
    sessions::table.filter(is_active()).count().get_result(conn)
}

/// When the longest-ended session that is still kept ended.
pub fn oldest_ended(conn: &mut PgConnection) -> QueryResult<Option<DateTime<Utc>>> {
    sessions::table
        .filter(sessions::revoked_at.is_not_null())
        .order(ended_at(sessions::expires_at, sessions::revoked_at))
        .select(ended_at(sessions::expires_at, sessions::revoked_at))
        .first(conn)
        .optional()
}
