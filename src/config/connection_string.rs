//! libpq's connection strings. libpq quotes what it cannot parse, and that may be a password: so the
//! form is checked at the start, and errors are freed of secrets before anybody reads them.

/// Whether this is a connection string as far as can be told without libpq: a URI whose parts cannot
/// be mistaken for one another, or `name=value` pairs.
pub fn is_well_formed(text: &str) -> bool {
    match uri(text) {
        Some(rest) => is_uri(rest),
        None => is_pairs(text),
    }
}

fn uri(text: &str) -> Option<&str> {
    text.strip_prefix("postgres://")
        .or_else(|| text.strip_prefix("postgresql://"))
}

fn is_uri(rest: &str) -> bool {
    let before_query = rest.split('?').next().unwrap_or_default();
    let (authority, path) = before_query.split_once('/').unwrap_or((before_query, ""));
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    let is_port = |host: &str| match host
        .rsplit_once(']')
        .map_or(host, |(_, rest)| rest)
        .rsplit_once(':')
    {
        Some((_, port)) => port.bytes().all(|b| b.is_ascii_digit()),
        None => true,
    };
    authority.matches('@').count() <= 1
        // What looks like a path with an @ is a password with a slash.
        && !path.contains(['@', '/'])
        && hosts.split(',').all(is_port)
        && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
        && has_whole_escapes(rest)
}

fn has_whole_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    })
}

fn is_pairs(text: &str) -> bool {
    let is_name = |name: &str| {
        let name = name.trim();
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
        // Unpaired quotes and words without a value are quoted back by libpq.
        && pairs(text).is_some_and(|pairs| pairs.iter().all(|(name, _)| is_name(name)))
}

/// The pairs of the `name=value` form, as libpq reads them; `None` where it would not.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let is_quoted = after.starts_with('\'');
        let mut value = String::new();
        let mut letters = after.char_indices().skip(usize::from(is_quoted));
        let end = loop {
            match letters.next() {
                Some((_, '\\')) => value.push(letters.next()?.1),
                Some((at, '\'')) if is_quoted => break at + 1,
                Some((at, c)) if !is_quoted && c.is_whitespace() => break at,
                Some((_, c)) => value.push(c),
                None if is_quoted => return None,
                None => break after.len(),
            }
        };
        found.push((name.trim().to_owned(), value));
        rest = after.get(end..)?.trim_start();
    }
    Some(found)
}

/// A message about a connection, without what is secret in the connection string.
pub fn redacted(message: &str, connection_string: &str) -> String {
    let mut secrets = vec![connection_string.to_owned()];
    match uri(connection_string) {
        Some(rest) => {
            let password = rest
                .rsplit_once('@')
                .and_then(|(user, _)| user.split_once(':'));
            secrets.extend(password.map(|(_, password)| password.to_owned()));
        }
        None => {
            let of_pairs = pairs(connection_string).unwrap_or_default();
            let passwords = of_pairs.into_iter().filter(|(name, _)| name == "password");
            secrets.extend(passwords.map(|(_, password)| password));
        }
    }
    let secrets = secrets.iter().filter(|secret| !secret.is_empty());
    secrets.fold(message.to_owned(), |text, secret| {
        text.replace(secret.as_str(), "…")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_pass() {
        for text in [
            "postgres://localhost/x",
            "postgresql://",
            "postgres:///db?host=/run/postgresql&user=a",
            "postgres://dev@localhost:5432/db?sslmode=require",
            "postgres://u:p%40%2Fw@one:5432,two:5433/db?target_session_attrs=read-write",
            "postgres://u:p:w@[::1]:5432/db",
            "postgres://%2Fvar%2Frun/db",
            "host=/tmp dbname=d",
            "host=h user = 'a b' password='it\\'s = secret' port=5432",
        ] {
            assert!(is_well_formed(text), "{text}");
        }
    }

    #[test]
    fn what_libpq_would_quote_is_refused() {
        for text in [
            "",
            "x",
            "mysql://u:SECRET@host/db",
            "postgress://u:SECRET@host/db",
            "postgress://u:SECRET@host/db?a=b",
            "\"postgres://u:SECRET@host/db\"",
            "'postgres://u:SECRET@host/db'",
            "postgres://u:SEC%RET@host/db",
            "postgres://u:SEC/RET@host/db",
            "postgres://u:SEC@RET@host/db",
            "postgres://u:SEC RET@host/db",
            "postgres://u:SECRET@host:port/db",
            "password='SECRET",
            "password=SEC RET host=h",
            "password",
        ] {
            assert!(!is_well_formed(text), "{text}");
        }
    }

    #[test]
    fn messages_lose_the_secrets() {
        let uri = "postgres://u:SECRET@host/db";
        assert_eq!(redacted(&format!("bad \"{uri}\""), uri), "bad \"…\"");
        assert_eq!(redacted("near SECRET@", uri), "near …@");
        assert_eq!(
            redacted("near SECRET", "user=u password='SECRET'"),
            "near …"
        );
        assert_eq!(redacted("no such host", "host=h"), "no such host");
    }
}
