//! Keeping pages of other origins from using somebody's cookie.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{FromRequest, HttpRequest};

use super::super::error::ApiError;
use super::{context, credentials};
use crate::config::HttpConfig;

/// Proof that no page of another origin sent this request.
#[derive(Debug, Clone, Copy)]
pub struct SameOrigin;

impl SameOrigin {
    /// Checks a request of an unsafe method. Safe ones change nothing and pass; so do those with a
    /// bearer, which no page can send without having been given it.
    pub fn check(request: &HttpRequest) -> Result<Self, ApiError> {
        if request.method().is_safe() || credentials::has_bearer(request) {
            return Ok(Self);
        }
        match is_permitted(request.headers(), &context(request)?.config.http) {
            true => Ok(Self),
            false => Err(ApiError::CrossOrigin),
        }
    }
}

/// Browsers say where a request comes from; what says nothing is no browser. `same-site` is
/// another origin too.
fn is_permitted(headers: &HeaderMap, config: &HttpConfig) -> bool {
    let text = |name: &str| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or("unreadable"))
    };
    let fetch_site = text("sec-fetch-site");
    if matches!(fetch_site, Some("same-origin" | "none")) {
        return true;
    }
    let Some(origin) = text(header::ORIGIN.as_str()) else {
        return fetch_site.is_none();
    };
    let origin = origin.to_ascii_lowercase();
    if config.trusted_origins.contains(&origin) {
        return true;
    }
    // A browser that sends Sec-Fetch-Site has said that the origin is another.
    if fetch_site.is_some() && config.public_origin.is_none() {
        return false;
    }
    match &config.public_origin {
        Some(public) => origin == *public,
        None => {
            let host = text(header::HOST.as_str())
                .unwrap_or_default()
                .to_ascii_lowercase();
            let of_origin = origin
                .strip_prefix("https://")
                .or_else(|| origin.strip_prefix("http://"));
            !host.is_empty() && of_origin == Some(host.as_str())
        }
    }
}

impl FromRequest for SameOrigin {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::check(request))
    }
}
