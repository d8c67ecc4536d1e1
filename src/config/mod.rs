//! Configuration: read once, validated whole, then passed about.

pub mod connection_string;
pub mod settings;
pub mod source;
mod validate;

use std::net::SocketAddr;
use std::time::Duration;

use chrono::TimeDelta;
use ipnetwork::IpNetwork;

use crate::domain::credentials::PasswordPolicy;
use crate::domain::session::Lifetime;
use crate::domain::user::Role;
pub use source::{ConfigError, Source};

/// Connections that the coalescers (the readiness check asks through them too) keep for themselves (see
/// [`crate::context`]); what is left serves everything else.
pub const RESERVED_CONNECTIONS: usize = 8;

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

/// The database and the work that may be under way on it.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// For everything but migrations.
    pub url: Secret,
    /// For migrations.
    pub migration_url: Secret,
    /// Apply pending migrations at start.
    pub auto_migrate: bool,
    /// Connections.
    pub pool_size: usize,
    /// Units of work that may wait.
    pub queue_length: usize,
    /// Longest unit of work.
    pub timeout: Duration,
    /// Longest session check.
    pub lookup_timeout: Duration,
    /// Longest connecting.
    pub connect_timeout: Duration,
    /// Behind a pooler in transaction mode.
    pub transaction_pooling: bool,
    /// Let session checks share a query.
    pub coalesce: bool,
}

/// The HTTP server.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Threads.
    pub workers: usize,
    /// Connections a thread.
    pub max_connections: usize,
    /// How long an idle connection is kept.
    pub keep_alive: Duration,
    /// Longest wait for headers.
    pub header_timeout: Duration,
    /// Longest wait for a body.
    pub body_timeout: Duration,
    /// Serving on, not ready, before the stop.
    pub shutdown_drain: Duration,
    /// Longest wait for requests under way at the stop.
    pub shutdown_timeout: Duration,
    /// Where browsers see the service.
    pub public_origin: Option<String>,
    /// Other origins that may call with cookies.
    pub trusted_origins: Vec<String>,
    /// Proxies whose X-Forwarded-For is believed.
    pub trusted_proxies: Vec<IpNetwork>,
}

/// SameSite attribute of the cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameSite {
    /// Sent on top-level navigation from elsewhere.
    Lax,
    /// Never sent from elsewhere.
    Strict,
    /// Always sent.
    None,
}

/// The session cookie.
#[derive(Debug, Clone)]
pub struct CookieConfig {
    /// Name.
    pub name: String,
    /// HTTPS only.
    pub secure: bool,
    /// Shared with the subdomains of this one.
    pub domain: Option<String>,
    /// SameSite for users.
    pub same_site: SameSite,
    /// Whether log-out clears the site's data.
    pub clear_site_data: bool,
}

/// Sessions.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    normal: Lifetime,
    remembered: Lifetime,
    admin: Lifetime,
    /// Least time between two writes of last_seen_at.
    pub touch_interval: TimeDelta,
    /// Most sessions of a user.
    pub max_per_user: u32,
    /// Oldest authentication that may end other devices; `None`: any.
    pub reauthentication_max_age: Option<TimeDelta>,
}

impl SessionConfig {
    /// How long a session of such a user lives, and whether it is remembered at all:
    /// administrators' never are.
    pub fn lifetime(&self, role: Role, remember_me: bool) -> (Lifetime, bool) {
        match (role, remember_me) {
            (Role::Admin, _) => (self.admin, false),
            (Role::User, true) => (self.remembered, true),
            (Role::User, false) => (self.normal, false),
        }
    }
}

/// Password hashing and rules.
#[derive(Debug, Clone)]
pub struct PasswordConfig {
    /// What a new password must be.
    pub policy: PasswordPolicy,
    /// Argon2id memory in KiB.
    pub argon2_memory: u32,
    /// Argon2id passes.
    pub argon2_iterations: u32,
    /// Argon2id lanes.
    pub argon2_parallelism: u32,
    /// Hashes at once.
    pub hash_slots: usize,
    /// Hashes that may wait.
    pub hash_queue_length: usize,
}

/// Slowing down of guessing.
#[derive(Debug, Clone)]
pub struct ThrottleConfig {
    /// Failures of an e-mail from an address before delays begin; 0: never.
    pub failures: u32,
    /// Failures from an address before delays begin; 0: never.
    pub address_failures: u32,
    /// Longest delay.
    pub max_delay: TimeDelta,
}

/// Cleaning up.
#[derive(Debug, Clone)]
pub struct CleanupConfig {
    /// Between two runs of the built-in schedule; `None`: no schedule.
    pub interval: Option<Duration>,
    /// Longest work of an HTTP call.
    pub http_budget: Duration,
    /// Longest work of other runs.
    pub budget: Duration,
    /// Rows in a transaction.
    pub batch_size: u32,
    /// Ended sessions go after so long.
    pub retention: TimeDelta,
    /// Addresses go after so long.
    pub ip_retention: TimeDelta,
    /// Events go after so long.
    pub event_retention: TimeDelta,
}

/// Form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Pages for people.
#[derive(Debug, Clone)]
pub struct PagesConfig {
    /// Whether users have theirs.
    pub account: bool,
    /// Whether administrators have theirs.
    pub admin: bool,
    /// What they call the service.
    pub product_name: String,
    /// Further CSS.
    pub stylesheet: String,
}

/// The whole configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The database.
    pub database: DatabaseConfig,
    /// The HTTP server.
    pub http: HttpConfig,
    /// The cookie.
    pub cookie: CookieConfig,
    /// Sessions.
    pub session: SessionConfig,
    /// Passwords.
    pub password: PasswordConfig,
    /// Slowing down of guessing.
    pub throttle: ThrottleConfig,
    /// Cleaning up.
    pub cleanup: CleanupConfig,
    /// Pages.
    pub pages: PagesConfig,
    /// Whether anybody may make an account.
    pub sign_up_enabled: bool,
    /// Keys of the cleanup endpoint.
    pub cleanup_api_keys: Vec<Secret>,
    /// Keys of the endpoints for backends.
    pub service_api_keys: Vec<Secret>,
    /// env_logger's filter.
    pub log_level: String,
    /// Form of log lines.
    pub log_format: LogFormat,
}

#[cfg(test)]
mod tests;
