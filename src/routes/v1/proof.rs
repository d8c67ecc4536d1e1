//! What proves the password again, and new tokens.

use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;

use super::super::error::ApiError;
use super::super::extractors::{ClientInfo, JsonBody, Presented, RequestId, SignedIn};
use super::auth::{clear_cookie, password};
use super::body::{RevokedBody, SignedInBody, hand_over};
use crate::services::auth;
use crate::telemetry::SECURITY;

/// The body of change_password.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct ChangePassword {
    current_password: String,
    new_password: String,
}

/// POST change_password
#[utoipa::path(
    post,
    path = "/api/v1/auth/change_password",
    tag = "users",
    summary = "Change the password; every session ends, the caller gets a new one",
    request_body = ChangePassword,
    responses((status = 200, description = "Change the password; every session ends, the caller gets a new one", body = SignedInBody, headers(("Set-Cookie" = Option<String>, description = "The session cookie, or its removal")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["password_incorrect", "password_not_set", "password_rejected", "invalid_field", "throttled", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn change_password(
    signed_in: SignedIn,
    client: ClientInfo,
    body: JsonBody<ChangePassword>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context,
        caller,
        form,
    } = signed_in;
    let ChangePassword {
        current_password,
        new_password,
    } = body.read().await?;
    let current = password("current_password", current_password)?;
    let new = password("new_password", new_password)?;
    let (opened, _) = auth::change_password(&context, &caller, current, new, client.0).await?;
    log::info!(target: SECURITY, request_id = RequestId::of(&request), user = opened.user.id; "password changed");
    Ok(hand_over(&context.config.cookie, form, opened))
}

/// The body of what needs the password again.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct PasswordBody {
    password: String,
}

/// POST reauthenticate
#[utoipa::path(
    post,
    path = "/api/v1/auth/reauthenticate",
    tag = "users",
    summary = "Prove the password again; the session gets a new token",
    request_body = PasswordBody,
    responses((status = 200, description = "Prove the password again; the session gets a new token", body = SignedInBody, headers(("Set-Cookie" = Option<String>, description = "The session cookie, or its removal")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["password_incorrect", "password_not_set", "invalid_field", "throttled", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn reauthenticate(
    signed_in: SignedIn,
    client: ClientInfo,
    body: JsonBody<PasswordBody>,
) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context,
        caller,
        form,
    } = signed_in;
    let secret = password("password", body.read().await?.password)?;
    let opened = auth::reauthenticate(&context, &caller, secret, &client.0).await?;
    Ok(hand_over(&context.config.cookie, form, opened))
}

/// POST rotate_session
#[utoipa::path(
    post,
    path = "/api/v1/auth/rotate_session",
    tag = "users",
    summary = "Get a new token for the session; the old one is dead at once",
    responses((status = 200, description = "Get a new token for the session; the old one is dead at once", body = SignedInBody, headers(("Set-Cookie" = Option<String>, description = "The session cookie, or its removal")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn rotate(
    signed_in: SignedIn,
    client: ClientInfo,
) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context,
        caller,
        form,
    } = signed_in;
    let opened = auth::rotate(&context, &caller, &client.0).await?;
    Ok(hand_over(&context.config.cookie, form, opened))
}

/// DELETE user
#[utoipa::path(
    delete,
    path = "/api/v1/auth/user",
    tag = "users",
    summary = "Delete the account",
    request_body = PasswordBody,
    responses((status = 200, description = "Delete the account", body = RevokedBody, headers(("Set-Cookie" = Option<String>, description = "The session cookie, or its removal")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["password_incorrect", "password_not_set", "invalid_field", "throttled", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn delete_account(
    signed_in: SignedIn,
    client: ClientInfo,
    body: JsonBody<PasswordBody>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context, caller, ..
    } = signed_in;
    let secret = password("password", body.read().await?.password)?;
    let revoked_count = auth::delete_account(&context, &caller, secret, &client.0).await?;
    log::info!(target: SECURITY, request_id = RequestId::of(&request), user = caller.session.user_id; "account deleted");
    let mut response = HttpResponse::Ok();
    let presented = Presented::read(&request, &context.config.cookie.name);
    clear_cookie(&mut response, &context, &presented, &request);
    Ok(response.json(RevokedBody {
        message: "Account deleted",
        revoked_count,
    }))
}
