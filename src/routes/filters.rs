//! What administrators filter by, as query strings and forms have it: the JSON API and the console
//! take the same. An empty field is none, because forms send all of theirs.

use std::str::FromStr;

use actix_web::web::Data;
use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use ipnetwork::IpNetwork;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::context::Context;
use crate::domain::credentials::Email;
use crate::domain::search::{EventFilter, SessionFilter, UserFilter, Window};
use crate::services::refusal::invalid;
use crate::services::{Refusal, admin};

/// Longest text that a filter takes.
const MAX_TEXT: usize = 320;
const DEFAULT_LIMIT: u16 = 50;
const MAX_LIMIT: u16 = 200;

type Field = Option<String>;

fn text(field: &Field) -> Option<&str> {
    field
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// A field that is parsed by `parse`; `form` says what it must be.
fn parsed<T>(
    name: &'static str,
    field: &Field,
    form: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    let Some(text) = text(field) else {
        return Ok(None);
    };
    match parse(text) {
        Some(value) => Ok(Some(value)),
        None => Err(invalid(name)(format!("must be {form}"))),
    }
}

fn number<T: FromStr>(name: &'static str, field: &Field) -> Result<Option<T>, Refusal> {
    parsed(name, field, "a whole number", |text| text.parse().ok())
}

fn time(name: &'static str, field: &Field) -> Result<Option<DateTime<Utc>>, Refusal> {
    let form = "a time such as 2026-11-30T09:00:00Z, or a date";
    parsed(name, field, form, parse_time)
}

/// RFC 3339; what a browser's field for times sends, or a date, are taken as UTC.
fn parse_time(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.to_utc());
    }
    let minutes = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M");
    let seconds = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S");
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d");
    minutes
        .or(seconds)
        .ok()
        .or_else(|| date.ok()?.and_hms_opt(0, 0, 0))
        .filter(|time| (0..=9999).contains(&chrono::Datelike::year(time)))
        .map(|time| time.and_utc())
}

fn limit(field: &Field) -> Result<u16, Refusal> {
    let form = format!("a whole number from 1 to {MAX_LIMIT}");
    let limit = parsed("limit", field, &form, |text| {
        text.parse()
            .ok()
            .filter(|limit| (1..=MAX_LIMIT).contains(limit))
    })?;
    Ok(limit.unwrap_or(DEFAULT_LIMIT))
}

/// One of the texts of an enumeration.
macro_rules! one_of {
    ($name:literal, $field:expr, $type:ty) => {{
        let texts: Vec<&str> = <$type>::ALL.iter().map(|value| value.as_str()).collect();
        let form = format!("one of {}", texts.join(", "));
        parsed($name, $field, &form, <$type>::parse)
    }};
}

/// The query of a list of sessions.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct SessionQuery {
    /// Whose, by id.
    #[serde(skip_serializing_if = "is_empty")]
    pub user_id: Field,
    /// Whose, by e-mail.
    #[serde(skip_serializing_if = "is_empty")]
    pub email: Field,
    /// In which state.
    #[serde(skip_serializing_if = "is_empty")]
    pub state: Field,
    /// Ended why.
    #[serde(skip_serializing_if = "is_empty")]
    pub reason: Field,
    /// From which network.
    #[serde(skip_serializing_if = "is_empty")]
    pub ip: Field,
    /// How strongly authenticated.
    #[serde(skip_serializing_if = "is_empty")]
    pub auth_level: Field,
    /// Begun not before.
    #[serde(skip_serializing_if = "is_empty")]
    pub created_after: Field,
    /// Begun before.
    #[serde(skip_serializing_if = "is_empty")]
    pub created_before: Field,
    /// Last seen not before.
    #[serde(skip_serializing_if = "is_empty")]
    pub seen_after: Field,
    /// Last seen before.
    #[serde(skip_serializing_if = "is_empty")]
    pub seen_before: Field,
    /// Where the page begins.
    #[serde(skip_serializing_if = "is_empty")]
    pub cursor: Field,
    /// Rows on a page.
    #[serde(skip_serializing_if = "is_empty")]
    pub limit: Field,
}

