//! Accounts.

use actix_web::web::{Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;

use super::super::super::error::ApiError;
use super::super::super::extractors::{Admin, Behind, JsonBody, RequestId};
use super::super::super::filters::UserQuery;
use super::super::body::RevokedBody;
use super::body::{NoteFields, SessionBody, UserBody, page};
use crate::services::Refusal;
use crate::services::admin;
use crate::telemetry::SECURITY;

/// GET users
#[utoipa::path(
    get,
    path = "/api/v1/admin/users",
    tag = "administrators",
    summary = "Users",
    params(UserQuery),
    responses((status = 200, description = "Users", body = Vec<UserBody>, headers(("Link" = Option<String>, description = "The next page, rel=next")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["malformed_request", "invalid_field", "filter_too_broad", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn list(
    Behind(signed_in, query): Behind<Admin, Query<UserQuery>>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let (filter, cursor, limit) = (query.filter()?, query.cursor()?, query.limit()?);
    let found = admin::find_users(&signed_in.context, filter, cursor, limit).await?;
    let next = found.next.map(|next| query.at(Some(next.to_string())));
    let bodies = found.items.into_iter().map(UserBody::from).collect();
    Ok(page(&request, bodies, next))
}

fn user_id(path: &Path<String>) -> Result<i64, ApiError> {
    path.parse()
        .map_err(|_not_a_number| Refusal::NotFound.into())
}

#[derive(Serialize, utoipa::ToSchema)]
struct UserWithSessions {
    user: UserBody,
    sessions: Vec<SessionBody>,
}

/// GET users/{id}
#[utoipa::path(
    get,
    path = "/api/v1/admin/users/{id}",
    tag = "administrators",
    summary = "A user and the sessions",
    params(("id" = String, Path, description = "Id of a user")),
    responses((status = 200, description = "A user and the sessions", body = UserWithSessions)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn show(
    signed_in: Admin,
    path: Path<String>,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let (user, sessions) = admin::user(&context, user_id(&path)?).await?;
    let current = admin.caller.session.id;
    let bodies = sessions
        .into_iter()
        .map(|session| SessionBody::new(session, user.email.clone(), current));
    Ok(HttpResponse::Ok().json(UserWithSessions {
        sessions: bodies.collect(),
        user: user.into(),
    }))
}

/// POST users/{id}/revoke_sessions
#[utoipa::path(
    post,
    path = "/api/v1/admin/users/{id}/revoke_sessions",
    tag = "administrators",
    summary = "End every session of a user",
    params(("id" = String, Path, description = "Id of a user")),
    request_body = NoteFields,
    responses((status = 200, description = "End every session of a user", body = RevokedBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "invalid_field", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn revoke(
    signed_in: Admin,
    path: Path<String>,
    body: JsonBody<NoteFields>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let id = user_id(&path)?;
    let remark = NoteFields::read(body).await?;
    let revoked_count = admin::revoke_user(&context, &admin, id, remark).await?;
    log::info!(
        target: SECURITY, request_id = RequestId::of(&request), admin = admin.user.id, user = id, revoked_count;
        "sessions of a user ended by an administrator"
    );
    Ok(HttpResponse::Ok().json(RevokedBody {
        message: "Sessions ended",
        revoked_count,
    }))
}

/// POST users/{id}/disable
#[utoipa::path(
    post,
    path = "/api/v1/admin/users/{id}/disable",
    tag = "administrators",
    summary = "Disable a user; every session ends",
    params(("id" = String, Path, description = "Id of a user")),
    request_body = NoteFields,
    responses((status = 200, description = "Disable a user; every session ends", body = RevokedBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "invalid_field", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn disable(
    signed_in: Admin,
    path: Path<String>,
    body: JsonBody<NoteFields>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let id = user_id(&path)?;
    let remark = NoteFields::read(body).await?;
    let revoked_count = admin::disable_user(&context, &admin, id, remark).await?;
    log::info!(
        target: SECURITY, request_id = RequestId::of(&request), admin = admin.user.id, user = id, revoked_count;
        "user disabled"
    );
    Ok(HttpResponse::Ok().json(RevokedBody {
        message: "User disabled",
        revoked_count,
    }))
}

#[derive(Serialize, utoipa::ToSchema)]
struct MessageBody {
    message: &'static str,
}

/// POST users/{id}/enable
#[utoipa::path(
    post,
    path = "/api/v1/admin/users/{id}/enable",
    tag = "administrators",
    summary = "Let a disabled user log in again",
    params(("id" = String, Path, description = "Id of a user")),
    request_body = NoteFields,
    responses((status = 200, description = "Let a disabled user log in again", body = MessageBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["not_found", "invalid_field", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn enable(
    signed_in: Admin,
    path: Path<String>,
    body: JsonBody<NoteFields>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let id = user_id(&path)?;
    let remark = NoteFields::read(body).await?;
    admin::enable_user(&context, &admin, id, remark).await?;
    log::info!(
        target: SECURITY, request_id = RequestId::of(&request), admin = admin.user.id, user = id;
        "user enabled"
    );
    Ok(HttpResponse::Ok().json(MessageBody {
        message: "User enabled",
    }))
}
