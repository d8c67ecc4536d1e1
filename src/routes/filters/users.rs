//! Filters of users.

use serde::{Deserialize, Serialize};

use super::{is_empty, limit, number, parsed, query_string, text};
use crate::domain::problem::Problem;
use crate::domain::search::UserFilter;
use crate::services::Refusal;
use crate::services::refusal::invalid;

/// Longest text that the filter takes.
const MAX_TEXT: usize = 320;

/// The query of a list of users.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub struct UserQuery {
    /// An id, as `157` or `#157`, or a part of the e-mail.
    #[serde(skip_serializing_if = "is_empty")]
    pub query: Option<String>,
    /// Whether disabled.
    #[serde(skip_serializing_if = "is_empty")]
    pub disabled: Option<String>,
    /// Where the page begins.
    #[serde(skip_serializing_if = "is_empty")]
    pub cursor: Option<String>,
    /// Rows on a page.
    #[serde(skip_serializing_if = "is_empty")]
    pub limit: Option<String>,
}

impl UserQuery {
    /// The filter.
    pub fn filter(&self) -> Result<UserFilter, Refusal> {
        let mut filter = UserFilter {
            disabled: parsed("disabled", &self.disabled, Problem::NotABoolean, |text| {
                text.parse().ok()
            })?,
            ..UserFilter::default()
        };
        match text(&self.query) {
            Some(query) if query.chars().count() > MAX_TEXT => {
                return Err(invalid("query")(Problem::TooLong(MAX_TEXT)));
            }
            Some(query) if query.contains('\0') => return Err(invalid("query")(Problem::Nul)),
            // The pages write ids as #1.
            Some(query) => match query.strip_prefix('#').unwrap_or(query).parse() {
                Ok(id) => filter.id = Some(id),
                Err(_not_a_number) => filter.email_part = Some(query.to_owned()),
            },
            None => {}
        }
        Ok(filter)
    }
}

paged!(UserQuery, i64, number);