fn is_empty(field: &Field) -> bool {
    text(field).is_none()
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

    /// Where the page begins.
    pub fn cursor(&self) -> Result<Option<Uuid>, Refusal> {
        parsed("cursor", &self.cursor, "a cursor of a Link header", |t| {
            Uuid::try_parse(t).ok()
        })
    }

    /// Rows on a page.
    pub fn limit(&self) -> Result<u16, Refusal> {
        limit(&self.limit)
    }

    /// The same query for the page that begins at `cursor`.
    pub fn at(&self, cursor: Option<String>) -> String {
        query_string(&Self {
            cursor,
            ..self.clone()
        })
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

fn network(field: &Field) -> Result<Option<IpNetwork>, Refusal> {
    let form = "an address or a network, such as 203.0.113.0/24";
    parsed("ip", field, form, |text| {
        let network: IpNetwork = text.parse().ok()?;
        // Addresses are kept coarse: one that was asked for in full means its network.
        let is_full = network.prefix() == if network.is_ipv4() { 32 } else { 128 };
        Some(match is_full {
            true => crate::domain::address::coarse(network.ip()),
            false => IpNetwork::new(network.network(), network.prefix()).ok()?,
        })
    })
}

fn query_string(query: &impl Serialize) -> String {
    // Only texts: this cannot fail.
    serde_urlencoded::to_string(query).unwrap_or_default()
}

/// The query of a list of events.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct EventQuery {
    /// About whom.
    #[serde(skip_serializing_if = "is_empty")]
    pub user_id: Field,
    /// About which session.
    #[serde(skip_serializing_if = "is_empty")]
    pub session_id: Field,
    /// What.
    #[serde(skip_serializing_if = "is_empty")]
    pub kind: Field,
    /// Why.
    #[serde(skip_serializing_if = "is_empty")]
    pub reason: Field,
    /// By whom.
    #[serde(skip_serializing_if = "is_empty")]
    pub actor: Field,
    /// From which network.
    #[serde(skip_serializing_if = "is_empty")]
    pub ip: Field,
    /// Not before.
    #[serde(skip_serializing_if = "is_empty")]
    pub occurred_after: Field,
    /// Before.
    #[serde(skip_serializing_if = "is_empty")]
    pub occurred_before: Field,
    /// Where the page begins.
    #[serde(skip_serializing_if = "is_empty")]
    pub cursor: Field,
    /// Rows on a page.
    #[serde(skip_serializing_if = "is_empty")]
    pub limit: Field,
}

impl EventQuery {
    /// The filter.
    pub fn filter(&self) -> Result<EventFilter, Refusal> {
        Ok(EventFilter {
            user_id: number("user_id", &self.user_id)?,
            session_id: parsed("session_id", &self.session_id, "a session's id", |t| {
                Uuid::try_parse(t).ok()
            })?,
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

    /// Where the page begins.
    pub fn cursor(&self) -> Result<Option<i64>, Refusal> {
        number("cursor", &self.cursor)
    }

    /// Rows on a page.
    pub fn limit(&self) -> Result<u16, Refusal> {
        limit(&self.limit)
    }

    /// The same query for the page that begins at `cursor`.
    pub fn at(&self, cursor: Option<String>) -> String {
        query_string(&Self {
            cursor,
            ..self.clone()
        })
    }
}

/// The query of a list of users.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct UserQuery {
    /// An id, or a part of the e-mail.
    #[serde(skip_serializing_if = "is_empty")]
    pub query: Field,
    /// Whether disabled.
    #[serde(skip_serializing_if = "is_empty")]
    pub disabled: Field,
    /// Where the page begins.
    #[serde(skip_serializing_if = "is_empty")]
    pub cursor: Field,
    /// Rows on a page.
    #[serde(skip_serializing_if = "is_empty")]
    pub limit: Field,
}

impl UserQuery {
    /// The filter.
    pub fn filter(&self) -> Result<UserFilter, Refusal> {
        let mut filter = UserFilter {
            disabled: parsed("disabled", &self.disabled, "true or false", |text| {
                text.parse().ok()
            })?,
            ..UserFilter::default()
        };
        match text(&self.query) {
            Some(query) if query.len() > MAX_TEXT || query.contains('\0') => {
                return Err(invalid("query")("must be shorter, and without NUL".into()));
            }
            Some(query) => match query.parse() {
                Ok(id) => filter.id = Some(id),
                Err(_not_a_number) => filter.email_part = Some(query.to_owned()),
            },
            None => {}
        }
        Ok(filter)
    }

    /// Where the page begins.
    pub fn cursor(&self) -> Result<Option<i64>, Refusal> {
        number("cursor", &self.cursor)
    }

    /// Rows on a page.
    pub fn limit(&self) -> Result<u16, Refusal> {
        limit(&self.limit)
    }

    /// The same query for the page that begins at `cursor`.
    pub fn at(&self, cursor: Option<String>) -> String {
        query_string(&Self {
            cursor,
            ..self.clone()
        })
    }
}

/// The query of a list without filters.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct PageQuery {
    /// Where the page begins.
    #[serde(skip_serializing_if = "is_empty")]
    pub cursor: Field,
    /// Rows on a page.
    #[serde(skip_serializing_if = "is_empty")]
    pub limit: Field,
}

impl PageQuery {
    /// Where the page begins.
    pub fn cursor(&self) -> Result<Option<i64>, Refusal> {
        number("cursor", &self.cursor)
    }

    /// Rows on a page.
    pub fn limit(&self) -> Result<u16, Refusal> {
        limit(&self.limit)
    }

    /// The same query for the page that begins at `cursor`.
    pub fn at(&self, cursor: Option<String>) -> String {
        query_string(&Self {
            cursor,
            ..self.clone()
        })
    }
}
