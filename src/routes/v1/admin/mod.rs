//! What administrators see and do.

pub(in crate::routes) mod accounts;
pub(in crate::routes) mod body;
pub(in crate::routes) mod overview;
pub(in crate::routes) mod sessions;

use actix_web::dev::HttpServiceFactory;
use actix_web::web;

use super::super::at;

/// The routes under /api/v1/admin.
pub(in crate::routes) fn scope() -> impl HttpServiceFactory {
    web::scope("/api/v1/admin")
        .service(at("/sessions", "GET").route(web::get().to(sessions::list)))
        .service(at("/sessions/count", "GET").route(web::get().to(sessions::count)))
        .service(at("/sessions/revoke", "POST").route(web::post().to(sessions::end_matching)))
        .service(
            at("/sessions/{id}", "GET, DELETE")
                .route(web::get().to(sessions::show))
                .route(web::delete().to(sessions::end)),
        )
        .service(at("/users", "GET").route(web::get().to(accounts::list)))
        .service(at("/users/{id}", "GET").route(web::get().to(accounts::show)))
        .service(at("/users/{id}/revoke_sessions", "POST").route(web::post().to(accounts::revoke)))
        .service(at("/users/{id}/disable", "POST").route(web::post().to(accounts::disable)))
        .service(at("/users/{id}/enable", "POST").route(web::post().to(accounts::enable)))
        .service(at("/session_events", "GET").route(web::get().to(overview::events)))
        .service(
            at("/cleanup_runs", "GET, POST")
                .route(web::get().to(overview::cleanup_runs))
                .route(web::post().to(overview::clean_up)),
        )
        .service(at("/statistics", "GET").route(web::get().to(overview::statistics)))
}
