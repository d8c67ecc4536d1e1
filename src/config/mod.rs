//! Configuration: read once, validated whole, then passed about.

pub mod settings;
pub mod source;

use std::net::SocketAddr;
use std::time::Duration;

use chrono::TimeDelta;
use ipnetwork::IpNetwork;

use crate::domain::credentials::PasswordPolicy;
use crate::domain::session::Lifetime;
use crate::domain::user::Role;
use source::refused;
pub use source::{ConfigError, Source};

const DAY: Duration = Duration::from_secs(86_400);
const SECOND: Duration = Duration::from_secs(1);

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

impl Config {
    /// Validates everything.
    ///
    /// # Errors
    /// The first setting that is wrong, or a combination that would be unsafe.
    pub fn new(source: &Source) -> Result<Self, ConfigError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cleanup_api_keys = api_keys(source, "SESSION_CLEANUP_API_KEY")?;
        let service_api_keys = api_keys(source, "SERVICE_API_KEY")?;
        if cleanup_api_keys
            .iter()
            .any(|key| service_api_keys.contains(key))
        {
            return Err(ConfigError(
                "SESSION_CLEANUP_API_KEY and SERVICE_API_KEY hold the same key: who may clean up could then act for \
                 every user. Make two keys (such as with: openssl rand -hex 32)."
                    .to_owned(),
            ));
        }
        Ok(Self {
            database: database(source, cores)?,
            http: http(source, cores)?,
            cookie: cookie(source)?,
            session: session(source)?,
            password: password(source, cores)?,
            throttle: ThrottleConfig {
                failures: source.number("LOGIN_THROTTLE_FAILURES", 0, 100)?,
                address_failures: source.number("LOGIN_THROTTLE_ADDRESS_FAILURES", 0, 1_000_000)?,
                max_delay: delta(source, "LOGIN_THROTTLE_MAX_DELAY", SECOND, DAY)?,
            },
            cleanup: cleanup(source)?,
            pages: pages(source)?,
            sign_up_enabled: source.switch("SIGN_UP_ENABLED")?,
            cleanup_api_keys,
            service_api_keys,
            log_level: source.text("LOG_LEVEL").to_owned(),
            log_format: source.parsed("LOG_FORMAT", "text or json", |v| match v {
                "text" => Some(LogFormat::Text),
                "json" => Some(LogFormat::Json),
                _ => None,
            })?,
        })
    }
}

fn delta(
    source: &Source,
    name: &'static str,
    least: Duration,
    most: Duration,
) -> Result<TimeDelta, ConfigError> {
    let duration = source.duration(name, least, most)?;
    TimeDelta::from_std(duration).map_err(|error| ConfigError(format!("{name}: {error}")))
}

fn database(source: &Source, cores: usize) -> Result<DatabaseConfig, ConfigError> {
    let Some(url) = source.given("DATABASE_URL") else {
        return Err(ConfigError(
            "DATABASE_URL is not set. Set it to a PostgreSQL database, such as \
             postgres://user:password@host/database, or use script/run, which brings its own."
                .to_owned(),
        ));
    };
    let (auto_migrate, transaction_pooling) = (
        source.switch("AUTO_MIGRATE")?,
        source.switch("DATABASE_TRANSACTION_POOLING")?,
    );
    let migration_url = source.given("MIGRATION_DATABASE_URL");
    if transaction_pooling && auto_migrate && migration_url.is_none() {
        return Err(ConfigError(
            "DATABASE_TRANSACTION_POOLING is \"true\" while AUTO_MIGRATE is \"true\" and MIGRATION_DATABASE_URL is \
             not set: two instances that start at once could not be kept apart through the pooler. Allowed: \
             MIGRATION_DATABASE_URL with a direct connection, or AUTO_MIGRATE=false."
                .to_owned(),
        ));
    }
    // Beyond the reserve there must be connections left for everything else.
    let least = RESERVED_CONNECTIONS + 4;
    let auto = least + 4 * cores.min(16);
    let pool_size = source.number_or_auto("DATABASE_POOL_SIZE", least, 512, auto)?;
    Ok(DatabaseConfig {
        url: Secret(url.to_owned()),
        migration_url: Secret(
            source
                .given("MIGRATION_DATABASE_URL")
                .unwrap_or(url)
                .to_owned(),
        ),
        auto_migrate,
        pool_size,
        queue_length: source.number_or_auto("DATABASE_QUEUE_LENGTH", 1, 100_000, 32 * pool_size)?,
        timeout: source.duration(
            "DATABASE_TIMEOUT",
            Duration::from_millis(100),
            Duration::from_secs(60),
        )?,
        lookup_timeout: source.duration(
            "DATABASE_LOOKUP_TIMEOUT",
            Duration::from_millis(100),
            Duration::from_secs(60),
        )?,
        // libpq takes whole seconds and treats 1 as 2.
        connect_timeout: source.duration(
            "DATABASE_CONNECT_TIMEOUT",
            Duration::from_secs(2),
            Duration::from_secs(60),
        )?,
        transaction_pooling,
        coalesce: source.switch("COALESCE_LOOKUPS")?,
    })
}

