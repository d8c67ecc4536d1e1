//! Signing in and out, for both parts.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use serde::Deserialize;

use super::super::cookie;
use super::super::error::ApiError;
use super::super::extractors::RequestId;
use super::super::v1::auth::{clear_cookie, email, password};
use super::messages::{Messages, fill};
use super::page::{Frame, explain, redirect, show};
use super::visit::{Nothing, Posted, Visit};
use crate::domain::session::{AuthLevel, Reason};
use crate::domain::user::Role;
use crate::services::auth::{self, Login, Opened, SessionRequest};
use crate::services::{Refusal, admin};
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
    f.done = because(f.m, visit.request.query_string());
    let page = SignInPage {
        f,
        email: String::new(),
    };
    show(StatusCode::OK, &page)
}

fn because(m: &Messages, query: &str) -> Option<String> {
    match query.strip_prefix("because=")? {
        "expired" => Some(m.sess_expired.to_owned()),
        "signed_out" => Some(m.done_signed_out.to_owned()),
        "signed_up" => Some(m.done_signed_up.to_owned()),
        other => Reason::parse(other).map(|reason| fill(m.sess_ended, m.reason(reason))),
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
            let mut f = visit.frame();
            f.problem = Some(explain(f.m, &error));
            let status = error.code().0;
            log::warn!(target: SECURITY, request_id = RequestId::of(&visit.request), code = error.code().1; "sign-in refused");
            // A 401 would demand a challenge that browsers show as a window of their own.
            let status = match status {
                StatusCode::UNAUTHORIZED => StatusCode::FORBIDDEN,
                other => other,
            };
            show(status, &SignInPage { f, email: typed })
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
    };
    let opened = auth::login(&visit.context, login).await?;
    let (user, session) = (opened.user.id, opened.session.id);
    if visit.frame().is_admin() && opened.user.role != Role::Admin {
        // Nothing stays behind of a session that nobody asked for.
        auth::logout(&visit.context, &[opened.token], &visit.client).await?;
        let what = "POST /admin/sign_in".to_owned();
        admin::deny(&visit.context, user, session, &visit.client, what).await?;
        return Err(Refusal::Forbidden.into());
    }
    log::info!(target: SECURITY, request_id = RequestId::of(&visit.request), user, session:%; "logged in");
    Ok(opened)
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
        Ok(_) => leave(&visit, "signed_out"),
        Err(refusal) => visit.fail(refusal.into()),
    }
}

/// Takes the cookie away and leads to the entrance.
pub fn leave(visit: &Visit, because: &str) -> HttpResponse {
    let mut response = HttpResponse::SeeOther();
    let to = format!("{}/sign_in?because={because}", visit.frame().base);
    response.insert_header(("Location", to));
    clear_cookie(
        &mut response,
        &visit.context,
        &visit.presented(),
        &visit.request,
    );
    response.finish()
}
