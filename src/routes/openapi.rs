//! The description of the API (OpenAPI 3.1), made from the handlers' annotations, and pages to read
//! it. What follows from a rule rather than from one handler (the errors of every body, of every
//! credential, the headers of every answer) is added here, in one place.

use std::sync::{Arc, OnceLock};

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value, json};
use utoipa::OpenApi;
use utoipa_swagger_ui::Config;

use super::error::ApiError;
use super::{ops, v1};
use crate::context::Context;
use crate::services::Refusal;

/// Name of the session cookie where none is configured.
pub const DEFAULT_COOKIE: &str = "__Host-session_id";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "sekisho",
        description = "Login sessions: one row is one signed-in device, and every ending says why. \
            An error is {code, message}; codes are stable. 503 never means signed out: keep the token and retry.",
    ),
    paths(
        v1::auth::sign_up,
        v1::auth::login,
        v1::auth::logout,
        v1::proof::change_password,
        v1::proof::reauthenticate,
        v1::proof::rotate,
        v1::proof::delete_account,
        v1::cleanup::cleanup_sessions,
        v1::auth::current,
        v1::sessions::list,
        v1::sessions::rename,
        v1::sessions::end,
        v1::sessions::end_all,
        v1::sessions::end_others,
        v1::sessions::history,
        v1::gateway::verify,
        v1::backends::introspect,
        v1::backends::revoke,
        v1::backends::issue,
        v1::backends::revoke_sessions,
        v1::backends::set_password,
        v1::admin::sessions::list,
        v1::admin::sessions::count,
        v1::admin::sessions::end_matching,
        v1::admin::sessions::show,
        v1::admin::sessions::end,
        v1::admin::accounts::list,
        v1::admin::accounts::show,
        v1::admin::accounts::revoke,
        v1::admin::accounts::disable,
        v1::admin::accounts::enable,
        v1::admin::overview::events,
        v1::admin::overview::cleanup_runs,
        v1::admin::overview::clean_up,
        v1::admin::overview::statistics,
        ops::live,
        ops::ready,
        ops::metrics,
    ),
    components(schemas(super::error::ErrorBody)),
    tags(
        (name = "users", description = "Accounts, logging in and out"),
        (name = "sessions", description = "A user's own devices and history"),
        (name = "administrators", description = "Everybody's sessions; for users of role admin"),
        (name = "machines", description = "Reverse proxies, backends and schedulers"),
        (name = "operations", description = "Health and metrics"),
    ),
)]
struct Annotated;

/// Status of each code; the codes of ApiError.
const CODES: &[(&str, u16)] = &[
    ("malformed_request", 400),
    ("credentials_missing", 401),
    ("session_unknown", 401),
    ("session_expired", 401),
    ("session_revoked", 401),
    ("session_ambiguous", 401),
    ("reauthentication_required", 401),
    ("invalid_credentials", 401),
    ("api_key_invalid", 401),
    ("cross_origin", 403),
    ("forbidden", 403),
    ("password_incorrect", 403),
    ("sign_up_disabled", 403),
    ("not_found", 404),
    ("method_not_allowed", 405),
    ("request_timeout", 408),
    ("count_changed", 409),
    ("email_taken", 409),
    ("email_conflict", 409),
    ("password_not_set", 409),
    ("user_disabled", 409),
    ("body_too_large", 413),
    ("unsupported_media_type", 415),
    ("filter_too_broad", 422),
    ("invalid_field", 422),
    ("password_rejected", 422),
    ("throttled", 429),
    ("internal_error", 500),
    ("unavailable", 503),
];

/// What any body may be refused with, and any session's token.
const OF_BODIES: [&str; 4] = [
    "malformed_request",
    "request_timeout",
    "body_too_large",
    "unsupported_media_type",
];
const OF_SESSIONS: [&str; 5] = [
    "credentials_missing",
    "session_unknown",
    "session_expired",
    "session_revoked",
    "session_ambiguous",
];

/// The description, for a service whose cookie has this name.
pub fn description(cookie: &str) -> Value {
    let mut document = serde_json::to_value(Annotated::openapi()).unwrap_or_default();
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, item) in paths.into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            complete(path, method, operation);
        }
    }
    document["components"]["securitySchemes"] = security_schemes(cookie);
    document["servers"] = json!([{ "url": "/" }]);
    document
}

fn security_schemes(cookie: &str) -> Value {
    let key = |description: &str| json!({"type": "apiKey", "in": "header", "name": "X-API-Key", "description": description});
    json!({
        "bearer": {"type": "http", "scheme": "bearer", "description": "The session's token, for apps. Wins over the cookie."},
        "cookie": {"type": "apiKey", "in": "cookie", "name": cookie, "description": "The session's token, for browsers."},
        "cleanup_key": key("SESSION_CLEANUP_API_KEY"),
        "service_key": key("SERVICE_API_KEY"),
        "service_basic": {"type": "http", "scheme": "basic", "description": "Any id, and SERVICE_API_KEY as the secret; it may also be sent as client_secret in the form."},
    })
}

