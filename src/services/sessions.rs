//! A user's devices and history.

use uuid::Uuid;

use super::verification::{Authenticated, require_recent};
use super::{Refusal, Result, endings};
use crate::context::Context;
use crate::domain::client::Client;
use crate::domain::event::{Actor, ActorKind, Event};
use crate::domain::session::{Reason, Session};
use crate::repositories::{session_events, sessions, users};

/// The caller's devices, most recently seen first.
///
/// # Errors
/// `Unavailable`.
pub async fn list(context: &Context, caller: &Authenticated) -> Result<Vec<Session>> {
    let user_id = caller.session.user_id;
    Ok(context
        .database
        .read(move |conn| sessions::list_active_of_user(conn, user_id))
        .await?)
}

/// Renames a device of the caller's.
///
/// # Errors
/// `NotFound` for sessions that ended, are unknown or belong to others; `Unavailable`.
pub async fn rename(
    context: &Context,
    caller: &Authenticated,
    id: Uuid,
    label: String,
) -> Result<Session> {
    let user_id = caller.session.user_id;
    let renamed = context
        .database
        .write(move |conn| sessions::rename(conn, id, user_id, &label));
    renamed.await?.ok_or(Refusal::NotFound)
}

/// Ends one of the caller's sessions, the current one too; returns whether it was active.
///
/// # Errors
/// `NotFound` for unknown sessions and those of others, `ReauthenticationRequired`, `Unavailable`.
pub async fn end_one(
    context: &Context,
    caller: &Authenticated,
    id: Uuid,
    client: &Client,
) -> Result<usize> {
    if id != caller.session.id {
        require_recent(
            &caller.session,
            context.config.session.reauthentication_max_age,
        )?;
    }
    let (user_id, address) = (caller.session.user_id, client.coarse_address());
    let ended = context.database.write(move |conn| {
        if !sessions::exists_for_user(conn, id, user_id)? {
            return Ok(None);
        }
        let actor = Actor::user(user_id, address);
        endings::end_one(conn, id, user_id, Reason::DeviceRevoked, actor, None).map(Some)
    });
    ended.await?.ok_or(Refusal::NotFound)
}

/// Which of the caller's sessions end together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every one.
    All,
    /// All but the caller's own.
    Others,
}

/// Ends several of the caller's sessions; returns how many were active.
///
/// # Errors
/// `ReauthenticationRequired`, `Unavailable`.
pub async fn end_many(
    context: &Context,
    caller: &Authenticated,
    scope: Scope,
    client: &Client,
) -> Result<usize> {
    require_recent(
        &caller.session,
        context.config.session.reauthentication_max_age,
    )?;
    let (session, address) = (caller.session.clone(), client.coarse_address());
    let (reason, except) = match scope {
        Scope::All => (Reason::LogoutAll, None),
        Scope::Others => (Reason::LogoutOthers, Some(session.id)),
    };
    let ended = context.database.write(move |conn| {
        users::lock(conn, session.user_id)?;
        let actor = Actor::user(session.user_id, address);
        endings::end_all(conn, session.user_id, reason, except, actor, None)
    });
    Ok(ended.await?)
}

/// A page of the caller's history, newest first, and where the next one begins.
///
/// # Errors
/// `Unavailable`.
pub async fn history(
    context: &Context,
    caller: &Authenticated,
    before: Option<i64>,
    limit: u16,
) -> Result<(Vec<Event>, Option<i64>)> {
    let user_id = caller.session.user_id;
    let limit = i64::from(limit);
    let mut events = context
        .database
        .read(move |conn| session_events::list_of_user(conn, user_id, before, limit + 1))
        .await?;
    let next = page_end(&mut events, limit);
    // Where others came from is no business of the user's.
    for event in &mut events {
        event.ip_address = event.ip_address.filter(|_| event.actor == ActorKind::User);
    }
    Ok((events, next))
}

fn page_end(events: &mut Vec<Event>, limit: i64) -> Option<i64> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = events.len() > limit;
    events.truncate(limit);
    events.last().filter(|_| has_more).map(|event| event.id)
}
