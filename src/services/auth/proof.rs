//! What a signed-in user may do only with the password: change it, prove it again, delete the account.

use std::sync::Arc;

use super::super::passwords::{Check, Slot};
use super::super::throttle::Attempt;
use super::super::verification::Authenticated;
use super::super::{Refusal, Result, endings};
use super::{Opened, SessionRequest, new_token, open_session, record_failure, refuse_throttled};
use crate::context::Context;
use crate::domain::client::Client;
use crate::domain::credentials::{Email, Password};
use crate::domain::event::{Actor, EventKind};
use crate::domain::session::{AuthLevel, Reason};
use crate::domain::user::UserCredentials;
use crate::repositories::session_events::{self, Subject};
use crate::repositories::{sessions, users};

/// A signed-in user whose password has just been checked.
struct Proved {
    credentials: UserCredentials,
    email: Option<String>,
    attempt: Attempt,
    slot: Slot,
}

/// Checks the password of a signed-in user, throttled like a log-in.
async fn prove(
    context: &Context,
    caller: &Authenticated,
    password: Password,
    client: &Client,
) -> Result<Proved> {
    let (user_id, session_id) = (caller.session.user_id, caller.session.id);
    let address = client.coarse_address();
    let throttle = context.config.throttle.clone();
    let slot = context.hasher.slot().await?;
    let (found, attempt, delay) = context
        .database
        .read(move |conn| {
            let user = users::find(conn, user_id)?;
            let credentials = users::find_credentials(conn, user_id)?;
            // Under the same name as at the log-in, so that they share their counts.
            let email = user.and_then(|user| user.email);
            let account = email
                .as_deref()
                .map_or_else(|| user_id.to_string(), str::to_lowercase);
            let attempt = Attempt::new(&throttle, Some(&account), address);
            let has_password = credentials
                .as_ref()
                .is_some_and(|credentials| credentials.password_hash.is_some());
            let delay = match has_password {
                true => attempt.begin(conn)?,
                false => None,
            };
            Ok((
                credentials.map(|credentials| (credentials, email)),
                attempt,
                delay,
            ))
        })
        .await?;
    let (credentials, email) = found.ok_or(Refusal::SessionUnknown)?;
    let Some(stored) = credentials.password_hash.clone() else {
        return Err(Refusal::PasswordNotSet);
    };
    refuse_throttled(delay)?;
    let (check, slot) = context.hasher.check(slot, password, Some(stored)).await?;
    if check == Check::Wrong {
        record_failure(context, attempt, Some(user_id), Some(session_id), address).await?;
        return Err(Refusal::PasswordIncorrect);
    }
    Ok(Proved {
        credentials,
        email,
        attempt,
        slot,
    })
}

/// Changes the password: every session ends, and the caller gets a new one in their place. Tells
/// how many ended, the caller's old one among them.
///
/// # Errors
/// `PasswordIncorrect`, `PasswordNotSet`, `PasswordRejected`, `Throttled`, `SessionRevoked` where
/// the caller's own session ended meanwhile, `Unavailable`.
pub async fn change_password(
    context: &Arc<Context>,
    caller: &Authenticated,
    current: Password,
    new: Password,
    client: Client,
) -> Result<(Opened, usize)> {
    let proved = prove(context, caller, current, &client).await?;
    let email = proved
        .email
        .as_deref()
        .and_then(|email| Email::parse(email).ok());
    if let Err(rejection) = context.config.password.policy.check(&new, email.as_ref()) {
        // The old one was right: another try at the new one need not wait.
        let attempt = proved.attempt;
        context
            .database
            .write(move |conn| attempt.succeeded(conn))
            .await?;
        return Err(Refusal::PasswordRejected(rejection));
    }
    let (hash, slot) = context.hasher.hash(proved.slot, new).await?;
    drop(slot);
    let token = new_token()?;
    let (context_, new_token, session) = (context.clone(), token.clone(), caller.session.clone());
    let request = SessionRequest {
        remember_me: session.remember_me,
        device_label: session.device_label.clone(),
        // Of what has just been proved.
        auth_level: AuthLevel::Password,
        client,
    };
    let (known, attempt, presented) = (proved.credentials, proved.attempt, caller.hash);
    let changed = context.database.write(move |conn| {
        let actor = Actor::user(session.user_id, request.client.coarse_address());
        let Some((user, now)) = users::lock(conn, session.user_id)? else {
            return Ok(None);
        };
        let is_current =
            now.password_changed_at == known.password_changed_at && now.disabled_at.is_none();
        if !is_current || !sessions::lock_active(conn, session.id, &presented)? {
            return Ok(None);
        }
        users::set_password(conn, user.id, &hash)?;
        attempt.succeeded(conn)?;
        let subject = Subject {
            user_id: Some(user.id),
            session_id: Some(session.id),
            ..Subject::default()
        };
        session_events::record(conn, EventKind::PasswordChanged, actor, &subject)?;
        let ended = endings::end_all(conn, user.id, Reason::PasswordChanged, None, actor, None)?;
        let opened = open_session(conn, &context_, &user, &request, &new_token, actor)?;
        Ok(Some((user, opened, ended)))
    });
    match changed.await? {
        Some((user, session, ended)) => {
            let opened = Opened {
                user,
                session,
                token,
            };
            Ok((opened, ended))
        }
        None => Err(why_ended(context, caller).await),
    }
}

