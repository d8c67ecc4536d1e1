//! The one table of settings: every variable with its default, unit and meaning. `--help`, the
//! flags and the README's table follow from it.

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Environment variable; the flag is the same in kebab case.
    pub name: &'static str,
    /// Default as one would write it; empty for none.
    pub default: &'static str,
    /// What a value looks like.
    pub form: &'static str,
    /// What it means.
    pub help: &'static str,
    /// Secrets have no flag (others could read it in the list of processes) and are never printed.
    pub secret: bool,
}

const fn setting(
    name: &'static str,
    default: &'static str,
    form: &'static str,
    help: &'static str,
) -> Setting {
    Setting {
        name,
        default,
        form,
        help,
        secret: false,
    }
}

const fn secret(name: &'static str, form: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        default: "",
        form,
        help,
        secret: true,
    }
}

const DURATION: &str = "duration";
const COUNT: &str = "number";
const SWITCH: &str = "true|false";

/// Every setting. A duration is a whole number with `ms`, `s`, `m`, `h` or `d`; without a unit, seconds.
pub const SETTINGS: &[Setting] = &[
    secret("DATABASE_URL", "postgres://…", "The database. Required."),
    secret(
        "MIGRATION_DATABASE_URL",
        "postgres://…",
        "For migrations, where DATABASE_URL is a pooler or its role may not alter tables. Default: DATABASE_URL",
    ),
    setting(
        "AUTO_MIGRATE",
        "true",
        SWITCH,
        "Apply pending migrations at start",
    ),
    setting(
        "DATABASE_POOL_SIZE",
        "auto",
        COUNT,
        "Connections of one instance, 12 to 512. auto: 12 + 4 per core",
    ),
    setting(
        "DATABASE_QUEUE_LENGTH",
        "auto",
        COUNT,
        "Units of work that may wait for a connection; more are refused with 503. auto: 32 per connection",
    ),
    setting(
        "DATABASE_TIMEOUT",
        "2s",
        DURATION,
        "The longest that a unit of work may take, waiting included; then 503",
    ),
    setting(
        "DATABASE_LOOKUP_TIMEOUT",
        "1s",
        DURATION,
        "The longest that a session's check may take; then 503",
    ),
    setting(
        "DATABASE_CONNECT_TIMEOUT",
        "2s",
        DURATION,
        "The longest that connecting may take, in whole seconds, 2 at least",
    ),
    setting(
        "DATABASE_TRANSACTION_POOLING",
        "false",
        SWITCH,
        "Set where DATABASE_URL is a pooler in transaction mode such as PgBouncer: no prepared statements, no session settings",
    ),
    setting(
        "COALESCE_LOOKUPS",
        "true",
        SWITCH,
        "Let concurrent session checks share a query",
    ),
    setting(
        "LISTEN_ADDRESS",
        "127.0.0.1:8080",
        "address:port",
        "Where the service listens",
    ),
    setting(
        "HTTP_WORKERS",
        "auto",
        COUNT,
        "HTTP threads, 1 to 64. auto: one per two cores",
    ),
    setting(
        "HTTP_MAX_CONNECTIONS",
        "10000",
        COUNT,
        "Connections that one HTTP thread holds at once",
    ),
    setting(
        "HTTP_KEEP_ALIVE",
        "75s",
        DURATION,
        "How long an idle connection is kept: longer than load balancers keep theirs",
    ),
    setting(
        "HTTP_HEADER_TIMEOUT",
        "5s",
        DURATION,
        "The longest that a request's headers may take; then 408",
    ),
    setting(
        "HTTP_BODY_TIMEOUT",
        "10s",
        DURATION,
        "The longest that a request's body may take; then 408",
    ),
    setting(
        "SHUTDOWN_DRAIN",
        "0s",
        DURATION,
        "How long to go on serving, not ready, after SIGTERM or Ctrl-C, so that load balancers notice",
    ),
    setting(
        "SHUTDOWN_TIMEOUT",
        "10s",
        DURATION,
        "How long requests under way may take to finish at the stop",
    ),
    setting(
        "PUBLIC_ORIGIN",
        "",
        "https://host",
        "Where browsers see the service. Unset: an Origin's host must equal the Host header",
    ),
    setting(
        "TRUSTED_ORIGINS",
        "",
        "origin,…",
        "Other origins whose pages may call the API with cookies (CORS)",
    ),
    setting(
        "TRUSTED_PROXIES",
        "",
        "network,…",
        "Proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8",
    ),
    setting(
        "SIGN_UP_ENABLED",
        "true",
        SWITCH,
        "Whether anybody may make an account",
    ),
    setting(
        "ACCOUNT_PAGES_ENABLED",
        "true",
        SWITCH,
        "Whether there are pages for users under /account",
    ),
    setting(
        "ADMIN_PAGES_ENABLED",
        "true",
        SWITCH,
        "Whether there are pages for administrators under /admin",
    ),
    setting(
        "PAGES_PRODUCT_NAME",
        "sekisho",
        "name",
        "What the pages call your service",
    ),
    setting(
        "PAGES_STYLESHEET",
        "",
        "file",
        "CSS that is added to the pages' own, to set its variables; read at start",
    ),
    setting(
        "SESSION_COOKIE_NAME",
        "__Host-session_id",
        "name",
        "Name of the cookie. Default with SESSION_COOKIE_DOMAIN: __Secure-session_id",
    ),
    setting(
        "SESSION_COOKIE_SECURE",
        "true",
        SWITCH,
        "Whether the cookie is sent over HTTPS only",
    ),
    setting(
        "SESSION_COOKIE_DOMAIN",
        "",
        "domain",
        "Shares the cookie with the subdomains of this domain",
    ),
    setting(
        "SESSION_COOKIE_SAME_SITE",
        "lax",
        "lax|strict|none",
        "SameSite attribute; administrators always get strict",
    ),
    setting(
        "SESSION_IDLE_TIMEOUT",
        "30m",
        DURATION,
        "A session ends after so long without use",
    ),
    setting(
        "SESSION_ABSOLUTE_TIMEOUT",
        "12h",
        DURATION,
        "A session ends after so long in any case",
    ),
    setting(
        "SESSION_REMEMBER_IDLE_TIMEOUT",
        "14d",
        DURATION,
        "The same with remember_me: without use",
    ),
    setting(
        "SESSION_REMEMBER_ABSOLUTE_TIMEOUT",
        "30d",
        DURATION,
        "The same with remember_me: in any case",
    ),
    setting(
        "SESSION_ADMIN_IDLE_TIMEOUT",
        "15m",
        DURATION,
        "The same for administrators: without use",
    ),
    setting(
        "SESSION_ADMIN_ABSOLUTE_TIMEOUT",
        "8h",
        DURATION,
        "The same for administrators: in any case",
    ),
    setting(
        "SESSION_TOUCH_INTERVAL",
        "5m",
        DURATION,
        "last_seen_at is written at most once in so long, or in a quarter of the session's idle time-out if that is less",
    ),
    setting(
        "SESSION_MAX_PER_USER",
        "50",
        COUNT,
        "Sessions of one user; a further log-in ends the least recently seen",
    ),
    setting(
        "REAUTHENTICATION_MAX_AGE",
        "0s",
        DURATION,
        "Ending other devices demands a password no older than this; 0: never",
    ),
    setting(
        "CLEAR_SITE_DATA_ON_LOGOUT",
        "false",
        SWITCH,
        "Whether log-out tells the browser to clear the site's cookies and storage",
    ),
    secret(
        "SESSION_CLEANUP_API_KEY",
        "key[,key]",
        "Key of the cleanup endpoint, 32 characters at least; two while rotating. Unset: the endpoint refuses everybody",
    ),
    secret(
        "SERVICE_API_KEY",
        "key[,key]",
        "Key of the endpoints for backends, likewise",
    ),
    setting(
        "PASSWORD_MIN_LENGTH",
        "8",
        COUNT,
        "Least length of a new password, in characters",
    ),
    setting(
        "PASSWORD_MAX_LENGTH",
        "128",
        COUNT,
        "Greatest length of a password, in characters, 64 at least",
    ),
    setting(
        "PASSWORD_CONTEXT_WORDS",
        "sekisho",
        "word,…",
        "Words that a new password may not consist of, such as your service's name",
    ),
    setting(
        "PASSWORD_ARGON2_MEMORY",
        "19456",
        "KiB",
        "Memory of one Argon2id hash",
    ),
    setting(
        "PASSWORD_ARGON2_ITERATIONS",
        "2",
        COUNT,
        "Passes of one Argon2id hash",
    ),
    setting(
        "PASSWORD_ARGON2_PARALLELISM",
        "1",
        COUNT,
        "Lanes of one Argon2id hash",
    ),
    setting(
        "PASSWORD_HASH_SLOTS",
        "auto",
        COUNT,
        "Passwords hashed at once. auto: one per core",
    ),
    setting(
        "PASSWORD_HASH_QUEUE_LENGTH",
        "256",
        COUNT,
        "Passwords that may wait for that; more are refused with 503",
    ),
    setting(
        "LOGIN_THROTTLE_FAILURES",
        "5",
        COUNT,
        "Failures of one e-mail from one coarse address before each further one doubles a delay; 0: no limit",
    ),
    setting(
        "LOGIN_THROTTLE_ADDRESS_FAILURES",
        "100",
        COUNT,
        "Failures and sign-ups from one coarse address before the same; 0: no limit",
    ),
    setting(
        "LOGIN_THROTTLE_MAX_DELAY",
        "15m",
        DURATION,
        "The longest such delay",
    ),
    setting(
        "CLEANUP_INTERVAL",
        "1h",
        DURATION,
        "How often the service cleans up by itself; 0: never",
    ),
    setting(
        "CLEANUP_HTTP_BUDGET",
        "3500ms",
        DURATION,
        "The longest that one call of the cleanup endpoint works",
    ),
    setting(
        "CLEANUP_BUDGET",
        "5m",
        DURATION,
        "The longest that a scheduled run or the subcommand works",
    ),
    setting(
        "CLEANUP_BATCH_SIZE",
        "2000",
        COUNT,
        "Rows in one transaction of the cleanup",
    ),
    setting(
        "CLEANUP_RETENTION",
        "30d",
        DURATION,
        "Ended sessions are deleted after so long",
    ),
    setting(
        "CLEANUP_IP_RETENTION",
        "30d",
        DURATION,
        "Addresses are forgotten after so long",
    ),
    setting(
        "CLEANUP_EVENT_RETENTION",
        "365d",
        DURATION,
        "Events are deleted from the ledger after so long, 30d at least",
    ),
    setting(
        "LOG_LEVEL",
        "info",
        "filter",
        "What is logged, as env_logger's filter; debug adds a line a request",
    ),
    setting(
        "LOG_FORMAT",
        "text",
        "text|json",
        "Log lines for people or for programs",
    ),
];
