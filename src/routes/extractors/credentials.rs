//! The credentials of end users.

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;

use super::super::cookie::{self, Cookies};
use super::super::error::ApiError;
use super::{SameOrigin, context};
use crate::context::Context;
use crate::domain::token::SessionToken;
use crate::services::Refusal;
use crate::services::verification::{self, Authenticated};

/// The form in which the caller presents its token, and gets new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `Authorization: Bearer`.
    Bearer,
    /// The cookie.
    Cookie,
}

/// What a request presents as its session's token.
#[derive(Debug)]
pub struct Presented {
    /// In which form.
    pub form: Form,
    /// Well-formed tokens; of a bearer one at most.
    pub tokens: Vec<SessionToken>,
    /// Whether anything was presented, well-formed or not.
    pub is_any: bool,
    /// The cookies, whether they count or not.
    pub cookies: Cookies,
}

impl Presented {
    /// Reads a request: a bearer wins over the cookie, other schemes are ignored.
    pub fn read(request: &HttpRequest, cookie_name: &str) -> Self {
        Self::read_with(request, cookie_name, false)
    }

    /// The same on behalf of a proxy: the application behind it may use bearers of its own, so one
    /// that does not have the form of ours leaves the cookie to count.
    pub fn read_behind_proxy(request: &HttpRequest, cookie_name: &str) -> Self {
        Self::read_with(request, cookie_name, true)
    }

    /// The cookie alone, for pages.
    pub fn read_cookie(request: &HttpRequest, cookie_name: &str) -> Self {
        let cookies = cookie::read(request.headers(), cookie_name);
        Self {
            form: Form::Cookie,
            tokens: cookies.tokens.clone(),
            is_any: cookies.count > 0,
            cookies,
        }
    }

    fn read_with(request: &HttpRequest, cookie_name: &str, lenient: bool) -> Self {
        let cookies = cookie::read(request.headers(), cookie_name);
        match bearer(request) {
            Some(token) if token.is_some() || !lenient => Self {
                form: Form::Bearer,
                tokens: token.into_iter().collect(),
                is_any: true,
                cookies,
            },
            _ => Self {
                form: Form::Cookie,
                tokens: cookies.tokens.clone(),
                is_any: cookies.count > 0,
                cookies,
            },
        }
    }

    /// The valid session among them.
    pub async fn authenticate(
        &self,
        context: &Context,
        touch: bool,
    ) -> Result<Authenticated, Refusal> {
        match self.tokens.is_empty() {
            false => verification::authenticate(context, &self.tokens, touch).await,
            true => Err(verification::refuse_unasked(context, self.is_any)),
        }
    }
}

/// The bearer token: `None` without one, `Some(None)` where it has not the form of ours.
fn bearer(request: &HttpRequest) -> Option<Option<SessionToken>> {
    let mut values = request
        .headers()
        .get_all(header::AUTHORIZATION)
        .filter_map(|value| {
            let (scheme, rest) = value.as_bytes().split_at_checked(6)?;
            let is_bearer =
                scheme.eq_ignore_ascii_case(b"bearer") && rest.first().is_none_or(|b| *b == b' ');
            is_bearer.then(|| rest.trim_ascii())
        })
        // The scheme alone presents nothing.
        .filter(|token| !token.is_empty());
    let first = values.next()?;
    if values.next().is_some() {
        return Some(None);
    }
    Some(
        std::str::from_utf8(first)
            .ok()
            .and_then(SessionToken::parse),
    )
}

/// Whether a request carries a bearer, of whatever form.
pub(super) fn has_bearer(request: &HttpRequest) -> bool {
    bearer(request).is_some()
}

/// A caller whose session is valid, and who passed the cross-origin check where the cookie was used.
pub struct SignedIn {
    /// The application's shared state.
    pub context: Data<Context>,
    /// The session.
    pub caller: Authenticated,
    /// How new tokens go back.
    pub form: Form,
}

impl FromRequest for SignedIn {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let context = context(&request)?.clone();
            let presented = Presented::read(&request, &context.config.cookie.name);
            if presented.form == Form::Cookie && presented.is_any {
                SameOrigin::check(&request)?;
            }
            let caller = presented.authenticate(&context, true).await?;
            Ok(Self {
                context,
                caller,
                form: presented.form,
            })
        })
    }
}
