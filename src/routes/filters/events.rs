//! Filters of events.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{is_empty, limit, network, number, parsed, query_string, time};
use crate::domain::problem::Problem;
use crate::domain::search::{EventFilter, Window};
use crate::services::Refusal;

/// The query of a list of events.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct EventQuery {
    /// About whom.
    #[serde(skip_serializing_if = "is_empty")]
    pub user_id: Option<String>,
    /// About which session.
    #[serde(skip_serializing_if = "is_empty")]
    pub session_id: Option<String>,
    /// What.
    #[serde(skip_serializing_if = "is_empty")]
    pub kind: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "is_empty")]
    pub reason: Option<String>,
    /// By whom.
    #[serde(skip_serializing_if = "is_empty")]
    pub actor: Option<String>,
    /// From which network.
    #[serde(skip_serializing_if = "is_empty")]
    pub ip: Option<String>,
    /// Not before.
    #[serde(skip_serializing_if = "is_empty")]
    pub occurred_after: Option<String>,
    /// Before.
    #[serde(skip_serializing_if = "is_empty")]
    pub occurred_before: Option<String>,
    /// Where the page begins.
    #[serde(skip_serializing_if = "is_empty")]
    pub cursor: Option<String>,
    /// Rows on a page.
    #[serde(skip_serializing_if = "is_empty")]
    pub limit: Option<String>,
}

impl EventQuery {
    /// The filter.
    pub fn filter(&self) -> Result<EventFilter, Refusal> {
        Ok(EventFilter {
            user_id: number("user_id", &self.user_id)?,
            session_id: parsed(
                "session_id",
                &self.session_id,
                Problem::NotASessionId,
                |t| Uuid::try_parse(t).ok(),
            )?,
            kind: one_of!("kind", &self.kind, crate::domain::event::EventKind)?,
            reason: one_of!("reason", &self.reason, crate::domain::session::Reason)?,
            actor: one_of!("actor", &self.actor, crate::domain::event::ActorKind)?,
            network: network(&self.ip)?,
            occurred: Window {
                from: time("occurred_after", &self.occurred_after)?,
                until: time("occurred_before", &self.occurred_before)?,
            },
        })
    }
}

paged!(EventQuery, i64, number);
