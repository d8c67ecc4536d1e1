//! For backends that hold the service key, and for OAuth's resource servers (RFC 7662, RFC 7009).

use std::net::IpAddr;

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::error::ApiError;
use super::super::extractors::{
    ApiKey, ClientInfo, Form, JsonBody, RequestId, Service, ServiceForm,
};
use super::auth::{email, password};
use super::body::{RevokedBody, SignedInBody, hand_over};
use crate::context::Context;
use crate::domain::client::Client;
use crate::domain::event::Actor;
use crate::domain::problem::Problem;
use crate::domain::session::{AuthLevel, Reason};
use crate::domain::text::{MAX_LABEL_CHARS, MAX_NOTE_CHARS, display_text};
use crate::domain::token::SessionToken;
use crate::domain::user::Role;
use crate::services::auth::SessionRequest;
use crate::services::backends::{self, Issue};
use crate::services::refusal::invalid;
use crate::services::{Refusal, users};
use crate::telemetry::SECURITY;

/// The form of introspect and revoke. Hints are ignored: there is one type of token.
#[derive(Deserialize, utoipa::ToSchema)]
pub(in crate::routes) struct TokenForm {
    token: String,
}

/// What is told of a token (RFC 7662, 2.2). Of one that opens nothing: only `active`.
#[derive(Serialize, Default, utoipa::ToSchema)]
struct Introspection {
    active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<&'static str>,
    /// Id of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<String>,
    /// E-mail of the user, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    /// Id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    sid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iat: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acr: Option<AuthLevel>,
}

