//! Times of a filter as a form shows them again.

use chrono::Timelike as _;

use super::{parse_time, text};

/// What a field for a time holds. Browsers show nothing at all in their own kind of field where the
/// text is not exactly as they want it, while the filter would still hold.
#[derive(Debug, PartialEq, Eq)]
pub struct TimeInput {
    /// Its text.
    pub value: String,
    /// Its type.
    pub kind: &'static str,
    /// Whether it tells seconds.
    pub has_seconds: bool,
}

impl TimeInput {
    /// Of a query's field: as a time where it is one, else as it was typed, to be corrected.
    pub fn new(field: &Option<String>) -> Self {
        let typed = text(field).unwrap_or_default();
        let time = parse_time(typed).filter(|time| time.nanosecond() == 0);
        let has_seconds = time.is_some_and(|time| time.second() != 0);
        let value = time.map(|time| match has_seconds {
            true => time.format("%Y-%m-%dT%H:%M:%S").to_string(),
            false => time.format("%Y-%m-%dT%H:%M").to_string(),
        });
        Self {
            kind: match value.is_some() || typed.is_empty() {
                true => "datetime-local",
                false => "text",
            },
            value: value.unwrap_or_else(|| typed.to_owned()),
            has_seconds,
        }
    }
}