fn http(source: &Source, cores: usize) -> Result<HttpConfig, ConfigError> {
    let minute = Duration::from_secs(60);
    let trusted_proxies = source.list(
        "TRUSTED_PROXIES",
        "addresses and networks, such as 10.0.0.0/8",
        |item| item.parse::<IpNetwork>().ok(),
    )?;
    if let Some(all) = trusted_proxies.iter().find(|network| network.prefix() == 0) {
        return Err(ConfigError(format!(
            "TRUSTED_PROXIES names {all}, which is everybody: then every client could choose its own address. \
             Name the addresses or networks of your proxies."
        )));
    }
    let origin_form = "origins, such as https://app.example.com";
    Ok(HttpConfig {
        listen: source.parsed(
            "LISTEN_ADDRESS",
            "an address and a port, such as 127.0.0.1:8080 or [::]:8080",
            |v| v.parse().ok(),
        )?,
        workers: source.number_or_auto("HTTP_WORKERS", 1, 64, cores.div_ceil(2))?,
        max_connections: source.number("HTTP_MAX_CONNECTIONS", 1, 1_000_000)?,
        header_timeout: source.duration("HTTP_HEADER_TIMEOUT", SECOND, minute)?,
        body_timeout: source.duration("HTTP_BODY_TIMEOUT", SECOND, minute)?,
        shutdown_drain: source.duration("SHUTDOWN_DRAIN", Duration::ZERO, 10 * minute)?,
        shutdown_timeout: source.duration("SHUTDOWN_TIMEOUT", SECOND, 10 * minute)?,
        public_origin: source
            .list("PUBLIC_ORIGIN", origin_form, origin)?
            .into_iter()
            .next(),
        trusted_origins: source.list("TRUSTED_ORIGINS", origin_form, origin)?,
        trusted_proxies,
    })
}

/// `scheme://host[:port]` in lower case and nothing more.
fn origin(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))?;
    let well_formed = !host.is_empty()
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b));
    well_formed.then_some(text)
}

fn cookie(source: &Source) -> Result<CookieConfig, ConfigError> {
    let secure = source.switch("SESSION_COOKIE_SECURE")?;
    let domain = source.given("SESSION_COOKIE_DOMAIN").map(str::to_lowercase);
    let allowed = "a cookie name of letters, digits and any of !#$%&'*+-.^_`|~";
    let name = source.parsed("SESSION_COOKIE_NAME", allowed, |value| {
        let shared = domain.is_some() && source.given("SESSION_COOKIE_NAME").is_none();
        let name = if shared { "__Secure-session_id" } else { value };
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        name.bytes().all(token).then(|| name.to_owned())
    })?;
    let lower = name.to_ascii_lowercase();
    if !secure && (lower.starts_with("__host-") || lower.starts_with("__secure-")) {
        return Err(ConfigError(format!(
            "SESSION_COOKIE_SECURE is \"false\" while SESSION_COOKIE_NAME is {name:?}: browsers drop a cookie of that \
             prefix without Secure. Allowed: SESSION_COOKIE_SECURE=true, or for plain HTTP in development a name \
             without the prefix, such as SESSION_COOKIE_NAME=session_id."
        )));
    }
    if let Some(domain) = &domain {
        if lower.starts_with("__host-") {
            return Err(ConfigError(format!(
                "SESSION_COOKIE_DOMAIN is {domain:?} while SESSION_COOKIE_NAME is {name:?}: browsers drop a __Host- \
                 cookie with a Domain. Allowed: no domain, or a name such as __Secure-session_id."
            )));
        }
        if !domain
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
            || !domain.contains('.')
        {
            return Err(refused(
                "SESSION_COOKIE_DOMAIN",
                domain,
                "a domain, such as example.com",
            ));
        }
    }
    let same_site = source.parsed(
        "SESSION_COOKIE_SAME_SITE",
        "lax, strict or none",
        |v| match v {
            "lax" => Some(SameSite::Lax),
            "strict" => Some(SameSite::Strict),
            "none" => Some(SameSite::None),
            _ => None,
        },
    )?;
    if same_site == SameSite::None && !secure {
        return Err(ConfigError(
            "SESSION_COOKIE_SAME_SITE is \"none\" while SESSION_COOKIE_SECURE is \"false\": browsers drop such a \
             cookie. Allowed: none with SESSION_COOKIE_SECURE=true, else lax or strict."
                .to_owned(),
        ));
    }
    Ok(CookieConfig {
        name,
        secure,
        domain,
        same_site,
        clear_site_data: source.switch("CLEAR_SITE_DATA_ON_LOGOUT")?,
    })
}

