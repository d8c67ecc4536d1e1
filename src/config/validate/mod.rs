//! From text to a configuration that can be used: every value within its bounds, and no unsafe
//! combination.

mod web;

use std::time::Duration;

use chrono::TimeDelta;

use super::connection_string;
use super::source::{ConfigError, Source, refused};
use super::{
    CleanupConfig, Config, DatabaseConfig, LogFormat, PagesConfig, PasswordConfig,
    RESERVED_CONNECTIONS, Secret, SessionConfig, ThrottleConfig,
};
use crate::domain::credentials::PasswordPolicy;
use crate::domain::session::Lifetime;

const DAY: Duration = Duration::from_secs(86_400);
const SECOND: Duration = Duration::from_secs(1);

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
            http: web::http(source, cores)?,
            cookie: web::cookie(source)?,
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
    for name in ["DATABASE_URL", "MIGRATION_DATABASE_URL"] {
        // The value is not repeated: it holds a password.
        if source
            .given(name)
            .is_some_and(|url| !connection_string::is_well_formed(url))
        {
            return Err(ConfigError(format!(
                "{name} cannot be read. Allowed: {}",
                connection_string::ALLOWED
            )));
        }
    }
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
        Some(file) => std::fs::read_to_string(file).map_err(|error| {
            let allowed = "a file that can be read";
            ConfigError(format!(
                "PAGES_STYLESHEET is {file:?}: {error}. Allowed: {allowed}."
            ))
        })?,
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
