//! The password once more, where it was proved too long ago.

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
#[template(path = "account/confirm.html")]
struct ConfirmPage {
    f: Frame,
}

/// GET confirm
pub async fn form(visit: Visit) -> HttpResponse {
    match visit.member().await {
        Ok(member) => {
            let f = visit.frame_of(&member.user, &member.caller);
            show(StatusCode::OK, &ConfirmPage { f })
        }
        Err(error) => visit.fail(error),
    }
}

/// The form of confirm.
#[derive(Deserialize)]
pub struct Confirm {
    password: String,
}

/// POST confirm: leads back to the devices, the only page that asks for it.
pub async fn confirm(visit: Visit, posted: Posted<Confirm>) -> HttpResponse {
    let confirmed = async {
        let member = visit.member().await?;
        let fields = posted.0?.fields_of(&member.caller)?;
        let (caller, client) = (&member.caller, &visit.client);
        let proved = match password("password", fields.password) {
            Ok(secret) => auth::reauthenticate(&visit.context, caller, secret, client).await,
            Err(refusal) => Err(refusal),
        };
        match proved {
            Ok(opened) => {
                let done = Done::Confirmed.query(&opened.token.hash());
                let mut response = redirect(&format!("{ACCOUNT}?{done}"));
                let config = &visit.context.config.cookie;
                let set = cookie::set(config, &opened.user, &opened.session, &opened.token);
                if let Some((name, value)) = cookie::header(&set) {
                    response.headers_mut().append(name, value);
                }
                Ok(response)
            }
            Err(
                refusal @ (Refusal::PasswordIncorrect
                | Refusal::PasswordNotSet
                | Refusal::InvalidField { .. }
                | Refusal::Throttled { .. }),
            ) => {
                let error = ApiError::from(refusal);
                let f = visit.frame_of(&member.user, caller).with(Some(&error));
                Ok(refuse(error, &ConfirmPage { f }))
            }
            Err(other) => Err(other.into()),
        }
    };
    confirmed.await.unwrap_or_else(|error| visit.fail(error))
}