fn session(source: &Source) -> Result<SessionConfig, ConfigError> {
    let lifetime = |idle_name: &'static str, absolute_name: &'static str| {
        let idle = delta(source, idle_name, Duration::from_secs(10), 366 * DAY)?;
        let absolute = delta(
            source,
            absolute_name,
            Duration::from_secs(10),
            10 * 366 * DAY,
        )?;
        if idle > absolute {
            return Err(ConfigError(format!(
                "{idle_name} is {:?}, longer than {absolute_name}, which is {:?}. Allowed: at most as long.",
                source.text(idle_name),
                source.text(absolute_name)
            )));
        }
        Ok(Lifetime { idle, absolute })
    };
    let max_age = delta(
        source,
        "REAUTHENTICATION_MAX_AGE",
        Duration::ZERO,
        366 * DAY,
    )?;
    Ok(SessionConfig {
        normal: lifetime("SESSION_IDLE_TIMEOUT", "SESSION_ABSOLUTE_TIMEOUT")?,
        remembered: lifetime(
            "SESSION_REMEMBER_IDLE_TIMEOUT",
            "SESSION_REMEMBER_ABSOLUTE_TIMEOUT",
        )?,
        admin: lifetime(
            "SESSION_ADMIN_IDLE_TIMEOUT",
            "SESSION_ADMIN_ABSOLUTE_TIMEOUT",
        )?,
        touch_interval: delta(source, "SESSION_TOUCH_INTERVAL", SECOND, DAY)?,
        max_per_user: source.number("SESSION_MAX_PER_USER", 1, 1_000_000)?,
        reauthentication_max_age: (!max_age.is_zero()).then_some(max_age),
    })
}

fn password(source: &Source, cores: usize) -> Result<PasswordConfig, ConfigError> {
    let words = source.list("PASSWORD_CONTEXT_WORDS", "words", |word| {
        Some(word.to_lowercase())
    })?;
    let config = PasswordConfig {
        policy: PasswordPolicy {
            min_length: source.number("PASSWORD_MIN_LENGTH", 8, 64)?,
            max_length: source.number("PASSWORD_MAX_LENGTH", 64, 1024)?,
            context_words: words,
        },
        argon2_memory: source.number("PASSWORD_ARGON2_MEMORY", 8, 4_194_304)?,
        argon2_iterations: source.number("PASSWORD_ARGON2_ITERATIONS", 1, 100)?,
        argon2_parallelism: source.number("PASSWORD_ARGON2_PARALLELISM", 1, 64)?,
        hash_slots: source.number_or_auto("PASSWORD_HASH_SLOTS", 1, 256, cores)?,
        hash_queue_length: source.number("PASSWORD_HASH_QUEUE_LENGTH", 1, 100_000)?,
    };
    if config.argon2_memory < 8 * config.argon2_parallelism {
        return Err(refused(
            "PASSWORD_ARGON2_MEMORY",
            source.text("PASSWORD_ARGON2_MEMORY"),
            "at least 8 KiB for each of PASSWORD_ARGON2_PARALLELISM",
        ));
    }
    Ok(config)
}

fn cleanup(source: &Source) -> Result<CleanupConfig, ConfigError> {
    let interval = source.duration("CLEANUP_INTERVAL", Duration::ZERO, 30 * DAY)?;
    let years = 10 * 366 * DAY;
    Ok(CleanupConfig {
        interval: (!interval.is_zero()).then_some(interval),
        http_budget: source.duration(
            "CLEANUP_HTTP_BUDGET",
            Duration::from_millis(100),
            Duration::from_secs(600),
        )?,
        budget: source.duration("CLEANUP_BUDGET", SECOND, DAY)?,
        batch_size: source.number("CLEANUP_BATCH_SIZE", 1, 50_000)?,
        retention: delta(source, "CLEANUP_RETENTION", Duration::ZERO, years)?,
        ip_retention: delta(source, "CLEANUP_IP_RETENTION", Duration::ZERO, years)?,
        // The ledger's own trigger refuses to lose anything younger.
        event_retention: delta(source, "CLEANUP_EVENT_RETENTION", 30 * DAY, years)?,
    })
}

fn pages(source: &Source) -> Result<PagesConfig, ConfigError> {
    let stylesheet = match source.given("PAGES_STYLESHEET") {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| ConfigError(format!("PAGES_STYLESHEET is {file:?}: {error}")))?,
        None => String::new(),
    };
    Ok(PagesConfig {
        account: source.switch("ACCOUNT_PAGES_ENABLED")?,
        admin: source.switch("ADMIN_PAGES_ENABLED")?,
        product_name: source.text("PAGES_PRODUCT_NAME").to_owned(),
        stylesheet,
    })
}

fn api_keys(source: &Source, name: &'static str) -> Result<Vec<Secret>, ConfigError> {
    let allowed = "one key, or two separated by a comma while rotating, each of at least 32 visible ASCII characters \
                   (such as the output of: openssl rand -hex 32)";
    let keys = source.list(name, allowed, |key| {
        (key.len() >= 32 && key.bytes().all(|b| b.is_ascii_graphic()))
            .then(|| Secret(key.to_owned()))
    })?;
    if keys.len() > 2 {
        Err(refused(name, "", allowed))
    } else {
        Ok(keys)
    }
}

#[cfg(test)]
mod tests;
