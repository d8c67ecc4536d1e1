//! For reverse proxies that ask whether a request may pass.

use actix_web::http::header::HeaderName;
use actix_web::web::{Data, Query};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{SecondsFormat, TimeDelta};
use serde::Deserialize;

use super::super::error::ApiError;
use super::super::extractors::Presented;
use super::super::malformed_query;
use crate::context::Context;
use crate::domain::session::AuthLevel;
use crate::services::verification::{require_level, require_recent};

const USER_ID: HeaderName = HeaderName::from_static("x-auth-user-id");
const SESSION_ID: HeaderName = HeaderName::from_static("x-auth-session-id");
const LEVEL: HeaderName = HeaderName::from_static("x-auth-level");
const AUTHENTICATED_AT: HeaderName = HeaderName::from_static("x-auth-authenticated-at");

/// What a proxy may demand. What else is in the query is the application's: some proxies pass its own
/// on, Caddy of itself.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(in crate::routes) struct Demands {
    max_age: Option<u32>,
    auth_level: Option<AuthLevel>,
    touch: Option<bool>,
}

/// Any method on verify: 200 without a body and with every identity header, or 401.
#[utoipa::path(
    method(get, post, put, delete, head, options, patch, trace),
    path = "/api/v1/auth/verify",
    tag = "machines",
    summary = "Whether a request may pass: for reverse proxies",
    description = "Also at verify/{tail}, for proxies that append the original request's path and query; the query is then the application's and demands nothing. A mistyped demand (Max-Age) is refused, any other parameter ignored; `path` and all that follows it is the application's likewise. max_age counts from the last proof, and auth_level is of the same proof. Exempt from the cross-origin check: it changes nothing.",
    params(("max_age" = Option<i64>, Query, minimum = 0, maximum = 4294967295_i64, description = "Greatest age of the authentication, in seconds"), ("auth_level" = Option<AuthLevel>, Query, description = "Least strength of the authentication"), ("touch" = Option<bool>, Query, description = "false: this is no use of the session")),
    responses((status = 200, description = "Whether a request may pass: for reverse proxies", headers(("X-Auth-User-Id" = String, description = "Id of the user"), ("X-Auth-Session-Id" = String, description = "Id of the session"), ("X-Auth-Level" = String, description = "password or mfa"), ("X-Auth-Authenticated-At" = String, description = "When the user last proved the credential")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["malformed_request", "reauthentication_required", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn verify(
    request: HttpRequest,
    context: Data<Context>,
) -> Result<HttpResponse, ApiError> {
    let query = own_part(request.query_string());
    if query.split('&').any(is_mistyped) {
        return Err(malformed_query());
    }
    let demands = Query::<Demands>::from_query(query).map_err(|_problem| malformed_query())?;
    check(&request, &context, &demands).await
}

/// Whether a parameter is a demand but for its spelling: it must not pass for none.
fn is_mistyped(parameter: &str) -> bool {
    const DEMANDS: [(&str, &str); 3] = [
        ("max_age", "maxage"),
        ("auth_level", "authlevel"),
        ("touch", "touch"),
    ];
    let name = parameter.split('=').next().unwrap_or_default();
    let bare = name.to_ascii_lowercase().replace(['_', '-', '.'], "");
    DEMANDS
        .iter()
        .any(|(right, bare_right)| bare == *bare_right && name != *right)
}

/// The query up to a parameter `path`: proxies that can only append hang the original request's path
/// and query on that, and what follows is the application's.
fn own_part(query: &str) -> &str {
    match query.starts_with("path=") {
        true => "",
        false => query.split_once("&path=").map_or(query, |(own, _)| own),
    }
}

/// Any method on verify/{tail}, where a proxy has appended the original request's path and query: a
/// `max_age` in it is the application's.
pub(in crate::routes) async fn verify_appended(
    request: HttpRequest,
    context: Data<Context>,
) -> Result<HttpResponse, ApiError> {
    check(&request, &context, &Demands::default()).await
}

async fn check(
    request: &HttpRequest,
    context: &Context,
    demands: &Demands,
) -> Result<HttpResponse, ApiError> {
    let presented = Presented::read_behind_proxy(request, &context.config.cookie.name);
    let caller = presented
        .authenticate(context, demands.touch.unwrap_or(true))
        .await?;
    let session = caller.session;
    require_recent(
        &session,
        demands.max_age.map(|age| TimeDelta::seconds(age.into())),
    )?;
    if let Some(level) = demands.auth_level {
        require_level(&session, level)?;
    }
    let authenticated_at = session
        .authenticated_at
        .to_rfc3339_opts(SecondsFormat::Secs, true);
    Ok(HttpResponse::Ok()
        .insert_header((USER_ID, session.user_id))
        .insert_header((SESSION_ID, session.id.to_string()))
        .insert_header((LEVEL, session.auth_level.as_str()))
        .insert_header((AUTHENTICATED_AT, authenticated_at))
        .finish())
}
