//! What the pages load, out of the program itself.

use actix_web::HttpResponse;
use actix_web::http::header;
use actix_web::web::Data;

use crate::context::Context;

/// Where the stylesheet is; a new version of the program has a new address.
pub const STYLESHEET: &str = concat!("/assets/pages.css?v=", env!("CARGO_PKG_VERSION"));

const CSS: &str = include_str!("../../../templates/assets/pages.css");
const ICON: &str = include_str!("../../../templates/assets/icon.svg");

/// Short: the operator's part may change with a restart.
const CACHE: (header::HeaderName, &str) = (header::CACHE_CONTROL, "public, max-age=300");

/// GET /assets/pages.css, the operator's own after ours.
pub async fn stylesheet(context: Data<Context>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(CACHE)
        .content_type("text/css; charset=utf-8")
        .body(format!("{CSS}\n{}", context.config.pages.stylesheet))
}

/// GET /assets/icon.svg
pub async fn icon() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(CACHE)
        .content_type("image/svg+xml")
        .body(ICON)
}
