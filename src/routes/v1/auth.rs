//! Signing up, logging in and out, and who is signed in.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};

use super::super::cookie;
use super::super::error::ApiError;
use super::super::extractors::{
    ClientInfo, Form, JsonBody, Presented, RequestId, SameOrigin, SignedIn,
};
use super::body::{RevokedBody, SignedInBody, UserBody, hand_over};
use crate::context::Context;
use crate::domain::credentials::{Email, Password};
use crate::domain::problem::Problem;
use crate::domain::session::AuthLevel;
use crate::domain::text::{MAX_LABEL_CHARS, display_text};
use crate::services::auth::{self, Login, SessionRequest};
use crate::services::refusal::invalid;
use crate::services::{Refusal, verification};
use crate::telemetry::SECURITY;

/// The body of sign_up.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct SignUp {
    #[schema(format = "email")]
    email: String,
    password: String,
}

#[derive(Serialize, utoipa::ToSchema)]
struct SignedUpBody {
    user: UserBody,
}

pub(in crate::routes) fn email(text: &str) -> Result<Email, Refusal> {
    Email::parse(text).map_err(invalid("email"))
}

/// A password that is to be checked against a hash; NUL is refused everywhere.
pub(in crate::routes) fn password(field: &'static str, text: String) -> Result<Password, Refusal> {
    match text.contains('\0') {
        true => Err(invalid(field)(Problem::Nul)),
        false => Ok(Password::new(text)),
    }
}

/// POST sign_up
#[utoipa::path(
    post,
    path = "/api/v1/auth/sign_up",
    tag = "users",
    summary = "Make an account",
    request_body = SignUp,
    responses((status = 201, description = "Make an account", body = SignedUpBody)),
    extensions(("x-errors" = json!(["cross_origin", "sign_up_disabled", "email_taken", "invalid_field", "password_rejected", "throttled", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn sign_up(
    _same_origin: SameOrigin,
    context: Data<Context>,
    client: ClientInfo,
    body: JsonBody<SignUp>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    auth::require_sign_up(&context)?;
    let SignUp {
        email: address,
        password: secret,
    } = body.read().await?;
    let (address, secret) = (email(&address)?, password("password", secret)?);
    let user = auth::sign_up(&context, address, secret, &client.0).await?;
    log::info!(target: SECURITY, request_id = RequestId::of(&request), user = user.id; "signed up");
    Ok(HttpResponse::Created().json(SignedUpBody { user: user.into() }))
}

/// Where a log-in wants its token.
/// Read as text: of itself serde would take `{"token": null}` for one, too.
#[derive(Deserialize, Clone, Copy, Default, PartialEq, Eq, utoipa::ToSchema)]
#[serde(try_from = "String")]
#[schema(rename_all = "snake_case")]
enum Delivery {
    #[default]
    Cookie,
    Token,
}

impl TryFrom<String> for Delivery {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "cookie" => Ok(Self::Cookie),
            "token" => Ok(Self::Token),
            _ => Err("neither cookie nor token"),
        }
    }
}

/// The body of login.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct LoginBody {
    #[schema(format = "email")]
    email: String,
    password: String,
    #[serde(default)]
    remember_me: bool,
    #[serde(default)]
    delivery: Delivery,
    /// 1 to 64 characters on one line, trimmed.
    device_label: Option<String>,
}

/// POST login
#[utoipa::path(
    post,
    path = "/api/v1/auth/login",
    tag = "users",
    summary = "Log in",
    description = "With delivery cookie (the default) the token is in the cookie alone, with token in the body alone.",
    request_body = LoginBody,
    responses((status = 200, description = "Log in", body = SignedInBody, headers(("Set-Cookie" = Option<String>, description = "The session cookie, or its removal")))),
    extensions(("x-errors" = json!(["cross_origin", "invalid_credentials", "invalid_field", "throttled", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn login(
    _same_origin: SameOrigin,
    context: Data<Context>,
    client: ClientInfo,
    body: JsonBody<LoginBody>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let body = body.read().await?;
    let label = body
        .device_label
        .map(|label| display_text(&label, MAX_LABEL_CHARS).map_err(invalid("device_label")));
    let presented = Presented::read(&request, &context.config.cookie.name);
    let login = Login {
        email: email(&body.email)?,
        password: password("password", body.password)?,
        request: SessionRequest {
            remember_me: body.remember_me,
            device_label: label.transpose()?,
            auth_level: AuthLevel::Password,
            client: client.0,
        },
        presented: presented.tokens,
        role: None,
    };
    let opened = auth::login(&context, login).await?;
    let (user, session) = (opened.user.id, opened.session.id);
    log::info!(target: SECURITY, request_id = RequestId::of(&request), user, session:%; "logged in");
    let form = match body.delivery {
        Delivery::Cookie => Form::Cookie,
        Delivery::Token => Form::Bearer,
    };
    let mut response = hand_over(&context.config.cookie, form, opened);
    if form == Form::Cookie {
        let variant = cookie::clear_variant(
            &context.config.cookie,
            &presented.cookies,
            host(&request).as_deref(),
        );
        if let Some((name, value)) = variant.as_deref().and_then(cookie::header) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

fn host(request: &HttpRequest) -> Option<String> {
    request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .map(str::to_owned)
}

/// POST logout
#[utoipa::path(
    post,
    path = "/api/v1/auth/logout",
    tag = "users",
    summary = "Log out; succeeds for any token, and without one",
    responses((status = 200, description = "Log out; succeeds for any token, and without one", body = RevokedBody, headers(("Set-Cookie" = Option<String>, description = "The session cookie, or its removal"), ("Clear-Site-Data" = Option<String>, description = "If configured")))),
    security((), ("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["cross_origin", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn logout(
    _same_origin: SameOrigin,
    context: Data<Context>,
    client: ClientInfo,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let presented = Presented::read(&request, &context.config.cookie.name);
    let revoked_count = auth::logout(&context, &presented.tokens, &client.0).await?;
    log::info!(target: SECURITY, request_id = RequestId::of(&request), revoked_count; "logged out");
    let mut response = HttpResponse::Ok();
    clear_cookie(&mut response, &context, &presented, &request);
    Ok(response.json(RevokedBody {
        message: "Logged out",
        revoked_count,
    }))
}

/// Removes the caller's cookie, and the site's data where that is configured.
pub(in crate::routes) fn clear_cookie(
    response: &mut actix_web::HttpResponseBuilder,
    context: &Context,
    presented: &Presented,
    request: &HttpRequest,
) {
    let cleared = cookie::clear(
        &context.config.cookie,
        &presented.cookies,
        host(request).as_deref(),
    );
    for header in cleared.iter().filter_map(|cookie| cookie::header(cookie)) {
        response.append_header(header);
    }
    if context.config.cookie.clear_site_data {
        response.insert_header(("Clear-Site-Data", r#""cache", "cookies", "storage""#));
    }
}

/// GET session
#[utoipa::path(
    get,
    path = "/api/v1/auth/session",
    tag = "sessions",
    summary = "Who is signed in, and how",
    responses((status = 200, description = "Who is signed in, and how", body = SignedInBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn current(signed_in: SignedIn) -> Result<HttpResponse, ApiError> {
    let SignedIn {
        context, caller, ..
    } = signed_in;
    let user = verification::owner(&context, &caller.session).await?;
    Ok(HttpResponse::Ok().json(SignedInBody::new(user, caller.session)))
}
