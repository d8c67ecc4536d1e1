//! Sessions of everybody.

use actix_web::HttpResponse;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use uuid::Uuid;

use super::super::super::error::ApiError;
use super::super::super::filters::{SessionQuery, TimeInput};
use super::super::done::Done;
use super::super::page::{Frame, redirect, show_or_refuse};
use super::super::view::{Choice, EventRow, SessionRow, choices};
use super::super::visit::{Posted, Visit};
use super::{found_or_why, note};
use crate::domain::search::State;
use crate::domain::session::{AuthLevel, Reason};
use crate::services::Refusal;
use crate::services::admin::{self, Administrator, Page};

#[derive(Template)]
#[template(path = "admin/sessions.html")]
struct ListPage {
    f: Frame,
    q: SessionQuery,
    states: Vec<Choice>,
    reasons: Vec<Choice>,
    levels: Vec<Choice>,
    rows: Vec<SessionRow>,
    is_filtered: bool,
    first: Option<String>,
    next: Option<String>,
    end_query: String,
}

impl ListPage {
    fn time(&self, field: &Option<String>) -> TimeInput {
        TimeInput::new(field)
    }

    fn value<'a>(&self, field: &'a Option<String>) -> &'a str {
        field.as_deref().unwrap_or_default()
    }
}

/// A query with what forms and confirmations add to it left out.
pub(super) fn query_of(visit: &Visit) -> Result<SessionQuery, ApiError> {
    let text: Vec<&str> = visit
        .request
        .query_string()
        .split('&')
        .filter(|pair| !pair.starts_with("done="))
        .collect();
    Query::<SessionQuery>::from_query(&text.join("&"))
        .map(Query::into_inner)
        .map_err(|_unknown| super::super::super::malformed_query())
}

/// GET sessions
pub async fn list(visit: Visit) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let q = query_of(&visit)?;
        let found = search(&visit, &q).await;
        list_page(&visit, &admin, q, found)
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

/// The list with its filter, whatever came of it.
pub(super) fn list_page(
    visit: &Visit,
    admin: &Administrator,
    q: SessionQuery,
    found: Result<Page<admin::OwnedSession, Uuid>, ApiError>,
) -> Result<HttpResponse, ApiError> {
    let (found, why) = found_or_why(found)?;
    let f = visit.frame_of(&admin.user, &admin.caller).at("sessions");
    let f = f.with(why.as_ref());
    let own = admin.caller.session.id;
    let m = f.m;
    let row = |owned: &admin::OwnedSession| {
        let session = &owned.session;
        SessionRow::new(m, session, owned.email.as_deref(), session.id == own)
    };
    let page = ListPage {
        rows: found.items.iter().map(row).collect(),
        states: choices(State::ALL, State::as_str, |s| m.state(s), &q.state),
        reasons: choices(Reason::ALL, Reason::as_str, |r| m.reason(r), &q.reason),
        levels: choices(
            AuthLevel::ALL,
            AuthLevel::as_str,
            |level| m.level(level),
            &q.auth_level,
        ),
        is_filtered: q.is_restricted(),
        first: q.cursor.is_some().then(|| q.at(None)),
        next: found.next.map(|next| q.at(Some(next.to_string()))),
        end_query: q.at(None),
        q,
        f,
    };
    Ok(show_or_refuse(why, &page))
}

async fn search(
    visit: &Visit,
    q: &SessionQuery,
) -> Result<Page<admin::OwnedSession, Uuid>, ApiError> {
    let (cursor, limit) = (q.cursor()?, q.limit()?);
    Ok(match q.filter(&visit.context).await? {
        Some(filter) => admin::find_sessions(&visit.context, filter, cursor, limit).await?,
        None => Page {
            items: Vec::new(),
            next: None,
        },
    })
}

#[derive(Template)]
#[template(path = "admin/session.html")]
struct SessionPage {
    f: Frame,
    s: SessionRow,
    events: Vec<EventRow>,
    /// What was typed, where it was refused.
    typed: Option<String>,
}

fn session_id(path: &Path<String>) -> Result<Uuid, ApiError> {
    Uuid::try_parse(path).map_err(|_not_an_id| Refusal::NotFound.into())
}

/// A session; with a remark that was refused, and why.
async fn session_page(
    visit: &Visit,
    admin: &Administrator,
    id: Uuid,
    refused: Option<(String, ApiError)>,
) -> Result<HttpResponse, ApiError> {
    let found = admin::session(&visit.context, id).await?;
    let f = visit.frame_of(&admin.user, &admin.caller).at("sessions");
    let (m, now) = (f.m, found.session.as_of);
    let is_current = found.session.id == admin.caller.session.id;
    let email = found.user.as_ref().and_then(|user| user.email.as_deref());
    let (typed, why) = refused.unzip();
    let page = SessionPage {
        s: SessionRow::new(m, &found.session, email, is_current),
        events: found
            .events
            .into_iter()
            .map(|event| EventRow::new(m, event, now, None))
            .collect(),
        typed,
        f: f.with(why.as_ref()),
    };
    Ok(show_or_refuse(why, &page))
}

/// GET sessions/{id}
pub async fn show_session(visit: Visit, path: Path<String>) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        session_page(&visit, &admin, session_id(&path)?, None).await
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

/// A form with a remark.
#[derive(Deserialize)]
pub struct Remark {
    #[serde(default)]
    pub note: String,
}

/// POST sessions/{id}/end
pub async fn end(visit: Visit, path: Path<String>, posted: Posted<Remark>) -> HttpResponse {
    let ended = async {
        let admin = visit.administrator().await?;
        let fields = posted.0?.fields_of(&admin.caller)?;
        let id = session_id(&path)?;
        let note = match note(&fields.note) {
            Ok(note) => note,
            Err(refusal) => {
                let refused = (fields.note, refusal.into());
                return session_page(&visit, &admin, id, Some(refused)).await;
            }
        };
        let count = admin::end_session(&visit.context, &admin, id, note).await?;
        let done = Done::SessionsEnded(count).query(&admin.caller.hash);
        Ok(redirect(&format!("/admin/sessions/{id}?{done}")))
    };
    ended.await.unwrap_or_else(|error| visit.fail(error))
}
