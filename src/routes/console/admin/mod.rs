//! The administrators' console.

mod end;
mod events;
mod overview;
mod sessions;
mod users;

use actix_web::dev::HttpServiceFactory;
use actix_web::web;

use super::super::error::ApiError;
use super::{ADMIN, at, entrance, not_found};
use crate::services::Refusal;
use crate::services::admin::Page;

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
                .route(web::get().to(end::preview))
                .route(web::head().to(end::preview))
                .route(web::post().to(end::end_matching)),
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
fn note(text: &str) -> Result<Option<String>, Refusal> {
    use crate::domain::text::{MAX_NOTE_CHARS, display_text};
    if text.trim().is_empty() {
        return Ok(None);
    }
    display_text(text, MAX_NOTE_CHARS)
        .map(Some)
        .map_err(crate::services::refusal::invalid("note"))
}

/// What a filter finds. One that cannot be used finds nothing, and its form is shown again as it
/// was typed, with what is wrong above it.
fn found_or_why<T, C>(
    found: Result<Page<T, C>, ApiError>,
) -> Result<(Page<T, C>, Option<ApiError>), ApiError> {
    match found {
        Ok(page) => Ok((page, None)),
        Err(error) if is_about_filter(&error) => {
            let nothing = Page {
                items: Vec::new(),
                next: None,
            };
            Ok((nothing, Some(error)))
        }
        Err(other) => Err(other),
    }
}

fn is_about_filter(error: &ApiError) -> bool {
    matches!(
        error,
        ApiError::Refused(Refusal::InvalidField { .. } | Refusal::FilterTooBroad)
    )
}
