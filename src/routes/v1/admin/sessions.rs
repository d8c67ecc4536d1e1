//! Everybody's sessions.

use actix_web::web::{Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::super::error::ApiError;
use super::super::super::extractors::{Admin, JsonBody, RequestId};
use super::super::super::filters::SessionQuery;
use super::super::body::RevokedBody;
use super::body::{EventBody, Note, SessionBody, note, page};
use crate::services::Refusal;
use crate::services::admin::{self, Ended, OwnedSession, Seen};
use crate::telemetry::SECURITY;

/// GET sessions
pub(super) async fn list(
    signed_in: Admin,
    query: Query<SessionQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let (cursor, limit) = (query.cursor()?, query.limit()?);
    let Some(filter) = query.filter(&context).await? else {
        return Ok(page::<SessionBody>(&request, Vec::new(), None));
    };
    let found = admin::find_sessions(&context, filter, cursor, limit).await?;
    let next = found.next.map(|next| query.at(Some(next.to_string())));
    let body =
        |owned: OwnedSession| SessionBody::new(owned.session, owned.email, admin.caller.session.id);
    let bodies = found.items.into_iter().map(body).collect();
    Ok(page(&request, bodies, next))
}

#[derive(Serialize)]
struct CountBody {
    sessions: i64,
    users: i64,
    as_of: DateTime<Utc>,
}

/// GET sessions/count: what POST sessions/revoke would end.
pub(super) async fn count(
    signed_in: Admin,
    query: Query<SessionQuery>,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let Some(filter) = query.filter(&context).await? else {
        return Err(Refusal::NotFound.into());
    };
    let found = admin::count_matching(&context, &admin, filter).await?;
    Ok(HttpResponse::Ok().json(CountBody {
        sessions: found.sessions,
        users: found.users,
        as_of: found.as_of,
    }))
}

/// The body of sessions/revoke: what sessions/count said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndMatching {
    sessions: i64,
    as_of: DateTime<Utc>,
    note: Option<String>,
}

#[derive(Serialize)]
struct EndedBody {
    message: &'static str,
    revoked_count: usize,
    users: usize,
    complete: bool,
}

/// POST sessions/revoke: ends everything that the query's filter matches.
pub(super) async fn end_matching(
    signed_in: Admin,
    query: Query<SessionQuery>,
    body: JsonBody<EndMatching>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let JsonBody(EndMatching {
        sessions,
        as_of,
        note: remark,
    }) = body;
    let remark = note(remark)?;
    let ended = match query.filter(&context).await? {
        Some(filter) => {
            let seen = Seen { sessions, as_of };
            admin::end_matching(&context, &admin, filter, seen, remark).await?
        }
        None => Ended {
            complete: true,
            ..Ended::default()
        },
    };
    log::info!(
        target: SECURITY, request_id = RequestId::of(&request), admin = admin.user.id,
        revoked_count = ended.sessions; "sessions that match a filter ended"
    );
    Ok(HttpResponse::Ok().json(EndedBody {
        message: match ended.complete {
            true => "Matching sessions ended",
            false => "A part of the matching sessions ended; repeat for the rest",
        },
        revoked_count: ended.sessions,
        users: ended.users,
        complete: ended.complete,
    }))
}

fn session_id(path: &Path<String>) -> Result<Uuid, ApiError> {
    Uuid::try_parse(path).map_err(|_not_an_id| Refusal::NotFound.into())
}

#[derive(Serialize)]
struct HistoryBody {
    session: SessionBody,
    events: Vec<EventBody>,
}

/// GET sessions/{id}
pub(super) async fn show(signed_in: Admin, path: Path<String>) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let found = admin::session(&context, session_id(&path)?).await?;
    let email = found.user.and_then(|user| user.email);
    Ok(HttpResponse::Ok().json(HistoryBody {
        session: SessionBody::new(found.session, email, admin.caller.session.id),
        events: found.events.into_iter().map(EventBody::from).collect(),
    }))
}

/// DELETE sessions/{id}
pub(super) async fn end(
    signed_in: Admin,
    path: Path<String>,
    remark: Note,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let id = session_id(&path)?;
    let revoked_count = admin::end_session(&context, &admin, id, remark.0).await?;
    log::info!(
        target: SECURITY, request_id = RequestId::of(&request), admin = admin.user.id, session:% = id,
        revoked_count; "session ended by an administrator"
    );
    Ok(HttpResponse::Ok().json(RevokedBody {
        message: "Session ended",
        revoked_count,
    }))
}
