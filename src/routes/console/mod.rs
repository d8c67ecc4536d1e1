//! Pages for people: the administrators' console and the users' account. Drawn here, without any
//! script; every change is a form.

mod account;
mod admin;
mod assets;
mod charts;
mod confirm;
mod done;
mod entrance;
mod explain;
mod messages;
mod page;
mod password;
mod view;
mod visit;

use actix_web::HttpResponse;
use actix_web::web::{self, ServiceConfig};

use crate::config::PagesConfig;

const ADMIN: &str = "/admin";
const ACCOUNT: &str = "/account";

/// Registers the pages that are switched on.
pub fn configure(app: &mut ServiceConfig, config: &PagesConfig) {
    if config.account || config.admin {
        app.service(
            at("/assets/pages.css", "GET, HEAD")
                .route(web::head().to(assets::stylesheet))
                .route(web::get().to(assets::stylesheet)),
        )
        .service(
            at("/assets/icon.svg", "GET, HEAD")
                .route(web::head().to(assets::icon))
                .route(web::get().to(assets::icon)),
        );
    }
    if config.admin {
        app.service(admin::scope());
    }
    if config.account {
        app.service(account::scope());
    }
}

/// A page's path: what takes it, and a page for methods that it does not take.
fn at(path: &str, allow: &'static str) -> actix_web::Resource {
    super::resource(path).default_service(web::to(move |visit: visit::Visit| async move {
        visit.fail(super::error::ApiError::MethodNotAllowed(allow))
    }))
}

/// Nothing here; with a slash too many at its end, what was meant.
async fn not_found(visit: visit::Visit) -> HttpResponse {
    let path = visit.request.path();
    let trimmed = path.trim_end_matches('/');
    if trimmed.len() < path.len() && visit.request.method().is_safe() {
        let to = match visit.request.query_string() {
            "" => trimmed.to_owned(),
            query => format!("{trimmed}?{query}"),
        };
        return HttpResponse::PermanentRedirect()
            .insert_header((actix_web::http::header::LOCATION, to))
            .finish();
    }
    visit.fail(super::error::ApiError::NotFound)
}