/// POST introspect
#[utoipa::path(
    post,
    path = "/api/v1/auth/introspect",
    tag = "machines",
    summary = "What a token opens (RFC 7662)",
    request_body(content = TokenForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "What a token opens (RFC 7662)", body = Introspection)),
    security(("service_basic" = []), ("service_key" = [])),
    extensions(("x-errors" = json!(["unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn introspect(
    context: Data<Context>,
    form: ServiceForm<TokenForm>,
) -> Result<HttpResponse, ApiError> {
    let known = match SessionToken::parse(&form.0.token) {
        Some(token) => backends::introspect(&context, &token).await?,
        None => None,
    };
    let body = match known {
        None => Introspection::default(),
        Some((caller, user)) => Introspection {
            active: true,
            token_type: Some("Bearer"),
            sub: Some(user.id.to_string()),
            username: user.email,
            sid: Some(caller.session.id),
            iat: Some(caller.session.created_at.timestamp()),
            exp: Some(caller.session.expires_at.timestamp()),
            auth_time: Some(caller.session.authenticated_at.timestamp()),
            acr: Some(caller.session.auth_level),
        },
    };
    Ok(HttpResponse::Ok().json(body))
}

/// POST revoke
#[utoipa::path(
    post,
    path = "/api/v1/auth/revoke",
    tag = "machines",
    summary = "End the session of a token (RFC 7009)",
    request_body(content = TokenForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "End the session of a token (RFC 7009)")),
    security(("service_basic" = []), ("service_key" = [])),
    extensions(("x-errors" = json!(["unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn revoke(
    context: Data<Context>,
    client: ClientInfo,
    form: ServiceForm<TokenForm>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    if let Some(token) = SessionToken::parse(&form.0.token) {
        let actor = Actor::service(client.0.coarse_address());
        let revoked_count = backends::revoke_token(&context, &token, actor).await?;
        log::info!(target: SECURITY, request_id = RequestId::of(&request), revoked_count; "revoked by a backend");
    }
    Ok(HttpResponse::Ok().finish())
}

/// The body of issue.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct IssueBody {
    #[schema(minimum = 1)]
    user_id: i64,
    auth_level: Option<AuthLevel>,
    #[serde(default)]
    remember_me: bool,
    /// 1 to 64 characters on one line, trimmed.
    device_label: Option<String>,
    /// The user's address, IPv4 or IPv6; kept as /24 or /48.
    #[schema(example = "203.0.113.7")]
    ip_address: Option<String>,
    user_agent: Option<String>,
    #[schema(format = "email")]
    email: Option<String>,
}

impl IssueBody {
    fn check(self) -> Result<Issue, Refusal> {
        if self.user_id < 1 {
            return Err(invalid("user_id")(Problem::TooSmall(1)));
        }
        let address = self.ip_address.map(|text| {
            text.trim()
                .parse::<IpAddr>()
                .map_err(|_no_address| invalid("ip_address")(Problem::NotAnAddress))
        });
        if self
            .user_agent
            .as_deref()
            .is_some_and(|text| text.contains('\0'))
        {
            return Err(invalid("user_agent")(Problem::Nul));
        }
        let label = self
            .device_label
            .map(|label| display_text(&label, MAX_LABEL_CHARS).map_err(invalid("device_label")));
        Ok(Issue {
            user_id: self.user_id,
            email: self.email.as_deref().map(email).transpose()?,
            request: SessionRequest {
                remember_me: self.remember_me,
                device_label: label.transpose()?,
                auth_level: self.auth_level.unwrap_or(AuthLevel::Password),
                client: Client {
                    address: address.transpose()?,
                    user_agent: self.user_agent.map(String::into_bytes),
                },
            },
        })
    }
}

/// POST issue
#[utoipa::path(
    post,
    path = "/api/v1/auth/issue",
    tag = "machines",
    summary = "Begin a session for a user whom the caller has authenticated",
    request_body = IssueBody,
    responses((status = 201, description = "Begin a session for a user whom the caller has authenticated", body = SignedInBody)),
    security(("service_key" = [])),
    extensions(("x-errors" = json!(["email_taken", "email_conflict", "user_disabled", "invalid_field", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn issue(
    _key: ApiKey<Service>,
    context: Data<Context>,
    body: JsonBody<IssueBody>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let opened = backends::issue(&context, body.read().await?.check()?).await?;
    let (user, session) = (opened.user.id, opened.session.id);
    log::info!(target: SECURITY, request_id = RequestId::of(&request), user, session:%; "session issued");
    if opened.user.role == Role::Admin {
        log::warn!(target: SECURITY, request_id = RequestId::of(&request), user, session:%; "a backend has begun a session of an administrator");
    }
    let mut response = hand_over(&context.config.cookie, Form::Bearer, opened);
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// The body of users/{user_id}/revoke_sessions.
#[derive(Deserialize, Default, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct RevokeSessions {
    /// 1 to 500 characters on one line, trimmed.
    note: Option<String>,
}

/// POST users/{user_id}/revoke_sessions
#[utoipa::path(
    post,
    path = "/api/v1/auth/users/{user_id}/revoke_sessions",
    tag = "machines",
    summary = "End every session of a user",
    params(("user_id" = i64, Path, description = "Id of the user")),
    request_body = Option<RevokeSessions>,
    responses((status = 200, description = "End every session of a user", body = RevokedBody)),
    security(("service_key" = [])),
    extensions(("x-errors" = json!(["not_found", "invalid_field", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn revoke_sessions(
    _key: ApiKey<Service>,
    context: Data<Context>,
    client: ClientInfo,
    path: Path<i64>,
    body: JsonBody<RevokeSessions>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let note = body
        .read_if_any()
        .await?
        .note
        .map(|note| display_text(&note, MAX_NOTE_CHARS).map_err(invalid("note")));
    let (user, actor) = (*path, Actor::service(client.0.coarse_address()));
    let reason = Reason::ServiceRevoked;
    let revoked_count =
        users::revoke_sessions(&context, user, reason, actor, note.transpose()?).await?;
    log::info!(target: SECURITY, request_id = RequestId::of(&request), user, revoked_count; "sessions revoked by a backend");
    Ok(HttpResponse::Ok().json(RevokedBody {
        message: "Sessions revoked",
        revoked_count,
    }))
}

/// The body of users/{user_id}/password.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct NewPassword {
    new_password: String,
}

/// POST users/{user_id}/password
#[utoipa::path(
    post,
    path = "/api/v1/auth/users/{user_id}/password",
    tag = "machines",
    summary = "Set a password without the old one; every session of the user ends",
    params(("user_id" = i64, Path, description = "Id of the user")),
    request_body = NewPassword,
    responses((status = 200, description = "Set a password without the old one; every session of the user ends", body = RevokedBody)),
    security(("service_key" = [])),
    extensions(("x-errors" = json!(["not_found", "password_rejected", "invalid_field", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn set_password(
    _key: ApiKey<Service>,
    context: Data<Context>,
    client: ClientInfo,
    path: Path<i64>,
    body: JsonBody<NewPassword>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let (user, actor) = (*path, Actor::service(client.0.coarse_address()));
    let secret = password("new_password", body.read().await?.new_password)?;
    let (role, revoked_count) = users::set_password(&context, user, secret, actor).await?;
    log::info!(target: SECURITY, request_id = RequestId::of(&request), user, revoked_count; "password set by a backend");
    if role == Role::Admin {
        log::warn!(target: SECURITY, request_id = RequestId::of(&request), user; "a backend has set the password of an administrator");
    }
    Ok(HttpResponse::Ok().json(RevokedBody {
        message: "Password set",
        revoked_count,
    }))
}
