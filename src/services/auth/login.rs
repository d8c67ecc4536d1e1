//! Logging in.

use super::super::passwords::Check;
use super::super::throttle::Attempt;
use super::super::{Refusal, Result, endings};
use super::{
    Opened, SessionRequest, living, new_token, open_session, record_failure, record_failure_in,
    refuse_blocked, refuse_throttled,
};
use crate::context::Context;
use crate::domain::credentials::{Email, Password};
use crate::domain::event::{Actor, EventKind};
use crate::domain::session::{Reason, Session};
use crate::domain::token::SessionToken;
use crate::domain::user::Role;
use crate::metrics::LoginOutcome;
use crate::repositories::session_events::{self, Subject};
use crate::repositories::users;

/// A log-in.
#[derive(Debug, Clone)]
pub struct Login {
    /// The submitted e-mail.
    pub email: Email,
    /// The submitted password.
    pub password: Password,
    /// The session to begin.
    pub request: SessionRequest,
    /// Tokens that came along: their sessions are superseded, never adopted.
    pub presented: Vec<SessionToken>,
    /// The only role that is let in here; nothing begins or ends for others.
    pub role: Option<Role>,
}

/// Logs a user in. Wrong, unknown, disabled and without a password are one answer at one cost.
///
/// # Errors
/// `InvalidCredentials`, `Forbidden` (entered in the ledger), `Throttled`, `Unavailable`.
pub async fn login(context: &std::sync::Arc<Context>, login: Login) -> Result<Opened> {
    let result = check_and_open(context, login).await;
    let outcome = match &result {
        Ok(_) => Some(LoginOutcome::Succeeded),
        Err(Refusal::InvalidCredentials | Refusal::Forbidden) => Some(LoginOutcome::Refused),
        Err(Refusal::Throttled { .. }) => Some(LoginOutcome::Throttled),
        // Our fault, not an outcome.
        Err(_) => None,
    };
    if let Some(outcome) = outcome {
        context.metrics.logins.count(outcome);
    }
    result
}

async fn check_and_open(context: &std::sync::Arc<Context>, login: Login) -> Result<Opened> {
    let address = login.request.client.coarse_address();
    let attempt = Attempt::new(
        &context.config.throttle,
        Some(login.email.as_str()),
        address,
    );
    refuse_blocked(context, &attempt).await?;
    let slot = context.hasher.slot().await?;
    let (asked, email) = (attempt.clone(), login.email.clone());
    let (delay, found) = context
        .database
        .read(move |conn| match asked.begin(conn)? {
            Some(delay) => Ok((Some(delay), None)),
            None => Ok((None, users::find_credentials_by_email(conn, &email)?)),
        })
        .await?;
    refuse_throttled(delay)?;
    let stored = found.as_ref().and_then(|user| user.password_hash.clone());
    let (check, slot) = context
        .hasher
        .check(slot, login.password.clone(), stored.clone())
        .await?;
    let (user, upgraded) = match (found, check) {
        (Some(user), Check::Right { upgraded }) if user.disabled_at.is_none() => (user, upgraded),
        (found, _) => {
            let user_id = found.map(|user| user.id);
            record_failure(context, attempt, user_id, None, address).await?;
            drop(slot);
            return Err(Refusal::InvalidCredentials);
        }
    };
    drop(slot);
    let token = new_token()?;
    let role = login.role;
    let (context_, request, new) = (context.clone(), login.request.clone(), token.clone());
    let opened = context.database.write(move |conn| {
        let actor = Actor::user(user.id, address);
        let locked = users::lock(conn, user.id)?;
        let known = locked.as_ref().map(|(account, _)| account.id);
        let current = locked.filter(|(_, now)| {
            now.disabled_at.is_none() && now.password_changed_at == user.password_changed_at
        });
        let Some((account, _)) = current else {
            // Disabled, deleted or given another password since it was checked. Of the deleted the
            // ledger must not learn an address again.
            record_failure_in(conn, &attempt, known, None, address)?;
            return Ok(Err(Refusal::InvalidCredentials));
        };
        if let (Some(old), Some(upgraded)) = (&stored, &upgraded) {
            users::upgrade_password_hash(conn, user.id, old, upgraded)?;
        }
        attempt.succeeded(conn)?;
        if role.is_some_and(|role| account.role != role) {
            let subject = Subject {
                user_id: Some(account.id),
                note: Some("log-in of administrators"),
                ..Subject::default()
            };
            session_events::record(conn, EventKind::AccessDenied, actor, &subject)?;
            return Ok(Err(Refusal::Forbidden));
        }
        let session = open_session(conn, &context_, &account, &request, &new, actor)?;
        Ok(Ok((account, session)))
    });
    let (user, session) = opened.await??;
    supersede(context, &login.presented, &session, address).await;
    Ok(Opened {
        user,
        session,
        token,
    })
}

/// Ends the sessions whose tokens came along with a log-in that succeeded: the same browser or app
/// would otherwise leave a ghost among the devices. A transaction each, never under the lock of a
/// second user. The log-in stands even if this fails; then the old session ends by its deadline.
async fn supersede(
    context: &Context,
    presented: &[SessionToken],
    new: &Session,
    address: Option<ipnetwork::IpNetwork>,
) {
    let (new_id, user_id) = (new.id, new.user_id);
    let hashes = match living(context, presented).await {
        Ok(hashes) => hashes,
        Err(refusal) => {
            log::warn!(refusal:?, session:% = new_id; "the superseded session could not be ended");
            return;
        }
    };
    for hash in hashes {
        let ended = context.database.write(move |conn| {
            let actor = |_owner| Actor::user(user_id, address);
            endings::end_by_hash(conn, &hash, Reason::Superseded, Some(new_id), actor)
        });
        if let Err(failure) = ended.await {
            log::warn!(error:% = failure, session:% = new_id; "the superseded session could not be ended");
        }
    }
}
