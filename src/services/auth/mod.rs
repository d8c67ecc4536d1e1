//! Signing up, logging in and out.

mod login;
mod proof;
mod renewal;

pub use login::*;
pub use proof::*;
pub use renewal::*;

use chrono::TimeDelta;
use diesel::pg::PgConnection;
use diesel::result::QueryResult;
use uuid::Uuid;

use super::throttle::Attempt;
use super::{Refusal, Result, endings};
use crate::context::Context;
use crate::db::Failure;
use crate::domain::client::Client;
use crate::domain::credentials::{Email, Password};
use crate::domain::event::{Actor, ActorKind, EventKind};
use crate::domain::session::{AuthLevel, Reason, Session};
use crate::domain::token::{SessionHash, SessionToken};
use crate::domain::user::{Role, User};
use crate::repositories::session_events::{self, Subject};
use crate::repositories::sessions::NewSession;
use crate::repositories::{sessions, users};

/// A session that has just begun or been given a new token; the only time that the token is seen.
#[derive(Debug)]
pub struct Opened {
    /// Whose.
    pub user: User,
    /// The session.
    pub session: Session,
    /// Its token.
    pub token: SessionToken,
}

/// A new token, or a fault of ours.
pub(super) fn new_token() -> Result<SessionToken> {
    SessionToken::generate().map_err(|error| Refusal::Internal(error.to_string()))
}

/// What a new session is to be, apart from whose.
#[derive(Debug, Clone)]
pub struct SessionRequest {
    /// Longer life, persistent cookie. Not for administrators.
    pub remember_me: bool,
    /// The user's or app's own label; else one is made from the User-Agent.
    pub device_label: Option<String>,
    /// Strength of the authentication.
    pub auth_level: AuthLevel,
    /// Where from.
    pub client: Client,
}

/// Begins a session in a transaction that holds the lock on its user: ends those beyond the cap,
/// inserts, and records both.
pub(super) fn open_session(
    conn: &mut PgConnection,
    context: &Context,
    user: &User,
    request: &SessionRequest,
    token: &SessionToken,
    actor: Actor,
) -> QueryResult<Session> {
    let (lifetime, remember_me) = context
        .config
        .session
        .lifetime(user.role, request.remember_me);
    endings::end_beyond(
        conn,
        user.id,
        context.config.session.max_per_user.saturating_sub(1),
        actor,
    )?;
    let new = NewSession {
        user_id: user.id,
        hash: token.hash(),
        device_label: request
            .device_label
            .clone()
            .or_else(|| request.client.device_label()),
        ip_address: request.client.coarse_address(),
        user_agent_hash: request.client.user_agent_hash(),
        auth_level: request.auth_level,
        remember_me,
        lifetime,
    };
    let session = sessions::insert(conn, Uuid::now_v7(), &new)?;
    let subject = Subject {
        session_id: Some(session.id),
        user_id: Some(user.id),
        device_label: session.device_label.as_deref(),
        note: None,
    };
    session_events::record(conn, EventKind::SessionCreated, actor, &subject)?;
    Ok(session)
}

/// Demands that accounts are made here.
///
/// # Errors
/// `SignUpDisabled`.
pub fn require_sign_up(context: &Context) -> Result<()> {
    match context.config.sign_up_enabled {
        true => Ok(()),
        false => Err(Refusal::SignUpDisabled),
    }
}

/// Makes an account. Its first session begins with a log-in.
///
/// # Errors
/// `SignUpDisabled`, `PasswordRejected`, `Throttled`, `EmailTaken`, `Unavailable`.
pub async fn sign_up(
    context: &Context,
    email: Email,
    password: Password,
    client: &Client,
) -> Result<User> {
    require_sign_up(context)?;
    context
        .config
        .password
        .policy
        .check(&password, Some(&email))
        .map_err(Refusal::PasswordRejected)?;
    let address = client.coarse_address();
    let attempt = Attempt::new(&context.config.throttle, None, address);
    refuse_blocked(context, &attempt).await?;
    let slot = context.hasher.slot().await?;
    let counted = attempt.clone();
    // Sign-ups count however they end: each costs a hash, and tells whether an e-mail is taken.
    let delay = context.database.write(move |conn| {
        let delay = counted.delay(conn)?;
        if delay.is_none() {
            counted.failed(conn)?;
        }
        Ok(delay)
    });
    refuse_throttled(delay.await?)?;
    let (hash, slot) = context.hasher.hash(slot, password).await?;
    drop(slot);
    let made = context.database.write(move |conn| {
        let user = users::insert(conn, &email, &hash, Role::User)?;
        let subject = Subject {
            user_id: Some(user.id),
            ..Subject::default()
        };
        session_events::record(
            conn,
            EventKind::UserCreated,
            Actor::user(user.id, address),
            &subject,
        )?;
        Ok(user)
    });
    made.await.map_err(email_taken)
}

