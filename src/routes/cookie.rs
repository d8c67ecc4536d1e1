//! The session cookie: read from the raw header, written by one builder.

use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::config::{CookieConfig, SameSite};
use crate::domain::session::Session;
use crate::domain::token::SessionToken;
use crate::domain::user::{Role, User};
use crate::services::auth::MAX_PRESENTED;

/// The values of our cookie in a request.
#[derive(Debug, Default)]
pub struct Cookies {
    /// Distinct values that have the form of a token: those that a service looks at, and one more
    /// where there are more.
    pub tokens: Vec<SessionToken>,
    /// How many cookies of our name there were, whatever their form.
    pub count: usize,
}

/// Reads our cookie, and nothing else: a foreign cookie, however malformed, does no harm.
pub fn read(headers: &HeaderMap, name: &str) -> Cookies {
    let mut cookies = Cookies::default();
    let pairs = headers
        .get_all(header::COOKIE)
        .flat_map(|value| value.as_bytes().split(|b| *b == b';'));
    for pair in pairs {
        let Some(value) = pair
            .trim_ascii()
            .strip_prefix(name.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
        else {
            continue;
        };
        cookies.count += 1;
        let token = std::str::from_utf8(value)
            .ok()
            .and_then(SessionToken::parse);
        if let Some(token) = token
            && cookies.tokens.len() <= MAX_PRESENTED
            && !cookies.tokens.contains(&token)
        {
            cookies.tokens.push(token);
        }
    }
    cookies
}

/// The cookie of a session.
pub fn set(config: &CookieConfig, user: &User, session: &Session, token: &SessionToken) -> String {
    let same_site = match user.role {
        Role::Admin => SameSite::Strict,
        Role::User => config.same_site,
    };
    // Without Max-Age the cookie ends with the browser's session.
    let max_age = session.remember_me.then(|| session.absolute_expires_in());
    build(
        config,
        token.expose(),
        same_site,
        max_age,
        config.domain.as_deref(),
    )
}

/// What removes the cookie, with the attributes that it was set with. Where several of our name
/// came, also its variant with, or without, a Domain.
pub fn clear(config: &CookieConfig, cookies: &Cookies, host: Option<&str>) -> Vec<String> {
    let mut cleared = vec![build(
        config,
        "",
        config.same_site,
        Some(0),
        config.domain.as_deref(),
    )];
    cleared.extend(clear_variant(config, cookies, host));
    cleared
}

/// What removes the variant of our cookie that we do not set, where several came.
pub fn clear_variant(
    config: &CookieConfig,
    cookies: &Cookies,
    host: Option<&str>,
) -> Option<String> {
    if cookies.count < 2 || config.name.to_ascii_lowercase().starts_with("__host-") {
        return None;
    }
    let host = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _port)| name));
    let is_domain = |host: &&str| {
        host.contains('.')
            && host
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
    };
    match &config.domain {
        Some(_) => Some(build(config, "", config.same_site, Some(0), None)),
        None => host
            .filter(is_domain)
            .map(|host| build(config, "", config.same_site, Some(0), Some(host))),
    }
}

fn build(
    config: &CookieConfig,
    value: &str,
    same_site: SameSite,
    max_age: Option<i64>,
    domain: Option<&str>,
) -> String {
    let mut cookie = format!("{}={value}; Path=/; HttpOnly", config.name);
    if config.secure {
        cookie.push_str("; Secure");
    }
    cookie.push_str(match same_site {
        SameSite::Lax => "; SameSite=Lax",
        SameSite::Strict => "; SameSite=Strict",
        SameSite::None => "; SameSite=None",
    });
    if let Some(domain) = domain {
        cookie.push_str("; Domain=");
        cookie.push_str(domain);
    }
    if let Some(max_age) = max_age {
        cookie.push_str(&format!("; Max-Age={max_age}"));
    }
    if max_age == Some(0) {
        cookie.push_str("; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
    }
    cookie
}

/// As a header.
pub fn header(cookie: &str) -> Option<(HeaderName, HeaderValue)> {
    HeaderValue::from_str(cookie)
        .ok()
        .map(|value| (header::SET_COOKIE, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(header: &[u8]) -> (Vec<String>, usize) {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_bytes(header).unwrap());
        let cookies = read(&headers, "session_id");
        (
            cookies
                .tokens
                .iter()
                .map(|t| t.expose().to_owned())
                .collect(),
            cookies.count,
        )
    }

    #[test]
    fn only_our_well_formed_values_count() {
        let (a, b) = ("a".repeat(43), "b".repeat(43));
        assert_eq!(
            tokens(format!("session_id={a}").as_bytes()),
            (vec![a.clone()], 1)
        );
        assert_eq!(
            tokens(format!("x=1;session_id={a};  y=2").as_bytes()),
            (vec![a.clone()], 1)
        );
        assert_eq!(
            tokens(format!("session_id={a}; session_id={b}; session_id={a}").as_bytes()),
            (vec![a.clone(), b], 3)
        );
        assert_eq!(
            tokens(format!("my_session_id={a}; SESSION_ID={a}; session_id ={a}").as_bytes()),
            (vec![], 0)
        );
        assert_eq!(tokens(b"session_id=%00"), (vec![], 1));
        assert_eq!(
            tokens(format!("session_id=\"{a}\"").as_bytes()),
            (vec![], 1)
        );
        let mut foreign = b"evil=\xff\xff; session_id=".to_vec();
        foreign.extend(a.as_bytes());
        assert_eq!(tokens(&foreign), (vec![a], 1));
    }

    proptest::proptest! {
        #[test]
        fn no_header_panics(header in proptest::collection::vec(0x20u8..=0xff, 0..300)) {
            let header: Vec<u8> = header.into_iter().filter(|b| *b != 0x7f).collect();
            let (found, count) = tokens(&header);
            proptest::prop_assert!(found.len() <= count.min(MAX_PRESENTED + 1));
        }
    }
}
