//! What operators, administrators and backends do to accounts.

use diesel::pg::PgConnection;
use diesel::result::QueryResult;

use super::{Refusal, Result, auth, endings};
use crate::context::Context;
use crate::domain::credentials::{Email, Password};
use crate::domain::event::{Actor, EventKind};
use crate::domain::session::Reason;
use crate::domain::user::{Role, User};
use crate::repositories::session_events::{self, Subject};
use crate::repositories::{sessions, users};

fn about<'a>(user_id: i64, note: Option<&'a str>) -> Subject<'a> {
    Subject {
        user_id: Some(user_id),
        note,
        ..Subject::default()
    }
}

/// Makes an administrator.
///
/// # Errors
/// `PasswordRejected`, `EmailTaken`, `Unavailable`.
pub async fn create_admin(context: &Context, email: Email, password: Password) -> Result<User> {
    context
        .config
        .password
        .policy
        .check(&password, Some(&email))
        .map_err(Refusal::PasswordRejected)?;
    let slot = context.hasher.slot().await?;
    let (hash, _slot) = context.hasher.hash(slot, password).await?;
    let made = context.database.write(move |conn| {
        let user = users::insert(conn, &email, &hash, Role::Admin)?;
        session_events::record(
            conn,
            EventKind::UserCreated,
            Actor::system(),
            &about(user.id, None),
        )?;
        Ok(user)
    });
    made.await.map_err(auth::email_taken)
}

/// Finds an account.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn find_by_email(context: &Context, email: Email) -> Result<User> {
    context
        .database
        .read(move |conn| users::find_by_email(conn, &email))
        .await?
        .ok_or(Refusal::NotFound)
}

/// Sets a password without the old one; every session of the user ends. Returns the user's role and
/// how many sessions were active.
///
/// # Errors
/// `NotFound`, `PasswordRejected`, `Unavailable`.
pub async fn set_password(
    context: &Context,
    user_id: i64,
    password: Password,
    actor: Actor,
) -> Result<(Role, usize)> {
    let found = context
        .database
        .read(move |conn| users::find(conn, user_id))
        .await?
        .ok_or(Refusal::NotFound)?;
    let email = found
        .email
        .as_deref()
        .and_then(|email| Email::parse(email).ok());
    context
        .config
        .password
        .policy
        .check(&password, email.as_ref())
        .map_err(Refusal::PasswordRejected)?;
    let slot = context.hasher.slot().await?;
    let (hash, _slot) = context.hasher.hash(slot, password).await?;
    let set = context.database.write(move |conn| {
        let Some((user, _)) = users::lock(conn, user_id)? else {
            return Ok(None);
        };
        users::set_password(conn, user_id, &hash)?;
        session_events::record(
            conn,
            EventKind::PasswordChanged,
            actor,
            &about(user_id, None),
        )?;
        let ended = endings::end_all(conn, user_id, Reason::PasswordChanged, None, actor, None)?;
        Ok(Some((user.role, ended)))
    });
    set.await?.ok_or(Refusal::NotFound)
}

/// Ends every session of a user.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn revoke_sessions(
    context: &Context,
    user_id: i64,
    reason: Reason,
    actor: Actor,
    note: Option<String>,
) -> Result<usize> {
    let revoked = context.database.write(move |conn| {
        if users::lock(conn, user_id)?.is_none() {
            return Ok(None);
        }
        endings::end_all(conn, user_id, reason, None, actor, note.as_deref()).map(Some)
    });
    revoked.await?.ok_or(Refusal::NotFound)
}

/// Ends every session of everybody, a transaction a user; returns how many were active.
///
/// # Errors
/// `Unavailable`; what was ended until then stays ended.
pub async fn revoke_everything(
    context: &Context,
    actor: Actor,
    note: Option<String>,
) -> Result<usize> {
    const PAGE: i64 = 1000;
    let mut after = i64::MIN;
    let mut revoked = 0;
    loop {
        let ids = context
            .database
            .read(move |conn| sessions::owners_after(conn, after, PAGE))
            .await?;
        let Some(last) = ids.last().copied() else {
            return Ok(revoked);
        };
        for id in ids {
            match revoke_sessions(context, id, Reason::AdminRevoked, actor, note.clone()).await {
                Ok(count) => revoked += count,
                // Deleted meanwhile.
                Err(Refusal::NotFound) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        after = last;
    }
}

/// Disables an account; every session of the user ends, and log-ins fail like any wrong one.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn disable(
    context: &Context,
    user_id: i64,
    actor: Actor,
    note: Option<String>,
) -> Result<usize> {
    let disabled = context.database.write(move |conn| {
        if users::lock(conn, user_id)?.is_none() {
            return Ok(None);
        }
        if users::disable(conn, user_id)? > 0 {
            session_events::record(
                conn,
                EventKind::UserDisabled,
                actor,
                &about(user_id, note.as_deref()),
            )?;
        }
        endings::end_all(
            conn,
            user_id,
            Reason::UserDisabled,
            None,
            actor,
            note.as_deref(),
        )
        .map(Some)
    });
    disabled.await?.ok_or(Refusal::NotFound)
}

/// Lets a disabled account log in again.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn enable(
    context: &Context,
    user_id: i64,
    actor: Actor,
    note: Option<String>,
) -> Result<()> {
    let enabled = context.database.write(move |conn| {
        if users::lock(conn, user_id)?.is_none() {
            return Ok(None);
        }
        if users::enable(conn, user_id)? > 0 {
            session_events::record(
                conn,
                EventKind::UserEnabled,
                actor,
                &about(user_id, note.as_deref()),
            )?;
        }
        Ok(Some(()))
    });
    enabled.await?.ok_or(Refusal::NotFound)
}

/// Deletes an account.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn delete(context: &Context, user_id: i64, actor: Actor) -> Result<usize> {
    let deleted = context
        .database
        .write(move |conn| match users::lock(conn, user_id)? {
            Some(_) => erase(conn, user_id, actor).map(Some),
            None => Ok(None),
        });
    deleted.await?.ok_or(Refusal::NotFound)
}

/// Ends a user's sessions, forgets what the ledger knows of the person, and deletes the rows. The
/// caller holds the lock on the user. Returns how many sessions were active.
pub(super) fn erase(conn: &mut PgConnection, user_id: i64, actor: Actor) -> QueryResult<usize> {
    let actor = Actor {
        address: None,
        ..actor
    };
    let revoked = endings::end_all(conn, user_id, Reason::UserDeleted, None, actor, None)?;
    session_events::record(conn, EventKind::UserDeleted, actor, &about(user_id, None))?;
    session_events::scrub_user(conn, user_id)?;
    session_events::scrub_actor(conn, user_id)?;
    sessions::delete_all_of_user(conn, user_id)?;
    users::delete(conn, user_id)?;
    Ok(revoked)
}
