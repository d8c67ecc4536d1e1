//! Where values come from, and how a wrong one is reported.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

use clap::{Arg, ArgMatches};

use super::settings::{SETTINGS, Setting};

/// A setting that keeps the service from starting. Its text names the variable, the value (unless
/// it is secret) and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(pub String);

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Values as text, by variable.
#[derive(Default)]
pub struct Source(HashMap<String, String>);

impl Source {
    /// Values given by hand, for tests.
    pub fn from_pairs<K: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(k, v)| (k.into(), v.into()))
                .collect(),
        )
    }

    /// Values from the flags, else from the environment.
    ///
    /// # Errors
    /// When a variable does not hold text.
    pub fn from_matches(matches: &ArgMatches) -> Result<Self, ConfigError> {
        let mut values = HashMap::new();
        for setting in SETTINGS {
            let flag = if setting.secret {
                None
            } else {
                matches.try_get_one::<String>(setting.name).ok().flatten()
            };
            let value = match (flag, std::env::var(setting.name)) {
                (Some(flag), _) => flag.clone(),
                (None, Ok(value)) => value,
                (None, Err(std::env::VarError::NotPresent)) => continue,
                (None, Err(std::env::VarError::NotUnicode(_))) => {
                    return Err(ConfigError(format!(
                        "{} does not hold valid UTF-8.",
                        setting.name
                    )));
                }
            };
            values.insert(setting.name.to_owned(), value);
        }
        Ok(Self(values))
    }

    /// The value as given; `None` when unset or empty.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|v| v.trim()).filter(|v| !v.is_empty())
    }

    /// The value as given, else the default.
    pub fn text(&self, name: &'static str) -> &str {
        self.given(name)
            .unwrap_or_else(|| setting(name).map_or("", |s| s.default))
    }

    /// A value that `parse` understands.
    pub fn parsed<T>(
        &self,
        name: &'static str,
        allowed: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let value = self.text(name);
        parse(value).ok_or_else(|| refused(name, value, allowed))
    }

    /// A whole number within bounds.
    pub fn number<T>(&self, name: &'static str, least: T, most: T) -> Result<T, ConfigError>
    where
        T: FromStr + PartialOrd + std::fmt::Display + Copy,
    {
        self.parsed(
            name,
            &format!("a whole number from {least} to {most}"),
            |value| value.parse().ok().filter(|n| *n >= least && *n <= most),
        )
    }

    /// The same, or `auto`.
    pub fn number_or_auto(
        &self,
        name: &'static str,
        least: usize,
        most: usize,
        auto: usize,
    ) -> Result<usize, ConfigError> {
        self.parsed(
            name,
            &format!("auto, or a whole number from {least} to {most}"),
            |value| match value {
                "auto" => Some(auto),
                _ => value.parse().ok().filter(|n| *n >= least && *n <= most),
            },
        )
    }

    /// A duration within bounds.
    pub fn duration(
        &self,
        name: &'static str,
        least: Duration,
        most: Duration,
    ) -> Result<Duration, ConfigError> {
        let allowed = format!(
            "a duration from {} to {}, such as 90s, 30m, 12h or 14d",
            shown(least),
            shown(most)
        );
        self.parsed(name, &allowed, |value| {
            parse_duration(value).filter(|d| *d >= least && *d <= most)
        })
    }

    /// `true` or `false`.
    pub fn switch(&self, name: &'static str) -> Result<bool, ConfigError> {
        self.parsed(name, "true or false", |value| match value {
            "true" | "1" | "yes" | "on" => Some(true),
            "false" | "0" | "no" | "off" => Some(false),
            _ => None,
        })
    }

    /// A comma-separated list.
    pub fn list<T>(
        &self,
        name: &'static str,
        allowed: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, ConfigError> {
        let items = self
            .text(name)
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty());
        items
            .map(|item| parse(item).ok_or_else(|| refused(name, item, allowed)))
            .collect()
    }
}

/// Says that a value is not allowed; a secret one is not repeated.
pub fn refused(name: &'static str, value: &str, allowed: &str) -> ConfigError {
    if setting(name).is_some_and(|s| s.secret) {
        ConfigError(format!(
            "{name} has a value that is not allowed. Allowed: {allowed}."
        ))
    } else {
        ConfigError(format!(
            "{name} is {value:?}, which is not allowed. Allowed: {allowed}."
        ))
    }
}

fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|s| s.name == name)
}

fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let amount: u64 = digits.trim_end().parse().ok()?;
    let seconds = match &text[digits.len()..] {
        "ms" => return Some(Duration::from_millis(amount)),
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    amount.checked_mul(seconds).map(Duration::from_secs)
}

fn shown(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if !duration.is_zero() => format!("{}ms", duration.as_millis()),
        0 => "0".to_owned(),
        _ if seconds.is_multiple_of(86_400) => format!("{}d", seconds / 86_400),
        _ if seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

/// The flags that follow from the table.
pub fn flags() -> impl Iterator<Item = Arg> {
    SETTINGS.iter().filter(|s| !s.secret).map(|s| {
        let default = if s.default.is_empty() {
            String::new()
        } else {
            format!(" [default: {}]", s.default)
        };
        Arg::new(s.name)
            .long(s.name.to_lowercase().replace('_', "-"))
            .value_name(s.form)
            .help(format!("{}{default} [env: {}]", s.help, s.name))
            .help_heading("Settings")
            .global(true)
    })
}

/// What `--help` says of the settings that have no flag.
pub fn secrets_help() -> String {
    let mut text = String::from("Set in the environment only:\n");
    for s in SETTINGS.iter().filter(|s| s.secret) {
        text.push_str(&format!(
            "  {} <{}>\n          {}\n",
            s.name, s.form, s.help
        ));
    }
    text.push_str(
        "\nA duration is a whole number with ms, s, m, h or d; without a unit, seconds.\n",
    );
    text
}
