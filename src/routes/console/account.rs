//! The users' own pages.

use actix_web::HttpResponse;
use actix_web::dev::HttpServiceFactory;
use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Query};
use askama::Template;
use serde::Deserialize;
use uuid::Uuid;

use super::super::cookie;
use super::super::error::ApiError;
use super::super::filters::PageQuery;
use super::super::v1::auth::{email, password};
use super::done::Done;
use super::messages::counted;
use super::page::{Frame, redirect, refuse, show, show_or_refuse};
use super::view::{EventRow, SessionRow};
use super::visit::{Nothing, Posted, Visit};
use super::{ACCOUNT, at, confirm, entrance, not_found};
use crate::domain::text::{MAX_LABEL_CHARS, display_text};
use crate::services::refusal::invalid;
use crate::services::sessions::{self, Scope};
use crate::services::{Refusal, auth};

/// Events on a page.
const EVENTS: u16 = 50;

/// The pages under /account.
pub fn scope() -> impl HttpServiceFactory {
    web::scope(ACCOUNT)
        .service(
            at("", "GET, HEAD")
                .route(web::get().to(devices))
                .route(web::head().to(devices)),
        )
        .service(
            at("/sign_in", "GET, HEAD, POST")
                .route(web::get().to(entrance::form))
                .route(web::head().to(entrance::form))
                .route(web::post().to(entrance::sign_in)),
        )
        .service(
            at("/sign_up", "GET, HEAD, POST")
                .route(web::get().to(sign_up_form))
                .route(web::head().to(sign_up_form))
                .route(web::post().to(sign_up)),
        )
        .service(at("/sign_out", "POST").route(web::post().to(entrance::sign_out)))
        .service(at("/devices/{id}/rename", "POST").route(web::post().to(rename)))
        .service(at("/devices/{id}/end", "POST").route(web::post().to(end)))
        .service(at("/end_others", "POST").route(web::post().to(end_others)))
        .service(at("/end_all", "POST").route(web::post().to(end_all)))
        .service(
            at("/password", "GET, HEAD, POST")
                .route(web::get().to(password_form))
                .route(web::head().to(password_form))
                .route(web::post().to(change_password)),
        )
        .service(
            at("/history", "GET, HEAD")
                .route(web::get().to(history))
                .route(web::head().to(history)),
        )
        .service(
            at("/confirm", "GET, HEAD, POST")
                .route(web::get().to(confirm::form))
                .route(web::head().to(confirm::form))
                .route(web::post().to(confirm::confirm)),
        )
        .default_service(web::to(not_found))
}

#[derive(Template)]
#[template(path = "account/sign_up.html")]
struct SignUpPage {
    f: Frame,
    email: String,
    min_length: usize,
}

fn sign_up_page(visit: &Visit, email: String, error: Option<ApiError>) -> HttpResponse {
    let f = visit.frame().with(error.as_ref());
    let min_length = visit.context.config.password.policy.min_length;
    let page = SignUpPage {
        f,
        email,
        min_length,
    };
    show_or_refuse(error, &page)
}

/// GET sign_up
async fn sign_up_form(visit: Visit) -> HttpResponse {
    match visit.context.config.sign_up_enabled {
        true => sign_up_page(&visit, String::new(), None),
        false => visit.fail(Refusal::SignUpDisabled.into()),
    }
}

#[derive(Deserialize)]
struct SignUp {
    email: String,
    password: String,
}

/// POST sign_up
async fn sign_up(visit: Visit, posted: Posted<SignUp>) -> HttpResponse {
    let fields = match posted.0 {
        Ok(form) => form.fields(),
        Err(error) => return visit.fail(error),
    };
    let typed = fields.email.clone();
    let made = async {
        let address = email(&fields.email)?;
        let secret = password("password", fields.password)?;
        Ok(auth::sign_up(&visit.context, address, secret, &visit.client).await?)
    };
    match made.await {
        Ok(_user) => entrance::told(&visit, |m| m.done_signed_up.to_owned()),
        Err(error) => sign_up_page(&visit, typed, Some(error)),
    }
}

#[derive(Template)]
#[template(path = "account/devices.html")]
struct DevicesPage {
    f: Frame,
    rows: Vec<SessionRow>,
}

