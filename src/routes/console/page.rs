//! What every page has: language, frame, headers, confirmations and errors.

use actix_web::body::BoxBody;
use actix_web::http::{StatusCode, header};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use askama::Template;
use constant_time_eq::constant_time_eq;

use super::super::error::ApiError;
use super::messages::{Messages, fill};
use super::{ADMIN, assets};
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
        }
    }

    /// Whether this is the administrators' part.
    pub fn is_admin(&self) -> bool {
        self.base == ADMIN
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
fn bound(hash: &SessionHash, purpose: &str) -> String {
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

/// Something done, as the page after a form tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    SessionsEnded(usize),
    PartEnded(usize),
    UserDisabled(usize),
    UserEnabled,
    Cleaned(i64),
    Renamed,
    PasswordChanged,
}

impl Done {
    fn parts(self) -> (&'static str, i64) {
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        match self {
            Self::SessionsEnded(n) => ("sessions_ended", count(n)),
            Self::PartEnded(n) => ("part_ended", count(n)),
            Self::UserDisabled(n) => ("user_disabled", count(n)),
            Self::UserEnabled => ("user_enabled", 0),
            Self::Cleaned(n) => ("cleaned", n),
            Self::Renamed => ("renamed", 0),
            Self::PasswordChanged => ("password_changed", 0),
        }
    }

    /// For the address of the page that tells it; bound to the session, so that no link from
    /// elsewhere can claim something.
    pub fn query(self, hash: &SessionHash) -> String {
        let (code, count) = self.parts();
        let proof = bound(hash, &format!("done {code} {count}"));
        format!("done={code}.{count}.{proof}")
    }
}

/// What a page's address claims to have been done, if it is true.
pub fn told(m: &Messages, hash: &SessionHash, query: &str) -> Option<String> {
    let claim = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("done="))?;
    let (fact, proof) = claim.rsplit_once('.')?;
    let (code, count) = fact.split_once('.')?;
    let expected = bound(hash, &format!("done {code} {count}"));
    if !constant_time_eq(expected.as_bytes(), proof.as_bytes()) {
        return None;
    }
    let text = match code {
        "sessions_ended" => m.done_session_ended,
        "part_ended" => m.done_part_ended,
        "user_disabled" => m.done_user_disabled,
        "user_enabled" => m.done_user_enabled,
        "cleaned" => m.done_cleaned,
        "renamed" => m.done_renamed,
        "password_changed" => m.done_password_changed,
        _ => return None,
    };
    Some(fill(text, count))
}

/// Shows a page.
pub fn show(status: StatusCode, page: &impl Template) -> HttpResponse {
    match page.render() {
        Ok(html) => dress(HttpResponse::new(status), html),
        Err(error) => ApiError::Refused(Refusal::Internal(error.to_string())).error_response(),
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
}

/// A page that says what did not work; the log is told like for any other error.
pub fn error(frame: Frame, error: ApiError) -> HttpResponse {
    let page = ErrorPage {
        message: explain(frame.m, &error),
        f: frame,
    };
    match page.render() {
        Ok(html) => dress(HttpResponse::from_error(error), html),
        Err(_render) => HttpResponse::from_error(error),
    }
}

/// What did not work, and what to do.
pub fn explain(m: &Messages, error: &ApiError) -> String {
    let ApiError::Refused(refusal) = error else {
        return match error {
            ApiError::CrossOrigin => m.err_cross_origin,
            ApiError::NotFound | ApiError::MethodNotAllowed(_) => m.err_not_found,
            ApiError::Malformed(problem) => return fill(m.err_field, problem),
            _ => m.err_other,
        }
        .to_owned();
    };
    match refusal {
        Refusal::InvalidCredentials => m.err_credentials,
        Refusal::Throttled { retry_after } => {
            return fill(m.err_throttled, retry_after.num_seconds() + 1);
        }
        Refusal::EmailTaken => m.err_email_taken,
        Refusal::SignUpDisabled => m.err_sign_up_disabled,
        Refusal::PasswordRejected(rejection) => {
            return fill(m.err_password_rejected, rejection.message());
        }
        Refusal::PasswordIncorrect => m.err_password_incorrect,
        Refusal::PasswordNotSet => m.err_password_not_set,
        Refusal::InvalidField { field, problem } => {
            return fill(m.err_field, format!("{field} {problem}."));
        }
        Refusal::NotFound => m.err_not_found,
        Refusal::Forbidden => m.err_forbidden,
        Refusal::FilterTooBroad => m.err_too_broad,
        Refusal::CountChanged => m.err_count_changed,
        Refusal::ReauthenticationRequired { .. } => m.err_reauthenticate,
        Refusal::SessionExpired => m.sess_expired,
        Refusal::SessionRevoked(reason) => return fill(m.sess_ended, m.reason(*reason)),
        Refusal::Unavailable(_) => m.err_unavailable,
        _ => m.err_other,
    }
    .to_owned()
}
