//! Who looks at a page, and what a form sends.

use actix_web::dev::Payload;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use futures_util::future::LocalBoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::error::ApiError;
use super::super::extractors::{ClientInfo, Presented, SameOrigin, context, read_body};
use super::done::told;
use super::page::{self, Frame, form_token, is_form_token, redirect};
use super::{ACCOUNT, ADMIN};
use crate::context::Context;
use crate::domain::client::Client;
use crate::domain::user::User;
use crate::services::Refusal;
use crate::services::admin::{self, Administrator};
use crate::services::verification::{self, Authenticated};

/// A page's request, from whomever.
pub struct Visit {
    /// The application's shared state.
    pub context: Data<Context>,
    /// The request itself.
    pub request: HttpRequest,
    /// Where from.
    pub client: Client,
    base: &'static str,
}

impl FromRequest for Visit {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let base = if request.path().starts_with(ADMIN) {
            ADMIN
        } else {
            ACCOUNT
        };
        std::future::ready(context(request).map(|context| Self {
            context: context.clone(),
            client: ClientInfo::of(request),
            request: request.clone(),
            base,
        }))
    }
}

/// A signed-in user.
pub struct Member {
    /// The account.
    pub user: User,
    /// The session.
    pub caller: Authenticated,
}

impl Visit {
    /// The frame for nobody in particular.
    pub fn frame(&self) -> Frame {
        Frame::new(&self.request, &self.context, self.base)
    }

    /// The tokens that the browser presents; pages know cookies alone.
    pub fn presented(&self) -> Presented {
        Presented::read_cookie(&self.request, &self.context.config.cookie.name)
    }

    /// The signed-in user.
    pub async fn member(&self) -> Result<Member, ApiError> {
        let caller = self.presented().authenticate(&self.context, true).await?;
        let user = verification::owner(&self.context, &caller.session).await?;
        Ok(Member { user, caller })
    }

    /// The signed-in administrator.
    pub async fn administrator(&self) -> Result<Administrator, ApiError> {
        let caller = self.presented().authenticate(&self.context, true).await?;
        let route = self.request.match_pattern().unwrap_or_default();
        let what = format!("{} {route}", self.request.method());
        Ok(admin::authorise(&self.context, caller, self.client.clone(), what).await?)
    }

    /// The frame of a signed-in user's page.
    pub fn frame_of(&self, user: &User, caller: &Authenticated) -> Frame {
        let mut frame = self.frame();
        let id = || format!("#{}", user.id);
        frame.who = Some(user.email.clone().unwrap_or_else(id));
        frame.token = form_token(&caller.hash);
        frame.done = told(frame.m, &caller.hash, self.request.query_string());
        frame
    }

    /// What a page that failed shows: the way to sign in where that helps, else what to do.
    pub fn fail(&self, error: ApiError) -> HttpResponse {
        match &error {
            // The page there says why; signing in anew clears up several cookies as well.
            ApiError::Refused(
                Refusal::CredentialsMissing
                | Refusal::SessionUnknown
                | Refusal::SessionAmbiguous
                | Refusal::SessionExpired
                | Refusal::SessionRevoked(_),
            ) => redirect(&format!("{}/sign_in", self.base)),
            ApiError::Refused(Refusal::ReauthenticationRequired { .. }) if self.base == ACCOUNT => {
                redirect("/account/confirm")
            }
            _ => page::error(self.frame(), error),
        }
    }
}

/// What a form sends, urlencoded, from a page of ours. Whether its token is the session's is for
/// [`Form::fields_of`] to say; forms of people who are not signed in have none.
pub struct Form<T> {
    sent: Sent<T>,
}

#[derive(Deserialize)]
struct Sent<T> {
    #[serde(default)]
    token: String,
    #[serde(flatten)]
    fields: T,
}

impl<T> Form<T> {
    /// The fields of somebody who is not signed in.
    pub fn fields(self) -> T {
        self.sent.fields
    }

    /// The fields, if the form was made for this session.
    pub fn fields_of(self, caller: &Authenticated) -> Result<T, ApiError> {
        match is_form_token(&caller.hash, &self.sent.token) {
            true => Ok(self.sent.fields),
            false => Err(ApiError::CrossOrigin),
        }
    }
}

/// A form, or why there is none: the handler shows that as a page.
pub struct Posted<T>(pub Result<Form<T>, ApiError>);

impl<T: DeserializeOwned> FromRequest for Posted<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move { Ok(Self(read(&request, payload).await)) })
    }
}

async fn read<T: DeserializeOwned>(
    request: &HttpRequest,
    payload: Payload,
) -> Result<Form<T>, ApiError> {
    SameOrigin::check(request)?;
    let content_type = actix_web::HttpMessage::content_type(request);
    if !content_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(ApiError::UnsupportedMediaType);
    }
    let body = read_body(request, payload).await?;
    let malformed = || ApiError::Malformed("The form is malformed.".to_owned());
    let sent = serde_urlencoded::from_bytes(&body).map_err(|_may_hold_a_password| malformed())?;
    Ok(Form { sent })
}

/// A form without fields.
#[derive(Deserialize)]
pub struct Nothing {}
