//! Accounts.

use actix_web::HttpResponse;
use actix_web::web::{Path, Query};
use askama::Template;

use super::super::super::error::ApiError;
use super::super::super::filters::UserQuery;
use super::super::done::Done;
use super::super::page::{Frame, redirect, show_or_refuse};
use super::super::view::{SessionRow, UserRow};
use super::super::visit::{Posted, Visit};
use super::sessions::Remark;
use super::{found_or_why, note};
use crate::domain::user::User;
use crate::services::Refusal;
use crate::services::admin::{self, Administrator, Page};

#[derive(Template)]
#[template(path = "admin/users.html")]
struct ListPage {
    f: Frame,
    q: UserQuery,
    rows: Vec<UserRow>,
    first: Option<String>,
    next: Option<String>,
}

impl ListPage {
    fn value<'a>(&self, field: &'a Option<String>) -> &'a str {
        field.as_deref().unwrap_or_default()
    }

    fn is_chosen(&self, value: &str) -> bool {
        self.value(&self.q.disabled) == value
    }
}

/// GET users
pub async fn list(visit: Visit) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let q = Query::<UserQuery>::from_query(visit.request.query_string())
            .map_err(|_unknown| super::super::super::malformed_query())?
            .into_inner();
        let (found, why) = found_or_why(search(&visit, &q).await)?;
        let f = visit.frame_of(&admin.user, &admin.caller).at("users");
        let f = f.with(why.as_ref());
        let now = admin.caller.session.as_of;
        let page = ListPage {
            rows: found
                .items
                .iter()
                .map(|user| UserRow::new(f.m, user, now))
                .collect(),
            first: q.cursor.is_some().then(|| q.at(None)),
            next: found.next.map(|next| q.at(Some(next.to_string()))),
            q,
            f,
        };
        Ok(show_or_refuse(why, &page))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

async fn search(visit: &Visit, q: &UserQuery) -> Result<Page<User, i64>, ApiError> {
    let (filter, cursor, limit) = (q.filter()?, q.cursor()?, q.limit()?);
    Ok(admin::find_users(&visit.context, filter, cursor, limit).await?)
}

#[derive(Template)]
#[template(path = "admin/user.html")]
struct UserPage {
    f: Frame,
    u: UserRow,
    rows: Vec<SessionRow>,
    is_self: bool,
    /// What was typed where, where it was refused.
    typed: Option<(Action, String)>,
}

impl UserPage {
    fn typed(&self, action: Action) -> Option<&str> {
        let (refused, text) = self.typed.as_ref()?;
        (*refused == action).then_some(text)
    }
}

fn user_id(path: &Path<String>) -> Result<i64, ApiError> {
    path.parse()
        .map_err(|_not_a_number| Refusal::NotFound.into())
}

/// A user; with a remark that was refused, and why.
async fn user_page(
    visit: &Visit,
    admin: &Administrator,
    id: i64,
    refused: Option<((Action, String), ApiError)>,
) -> Result<HttpResponse, ApiError> {
    let (user, sessions) = admin::user(&visit.context, id).await?;
    let f = visit.frame_of(&admin.user, &admin.caller).at("users");
    let (m, own) = (f.m, admin.caller.session.id);
    let row = |session: &crate::domain::session::Session| {
        SessionRow::new(m, session, user.email.as_deref(), session.id == own)
    };
    let (typed, why) = refused.unzip();
    let page = UserPage {
        rows: sessions.iter().map(row).collect(),
        u: UserRow::new(m, &user, admin.caller.session.as_of),
        is_self: user.id == admin.user.id,
        typed,
        f: f.with(why.as_ref()),
    };
    Ok(show_or_refuse(why, &page))
}

/// GET users/{id}
pub async fn show_user(visit: Visit, path: Path<String>) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        user_page(&visit, &admin, user_id(&path)?, None).await
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

/// What is done to a user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    EndAll,
    Disable,
    Enable,
}

async fn act(
    visit: Visit,
    path: Path<String>,
    posted: Posted<Remark>,
    action: Action,
) -> HttpResponse {
    let acted = async {
        let admin = visit.administrator().await?;
        let fields = posted.0?.fields_of(&admin.caller)?;
        let (id, context) = (user_id(&path)?, &visit.context);
        let note = match note(&fields.note) {
            Ok(note) => note,
            Err(refusal) => {
                let refused = ((action, fields.note), refusal.into());
                return user_page(&visit, &admin, id, Some(refused)).await;
            }
        };
        let done = match action {
            Action::EndAll => {
                Done::SessionsEnded(admin::revoke_user(context, &admin, id, note).await?)
            }
            Action::Disable => {
                Done::UserDisabled(admin::disable_user(context, &admin, id, note).await?)
            }
            Action::Enable => {
                admin::enable_user(context, &admin, id, note).await?;
                Done::UserEnabled
            }
        };
        let done = done.query(&admin.caller.hash);
        Ok(redirect(&format!("/admin/users/{id}?{done}")))
    };
    acted.await.unwrap_or_else(|error| visit.fail(error))
}

/// POST users/{id}/end
pub async fn end_all(visit: Visit, path: Path<String>, posted: Posted<Remark>) -> HttpResponse {
    act(visit, path, posted, Action::EndAll).await
}

/// POST users/{id}/disable
pub async fn disable(visit: Visit, path: Path<String>, posted: Posted<Remark>) -> HttpResponse {
    act(visit, path, posted, Action::Disable).await
}

/// POST users/{id}/enable
pub async fn enable(visit: Visit, path: Path<String>, posted: Posted<Remark>) -> HttpResponse {
    act(visit, path, posted, Action::Enable).await
}
