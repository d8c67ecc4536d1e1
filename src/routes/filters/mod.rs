//! What administrators filter by, as query strings and forms have it: the JSON API and the console
//! take the same. An empty field is none, because forms send all of theirs.

/// One of the texts of an enumeration.
macro_rules! one_of {
    ($name:literal, $field:expr, $type:ty) => {{
        let texts = <$type>::ALL.iter().map(|value| value.as_str()).collect();
        parsed($name, $field, Problem::NotOneOf(texts), <$type>::parse)
    }};
}

/// What every list's query has: where the page begins, how many rows it has, and the query of
/// another page.
macro_rules! paged {
    ($query:ident, $key:ty, $parse:path) => {
        impl $query {
            /// Where the page begins.
            pub fn cursor(&self) -> Result<Option<$key>, Refusal> {
                $parse("cursor", &self.cursor)
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
    };
}

mod events;
mod sessions;
mod times;
mod users;

pub use events::EventQuery;
pub use sessions::SessionQuery;
pub use times::TimeInput;
pub use users::UserQuery;

use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use ipnetwork::IpNetwork;
use serde::{Deserialize, Serialize};

use crate::domain::problem::Problem;
use crate::services::Refusal;
use crate::services::refusal::invalid;

const DEFAULT_LIMIT: u16 = 50;
const MAX_LIMIT: u16 = 200;

fn text(field: &Option<String>) -> Option<&str> {
    field
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// A field that is parsed by `parse`; where that fails, `problem` is what is wrong.
fn parsed<T>(
    name: &'static str,
    field: &Option<String>,
    problem: Problem,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    let Some(text) = text(field) else {
        return Ok(None);
    };
    match parse(text) {
        Some(value) => Ok(Some(value)),
        None => Err(invalid(name)(problem)),
    }
}

fn number<T: FromStr>(name: &'static str, field: &Option<String>) -> Result<Option<T>, Refusal> {
    parsed(name, field, Problem::NotANumber, |text| text.parse().ok())
}

fn time(name: &'static str, field: &Option<String>) -> Result<Option<DateTime<Utc>>, Refusal> {
    parsed(name, field, Problem::NotATime, parse_time)
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

fn limit(field: &Option<String>) -> Result<u16, Refusal> {
    let problem = Problem::NotBetween(MAX_LIMIT);
    let limit = parsed("limit", field, problem, |text| {
        text.parse()
            .ok()
            .filter(|limit| (1..=MAX_LIMIT).contains(limit))
    })?;
    Ok(limit.unwrap_or(DEFAULT_LIMIT))
}

fn is_empty(field: &Option<String>) -> bool {
    text(field).is_none()
}

fn network(field: &Option<String>) -> Result<Option<IpNetwork>, Refusal> {
    parsed("ip", field, Problem::NotANetwork, |text| {
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

/// The query of a list without filters.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct PageQuery {
    /// Where the page begins.
    #[serde(skip_serializing_if = "is_empty")]
    pub cursor: Option<String>,
    /// Rows on a page.
    #[serde(skip_serializing_if = "is_empty")]
    pub limit: Option<String>,
}

paged!(PageQuery, i64, number);
