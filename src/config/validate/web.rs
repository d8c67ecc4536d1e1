//! What concerns HTTP: the server, who is believed, and the cookie.

use std::time::Duration;

use ipnetwork::IpNetwork;

use super::super::source::{ConfigError, Source, refused};
use super::super::{CookieConfig, HttpConfig, SameSite};
use super::SECOND;
use crate::domain::address;

pub(super) fn http(source: &Source, cores: usize) -> Result<HttpConfig, ConfigError> {
    let minute = Duration::from_secs(60);
    let trusted_proxies = source.list(
        "TRUSTED_PROXIES",
        "addresses and networks, such as 10.0.0.0/8",
        |item| {
            item.parse::<IpNetwork>()
                .ok()
                .and_then(address::unmapped_network)
        },
    )?;
    if let Some(wide) = trusted_proxies.iter().find(|network| network.prefix() < 8) {
        return Err(ConfigError(format!(
            "TRUSTED_PROXIES names {wide}, which is far too many, if not everybody: then clients could choose their \
             own address. Allowed: the addresses or networks of your proxies, /8 at the widest."
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
        keep_alive: source.duration("HTTP_KEEP_ALIVE", SECOND, 60 * minute)?,
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

pub(super) fn cookie(source: &Source) -> Result<CookieConfig, ConfigError> {
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