/// Proves the password again: the session gets a new token and a new authentication time, and its
/// cap begins anew. Its level becomes that of the password: time and level tell of one and the same
/// proof, so that nobody takes an old second factor for a recent one.
///
/// # Errors
/// Like [`change_password`].
pub async fn reauthenticate(
    context: &Context,
    caller: &Authenticated,
    password: Password,
    client: &Client,
) -> Result<Opened> {
    let proved = prove(context, caller, password, client).await?;
    drop(proved.slot);
    let token = new_token()?;
    let (session, old, new) = (caller.session.clone(), caller.hash, token.hash());
    let (known, attempt, address) = (proved.credentials, proved.attempt, client.coarse_address());
    let lifetimes = context.config.session.clone();
    let renewed = context.database.write(move |conn| {
        let Some((user, now)) = users::lock(conn, session.user_id)? else {
            return Ok(None);
        };
        if now.password_changed_at != known.password_changed_at || now.disabled_at.is_some() {
            return Ok(None);
        }
        let lifetime = lifetimes.lifetime(user.role, session.remember_me);
        let Some(session) = sessions::reauthenticate(conn, session.id, &old, &new, lifetime)?
        else {
            return Ok(None);
        };
        attempt.succeeded(conn)?;
        let subject = Subject {
            user_id: Some(user.id),
            session_id: Some(session.id),
            device_label: session.device_label.as_deref(),
            note: None,
        };
        session_events::record(
            conn,
            EventKind::Reauthenticated,
            Actor::user(user.id, address),
            &subject,
        )?;
        Ok(Some((user, session)))
    });
    match renewed.await? {
        Some((user, session)) => Ok(Opened {
            user,
            session,
            token,
        }),
        None => Err(why_ended(context, caller).await),
    }
}

/// Deletes the caller's account; returns how many sessions ended.
///
/// # Errors
/// Like [`change_password`].
pub async fn delete_account(
    context: &Context,
    caller: &Authenticated,
    password: Password,
    client: &Client,
) -> Result<usize> {
    let proved = prove(context, caller, password, client).await?;
    drop(proved.slot);
    let (session, presented) = (caller.session.clone(), caller.hash);
    let (known, address) = (proved.credentials, client.coarse_address());
    let deleted = context.database.write(move |conn| {
        let Some((user, now)) = users::lock(conn, session.user_id)? else {
            return Ok(None);
        };
        let is_current = now.password_changed_at == known.password_changed_at;
        if !is_current || !sessions::lock_active(conn, session.id, &presented)? {
            return Ok(None);
        }
        crate::services::users::erase(conn, user.id, Actor::user(user.id, address)).map(Some)
    });
    match deleted.await? {
        Some(revoked) => Ok(revoked),
        None => Err(why_ended(context, caller).await),
    }
}

/// Why a session that was valid a moment ago is no more.
pub(super) async fn why_ended(context: &Context, caller: &Authenticated) -> Refusal {
    let id = caller.session.id;
    let found = context
        .database
        .read(move |conn| sessions::find(conn, id))
        .await;
    match found.map(|session| session.map(|session| session.verdict())) {
        Err(failure) => failure.into(),
        Ok(Some(crate::domain::session::Verdict::Revoked(reason))) => {
            Refusal::SessionRevoked(reason)
        }
        Ok(Some(crate::domain::session::Verdict::Expired)) => Refusal::SessionExpired,
        // Deleted, or valid still but under another token.
        Ok(_) => Refusal::SessionUnknown,
    }
}
