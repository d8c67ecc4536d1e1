//! Accounts.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;

use super::super::super::error::ApiError;
use super::super::super::filters::UserQuery;
use super::super::done::Done;
use super::super::page::{Frame, redirect, show};
use super::super::view::{SessionRow, UserRow};
use super::super::visit::{Posted, Visit};
use super::note;
use super::sessions::Remark;
use crate::services::Refusal;
use crate::services::admin;

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
        let (filter, cursor, limit) = (q.filter()?, q.cursor()?, q.limit()?);
        let found = admin::find_users(&visit.context, filter, cursor, limit).await?;
        let f = visit.frame_of(&admin.user, &admin.caller).at("users");
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
        Ok(show(StatusCode::OK, &page))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

#[derive(Template)]
#[template(path = "admin/user.html")]
struct UserPage {
    f: Frame,
    u: UserRow,
    rows: Vec<SessionRow>,
    is_self: bool,
}

fn user_id(path: &Path<String>) -> Result<i64, ApiError> {
    path.parse()
        .map_err(|_not_a_number| Refusal::NotFound.into())
}

/// GET users/{id}
pub async fn show_user(visit: Visit, path: Path<String>) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let (user, sessions) = admin::user(&visit.context, user_id(&path)?).await?;
        let f = visit.frame_of(&admin.user, &admin.caller).at("users");
        let (m, own) = (f.m, admin.caller.session.id);
        let row = |session: &crate::domain::session::Session| {
            SessionRow::new(m, session, user.email.as_deref(), session.id == own)
        };
        let page = UserPage {
            rows: sessions.iter().map(row).collect(),
            u: UserRow::new(m, &user, admin.caller.session.as_of),
            is_self: user.id == admin.user.id,
            f,
        };
        Ok(show(StatusCode::OK, &page))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

/// What is done to a user.
#[derive(Clone, Copy)]
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
        let (id, note, context) = (user_id(&path)?, note(&fields.note)?, &visit.context);
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
