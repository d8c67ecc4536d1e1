//! The pool and how its connections are made and judged.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use diesel::connection::{CacheSize, Connection as _, SimpleConnection as _};
use diesel::pg::PgConnection;
use diesel::r2d2::R2D2Connection as _;

use crate::config::{DatabaseConfig, connection_string};

/// A pooled connection.
pub struct Connection {
    inner: PgConnection,
    checked_in_epoch: u64,
    is_broken: bool,
}

impl Connection {
    /// Keeps the pool from handing this connection out again.
    pub fn mark_broken(&mut self) {
        self.is_broken = true;
    }
}

impl Deref for Connection {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        &self.inner
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.inner
    }
}

/// Why a connection could not be made or is not fit for use.
#[derive(Debug)]
pub struct ConnectError(String);

impl std::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConnectError {}

/// Makes connections, and pings an idle one only when some connection has failed since it was last
/// known to work: after a restart none of the others fails a request, and in steady state nothing
/// is asked of the database but the work itself.
#[derive(Debug)]
pub struct Manager {
    url: String,
    session_settings: Option<String>,
    epoch: Arc<AtomicU64>,
}

impl r2d2::ManageConnection for Manager {
    type Connection = Connection;
    type Error = ConnectError;

    fn connect(&self) -> Result<Connection, ConnectError> {
        let epoch = self.epoch.load(Ordering::Acquire);
        let mut inner = establish(&self.url)?;
        match &self.session_settings {
            Some(settings) => inner
                .batch_execute(settings)
                .map_err(|e| ConnectError(e.to_string()))?,
            // Through a pooler the next statement may run on another server connection.
            None => inner.set_prepared_statement_cache_size(CacheSize::Disabled),
        }
        Ok(Connection {
            inner,
            checked_in_epoch: epoch,
            is_broken: false,
        })
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<(), ConnectError> {
        let epoch = self.epoch.load(Ordering::Acquire);
        if connection.checked_in_epoch != epoch {
            connection
                .inner
                .ping()
                .map_err(|e| ConnectError(e.to_string()))?;
            connection.checked_in_epoch = epoch;
        }
        Ok(())
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        // Where work on it panicked, nobody knows what it is in the middle of.
        connection.is_broken || std::thread::panicking() || connection.inner.is_broken()
    }
}

fn establish(url: &str) -> Result<PgConnection, ConnectError> {
    PgConnection::establish(url)
        .map_err(|e| ConnectError(connection_string::redacted(&e.to_string(), url)))
}

/// A connection outside the pool, for long work: cleanup and migrations.
///
/// # Errors
/// When it cannot be made.
pub fn dedicated(config: &DatabaseConfig, url: &str) -> Result<PgConnection, ConnectError> {
    let mut connection = establish(&with_parameters(url, config.connect_timeout))?;
    if config.transaction_pooling {
        connection.set_prepared_statement_cache_size(CacheSize::Disabled);
    } else {
        // So that a statement ends with a service that was killed.
        connection
            .batch_execute(
                "SET client_connection_check_interval = '1s'; \
                 SET application_name = 'sekisho'",
            )
            .map_err(|e| ConnectError(e.to_string()))?;
    }
    Ok(connection)
}

/// Makes the pool. Nothing is connected yet, so that the service starts without its database.
pub(super) fn build(config: &DatabaseConfig, epoch: Arc<AtomicU64>) -> r2d2::Pool<Manager> {
    let size = u32::try_from(config.pool_size).unwrap_or(u32::MAX);
    let manager = Manager {
        url: with_parameters(config.url.expose(), config.connect_timeout),
        session_settings: (!config.transaction_pooling).then(|| session_settings(config)),
        epoch,
    };
    r2d2::Pool::builder()
        .max_size(size)
        // The checkout's own check is free unless something has failed; see Manager.
        .test_on_check_out(true)
        // The pause between attempts to reconnect grows to half of this.
        .connection_timeout(Duration::from_secs(1))
        .error_handler(Box::new(LogConnectError::default()))
        .build_unchecked(manager)
}

/// What each connection is told once. The server's end of the time-outs: the waiting request has
/// its own, because a frozen server cannot tell the time.
fn session_settings(config: &DatabaseConfig) -> String {
    let timeout = config.timeout.as_millis();
    format!(
        "SET statement_timeout = '{timeout}ms'; \
         SET lock_timeout = '{timeout}ms'; \
         SET idle_in_transaction_session_timeout = '{}ms'; \
         SET default_transaction_isolation = 'read committed'; \
         SET client_connection_check_interval = '1s'; \
         SET application_name = 'sekisho'",
        2 * timeout
    )
}

/// Adds libpq's time-outs to a connection string, in either of its forms, where it does not set
/// them itself.
fn with_parameters(url: &str, connect_timeout: Duration) -> String {
    let parameters = [
        ("connect_timeout", connect_timeout.as_secs()),
        ("keepalives_idle", 5),
        ("keepalives_interval", 2),
        ("keepalives_count", 3),
        ("tcp_user_timeout", 10_000),
    ];
    let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
    let mut result = url.to_owned();
    for (name, value) in parameters {
        if url.contains(&format!("{name}=")) {
            continue;
        }
        let separator = match (is_url, result.contains('?')) {
            (true, false) => "?",
            (true, true) if result.ends_with('?') => "",
            (true, true) => "&",
            (false, _) => " ",
        };
        result.push_str(&format!("{separator}{name}={value}"));
    }
    result
}

/// Logs that connecting fails once a while, not at every attempt.
#[derive(Debug, Default)]
struct LogConnectError(std::sync::Mutex<Option<std::time::Instant>>);

impl r2d2::HandleError<ConnectError> for LogConnectError {
    fn handle_error(&self, error: ConnectError) {
        let Ok(mut last) = self.0.lock() else { return };
        if last.is_none_or(|at| at.elapsed() > Duration::from_secs(10)) {
            *last = Some(std::time::Instant::now());
            log::warn!(error:% = error.0.trim().replace('\n', " "); "connecting to the database failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_added_to_both_forms_and_never_override() {
        let add = |url: &str| with_parameters(url, Duration::from_secs(3));
        assert!(
            add("postgres://h/d")
                .starts_with("postgres://h/d?connect_timeout=3&keepalives_idle=5&")
        );
        assert!(
            add("postgresql://h/d?host=/tmp")
                .starts_with("postgresql://h/d?host=/tmp&connect_timeout=3&")
        );
        assert!(add("host=h dbname=d").starts_with("host=h dbname=d connect_timeout=3 "));
        assert_eq!(
            add("postgres://h/d?connect_timeout=9")
                .matches("connect_timeout")
                .count(),
            1
        );
    }
}
