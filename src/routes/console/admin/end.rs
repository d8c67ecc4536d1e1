//! Ending everything that a filter matches, after a preview.

use actix_web::HttpResponse;
use askama::Template;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::super::super::error::ApiError;
use super::super::super::filters::SessionQuery;
use super::super::done::Done;
use super::super::messages::Messages;
use super::super::page::{Frame, redirect, show_or_refuse};
use super::super::visit::{Posted, Visit};
use super::sessions::{list_page, query_of};
use super::{is_about_filter, note};
use crate::domain::search::State;
use crate::domain::session::{AuthLevel, Reason};
use crate::services::Refusal;
use crate::services::admin::{self, Administrator, Ended, Seen};

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
    /// The remark, as typed.
    note: String,
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

/// How many it would be; with the remark that was typed, and why nothing has ended yet.
async fn preview_page(
    visit: &Visit,
    admin: &Administrator,
    q: SessionQuery,
    note: String,
    why: Option<ApiError>,
) -> Result<HttpResponse, ApiError> {
    let counted = async {
        Ok(match q.filter(&visit.context).await? {
            Some(filter) => {
                let found = admin::count_matching(&visit.context, admin, filter).await?;
                (found.sessions, found.users, found.as_of.to_rfc3339())
            }
            None => (0, 0, String::new()),
        })
    };
    let (sessions, users, as_of) = match counted.await {
        Ok(found) => found,
        // The list has the form to correct it in.
        Err(error) if is_about_filter(&error) => return list_page(visit, admin, q, Err(error)),
        Err(other) => return Err(other),
    };
    let f = visit.frame_of(&admin.user, &admin.caller).at("sessions");
    let page = PreviewPage {
        filter: in_words(f.m, &q),
        f: f.with(why.as_ref()),
        sessions,
        users,
        as_of,
        query: q.at(None),
        is_filtered: q.is_restricted(),
        note,
    };
    Ok(show_or_refuse(why, &page))
}

/// GET sessions/end
pub async fn preview(visit: Visit) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let q = query_of(&visit)?;
        preview_page(&visit, &admin, q, String::new(), None).await
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
        match try_end(&visit, &admin, &q, seen, &fields.note).await {
            Ok(ended) => {
                let done = match ended.complete {
                    true => Done::SessionsEnded(ended.sessions),
                    false => Done::PartEnded(ended.sessions),
                };
                let (query, done) = (q.at(None), done.query(&admin.caller.hash));
                Ok(redirect(&format!("/admin/sessions?{query}&{done}")))
            }
            Err(refusal @ (Refusal::CountChanged | Refusal::InvalidField { .. })) => {
                let why = Some(refusal.into());
                preview_page(&visit, &admin, q, fields.note, why).await
            }
            Err(refusal @ Refusal::FilterTooBroad) => {
                list_page(&visit, &admin, q, Err(refusal.into()))
            }
            Err(other) => Err(other.into()),
        }
    };
    ended.await.unwrap_or_else(|error| visit.fail(error))
}

async fn try_end(
    visit: &Visit,
    admin: &Administrator,
    q: &SessionQuery,
    seen: Seen,
    remark: &str,
) -> Result<Ended, Refusal> {
    let note = note(remark)?;
    match q.filter(&visit.context).await? {
        Some(filter) => admin::end_matching(&visit.context, admin, filter, seen, note).await,
        None => Err(Refusal::NotFound),
    }
}

fn seen(fields: &EndMatching) -> Option<Seen> {
    Some(Seen {
        sessions: fields.sessions.parse().ok()?,
        as_of: DateTime::parse_from_rfc3339(&fields.as_of)
            .ok()?
            .with_timezone(&Utc),
    })
}
