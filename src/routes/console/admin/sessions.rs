//! Sessions of everybody.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use uuid::Uuid;

use super::super::super::error::ApiError;
use super::super::super::filters::{SessionQuery, TimeInput};
use super::super::done::Done;
use super::super::messages::Messages;
use super::super::page::{Frame, redirect, show};
use super::super::view::{Choice, EventRow, SessionRow, choices};
use super::super::visit::{Posted, Visit};
use super::note;
use crate::domain::search::State;
use crate::domain::session::{AuthLevel, Reason};
use crate::services::Refusal;
use crate::services::admin::{self, Page, Seen};

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
fn query_of(visit: &Visit) -> Result<SessionQuery, ApiError> {
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
    match try_list(&visit).await {
        Ok(response) => response,
        Err(error) => visit.fail(error),
    }
}

async fn try_list(visit: &Visit) -> Result<HttpResponse, ApiError> {
    let admin = visit.administrator().await?;
    let mut f = visit.frame_of(&admin.user, &admin.caller).at("sessions");
    let q = query_of(visit)?;
    let found = search(visit, &q).await;
    let found = match found {
        Ok(found) => found,
        // The form stays as it was typed, with what is wrong above it.
        Err(ApiError::Refused(
            refusal @ (Refusal::InvalidField { .. } | Refusal::FilterTooBroad),
        )) => {
            let error = refusal.into();
            f = f.with(Some(&error));
            Page {
                items: Vec::new(),
                next: None,
            }
        }
        Err(other) => return Err(other),
    };
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
    let status = match page.f.problem {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    Ok(show(status, &page))
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
}

fn session_id(path: &Path<String>) -> Result<Uuid, ApiError> {
    Uuid::try_parse(path).map_err(|_not_an_id| Refusal::NotFound.into())
}

/// GET sessions/{id}
pub async fn show_session(visit: Visit, path: Path<String>) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let found = admin::session(&visit.context, session_id(&path)?).await?;
        let f = visit.frame_of(&admin.user, &admin.caller).at("sessions");
        let (m, now) = (f.m, found.session.as_of);
        let is_current = found.session.id == admin.caller.session.id;
        let email = found.user.as_ref().and_then(|user| user.email.as_deref());
        let page = SessionPage {
            s: SessionRow::new(m, &found.session, email, is_current),
            events: found
                .events
                .into_iter()
                .map(|event| EventRow::new(m, event, now, None))
                .collect(),
            f,
        };
        Ok(show(StatusCode::OK, &page))
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
        let note = note(&fields.note)?;
        let count = admin::end_session(&visit.context, &admin, id, note).await?;
        let done = Done::SessionsEnded(count).query(&admin.caller.hash);
        Ok(redirect(&format!("/admin/sessions/{id}?{done}")))
    };
    ended.await.unwrap_or_else(|error| visit.fail(error))
}

#[derive(Template)]
#[template(path = "admin/end.html")]
struct PreviewPage {
    f: Frame,
    sessions: i64,
    users: i64,
    as_of: String,
    query: String,
    is_filtered: bool,
    filter: Vec<(&'static str, String)>,
}

/// A filter that is known to be well-formed, in words.
fn in_words(m: &Messages, q: &SessionQuery) -> Vec<(&'static str, String)> {
    let known = |text: &Option<String>, words: &dyn Fn(&str) -> Option<&'static str>| {
        text.as_deref()
            .and_then(|text| words(text.trim()))
            .map(str::to_owned)
    };
    let set = [
        (m.email, q.email.clone()),
        (m.user_id, q.user_id.clone()),
        (
            m.state,
            known(&q.state, &|t| State::parse(t).map(|s| m.state(s))),
        ),
        (
            m.reason,
            known(&q.reason, &|t| Reason::parse(t).map(|r| m.reason(r))),
        ),
        (m.address, q.ip.clone()),
        (
            m.auth_level,
            known(&q.auth_level, &|t| AuthLevel::parse(t).map(|l| m.level(l))),
        ),
        (m.created_after, q.created_after.clone()),
        (m.created_before, q.created_before.clone()),
        (m.seen_after, q.seen_after.clone()),
        (m.seen_before, q.seen_before.clone()),
    ];
    let filled = |(label, text): (_, Option<String>)| {
        let text = text?.trim().to_owned();
        (!text.is_empty()).then_some((label, text))
    };
    set.into_iter().filter_map(filled).collect()
}

/// GET sessions/end: how many it would be.
pub async fn preview(visit: Visit) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let q = query_of(&visit)?;
        let (sessions, users, as_of) = match q.filter(&visit.context).await? {
            Some(filter) => {
                let found = admin::count_matching(&visit.context, &admin, filter).await?;
                (found.sessions, found.users, found.as_of.to_rfc3339())
            }
            None => (0, 0, String::new()),
        };
        let f = visit.frame_of(&admin.user, &admin.caller).at("sessions");
        let page = PreviewPage {
            filter: in_words(f.m, &q),
            f,
            sessions,
            users,
            as_of,
            query: q.at(None),
            is_filtered: q.is_restricted(),
        };
        Ok(show(StatusCode::OK, &page))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

/// What the preview said, and a remark.
#[derive(Deserialize)]
pub struct EndMatching {
    sessions: String,
    as_of: String,
    #[serde(default)]
    note: String,
}

/// POST sessions/end
pub async fn end_matching(visit: Visit, posted: Posted<EndMatching>) -> HttpResponse {
    let ended = async {
        let admin = visit.administrator().await?;
        let fields = posted.0?.fields_of(&admin.caller)?;
        let q = query_of(&visit)?;
        let seen = seen(&fields)
            .ok_or_else(|| ApiError::Malformed("The form is malformed.".to_owned()))?;
        let note = note(&fields.note)?;
        let ended = match q.filter(&visit.context).await? {
            Some(filter) => admin::end_matching(&visit.context, &admin, filter, seen, note).await?,
            None => return Err(Refusal::NotFound.into()),
        };
        let done = match ended.complete {
            true => Done::SessionsEnded(ended.sessions),
            false => Done::PartEnded(ended.sessions),
        };
        let (query, done) = (q.at(None), done.query(&admin.caller.hash));
        Ok(redirect(&format!("/admin/sessions?{query}&{done}")))
    };
    ended.await.unwrap_or_else(|error| visit.fail(error))
}

fn seen(fields: &EndMatching) -> Option<Seen> {
    Some(Seen {
        sessions: fields.sessions.parse().ok()?,
        as_of: DateTime::parse_from_rfc3339(&fields.as_of)
            .ok()?
            .with_timezone(&Utc),
    })
}
