//! Everybody's sessions: finding them, and ending one or all that a filter matches.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Administrator, Page, search};
use crate::context::Context;
use crate::domain::event::Event;
use crate::domain::search::{EventFilter, Match, SessionFilter};
use crate::domain::session::{Reason, Session};
use crate::domain::user::User;
use crate::repositories::{events_search, sessions, users};
use crate::services::{Refusal, Result, endings};

/// Users whose sessions are looked up together while everything that matches is ended.
const USERS_AT_ONCE: i64 = 200;
/// How long one call ends sessions; what remains is for the next.
const LONGEST_ENDING: Duration = Duration::from_secs(15);
/// Events of a session that are shown; a session has a handful.
const HISTORY: i64 = 200;

/// A session and the account that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnedSession {
    /// The session.
    pub session: Session,
    /// E-mail of its user.
    pub email: Option<String>,
}

/// A page of sessions, newest first.
///
/// # Errors
/// `FilterTooBroad`, `Unavailable`.
pub async fn find_sessions(
    context: &Context,
    filter: SessionFilter,
    before: Option<Uuid>,
    limit: u16,
) -> Result<Page<OwnedSession, Uuid>> {
    let rows = i64::from(limit) + 1;
    let found = search(context, move |conn| {
        let found = sessions::search(conn, &filter, before, rows)?;
        let mut ids: Vec<i64> = found.iter().map(|session| session.user_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let emails: HashMap<i64, Option<String>> = users::find_many(conn, &ids)?
            .into_iter()
            .map(|user| (user.id, user.email))
            .collect();
        let owned = |session: Session| OwnedSession {
            email: emails.get(&session.user_id).cloned().flatten(),
            session,
        };
        Ok(found.into_iter().map(owned).collect())
    });
    Ok(Page::new(found.await?, limit, |owned: &OwnedSession| {
        owned.session.id
    }))
}

/// The user that an e-mail in a filter stands for. `None`: nobody has it.
///
/// # Errors
/// `Unavailable`.
pub async fn user_of_email(
    context: &Context,
    email: crate::domain::credentials::Email,
) -> Result<Option<User>> {
    let found = context
        .database
        .read(move |conn| users::find_by_email(conn, &email));
    Ok(found.await?)
}

/// A session with its user and its history, newest first.
#[derive(Debug, Clone)]
pub struct SessionHistory {
    /// The session.
    pub session: Session,
    /// Its user.
    pub user: Option<User>,
    /// What happened to it.
    pub events: Vec<Event>,
}

/// A session with its history.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn session(context: &Context, id: Uuid) -> Result<SessionHistory> {
    let found = search(context, move |conn| {
        let Some(session) = sessions::find(conn, id)? else {
            return Ok(None);
        };
        let filter = EventFilter {
            user_id: Some(session.user_id),
            session_id: Some(id),
            ..EventFilter::default()
        };
        let events = events_search::search(conn, &filter, None, HISTORY)?;
        let user = users::find(conn, session.user_id)?;
        Ok(Some(SessionHistory {
            session,
            user,
            events,
        }))
    });
    found.await?.ok_or(Refusal::NotFound)
}

/// Ends a session; returns how many were active: 1 or 0.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn end_session(
    context: &Context,
    admin: &Administrator,
    id: Uuid,
    note: Option<String>,
) -> Result<usize> {
    let actor = admin.actor();
    let ended = context.database.write(move |conn| {
        let Some(session) = sessions::find(conn, id)? else {
            return Ok(None);
        };
        let note = note.as_deref();
        endings::end_one(conn, id, session.user_id, Reason::AdminRevoked, actor, note).map(Some)
    });
    ended.await?.ok_or(Refusal::NotFound)
}

/// Counts what [`end_matching`] would end.
///
/// # Errors
/// `FilterTooBroad`, `Unavailable`.
pub async fn count_matching(
    context: &Context,
    admin: &Administrator,
    filter: SessionFilter,
) -> Result<Match> {
    let own = admin.caller.session.id;
    search(context, move |conn| {
        sessions::count_endable(conn, &filter, own)
    })
    .await
}

/// What an administrator saw before ending everything that a filter matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// How many it would be.
    pub sessions: i64,
    /// When they were counted: what began later stays.
    pub as_of: DateTime<Utc>,
}

/// What has been ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    /// Sessions that were active.
    pub sessions: usize,
    /// Users that they belonged to.
    pub users: usize,
    /// Whether nothing is left.
    pub complete: bool,
}

/// Ends everything that a filter matches but the administrator's own session, a transaction a
/// user, under the user's lock. Of a great many, a part at a time.
///
/// # Errors
/// `CountChanged` where more match than were seen, `FilterTooBroad`, `Unavailable`; what was ended
/// until then stays ended.
pub async fn end_matching(
    context: &Context,
    admin: &Administrator,
    mut filter: SessionFilter,
    seen: Seen,
    note: Option<String>,
) -> Result<Ended> {
    let deadline = Instant::now() + LONGEST_ENDING;
    filter.created.until = Some(match filter.created.until {
        Some(until) => until.min(seen.as_of),
        None => seen.as_of,
    });
    let now = count_matching(context, admin, filter.clone()).await?;
    if now.sessions > seen.sessions {
        return Err(Refusal::CountChanged);
    }
    let mut ended = Ended::default();
    let mut after = i64::MIN;
    loop {
        let of = filter.clone();
        let page = search(context, move |conn| {
            sessions::users_with_endable(conn, &of, after, USERS_AT_ONCE)
        });
        let page = page.await?;
        let Some(last) = page.last().copied() else {
            ended.complete = true;
            return Ok(ended);
        };
        for user_id in page {
            if Instant::now() >= deadline {
                return Ok(ended);
            }
            let count = end_of_user(context, admin, &filter, user_id, note.clone()).await?;
            ended.sessions += count;
            ended.users += usize::from(count > 0);
        }
        after = last;
    }
}

async fn end_of_user(
    context: &Context,
    admin: &Administrator,
    filter: &SessionFilter,
    user_id: i64,
    note: Option<String>,
) -> Result<usize> {
    let (actor, own, filter) = (admin.actor(), admin.caller.session.id, filter.clone());
    let ended = context.database.write(move |conn| {
        users::lock(conn, user_id)?;
        let ids = sessions::endable_of_user(conn, &filter, user_id, own)?;
        endings::end_some(conn, &ids, Reason::AdminRevoked, actor, note.as_deref())
    });
    Ok(ended.await?)
}
