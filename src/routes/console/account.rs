//! The users' own pages.

use actix_web::HttpResponse;
use actix_web::dev::HttpServiceFactory;
use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Query};
use askama::Template;
use serde::Deserialize;
use uuid::Uuid;

use super::super::error::ApiError;
use super::super::filters::PageQuery;
use super::super::v1::auth;
use super::done::Done;
use super::messages::counted;
use super::page::{Frame, redirect, refuse, show, show_or_refuse};
use super::view::{EventRow, SessionRow};
use super::visit::{Member, Nothing, Posted, Visit};
use super::{ACCOUNT, at, confirm, entrance, not_found, password};
use crate::domain::text::{MAX_LABEL_CHARS, display_text};
use crate::services::refusal::invalid;
use crate::services::sessions::{self, Scope};
use crate::services::{self, Refusal};

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
                .route(web::get().to(password::form))
                .route(web::head().to(password::form))
                .route(web::post().to(password::change)),
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
        let address = auth::email(&fields.email)?;
        let secret = auth::password("password", fields.password)?;
        Ok(services::auth::sign_up(&visit.context, address, secret, &visit.client).await?)
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
    /// The device whose new name was refused.
    renaming: Option<Uuid>,
}

impl DevicesPage {
    fn is_renaming(&self, row: &SessionRow) -> bool {
        self.renaming.is_some_and(|id| row.id == id.to_string())
    }
}

/// A name that was refused: whose, what was typed, and why.
type Refused = (Uuid, String, ApiError);

async fn devices_page(
    visit: &Visit,
    member: &Member,
    refused: Option<Refused>,
) -> Result<HttpResponse, ApiError> {
    let found = sessions::list(&visit.context, &member.caller).await?;
    let f = visit.frame_of(&member.user, &member.caller).at("devices");
    let own = member.caller.session.id;
    let mut rows: Vec<_> = found
        .iter()
        .map(|session| SessionRow::new(f.m, session, None, session.id == own))
        .collect();
    rows.sort_by_key(|row| !row.is_current);
    let mut page = DevicesPage {
        f,
        rows,
        renaming: None,
    };
    let Some((id, typed, error)) = refused else {
        return Ok(show(StatusCode::OK, &page));
    };
    page.f = page.f.with(Some(&error));
    page.renaming = Some(id);
    if let Some(row) = page.rows.iter_mut().find(|row| row.id == id.to_string()) {
        row.name = typed;
    }
    Ok(refuse(error, &page))
}

/// GET /account
async fn devices(visit: Visit) -> HttpResponse {
    let shown = async {
        let member = visit.member().await?;
        devices_page(&visit, &member, None).await
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
        let id = device_id(&path)?;
        let label = match display_text(&fields.name, MAX_LABEL_CHARS) {
            Ok(label) => label,
            Err(problem) => {
                let refused = (id, fields.name, invalid("name")(problem).into());
                return devices_page(&visit, &member, Some(refused)).await;
            }
        };
        sessions::rename(&visit.context, &member.caller, id, label).await?;
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