/// GET /account
async fn devices(visit: Visit) -> HttpResponse {
    let shown = async {
        let member = visit.member().await?;
        let found = sessions::list(&visit.context, &member.caller).await?;
        let f = visit.frame_of(&member.user, &member.caller).at("devices");
        let own = member.caller.session.id;
        let mut rows: Vec<_> = found
            .iter()
            .map(|session| SessionRow::new(f.m, session, None, session.id == own))
            .collect();
        rows.sort_by_key(|row| !row.is_current);
        Ok(show(StatusCode::OK, &DevicesPage { f, rows }))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

fn device_id(path: &Path<String>) -> Result<Uuid, ApiError> {
    Uuid::try_parse(path).map_err(|_not_an_id| Refusal::NotFound.into())
}

#[derive(Deserialize)]
struct Rename {
    name: String,
}

/// POST devices/{id}/rename
async fn rename(visit: Visit, path: Path<String>, posted: Posted<Rename>) -> HttpResponse {
    let renamed = async {
        let member = visit.member().await?;
        let fields = posted.0?.fields_of(&member.caller)?;
        let label = display_text(&fields.name, MAX_LABEL_CHARS).map_err(invalid("name"))?;
        sessions::rename(&visit.context, &member.caller, device_id(&path)?, label).await?;
        let done = Done::Renamed.query(&member.caller.hash);
        Ok(redirect(&format!("{ACCOUNT}?{done}")))
    };
    renamed.await.unwrap_or_else(|error| visit.fail(error))
}

/// POST devices/{id}/end
async fn end(visit: Visit, path: Path<String>, posted: Posted<Nothing>) -> HttpResponse {
    let ended = async {
        let member = visit.member().await?;
        posted.0?.fields_of(&member.caller)?;
        let (caller, id) = (&member.caller, device_id(&path)?);
        let count = sessions::end_one(&visit.context, caller, id, &visit.client).await?;
        if id == caller.session.id {
            return Ok(entrance::leave(&visit, |m| m.done_signed_out.to_owned()));
        }
        let done = Done::SessionsEnded(count).query(&caller.hash);
        Ok(redirect(&format!("{ACCOUNT}?{done}")))
    };
    ended.await.unwrap_or_else(|error| visit.fail(error))
}

async fn end_many(visit: Visit, posted: Posted<Nothing>, scope: Scope) -> HttpResponse {
    let ended = async {
        let member = visit.member().await?;
        posted.0?.fields_of(&member.caller)?;
        let caller = &member.caller;
        let count = sessions::end_many(&visit.context, caller, scope, &visit.client).await?;
        if scope == Scope::All {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            return Ok(entrance::leave(&visit, |m| {
                counted(m.done_ended_everywhere, count)
            }));
        }
        let done = Done::SessionsEnded(count).query(&caller.hash);
        Ok(redirect(&format!("{ACCOUNT}?{done}")))
    };
    ended.await.unwrap_or_else(|error| visit.fail(error))
}

/// POST end_others
async fn end_others(visit: Visit, posted: Posted<Nothing>) -> HttpResponse {
    end_many(visit, posted, Scope::Others).await
}

/// POST end_all
async fn end_all(visit: Visit, posted: Posted<Nothing>) -> HttpResponse {
    end_many(visit, posted, Scope::All).await
}

#[derive(Template)]
#[template(path = "account/password.html")]
struct PasswordPage {
    f: Frame,
    min_length: usize,
}

/// GET password
async fn password_form(visit: Visit) -> HttpResponse {
    let shown = async {
        let member = visit.member().await?;
        let page = PasswordPage {
            f: visit.frame_of(&member.user, &member.caller).at("password"),
            min_length: visit.context.config.password.policy.min_length,
        };
        Ok(show(StatusCode::OK, &page))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

#[derive(Deserialize)]
struct ChangePassword {
    current_password: String,
    new_password: String,
}

/// POST password
async fn change_password(visit: Visit, posted: Posted<ChangePassword>) -> HttpResponse {
    let changed = async {
        let member = visit.member().await?;
        let fields = posted.0?.fields_of(&member.caller)?;
        let changed = async {
            let current = password("current_password", fields.current_password)?;
            let new = password("new_password", fields.new_password)?;
            let (caller, client) = (&member.caller, visit.client.clone());
            auth::change_password(&visit.context, caller, current, new, client).await
        };
        match changed.await {
            Ok((opened, ended)) => {
                let config = &visit.context.config.cookie;
                let set = cookie::set(config, &opened.user, &opened.session, &opened.token);
                let done =
                    Done::PasswordChanged(ended.saturating_sub(1)).query(&opened.token.hash());
                let mut response = redirect(&format!("{ACCOUNT}?{done}"));
                if let Some((name, value)) = cookie::header(&set) {
                    response.headers_mut().append(name, value);
                }
                Ok(response)
            }
            Err(
                refusal @ (Refusal::PasswordIncorrect
                | Refusal::PasswordRejected(_)
                | Refusal::InvalidField { .. }
                | Refusal::Throttled { .. }),
            ) => {
                let error = ApiError::from(refusal);
                let f = visit.frame_of(&member.user, &member.caller).at("password");
                let f = f.with(Some(&error));
                let min_length = visit.context.config.password.policy.min_length;
                Ok(refuse(error, &PasswordPage { f, min_length }))
            }
            Err(other) => Err(other.into()),
        }
    };
    changed.await.unwrap_or_else(|error| visit.fail(error))
}

#[derive(Template)]
#[template(path = "account/history.html")]
struct HistoryPage {
    f: Frame,
    rows: Vec<EventRow>,
    next: Option<i64>,
}

/// GET history
async fn history(visit: Visit) -> HttpResponse {
    let shown = async {
        let member = visit.member().await?;
        let query = Query::<PageQuery>::from_query(visit.request.query_string())
            .map_err(|_unknown| super::super::malformed_query())?;
        let before = query.cursor()?;
        let (context, caller) = (&visit.context, &member.caller);
        let (events, next) = sessions::history(context, caller, before, EVENTS).await?;
        let f = visit.frame_of(&member.user, caller).at("history");
        let (m, now) = (f.m, caller.session.as_of);
        let viewer = Some(member.user.id);
        let row = |event| EventRow::new(m, event, now, viewer);
        let rows = events.into_iter().map(row).collect();
        Ok(show(StatusCode::OK, &HistoryPage { f, rows, next }))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}
