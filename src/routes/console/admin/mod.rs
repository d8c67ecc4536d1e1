//! The administrators' console.

mod events;
mod overview;
mod sessions;
mod users;

use actix_web::dev::HttpServiceFactory;
use actix_web::web;

use super::{ADMIN, at, entrance, not_found};

/// The pages under /admin.
pub fn scope() -> impl HttpServiceFactory {
    web::scope(ADMIN)
        .service(
            at("", "GET, HEAD")
                .route(web::get().to(overview::show_overview))
                .route(web::head().to(overview::show_overview)),
        )
        .service(
            at("/sign_in", "GET, HEAD, POST")
                .route(web::get().to(entrance::form))
                .route(web::head().to(entrance::form))
                .route(web::post().to(entrance::sign_in)),
        )
        .service(at("/sign_out", "POST").route(web::post().to(entrance::sign_out)))
        .service(
            at("/sessions", "GET, HEAD")
                .route(web::get().to(sessions::list))
                .route(web::head().to(sessions::list)),
        )
        .service(
            at("/sessions/end", "GET, HEAD, POST")
                .route(web::get().to(sessions::preview))
                .route(web::head().to(sessions::preview))
                .route(web::post().to(sessions::end_matching)),
        )
        .service(
            at("/sessions/{id}", "GET, HEAD")
                .route(web::get().to(sessions::show_session))
                .route(web::head().to(sessions::show_session)),
        )
        .service(at("/sessions/{id}/end", "POST").route(web::post().to(sessions::end)))
        .service(
            at("/users", "GET, HEAD")
                .route(web::get().to(users::list))
                .route(web::head().to(users::list)),
        )
        .service(
            at("/users/{id}", "GET, HEAD")
                .route(web::get().to(users::show_user))
                .route(web::head().to(users::show_user)),
        )
        .service(at("/users/{id}/end", "POST").route(web::post().to(users::end_all)))
        .service(at("/users/{id}/disable", "POST").route(web::post().to(users::disable)))
        .service(at("/users/{id}/enable", "POST").route(web::post().to(users::enable)))
        .service(
            at("/events", "GET, HEAD")
                .route(web::get().to(events::list))
                .route(web::head().to(events::list)),
        )
        .service(
            at("/cleanup", "GET, HEAD, POST")
                .route(web::get().to(overview::cleanup_page))
                .route(web::head().to(overview::cleanup_page))
                .route(web::post().to(overview::clean_up)),
        )
        .default_service(web::to(not_found))
}

/// A remark of a form, if one was made.
fn note(text: &str) -> Result<Option<String>, crate::services::Refusal> {
    use crate::domain::text::{MAX_NOTE_CHARS, display_text};
    if text.trim().is_empty() {
        return Ok(None);
    }
    display_text(text, MAX_NOTE_CHARS)
        .map(Some)
        .map_err(crate::services::refusal::invalid("note"))
}
