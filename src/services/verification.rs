//! Checking presented tokens: what every request does, so that it decides how fast the service is.
//! The database is asked every time; concurrent checks share a query (see [`crate::db::coalescer`]).

use chrono::TimeDelta;
use futures_util::future::try_join_all;

use super::{Refusal, Result};
use crate::context::Context;
use crate::domain::session::{AuthLevel, Session, Verdict};
use crate::domain::token::{SessionHash, SessionToken};
use crate::domain::user::User;
use crate::metrics;
use crate::repositories::sessions::{self, Found};

/// Tokens that are looked up; a browser has one, or two while names and domains change. Of more
/// nobody knows which is meant, and the live one among them must not be called unknown.
const MAX_ASKED: usize = 4;

/// A session whose token was presented and that was valid a moment ago.
#[derive(Debug, Clone)]
pub struct Authenticated {
    /// The session.
    pub session: Session,
    /// Hash of the presented token.
    pub hash: SessionHash,
}

/// Finds the one valid session among the presented tokens (several where a browser sends several
/// cookies of our name). `touch` records the use, without waiting for it.
///
/// # Errors
/// Why there is none, or that it could not be found out.
pub async fn authenticate(
    context: &Context,
    tokens: &[SessionToken],
    touch: bool,
) -> Result<Authenticated> {
    let hashes: Vec<SessionHash> = tokens.iter().map(SessionToken::hash).collect();
    let found = match context.config.database.coalesce {
        _ if hashes.len() > MAX_ASKED => Err(Refusal::SessionAmbiguous),
        true => shared(context, &hashes, touch).await,
        false => alone(context, &hashes, touch).await,
    };
    let result = found.and_then(|found| judge(hashes, found));
    context.metrics.verifications.count(verdict(&result));
    result
}

fn verdict(result: &Result<Authenticated>) -> metrics::Verdict {
    use metrics::Verdict;
    match result {
        Ok(_) => Verdict::Active,
        Err(Refusal::SessionExpired) => Verdict::Expired,
        Err(Refusal::SessionRevoked(_)) => Verdict::Revoked,
        Err(Refusal::SessionAmbiguous) => Verdict::Ambiguous,
        Err(Refusal::Unavailable(_) | Refusal::Internal(_)) => Verdict::Unavailable,
        Err(_) => Verdict::Unknown,
    }
}

/// The refusal of a request that presents no token, or nothing that has the form of one: known
/// without asking.
pub fn refuse_unasked(context: &Context, is_any: bool) -> Refusal {
    let (refusal, verdict) = match is_any {
        true => (Refusal::SessionUnknown, metrics::Verdict::Unknown),
        false => (Refusal::CredentialsMissing, metrics::Verdict::Missing),
    };
    context.metrics.verifications.count(verdict);
    refusal
}

async fn shared(
    context: &Context,
    hashes: &[SessionHash],
    touch: bool,
) -> Result<Vec<Option<Found>>> {
    let found = match hashes {
        [hash] => vec![context.lookups.get(*hash).await?],
        _ => try_join_all(hashes.iter().map(|hash| context.lookups.get(*hash))).await?,
    };
    for found in found
        .iter()
        .flatten()
        .filter(|found| touch && is_touchable(found))
    {
        context.touches.submit(found.session.id);
    }
    Ok(found)
}

async fn alone(
    context: &Context,
    hashes: &[SessionHash],
    touch: bool,
) -> Result<Vec<Option<Found>>> {
    let (wanted, interval) = (hashes.to_vec(), context.config.session.touch_interval);
    let margin = TimeDelta::from_std(context.config.database.timeout).unwrap_or(TimeDelta::MAX);
    let rows = context.database.read(move |conn| {
        let rows = sessions::find_by_hashes(conn, &wanted, interval)?;
        let stale: Vec<_> = rows
            .iter()
            .filter(|f| touch && is_touchable(f))
            .map(|f| f.session.id)
            .collect();
        if !stale.is_empty()
            && let Err(error) = sessions::touch(conn, &stale, interval, margin)
        {
            log::warn!(error:%; "last_seen_at could not be written");
        }
        Ok(rows)
    });
    let rows = rows.await?;
    let of = |hash: &SessionHash| {
        rows.iter()
            .find(|row| row.session_hash == hash.as_str())
            .cloned()
    };
    Ok(hashes.iter().map(of).collect())
}

fn is_touchable(found: &Found) -> bool {
    found.is_stale && found.session.is_active
}

fn judge(hashes: Vec<SessionHash>, found: Vec<Option<Found>>) -> Result<Authenticated> {
    let mut live = None;
    let mut refusal = Refusal::SessionUnknown;
    for (hash, found) in hashes.into_iter().zip(found) {
        let Some(Found { session, .. }) = found else {
            continue;
        };
        match session.verdict() {
            Verdict::Active if live.is_some() => return Err(Refusal::SessionAmbiguous),
            Verdict::Active => live = Some(Authenticated { session, hash }),
            Verdict::Revoked(reason) => refusal = Refusal::SessionRevoked(reason),
            Verdict::Expired if matches!(refusal, Refusal::SessionUnknown) => {
                refusal = Refusal::SessionExpired
            }
            Verdict::Expired => {}
        }
    }
    live.ok_or(refusal)
}

/// Demands that the user proved the password recently enough.
///
/// # Errors
/// `ReauthenticationRequired`.
pub fn require_recent(session: &Session, max_age: Option<TimeDelta>) -> Result<()> {
    match max_age {
        Some(max_age) if session.authentication_age() > max_age => {
            Err(Refusal::ReauthenticationRequired { max_age })
        }
        _ => Ok(()),
    }
}

/// Demands a strength of authentication.
///
/// # Errors
/// `AuthLevelInsufficient`.
pub fn require_level(session: &Session, level: AuthLevel) -> Result<()> {
    // The levels are declared in rising order.
    if session.auth_level >= level {
        Ok(())
    } else {
        Err(Refusal::AuthLevelInsufficient)
    }
}

/// Whether sessions can be checked now. Asks in the way in which they are checked, so that a pool
/// busy with other work does not take the instance away from those that only want a check.
///
/// # Errors
/// `Unavailable`.
pub async fn is_answering(context: &Context) -> Result<()> {
    match context.config.database.coalesce {
        true => context
            .lookups
            .get(SessionHash::of_nobody())
            .await
            .map(|_| ())?,
        false => context.database.ping().await?,
    }
    Ok(())
}

/// The owner of a session.
///
/// # Errors
/// `SessionUnknown` where the account has been deleted this moment.
pub async fn owner(context: &Context, session: &Session) -> Result<User> {
    let id = session.user_id;
    let user = match context.config.database.coalesce {
        true => context.users.get(id).await?,
        false => {
            context
                .database
                .read(move |conn| crate::repositories::users::find(conn, id))
                .await?
        }
    };
    user.ok_or(Refusal::SessionUnknown)
}
