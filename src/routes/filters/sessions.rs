//! Filters of sessions.

use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{is_empty, limit, network, number, parsed, query_string, text, time};
use crate::context::Context;
use crate::domain::credentials::Email;
use crate::domain::problem::Problem;
use crate::domain::search::{SessionFilter, Window};
use crate::services::refusal::invalid;
use crate::services::{Refusal, admin};

/// The query of a list of sessions.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct SessionQuery {
    /// Whose, by id.
    #[serde(skip_serializing_if = "is_empty")]
    pub user_id: Option<String>,
    /// Whose, by e-mail.
    #[serde(skip_serializing_if = "is_empty")]
    pub email: Option<String>,
    /// In which state.
    #[serde(skip_serializing_if = "is_empty")]
    pub state: Option<String>,
    /// Ended why.
    #[serde(skip_serializing_if = "is_empty")]
    pub reason: Option<String>,
    /// From which network.
    #[serde(skip_serializing_if = "is_empty")]
    pub ip: Option<String>,
    /// How strongly authenticated.
    #[serde(skip_serializing_if = "is_empty")]
    pub auth_level: Option<String>,
    /// Begun not before.
    #[serde(skip_serializing_if = "is_empty")]
    pub created_after: Option<String>,
    /// Begun before.
    #[serde(skip_serializing_if = "is_empty")]
    pub created_before: Option<String>,
    /// Last seen not before.
    #[serde(skip_serializing_if = "is_empty")]
    pub seen_after: Option<String>,
    /// Last seen before.
    #[serde(skip_serializing_if = "is_empty")]
    pub seen_before: Option<String>,
    /// Where the page begins.
    #[serde(skip_serializing_if = "is_empty")]
    pub cursor: Option<String>,
    /// Rows on a page.
    #[serde(skip_serializing_if = "is_empty")]
    pub limit: Option<String>,
}

impl SessionQuery {
    /// The filter; `None` where it can match nothing, because nobody has the e-mail.
    pub async fn filter(&self, context: &Data<Context>) -> Result<Option<SessionFilter>, Refusal> {
        let mut filter = SessionFilter {
            user_id: number("user_id", &self.user_id)?,
            state: one_of!("state", &self.state, crate::domain::search::State)?,
            reason: one_of!("reason", &self.reason, crate::domain::session::Reason)?,
            network: network(&self.ip)?,
            auth_level: one_of!(
                "auth_level",
                &self.auth_level,
                crate::domain::session::AuthLevel
            )?,
            created: Window {
                from: time("created_after", &self.created_after)?,
                until: time("created_before", &self.created_before)?,
            },
            seen: Window {
                from: time("seen_after", &self.seen_after)?,
                until: time("seen_before", &self.seen_before)?,
            },
        };
        if let Some(email) = text(&self.email) {
            let email = Email::parse(email).map_err(invalid("email"))?;
            let Some(user) = admin::user_of_email(context, email).await? else {
                return Ok(None);
            };
            if filter.user_id.is_some_and(|id| id != user.id) {
                return Ok(None);
            }
            filter.user_id = Some(user.id);
        }
        Ok(Some(filter))
    }

    /// Whether it restricts anything.
    pub fn is_restricted(&self) -> bool {
        let without_page = Self {
            cursor: None,
            limit: None,
            ..self.clone()
        };
        !query_string(&without_page).is_empty()
    }
}

fn cursor_id(name: &'static str, field: &Option<String>) -> Result<Option<Uuid>, Refusal> {
    parsed(name, field, Problem::NotACursor, |t| {
        Uuid::try_parse(t).ok()
    })
}

paged!(SessionQuery, Uuid, cursor_id);
