//! The current session, the devices and the history of a user.

use actix_web::web::{Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use ipnetwork::IpNetwork;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::error::ApiError;
use super::super::extractors::{Behind, ClientInfo, JsonBody, Presented, RequestId, SignedIn};
use super::auth::clear_cookie;
use super::body::{RevokedBody, SessionBody};
use crate::domain::event::{ActorKind, Event, EventKind};
use crate::domain::session::Reason;
use crate::domain::text::{MAX_LABEL_CHARS, display_text};
use crate::services::refusal::invalid;
use crate::services::sessions::{self, Scope};
use crate::telemetry::SECURITY;

pub(in crate::routes) use super::auth::current;

/// GET sessions
#[utoipa::path(
    get,
    path = "/api/v1/auth/sessions",
    tag = "sessions",
    summary = "The devices that are signed in, most recently seen first",
    responses((status = 200, description = "The devices that are signed in, most recently seen first", body = Vec<SessionBody>, headers(("X-Total-Count" = u32, description = "How many")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn list(signed_in: SignedIn) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context, caller, ..
    } = signed_in;
    let found = sessions::list(&context, &caller).await?;
    let bodies: Vec<SessionBody> = found
        .into_iter()
        .map(|session| SessionBody::new(session, caller.session.id))
        .collect();
    Ok(HttpResponse::Ok()
        .insert_header(("X-Total-Count", bodies.len()))
        .json(bodies))
}

/// An id that is none is an unknown one.
fn session_id(path: &Path<String>) -> Result<Uuid, ApiError> {
    Uuid::try_parse(path)
        .map_err(|_not_an_id| ApiError::Refused(crate::services::Refusal::NotFound))
}

/// The body of PATCH sessions/{id}.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct Rename {
    /// 1 to 64 characters on one line, trimmed.
    device_label: String,
}

/// PATCH sessions/{id}
#[utoipa::path(
    patch,
    path = "/api/v1/auth/sessions/{id}",
    tag = "sessions",
    summary = "Rename a device",
    params(("id" = String, Path, description = "Id of a session (UUID)")),
    request_body = Rename,
    responses((status = 200, description = "Rename a device", body = SessionBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "invalid_field", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn rename(
    signed_in: SignedIn,
    path: Path<String>,
    body: JsonBody<Rename>,
) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context, caller, ..
    } = signed_in;
    let id = session_id(&path)?;
    let label = display_text(&body.read().await?.device_label, MAX_LABEL_CHARS)
        .map_err(invalid("device_label"))?;
    let session = sessions::rename(&context, &caller, id, label).await?;
    Ok(HttpResponse::Ok().json(SessionBody::new(session, caller.session.id)))
}

/// DELETE sessions/{id}
#[utoipa::path(
    delete,
    path = "/api/v1/auth/sessions/{id}",
    tag = "sessions",
    summary = "End the session of one device",
    params(("id" = String, Path, description = "Id of a session (UUID)")),
    responses((status = 200, description = "End the session of one device", body = RevokedBody, headers(("Set-Cookie" = Option<String>, description = "The session cookie, or its removal")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "reauthentication_required", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn end(
    signed_in: SignedIn,
    client: ClientInfo,
    path: Path<String>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context, caller, ..
    } = signed_in;
    let id = session_id(&path)?;
    let revoked_count = sessions::end_one(&context, &caller, id, &client.0).await?;
    log::info!(
        target: SECURITY, request_id = RequestId::of(&request), user = caller.session.user_id, session:% = id,
        revoked_count; "session ended"
    );
    let mut response = HttpResponse::Ok();
    if id == caller.session.id {
        let presented = Presented::read(&request, &context.config.cookie.name);
        clear_cookie(&mut response, &context, &presented, &request);
    }
    Ok(response.json(RevokedBody {
        message: "Session ended",
        revoked_count,
    }))
}

/// POST logout_all
#[utoipa::path(
    post,
    path = "/api/v1/auth/logout_all",
    tag = "sessions",
    summary = "Log out on every device",
    responses((status = 200, description = "Log out on every device", body = RevokedBody, headers(("Set-Cookie" = Option<String>, description = "The session cookie, or its removal")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["reauthentication_required", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn end_all(
    signed_in: SignedIn,
    client: ClientInfo,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    end_many(
        signed_in,
        client,
        request,
        Scope::All,
        "Logged out on every device",
    )
    .await
}

/// POST logout_others
#[utoipa::path(
    post,
    path = "/api/v1/auth/logout_others",
    tag = "sessions",
    summary = "Log out on every other device",
    responses((status = 200, description = "Log out on every other device", body = RevokedBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["reauthentication_required", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn end_others(
    signed_in: SignedIn,
    client: ClientInfo,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    end_many(
        signed_in,
        client,
        request,
        Scope::Others,
        "Logged out on every other device",
    )
    .await
}

async fn end_many(
    signed_in: SignedIn,
    client: ClientInfo,
    request: HttpRequest,
    scope: Scope,
    message: &'static str,
) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context, caller, ..
    } = signed_in;
    let revoked_count = sessions::end_many(&context, &caller, scope, &client.0).await?;
    log::info!(
        target: SECURITY, request_id = RequestId::of(&request), user = caller.session.user_id, revoked_count;
        "{message}"
    );
    let mut response = HttpResponse::Ok();
    if scope == Scope::All {
        let presented = Presented::read(&request, &context.config.cookie.name);
        clear_cookie(&mut response, &context, &presented, &request);
    }
    Ok(response.json(RevokedBody {
        message,
        revoked_count,
    }))
}

/// The query of session_events.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct Page {
    cursor: Option<i64>,
    limit: Option<u16>,
}

const DEFAULT_LIMIT: u16 = 50;
const MAX_LIMIT: u16 = 200;

/// An entry of the ledger, as its user sees it.
#[derive(Serialize, utoipa::ToSchema)]
struct EventBody {
    id: i64,
    occurred_at: DateTime<Utc>,
    kind: EventKind,
    session_id: Option<Uuid>,
    reason: Option<Reason>,
    actor: ActorKind,
    #[schema(value_type = Option<String>)]
    ip_address: Option<IpNetwork>,
    device_label: Option<String>,
}

impl From<Event> for EventBody {
    fn from(event: Event) -> Self {
        Self {
            id: event.id,
            occurred_at: event.occurred_at,
            kind: event.kind,
            session_id: event.session_id,
            reason: event.reason,
            actor: event.actor,
            ip_address: event.ip_address,
            device_label: event.device_label,
        }
    }
}

/// GET session_events
#[utoipa::path(
    get,
    path = "/api/v1/auth/session_events",
    tag = "sessions",
    summary = "What happened to the own sessions, newest first",
    params(("cursor" = Option<i64>, Query, description = "From the Link header of the page before"), ("limit" = Option<u16>, Query, description = "Entries on the page", minimum = 1, maximum = 200)),
    responses((status = 200, description = "What happened to the own sessions, newest first", body = Vec<EventBody>, headers(("Link" = Option<String>, description = "The next page, rel=next")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["malformed_request", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn history(
    Behind(signed_in, query): Behind<SignedIn, Query<Page>>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context, caller, ..
    } = signed_in;
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::Malformed(format!(
            "limit must be from 1 to {MAX_LIMIT}."
        )));
    }
    let (events, next) = sessions::history(&context, &caller, query.cursor, limit).await?;
    let mut response = HttpResponse::Ok();
    if let Some(next) = next {
        let link = format!(
            "<{}?cursor={next}&limit={limit}>; rel=\"next\"",
            request.path()
        );
        response.insert_header(("Link", link));
    }
    Ok(response.json(events.into_iter().map(EventBody::from).collect::<Vec<_>>()))
}
