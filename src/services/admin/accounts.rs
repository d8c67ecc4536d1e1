//! Finding accounts, and what is done to them.

use super::{Administrator, Page, search};
use crate::context::Context;
use crate::domain::problem::Problem;
use crate::domain::search::UserFilter;
use crate::domain::session::{Reason, Session};
use crate::domain::user::User;
use crate::repositories::{sessions, users};
use crate::services::{Refusal, Result, refusal};

/// A page of accounts, newest first.
///
/// # Errors
/// `FilterTooBroad`, `Unavailable`.
pub async fn find_users(
    context: &Context,
    filter: UserFilter,
    before: Option<i64>,
    limit: u16,
) -> Result<Page<User, i64>> {
    let rows = i64::from(limit) + 1;
    let found = search(context, move |conn| {
        users::search(conn, &filter, before, rows)
    });
    Ok(Page::new(found.await?, limit, |user| user.id))
}

/// An account with its devices.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn user(context: &Context, id: i64) -> Result<(User, Vec<Session>)> {
    let found = context.database.read(move |conn| {
        let Some(user) = users::find(conn, id)? else {
            return Ok(None);
        };
        Ok(Some((user, sessions::list_active_of_user(conn, id)?)))
    });
    found.await?.ok_or(Refusal::NotFound)
}

/// Ends every session of a user; returns how many were active.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn revoke_user(
    context: &Context,
    admin: &Administrator,
    id: i64,
    note: Option<String>,
) -> Result<usize> {
    crate::services::users::revoke_sessions(context, id, Reason::AdminRevoked, admin.actor(), note)
        .await
}

/// Disables an account; returns how many sessions ended. Not one's own: whoever is locked out
/// could not undo it.
///
/// # Errors
/// `NotFound`, `InvalidField`, `Unavailable`.
pub async fn disable_user(
    context: &Context,
    admin: &Administrator,
    id: i64,
    note: Option<String>,
) -> Result<usize> {
    if id == admin.user.id {
        return Err(refusal::invalid("id")(Problem::OwnAccount));
    }
    crate::services::users::disable(context, id, admin.actor(), note).await
}

/// Lets a disabled account log in again.
///
/// # Errors
/// `NotFound`, `Unavailable`.
pub async fn enable_user(
    context: &Context,
    admin: &Administrator,
    id: i64,
    note: Option<String>,
) -> Result<()> {
    crate::services::users::enable(context, id, admin.actor(), note).await
}
