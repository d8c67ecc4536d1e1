//! What administrators see and do.

pub(in crate::routes) mod accounts;
pub(in crate::routes) mod body;
pub(in crate::routes) mod overview;
pub(in crate::routes) mod sessions;

use actix_web::dev::HttpServiceFactory;
use actix_web::web;

use super::super::{at, read};

/// The routes under /api/v1/admin.
pub(in crate::routes) fn scope() -> impl HttpServiceFactory {
    web::scope("/api/v1/admin")
        .service(at("/sessions", "GET, HEAD").route(read().to(sessions::list)))
        .service(at("/sessions/count", "GET, HEAD").route(read().to(sessions::count)))
        .service(at("/sessions/revoke", "POST").route(web::post().to(sessions::end_matching)))
        .service(
            at("/sessions/{id}", "GET, HEAD, DELETE")
                .route(read().to(sessions::show))
                .route(web::delete().to(sessions::end)),
        )
        .service(at("/users", "GET, HEAD").route(read().to(accounts::list)))
        .service(at("/users/{id}", "GET, HEAD").route(read().to(accounts::show)))
        .service(at("/users/{id}/revoke_sessions", "POST").route(web::post().to(accounts::revoke)))
        .service(at("/users/{id}/disable", "POST").route(web::post().to(accounts::disable)))
        .service(at("/users/{id}/enable", "POST").route(web::post().to(accounts::enable)))
        .service(at("/session_events", "GET, HEAD").route(read().to(overview::events)))
        .service(
            at("/cleanup_runs", "GET, HEAD, POST")
                .route(read().to(overview::cleanup_runs))
                .route(web::post().to(overview::clean_up)),
        )
        .service(at("/statistics", "GET, HEAD").route(read().to(overview::statistics)))
}