/// The unique index on e-mails has the last word on whether one is free.
pub(super) fn email_taken(failure: Failure) -> Refusal {
    match failure {
        Failure::Constraint(name) if name == users::EMAIL_UNIQUE => Refusal::EmailTaken,
        other => other.into(),
    }
}

/// Refuses what is throttled before it waits for its turn to hash, so that a flood of it takes no
/// turns from others.
async fn refuse_blocked(context: &Context, attempt: &Attempt) -> Result<()> {
    let asked = attempt.clone();
    refuse_throttled(context.database.read(move |conn| asked.delay(conn)).await?)
}

pub(super) fn refuse_throttled(delay: Option<TimeDelta>) -> Result<()> {
    match delay {
        Some(retry_after) => Err(Refusal::Throttled { retry_after }),
        None => Ok(()),
    }
}

/// Most presented tokens whose sessions are ended.
pub const MAX_PRESENTED: usize = 64;

/// The hashes of the presented tokens whose sessions live: of several, of which all but one are
/// likely to be junk, only those are worth a transaction.
pub(super) async fn living(
    context: &Context,
    presented: &[SessionToken],
) -> Result<Vec<SessionHash>> {
    let mut hashes: Vec<SessionHash> = presented.iter().map(SessionToken::hash).collect();
    if hashes.len() > 1 {
        let (asked, interval) = (hashes.clone(), context.config.session.touch_interval);
        let found = context
            .database
            .read(move |conn| sessions::find_by_hashes(conn, &asked, interval))
            .await?;
        hashes.retain(|hash| {
            let is_alive = |row: &sessions::Found| {
                row.session_hash == hash.as_str() && row.session.revoked_at.is_none()
            };
            found.iter().any(is_alive)
        });
    }
    Ok(hashes)
}

/// Ends the sessions of the presented tokens. Succeeds for any token.
///
/// # Errors
/// `SessionAmbiguous` for more of them than are looked at. `Unavailable`: then the client must keep its token, for the session lives.
pub async fn logout(
    context: &Context,
    presented: &[SessionToken],
    client: &Client,
) -> Result<usize> {
    if presented.len() > MAX_PRESENTED {
        return Err(Refusal::SessionAmbiguous);
    }
    let address = client.coarse_address();
    let mut revoked = 0;
    // A transaction each: two rows held at once, without the lock on the user, invite deadlocks.
    for hash in living(context, presented).await? {
        let ended = context.database.write(move |conn| {
            let actor = |owner| Actor::user(owner, address);
            endings::end_by_hash(conn, &hash, Reason::UserLogout, None, actor)
        });
        revoked += ended.await?;
    }
    Ok(revoked)
}

/// Records a failed check of a password and counts it, in a transaction of its own: it stays though
/// the request fails.
pub(super) async fn record_failure(
    context: &Context,
    attempt: Attempt,
    user_id: Option<i64>,
    session_id: Option<Uuid>,
    address: Option<ipnetwork::IpNetwork>,
) -> Result<()> {
    let recorded = context
        .database
        .write(move |conn| record_failure_in(conn, &attempt, user_id, session_id, address));
    Ok(recorded.await?)
}

fn record_failure_in(
    conn: &mut PgConnection,
    attempt: &Attempt,
    user_id: Option<i64>,
    session_id: Option<Uuid>,
    address: Option<ipnetwork::IpNetwork>,
) -> QueryResult<()> {
    attempt.failed(conn)?;
    // Who failed to log in is not known to be the user; a signed-in user is.
    let actor = Actor {
        kind: ActorKind::User,
        id: session_id.and(user_id),
        address,
    };
    let subject = Subject {
        user_id,
        session_id,
        ..Subject::default()
    };
    session_events::record(conn, EventKind::LoginFailed, actor, &subject)
}
