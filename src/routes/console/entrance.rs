//! Signing in and out, for both parts.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use serde::Deserialize;

use super::super::cookie;
use super::super::error::ApiError;
use super::super::extractors::RequestId;
use super::super::v1::auth::{clear_cookie, email, password};
use super::messages::Messages;
use super::page::{Frame, redirect, refuse, show};
use super::visit::{Nothing, Posted, Visit};
use crate::domain::session::{AuthLevel, Reason};
use crate::domain::user::Role;
use crate::services::Refusal;
use crate::services::auth::{self, Login, Opened, SessionRequest};
use crate::telemetry::SECURITY;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    f: Frame,
    email: String,
}

/// GET sign_in: says why one has to, where that is known.
pub async fn form(visit: Visit) -> HttpResponse {
    let mut f = visit.frame();
    f.done = because(&visit, f.m).await;
    let page = SignInPage {
        f,
        email: String::new(),
    };
    show(StatusCode::OK, &page)
}

/// Why the session that the browser still presents is over: no link can claim that.
async fn because(visit: &Visit, m: &Messages) -> Option<String> {
    let presented = visit.presented();
    match presented.authenticate(&visit.context, false).await {
        Err(Refusal::SessionExpired) => Some(m.ended(Reason::Expired)),
        Err(Refusal::SessionRevoked(reason)) => Some(m.ended(reason)),
        _ => None,
    }
}

/// The form of sign_in.
#[derive(Deserialize)]
pub struct SignIn {
    email: String,
    password: String,
    remember_me: Option<String>,
}

/// POST sign_in
pub async fn sign_in(visit: Visit, posted: Posted<SignIn>) -> HttpResponse {
    let fields = match posted.0 {
        Ok(form) => form.fields(),
        Err(error) => return visit.fail(error),
    };
    let typed = fields.email.clone();
    match enter(&visit, fields).await {
        Ok(opened) => {
            let config = &visit.context.config.cookie;
            let set = cookie::set(config, &opened.user, &opened.session, &opened.token);
            let mut response = redirect(visit.frame().base);
            if let Some((name, value)) = cookie::header(&set) {
                response.headers_mut().append(name, value);
            }
            response
        }
        Err(error) => {
            let f = visit.frame().with(Some(&error));
            refuse(error, &SignInPage { f, email: typed })
        }
    }
}

async fn enter(visit: &Visit, fields: SignIn) -> Result<Opened, ApiError> {
    let presented = visit.presented();
    let login = Login {
        email: email(&fields.email)?,
        password: password("password", fields.password)?,
        request: SessionRequest {
            remember_me: fields.remember_me.is_some(),
            device_label: None,
            auth_level: AuthLevel::Password,
            client: visit.client.clone(),
        },
        presented: presented.tokens,
        role: visit.frame().is_admin().then_some(Role::Admin),
    };
    let opened = auth::login(&visit.context, login).await?;
    let (user, session) = (opened.user.id, opened.session.id);
    log::info!(target: SECURITY, request_id = RequestId::of(&visit.request), user, session:%; "logged in");
    Ok(opened)
}

/// The form, with what has just been done.
pub fn told(visit: &Visit, done: impl Fn(&Messages) -> String) -> HttpResponse {
    let mut f = visit.frame();
    f.done = Some(done(f.m));
    let page = SignInPage {
        f,
        email: String::new(),
    };
    show(StatusCode::OK, &page)
}

/// POST sign_out
pub async fn sign_out(visit: Visit, posted: Posted<Nothing>) -> HttpResponse {
    let presented = visit.presented();
    // A form of a session that has ended meanwhile signs out as well: there is nothing to protect.
    let checked = match (posted.0, visit.member().await) {
        (Err(error), _) => Err(error),
        (Ok(form), Ok(member)) => form.fields_of(&member.caller).map(|_| ()),
        (Ok(_), Err(_)) => Ok(()),
    };
    if let Err(error) = checked {
        return visit.fail(error);
    }
    match auth::logout(&visit.context, &presented.tokens, &visit.client).await {
        Ok(_) => leave(&visit, |m| m.done_signed_out.to_owned()),
        Err(refusal) => visit.fail(refusal.into()),
    }
}

/// Takes the cookie away and shows the entrance.
pub fn leave(visit: &Visit, done: impl Fn(&Messages) -> String) -> HttpResponse {
    let mut cleared = HttpResponse::Ok();
    clear_cookie(
        &mut cleared,
        &visit.context,
        &visit.presented(),
        &visit.request,
    );
    let mut response = told(visit, done);
    for (name, value) in cleared.finish().headers() {
        response.headers_mut().append(name.clone(), value.clone());
    }
    response
}
