//! HTTP: the whole route table on one page.

mod console;
mod cookie;
mod counting;
pub mod error;
mod extractors;
mod filters;
mod middleware;
pub mod openapi;
mod ops;
mod unread;
mod v1;

use actix_web::dev::HttpServiceFactory;
use actix_web::middleware::DefaultHeaders;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, Resource, Route, guard};

use crate::config::Config;
use error::ApiError;

pub use middleware::boundary;

/// A path whose requests are counted.
fn resource(path: &str) -> Resource {
    web::resource(path).app_data(counting::Slot::default())
}

/// A path, the methods that it takes, and 405 for the others.
fn at(path: &str, allow: &'static str) -> Resource {
    resource(path).default_service(web::to(move || async move {
        Err::<(), _>(ApiError::MethodNotAllowed(allow))
    }))
}

/// The methods that only read.
fn read() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}

/// Registers every route.
pub fn configure(app: &mut ServiceConfig, config: &Config) {
    // First, since what follows has patterns at the top, each of which would be tried before it.
    app.service(auth());
    console::configure(app, &config.pages);
    app.service(at("/health/live", "GET, HEAD").route(read().to(ops::live)))
        .service(at("/health/ready", "GET, HEAD").route(read().to(ops::ready)))
        .service(at("/metrics", "GET, HEAD").route(read().to(ops::metrics)))
        .service(at("/api/v1/openapi.json", "GET, HEAD").route(read().to(openapi::json)))
        .service(at("/api/v1/docs", "GET, HEAD").route(read().to(openapi::to_docs)))
        .service(at("/api/v1/docs/{file:.*}", "GET, HEAD").route(read().to(openapi::docs)))
        .service(v1::admin::scope())
        .default_service(web::to(not_found));
}

fn auth() -> impl HttpServiceFactory {
    use v1::{auth, backends, cleanup, gateway, proof, sessions};
    web::scope("/api/v1/auth")
        // In the order of how often they are asked; a path without a pattern is only compared.
        .service(resource("/verify").route(web::to(gateway::verify)))
        .service(at("/session", "GET, HEAD").route(read().to(sessions::current)))
        .service(at("/sessions", "GET, HEAD").route(read().to(sessions::list)))
        .service(
            at("/sessions/{id}", "PATCH, DELETE")
                .route(web::patch().to(sessions::rename))
                .route(web::delete().to(sessions::end)),
        )
        .service(at("/session_events", "GET, HEAD").route(read().to(sessions::history)))
        .service(at("/sign_up", "POST").route(web::post().to(auth::sign_up)))
        .service(at("/login", "POST").route(web::post().to(auth::login)))
        .service(at("/logout", "POST").route(web::post().to(auth::logout)))
        .service(at("/logout_all", "POST").route(web::post().to(sessions::end_all)))
        .service(at("/logout_others", "POST").route(web::post().to(sessions::end_others)))
        .service(at("/change_password", "POST").route(web::post().to(proof::change_password)))
        .service(at("/reauthenticate", "POST").route(web::post().to(proof::reauthenticate)))
        .service(at("/rotate_session", "POST").route(web::post().to(proof::rotate)))
        .service(at("/user", "DELETE").route(web::delete().to(proof::delete_account)))
        .service(at("/cleanup_sessions", "POST").route(web::post().to(cleanup::cleanup_sessions)))
        .service(resource("/verify/{tail:.*}").route(web::to(gateway::verify_appended)))
        .service(at("/introspect", "POST").route(web::post().to(backends::introspect)))
        .service(at("/revoke", "POST").route(web::post().to(backends::revoke)))
        .service(at("/issue", "POST").route(web::post().to(backends::issue)))
        .service(
            at("/users/{user_id}/revoke_sessions", "POST")
                .route(web::post().to(backends::revoke_sessions)),
        )
        .service(
            at("/users/{user_id}/password", "POST").route(web::post().to(backends::set_password)),
        )
}

async fn not_found(_request: HttpRequest) -> Result<(), ApiError> {
    Err(ApiError::NotFound)
}

/// Headers of every answer, errors included. The API's answers are for programs: no page, no
/// frame, no referrer, no cache.
const ALWAYS: [(&str, &str); 4] = [
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    (
        "Content-Security-Policy",
        "default-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("Referrer-Policy", "no-referrer"),
];

/// Where the cookie is for HTTPS alone.
const HSTS: (&str, &str) = (
    "Strict-Transport-Security",
    "max-age=31536000; includeSubDomains",
);

/// What adds them.
pub fn default_headers(config: &Config) -> DefaultHeaders {
    let headers = ALWAYS
        .into_iter()
        .fold(DefaultHeaders::new(), DefaultHeaders::add);
    match config.cookie.secure {
        true => headers.add(HSTS),
        false => headers,
    }
}

/// What a query string that cannot be read is answered with.
pub fn malformed_query() -> ApiError {
    ApiError::Malformed("The query string is malformed or holds an unknown parameter.".to_owned())
}

/// What a path that cannot be read is answered with.
pub fn no_such_path() -> ApiError {
    ApiError::NotFound
}
