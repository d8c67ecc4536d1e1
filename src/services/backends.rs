//! What backends that hold the service key do for their users: begin sessions for those whom they
//! authenticate themselves, ask about tokens, and end them.

use std::sync::Arc;

use super::auth::{self, Opened, SessionRequest};
use super::verification::{self, Authenticated};
use super::{Refusal, Result, endings};
use crate::context::Context;
use crate::domain::credentials::Email;
use crate::domain::event::{Actor, EventKind};
use crate::domain::session::Reason;
use crate::domain::token::SessionToken;
use crate::domain::user::{User, UserCredentials};
use crate::repositories::session_events::{self, Subject};
use crate::repositories::users;

/// A session that a backend asks for.
#[derive(Debug, Clone)]
pub struct Issue {
    /// Whose; positive.
    pub user_id: i64,
    /// For the account, if it is to be made. That of a known account stays as it is.
    pub email: Option<Email>,
    /// The session to begin. Its client is the user's, not the backend.
    pub request: SessionRequest,
}

/// Why a session was not begun, as the transaction saw it.
enum Denial {
    EmailTaken,
    EmailConflict,
    Disabled,
    Gone,
}

/// Begins a session for a user whom the caller has authenticated; makes the account if it is new.
///
/// # Errors
/// `EmailTaken` where the e-mail is another user's: accounts are never linked by it. `EmailConflict`
/// where the account of this id was made, or has taken a password, here under another e-mail.
/// `UserDisabled`, `Unavailable`.
pub async fn issue(context: &Arc<Context>, issue: Issue) -> Result<Opened> {
    let token = auth::new_token()?;
    let (context_, new) = (context.clone(), token.clone());
    let opened = context.database.write(move |conn| {
        let Issue {
            user_id,
            email,
            request,
        } = &issue;
        let actor = Actor::service(request.client.coarse_address());
        if let Some(email) = email
            && users::find_by_email(conn, email)?.is_some_and(|user| user.id != *user_id)
        {
            return Ok(Err(Denial::EmailTaken));
        }
        let mut locked = users::lock(conn, *user_id)?;
        if locked.is_none() {
            if users::insert_external(conn, *user_id, email.as_ref())? {
                let subject = Subject {
                    user_id: Some(*user_id),
                    ..Subject::default()
                };
                session_events::record(conn, EventKind::UserCreated, actor, &subject)?;
            }
            locked = users::lock(conn, *user_id)?;
        }
        match locked {
            None => Ok(Err(Denial::Gone)),
            Some((user, now)) if is_somebody_else(&user, &now, email.as_ref()) => {
                Ok(Err(Denial::EmailConflict))
            }
            Some((user, _)) if user.disabled_at.is_some() => Ok(Err(Denial::Disabled)),
            Some((user, _)) => {
                let session = auth::open_session(conn, &context_, &user, request, &new, actor)?;
                Ok(Ok((user, session)))
            }
        }
    });
    match opened.await.map_err(auth::email_taken)? {
        Ok((user, session)) => {
            context.metrics.issued.inc();
            Ok(Opened {
                user,
                session,
                token,
            })
        }
        Err(Denial::EmailTaken) => Err(Refusal::EmailTaken),
        Err(Denial::EmailConflict) => Err(Refusal::EmailConflict),
        Err(Denial::Disabled) => Err(Refusal::UserDisabled),
        Err(Denial::Gone) => Err(Refusal::Unavailable(
            "the account was deleted this moment".to_owned(),
        )),
    }
}

/// Whether the account is one that somebody made here, under another e-mail than the backend's: with
/// sign-ups in the same space of ids, that may be a stranger, who has a password to it.
fn is_somebody_else(user: &User, now: &UserCredentials, email: Option<&Email>) -> bool {
    match (&user.email, email) {
        (Some(stored), Some(email)) => {
            now.password_hash.is_some() && stored.to_lowercase() != email.as_str()
        }
        _ => false,
    }
}

/// The valid session of a token, and its owner; `None` for every token that opens nothing. Asking
/// is no use of the session.
///
/// # Errors
/// `Unavailable`.
pub async fn introspect(
    context: &Context,
    token: &SessionToken,
) -> Result<Option<(Authenticated, User)>> {
    let known = async {
        let caller =
            verification::authenticate(context, std::slice::from_ref(token), false).await?;
        let user = verification::owner(context, &caller.session).await?;
        Ok((caller, user))
    };
    match known.await {
        Ok(known) => Ok(Some(known)),
        Err(refusal @ (Refusal::Unavailable(_) | Refusal::Internal(_))) => Err(refusal),
        Err(_opens_nothing) => Ok(None),
    }
}

/// Ends the session of a token; succeeds for any token.
///
/// # Errors
/// `Unavailable`.
pub async fn revoke_token(
    context: &Context,
    token: &SessionToken,
    actor: Actor,
) -> Result<endings::RevokedCount> {
    let hash = token.hash();
    let ended = context.database.write(move |conn| {
        endings::end_by_hash(conn, &hash, Reason::ServiceRevoked, None, |_owner| actor)
    });
    Ok(ended.await?)
}
