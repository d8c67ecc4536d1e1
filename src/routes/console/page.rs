//! What every page has: language, frame, headers and errors.

use std::borrow::Borrow;

use actix_web::body::BoxBody;
use actix_web::http::{StatusCode, header};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use askama::Template;
use constant_time_eq::constant_time_eq;

use super::super::error::ApiError;
use super::explain::explain;
use super::messages::{Messages, counted, fill, grouped};
use super::{ACCOUNT, ADMIN, assets};
use crate::context::Context;
use crate::domain::token::{SessionHash, hex_sha256};
use crate::services::Refusal;

/// No script at all, no inline style, nothing from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// The frame of a page.
pub struct Frame {
    /// Texts.
    pub m: &'static Messages,
    /// What the operator calls the service.
    pub product: String,
    /// Of the stylesheet.
    pub stylesheet: &'static str,
    /// `/admin` or `/account`.
    pub base: &'static str,
    /// Which entry of the navigation is this page.
    pub here: &'static str,
    /// The signed-in user, if one.
    pub who: Option<String>,
    /// Goes along with every form.
    pub token: String,
    /// What was done.
    pub done: Option<String>,
    /// What did not work.
    pub problem: Option<String>,
    /// Whether there is a page to make an account.
    pub sign_up: bool,
    /// Whether there are pages for users.
    pub has_account: bool,
}

impl Frame {
    /// For nobody in particular.
    pub fn new(request: &HttpRequest, context: &Data<Context>, base: &'static str) -> Self {
        let languages = request
            .headers()
            .get(header::ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        Self {
            m: Messages::preferred(languages),
            product: context.config.pages.product_name.clone(),
            stylesheet: assets::STYLESHEET,
            base,
            here: "",
            who: None,
            token: String::new(),
            done: None,
            problem: None,
            sign_up: context.config.sign_up_enabled,
            has_account: context.config.pages.account,
        }
    }

    /// Whether this is the administrators' part.
    pub fn is_admin(&self) -> bool {
        self.base == ADMIN
    }

    /// A number, as people read it.
    pub fn n(&self, number: impl Borrow<i64>) -> String {
        grouped(*number.borrow())
    }

    /// The least length of a password.
    pub fn least(&self, characters: impl Borrow<usize>) -> String {
        fill(self.m.password_least, characters.borrow())
    }

    /// A text about a number of things.
    pub fn counted(&self, text: impl AsRef<str>, number: impl Borrow<i64>) -> String {
        counted(text.as_ref(), *number.borrow())
    }

    /// The same page with what did not work.
    pub fn with(mut self, error: Option<&ApiError>) -> Self {
        self.problem = error.map(|error| explain(self.m, error));
        self
    }

    /// As an entry of the navigation has it.
    pub fn at(mut self, here: &'static str) -> Self {
        self.here = here;
        self
    }

    /// Attribute value for an entry of the navigation.
    pub fn current(&self, entry: &str) -> &'static str {
        if self.here == entry { "page" } else { "false" }
    }
}

/// Ties a text to a session: only who knows the session's hash could have made it.
pub(super) fn bound(hash: &SessionHash, purpose: &str) -> String {
    let text = format!("{}\n{purpose}", hash.as_str());
    String::from_utf8_lossy(&hex_sha256(text.as_bytes())).into_owned()
}

/// What the forms of a session carry.
pub fn form_token(hash: &SessionHash) -> String {
    bound(hash, "form")
}

/// Whether a form was made for this session.
pub fn is_form_token(hash: &SessionHash, token: &str) -> bool {
    constant_time_eq(form_token(hash).as_bytes(), token.as_bytes())
}

/// Shows a page.
pub fn show(status: StatusCode, page: &impl Template) -> HttpResponse {
    match page.render() {
        Ok(html) => dress(HttpResponse::new(status), html),
        Err(error) => ApiError::Refused(Refusal::Internal(error.to_string())).error_response(),
    }
}

/// Shows a page again after what did not work: with the error's status and headers, and known to
/// the log as any other error.
pub fn refuse(error: ApiError, page: &impl Template) -> HttpResponse {
    match page.render() {
        Ok(html) => {
            let mut response = dress(HttpResponse::from_error(error), html);
            // A 401 would demand a challenge that browsers show as a window of their own.
            if response.status() == StatusCode::UNAUTHORIZED {
                *response.status_mut() = StatusCode::FORBIDDEN;
                response.headers_mut().remove(header::WWW_AUTHENTICATE);
            }
            response
        }
        Err(error) => ApiError::Refused(Refusal::Internal(error.to_string())).error_response(),
    }
}

/// Shows a page, whether something did not work or not.
pub fn show_or_refuse(error: Option<ApiError>, page: &impl Template) -> HttpResponse {
    match error {
        Some(error) => refuse(error, page),
        None => show(StatusCode::OK, page),
    }
}

fn dress(mut response: HttpResponse, html: String) -> HttpResponse {
    let headers = response.headers_mut();
    let html_type = header::HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, html_type);
    let policy = header::HeaderValue::from_static(POLICY);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(
        header::VARY,
        header::HeaderValue::from_static("Accept-Language"),
    );
    // Forms of this site say where they come from; other sites are told nothing.
    let referrer = header::HeaderValue::from_static("same-origin");
    headers.insert(header::REFERRER_POLICY, referrer);
    response.set_body(BoxBody::new(html))
}

/// Sends the browser to another page, which it GETs.
pub fn redirect(to: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, to))
        .finish()
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    f: Frame,
    message: String,
    ways: Vec<(&'static str, &'static str)>,
}

/// A page that says what did not work, and where to go from there.
pub fn error(frame: Frame, error: ApiError) -> HttpResponse {
    let m = frame.m;
    let mut ways = match (&error, frame.is_admin()) {
        (ApiError::Refused(Refusal::Forbidden), _) => vec![("/admin/sign_in", m.sign_in_admin)],
        (_, true) => vec![(ADMIN, m.overview)],
        (_, false) => vec![(ACCOUNT, m.devices)],
    };
    if matches!(error, ApiError::Refused(Refusal::Forbidden)) && frame.has_account {
        ways.push((ACCOUNT, m.account));
    }
    let page = ErrorPage {
        message: explain(m, &error),
        f: frame,
        ways,
    };
    refuse(error, &page)
}
