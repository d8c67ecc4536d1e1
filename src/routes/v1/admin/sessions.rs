//! Everybody's sessions.

use actix_web::web::{Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::super::error::ApiError;
use super::super::super::extractors::{Admin, Behind, JsonBody, RequestId};
use super::super::super::filters::SessionQuery;
use super::super::body::RevokedBody;
use super::body::{EventBody, NoteFields, SessionBody, note, page};
use crate::domain::problem::Problem;
use crate::services::Refusal;
use crate::services::admin::{self, Ended, OwnedSession, Seen};
use crate::services::refusal::invalid;
use crate::telemetry::SECURITY;

/// GET sessions
#[utoipa::path(
    get,
    path = "/api/v1/admin/sessions",
    tag = "administrators",
    summary = "Sessions of all users, newest first",
    params(SessionQuery),
    responses((status = 200, description = "Sessions of all users, newest first", body = Vec<SessionBody>, headers(("Link" = Option<String>, description = "The next page, rel=next")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["malformed_request", "invalid_field", "filter_too_broad", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn list(
    Behind(signed_in, query): Behind<Admin, Query<SessionQuery>>,
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

#[derive(Serialize, utoipa::ToSchema)]
struct CountBody {
    sessions: i64,
    users: i64,
    as_of: DateTime<Utc>,
}

/// GET sessions/count: what POST sessions/revoke would end.
#[utoipa::path(
    get,
    path = "/api/v1/admin/sessions/count",
    tag = "administrators",
    summary = "What sessions/revoke would end",
    params(SessionQuery),
    responses((status = 200, description = "What sessions/revoke would end", body = CountBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "malformed_request", "invalid_field", "filter_too_broad", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn count(
    Behind(signed_in, query): Behind<Admin, Query<SessionQuery>>,
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
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct EndMatching {
    #[schema(minimum = 0)]
    sessions: i64,
    as_of: DateTime<Utc>,
    note: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
struct EndedBody {
    message: &'static str,
    revoked_count: usize,
    users: usize,
    complete: bool,
}

/// POST sessions/revoke: ends everything that the query's filter matches.
#[utoipa::path(
    post,
    path = "/api/v1/admin/sessions/revoke",
    tag = "administrators",
    summary = "End every session that the filter matches, as sessions/count has counted them",
    params(SessionQuery),
    request_body = EndMatching,
    responses((status = 200, description = "End every session that the filter matches, as sessions/count has counted them", body = EndedBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "malformed_request", "invalid_field", "filter_too_broad", "count_changed", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn end_matching(
    Behind(signed_in, (query, body)): Behind<Admin, (Query<SessionQuery>, JsonBody<EndMatching>)>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let EndMatching {
        sessions,
        as_of,
        note: remark,
    } = body.read().await?;
    if sessions < 0 {
        return Err(invalid("sessions")(Problem::TooSmall(0)).into());
    }
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

#[derive(Serialize, utoipa::ToSchema)]
struct HistoryBody {
    session: SessionBody,
    events: Vec<EventBody>,
}

/// GET sessions/{id}
#[utoipa::path(
    get,
    path = "/api/v1/admin/sessions/{id}",
    tag = "administrators",
    summary = "A session and its events",
    params(("id" = String, Path, description = "Id of a session (UUID)")),
    responses((status = 200, description = "A session and its events", body = HistoryBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn show(
    signed_in: Admin,
    path: Path<String>,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let found = admin::session(&context, session_id(&path)?).await?;
    let email = found.user.and_then(|user| user.email);
    Ok(HttpResponse::Ok().json(HistoryBody {
        session: SessionBody::new(found.session, email, admin.caller.session.id),
        events: found.events.into_iter().map(EventBody::from).collect(),
    }))
}

/// DELETE sessions/{id}
#[utoipa::path(
    delete,
    path = "/api/v1/admin/sessions/{id}",
    tag = "administrators",
    summary = "End a session",
    params(("id" = String, Path, description = "Id of a session (UUID)")),
    request_body = NoteFields,
    responses((status = 200, description = "End a session", body = RevokedBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "invalid_field", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn end(
    signed_in: Admin,
    path: Path<String>,
    body: JsonBody<NoteFields>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let id = session_id(&path)?;
    let remark = NoteFields::read(body).await?;
    let revoked_count = admin::end_session(&context, &admin, id, remark).await?;
    log::info!(
        target: SECURITY, request_id = RequestId::of(&request), admin = admin.user.id, session:% = id,
        revoked_count; "session ended by an administrator"
    );
    Ok(HttpResponse::Ok().json(RevokedBody {
        message: "Session ended",
        revoked_count,
    }))
}
