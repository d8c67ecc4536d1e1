//! Pages for people: the administrators' console and the users' account. Drawn here, without any
//! script; every change is a form, and every form is answered with a redirect.

mod account;
mod admin;
mod assets;
mod charts;
mod entrance;
mod messages;
mod page;
mod view;
mod visit;

use actix_web::HttpResponse;
use actix_web::web::{self, ServiceConfig};

use super::at;
use crate::config::PagesConfig;

const ADMIN: &str = "/admin";
const ACCOUNT: &str = "/account";

/// Registers the pages that are switched on.
pub fn configure(app: &mut ServiceConfig, config: &PagesConfig) {
    if config.account || config.admin {
        app.service(at("/assets/pages.css", "GET").route(web::get().to(assets::stylesheet)))
            .service(at("/assets/icon.svg", "GET").route(web::get().to(assets::icon)));
    }
    if config.admin {
        app.service(admin::scope());
    }
    if config.account {
        app.service(account::scope());
    }
}

async fn not_found(visit: visit::Visit) -> HttpResponse {
    visit.fail(super::error::ApiError::NotFound)
}
