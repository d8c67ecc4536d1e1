//! Logging: one line a fact, for people or for programs, both through env_logger.

use std::fmt::Write as _;
use std::io::Write as _;

use env_logger::fmt::Formatter;
use log::Record;
use log::kv::{Key, Value, VisitSource};

use crate::config::{ConfigError, LogFormat};

/// Target of everything that concerns security: filter by it to watch the door.
pub const SECURITY: &str = "sekisho::security";

/// Libraries that log no more than `info`, unless the filter names them.
const LIBRARIES: [&str; 4] = ["actix_web", "actix_server", "actix_cors", "mio"];

/// Starts logging to standard error.
///
/// # Errors
/// When the filter makes no sense.
pub fn init(filter: &str, format: LogFormat) -> Result<(), ConfigError> {
    let parsed = env_filter(filter)?;
    let mut builder = env_logger::Builder::new();
    // An error to this one is whatever a client sends that is no HTTP.
    builder.filter_module("actix_http", log::LevelFilter::Off);
    // The libraries' own debugging quotes paths and headers of requests.
    let is_verbose = |part: &str| ["debug", "trace"].contains(&part);
    if parsed.to_lowercase().split(',').any(is_verbose) {
        for library in LIBRARIES {
            builder.filter_module(library, log::LevelFilter::Info);
        }
    }
    builder.parse_filters(parsed);
    match format {
        LogFormat::Text => builder
            .format(|out, record| writeln!(out, "{} {}", out.timestamp_millis(), text(record))),
        LogFormat::Json => builder.format(json_line),
    };
    std::panic::set_hook(Box::new(|panic| {
        // Not its message: those of string slicing, for one, quote the string.
        let place = panic.location().map(ToString::to_string);
        log::error!(place = place.unwrap_or_default(); "a thread panicked");
    }));
    // A second start in one process keeps the first logger, which only tests do.
    let _ = builder.try_init();
    Ok(())
}

fn env_filter(filter: &str) -> Result<&str, ConfigError> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let well_formed = filter.split(',').all(|part| match part.rsplit_once('=') {
        Some((target, level)) => {
            !target.is_empty() && LEVELS.contains(&level.to_lowercase().as_str())
        }
        None => LEVELS.contains(&part.to_lowercase().as_str()),
    });
    match well_formed {
        true => Ok(filter),
        false => Err(ConfigError(format!(
            "LOG_LEVEL is {filter:?}, which is not allowed. Allowed: off, error, warn, info, debug or trace, or a \
             list of them by target, such as warn,sekisho::security=info."
        ))),
    }
}

/// A line for people: what comes from outside cannot break it.
fn text(record: &Record<'_>) -> String {
    let mut line = format!("{:5} {} ", record.level(), record.target());
    push_escaped(&mut line, &record.args().to_string());
    let _ = record.key_values().visit(&mut TextFields(&mut line));
    line
}

struct TextFields<'a>(&'a mut String);

impl<'kvs> VisitSource<'kvs> for TextFields<'_> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), log::kv::Error> {
        let _ = write!(self.0, " {key}=");
        let value = value.to_string();
        if value.is_empty() || value.contains([' ', '"', '=']) {
            let _ = write!(self.0, "{value:?}");
        } else {
            push_escaped(self.0, &value);
        }
        Ok(())
    }
}

fn push_escaped(line: &mut String, text: &str) {
    for c in text.chars() {
        if crate::domain::text::is_unprintable(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
}

fn json_line(out: &mut Formatter, record: &Record<'_>) -> std::io::Result<()> {
    let mut fields = serde_json::Map::new();
    let time = out.timestamp_millis().to_string();
    let _ = record.key_values().visit(&mut JsonFields(&mut fields));
    // Last, so that no field can pass for one of these.
    fields.insert("time".to_owned(), time.into());
    fields.insert("level".to_owned(), record.level().as_str().into());
    fields.insert("target".to_owned(), record.target().into());
    fields.insert("message".to_owned(), record.args().to_string().into());
    writeln!(out, "{}", serde_json::Value::Object(fields))
}

struct JsonFields<'a>(&'a mut serde_json::Map<String, serde_json::Value>);

impl<'kvs> VisitSource<'kvs> for JsonFields<'_> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), log::kv::Error> {
        let json = match (value.to_i64(), value.to_bool()) {
            (Some(number), _) => number.into(),
            (None, Some(switch)) => switch.into(),
            (None, None) => value.to_string().into(),
        };
        self.0.insert(key.to_string(), json);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_a_line() {
        let fields = [("agent", "a\r\nb\u{1b}[31mc d"), ("path", "/x\ny")];
        let args = format_args!("refused\nfaked line");
        let record = Record::builder()
            .args(args)
            .level(log::Level::Warn)
            .target("t")
            .key_values(&fields)
            .build();
        let line = text(&record);
        assert!(!line.contains(['\n', '\r', '\u{1b}']), "{line:?}");
        assert_eq!(
            line,
            "WARN  t refused\\nfaked line agent=\"a\\r\\nb\\u{1b}[31mc d\" path=/x\\ny"
        );
    }

    #[test]
    fn a_wrong_filter_is_refused() {
        assert!(
            env_filter("loud").is_err() && env_filter("x=loud").is_err() && env_filter("").is_err()
        );
        assert!(env_filter("warn,sekisho::security=info").is_ok());
    }
}