/// Adds to an operation what follows from its body, its credentials and its method.
fn complete(path: &str, method: &str, operation: &mut Value) {
    let mut codes: Vec<String> = operation
        .as_object_mut()
        .and_then(|operation| operation.remove("x-errors"))
        .and_then(|codes| serde_json::from_value(codes).ok())
        .unwrap_or_default();
    let mut add = |more: &[&str]| codes.extend(more.iter().map(|code| (*code).to_owned()));
    if operation.get("requestBody").is_some() {
        add(&OF_BODIES);
    }
    // A remark may be left out together with its body.
    let schema = operation.pointer("/requestBody/content/application~1json/schema/$ref");
    if schema.and_then(Value::as_str) == Some("#/components/schemas/NoteFields") {
        operation["requestBody"]["required"] = json!(false);
    }
    let is_asked = |scheme: &str| {
        let alternatives = operation.get("security").and_then(Value::as_array);
        alternatives
            .into_iter()
            .flatten()
            .any(|one| one.get(scheme).is_some())
    };
    let is_optional = is_asked("bearer")
        && operation["security"]
            .as_array()
            .is_some_and(|all| all.contains(&json!({})));
    let is_verify = path.ends_with("/verify");
    if is_asked("bearer") && !is_optional {
        add(&OF_SESSIONS);
        if !is_verify && !["get", "head"].contains(&method) {
            add(&["cross_origin"]);
        }
    }
    if is_asked("service_key") || is_asked("cleanup_key") {
        add(&["api_key_invalid"]);
    }
    // One path item may serve several methods by one handler.
    operation["operationId"] = json!(format!(
        "{method}_{}",
        path.trim_start_matches('/')
            .replace(['/', '{', '}', '.'], "_")
    ));
    let responses = operation["responses"].as_object_mut();
    if let Some(responses) = responses {
        for response in responses.values_mut() {
            add_header(
                response,
                "X-Request-Id",
                "Echoed where well-formed, else made",
                true,
            );
        }
        for (status, of_status) in by_status(&codes) {
            responses.insert(status.to_string(), refusal(status, &of_status));
        }
    }
}

fn by_status(codes: &[String]) -> std::collections::BTreeMap<u16, Vec<&str>> {
    let mut grouped = std::collections::BTreeMap::<u16, Vec<&str>>::new();
    for (code, status) in CODES {
        if codes.iter().any(|wanted| wanted == code) {
            grouped.entry(*status).or_default().push(code);
        }
    }
    grouped
}

fn refusal(status: u16, codes: &[&str]) -> Value {
    let mut response = json!({
        "description": codes.join(", "),
        "content": {"application/json": {"schema": {"allOf": [
            {"$ref": "#/components/schemas/ErrorBody"},
            {"type": "object", "properties": {"code": {"enum": codes}}},
        ]}}},
    });
    add_header(
        &mut response,
        "X-Request-Id",
        "Echoed where well-formed, else made",
        true,
    );
    match status {
        401 => add_header(
            &mut response,
            "WWW-Authenticate",
            "The challenge (RFC 9110)",
            true,
        ),
        429 | 503 => add_header(&mut response, "Retry-After", "Seconds to wait", true),
        _ => {}
    }
    response
}

fn add_header(response: &mut Value, name: &str, description: &str, required: bool) {
    if !response["headers"].is_object() {
        response["headers"] = Value::Object(Map::new());
    }
    response["headers"][name] =
        json!({"description": description, "required": required, "schema": {"type": "string"}});
}

/// GET openapi.json
pub(super) async fn json(context: Data<Context>) -> HttpResponse {
    HttpResponse::Ok().json(description(&context.config.cookie.name))
}

/// GET docs
pub(super) async fn to_docs() -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, "/api/v1/docs/"))
        .finish()
}

/// The pages' own policy: they are pages, and fetch the description and what is tried out.
const DOCS_POLICY: &str = "default-src 'none'; object-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// GET docs/{file}: pages that need nothing from elsewhere.
pub(super) async fn docs(
    file: Path<String>,
    _request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    static CONFIG: OnceLock<Arc<Config<'static>>> = OnceLock::new();
    let config =
        CONFIG.get_or_init(|| Arc::new(Config::from("/api/v1/openapi.json").validator_url("none")));
    match utoipa_swagger_ui::serve(&file, config.clone()) {
        Ok(Some(file)) => Ok(HttpResponse::Ok()
            .content_type(file.content_type)
            .insert_header((header::CONTENT_SECURITY_POLICY, DOCS_POLICY))
            .body(file.bytes.into_owned())),
        Ok(None) => Err(ApiError::NotFound),
        Err(error) => Err(Refusal::Internal(error.to_string()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_annotated_code_has_its_status() {
        let annotated = serde_json::to_value(Annotated::openapi()).unwrap();
        for (path, item) in annotated["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let codes = operation["x-errors"].as_array();
                let codes = codes.unwrap_or_else(|| panic!("{method} {path} has no x-errors"));
                for code in codes {
                    let is_known = CODES.iter().any(|(known, _)| code == known);
                    assert!(is_known, "{method} {path}: {code}");
                }
            }
        }
    }
}
