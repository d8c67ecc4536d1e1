//! Changing the password.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use serde::Deserialize;

use super::super::cookie;
use super::super::error::ApiError;
use super::super::v1::auth::password;
use super::ACCOUNT;
use super::done::Done;
use super::page::{Frame, redirect, refuse, show};
use super::visit::{Posted, Visit};
use crate::services::{Refusal, auth};

#[derive(Template)]
#[template(path = "account/password.html")]
struct PasswordPage {
    f: Frame,
    min_length: usize,
}

/// GET password
pub async fn form(visit: Visit) -> HttpResponse {
    let shown = async {
        let member = visit.member().await?;
        let page = PasswordPage {
            f: visit.frame_of(&member.user, &member.caller).at("password"),
            min_length: visit.context.config.password.policy.min_length,
        };
        Ok(show(StatusCode::OK, &page))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

/// The form of password.
#[derive(Deserialize)]
pub struct ChangePassword {
    current_password: String,
    new_password: String,
}

/// POST password
pub async fn change(visit: Visit, posted: Posted<ChangePassword>) -> HttpResponse {
    let changed = async {
        let member = visit.member().await?;
        let fields = posted.0?.fields_of(&member.caller)?;
        let changed = async {
            let current = password("current_password", fields.current_password)?;
            let new = password("new_password", fields.new_password)?;
            let (caller, client) = (&member.caller, visit.client.clone());
            auth::change_password(&visit.context, caller, current, new, client).await
        };
        match changed.await {
            Ok((opened, ended)) => {
                let config = &visit.context.config.cookie;
                let set = cookie::set(config, &opened.user, &opened.session, &opened.token);
                let done =
                    Done::PasswordChanged(ended.saturating_sub(1)).query(&opened.token.hash());
                let mut response = redirect(&format!("{ACCOUNT}?{done}"));
                if let Some((name, value)) = cookie::header(&set) {
                    response.headers_mut().append(name, value);
                }
                Ok(response)
            }
            Err(
                refusal @ (Refusal::PasswordIncorrect
                | Refusal::PasswordRejected(_)
                | Refusal::InvalidField { .. }
                | Refusal::Throttled { .. }),
            ) => {
                let error = ApiError::from(refusal);
                let f = visit.frame_of(&member.user, &member.caller).at("password");
                let f = f.with(Some(&error));
                let min_length = visit.context.config.password.policy.min_length;
                Ok(refuse(error, &PasswordPage { f, min_length }))
            }
            Err(other) => Err(other.into()),
        }
    };
    changed.await.unwrap_or_else(|error| visit.fail(error))
}
