//! libpq's connection strings: whether one has a form that libpq reads as it was meant, and errors
//! that may quote one.

/// What is allowed, for refusals.
pub const ALLOWED: &str = "postgres://user:password@host:port/database with reserved characters of the password \
    percent-encoded (%40 for @, %2F for /), or keyword=value pairs";

/// Whether the text is a URI or keyword=value pairs. Stricter than libpq, which takes a part of a
/// password for something else where a character is not encoded, and then quotes it.
pub fn is_well_formed(text: &str) -> bool {
    if text.chars().any(char::is_control) {
        return false;
    }
    let uri = ["postgres://", "postgresql://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    match uri {
        Some(rest) => is_uri(rest),
        None => are_pairs(text),
    }
}

fn is_uri(rest: &str) -> bool {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = match authority.split_once('@') {
        Some((user, hosts)) => (user, hosts),
        None => ("", authority),
    };
    let is_parameter = |pair: &str| {
        pair.split_once('=')
            .is_some_and(|(name, value)| is_keyword(name) && !value.contains('='))
    };
    is_encoded(user)
        && hosts.split(',').all(is_host)
        && is_encoded(database)
        && !database.contains(['/', '@'])
        && is_encoded(query)
        && (query.is_empty() || query.split('&').all(is_parameter))
}

/// A host with or without a port; either may be empty.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => {
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return false;
            }
            ("", port.strip_prefix(':').or(port.is_empty().then_some("")))
        }
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, Some("")),
        },
    };
    let is_of_name = |c: char| c.is_alphanumeric() || "._-%".contains(c);
    is_encoded(name)
        && name.chars().all(is_of_name)
        && port.is_some_and(|port| port.is_empty() || port.parse::<u16>().is_ok())
}

/// Without white space, and with well-formed percent-encodings.
fn is_encoded(text: &str) -> bool {
    !text.contains(char::is_whitespace)
        && text.split('%').skip(1).all(|rest| {
            let code = rest.get(..2).unwrap_or_default();
            code != "00" && code.len() == 2 && code.bytes().all(|b| b.is_ascii_hexdigit())
        })
}

fn is_keyword(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

fn are_pairs(text: &str) -> bool {
    let mut rest = text.trim();
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let Some((name, value)) = rest.split_once('=') else {
            return false;
        };
        let Some(end) = value_end(value.trim_start()).filter(|_| is_keyword(name.trim_end()))
        else {
            return false;
        };
        rest = value
            .trim_start()
            .get(end..)
            .unwrap_or_default()
            .trim_start();
    }
    true
}

/// Where a value ends: at white space, or behind its closing quote.
fn value_end(value: &str) -> Option<usize> {
    let is_quoted = value.starts_with('\'');
    let mut characters = value.char_indices().skip(usize::from(is_quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next()?;
            }
            '\'' if is_quoted => return Some(at + 1),
            c if c.is_whitespace() && !is_quoted => return Some(at),
            _ => {}
        }
    }
    (!is_quoted).then_some(value.len())
}

/// An error of libpq's without what it quotes of the connection string: the string itself and its
/// passwords.
pub fn redacted(error: &str, connection_string: &str) -> String {
    let mut secrets = passwords(connection_string);
    secrets.push(connection_string.to_owned());
    // Longest first: a part must not spoil the whole.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
        .iter()
        .filter(|secret| !secret.is_empty())
        .fold(error.to_owned(), |text, secret| {
            text.replace(secret.as_str(), "[redacted]")
        })
}

/// What may be a password in a connection string of either form, as it stands there and decoded.
fn passwords(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some((_scheme, rest)) = text.split_once("://")
        && let Some((user, _host)) = rest.rsplit_once('@')
        && let Some((_name, password)) = user.split_once(':')
    {
        found.push(password.to_owned());
    }
    for (at, name) in text.match_indices("password") {
        let value = text.get(at + name.len()..).unwrap_or_default().trim_start();
        if let Some(value) = value.strip_prefix('=').map(str::trim_start) {
            let quoted = value.strip_prefix('\'').and_then(|v| v.split('\'').next());
            let bare = value.split(|c: char| c.is_whitespace() || c == '&').next();
            found.extend(quoted.or(bare).map(str::to_owned));
        }
    }
    let decoded: Vec<String> = found.iter().filter_map(|text| decoded(text)).collect();
    found.extend(decoded);
    found
}

fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libpq_reads_as_it_was_meant_is_allowed() {
        for good in [
            "postgres://h/d",
            "postgresql://",
            "postgres://u:p%40%2f#!$&'()*+;=:w@h.example:5432/d?sslmode=verify-full",
            "postgres://u@h1:1,h2,h3:3/d?target_session_attrs=read-write",
            "postgresql:///d?host=/var/run/postgresql&user=u",
            "postgresql://u@/d?host=/tmp/x%20y",
            "postgres://u:p@%2Ftmp%2Fsocket:5432/d",
            "postgres://[::1]:5432/d?options=-c%20geqo%3Doff",
            "host=h dbname=d user=u password='it''s' port=1",
            "host = /tmp user = u password = 'a \\' b' dbname = d",
            "service=sekisho",
        ] {
            // Doubled quotes are two values to libpq, without the space that it wants.
            assert_eq!(is_well_formed(good), !good.contains("''"), "{good}");
        }
    }

    #[test]
    fn what_would_be_quoted_is_refused() {
        for bad in [
            "",
            "mysql://u:SECRET@h/d",
            "Postgres://u:SECRET@h/d",
            "\"postgres://u:SECRET@h/d\"",
            "'postgres://u:SECRET@h/d'",
            "postgres://u:SECRET%PW@h/d",
            "postgres://u:SECRET%2@h/d",
            "postgres://u:SECRET%00@h/d",
            "postgres://u:SECRET/PW@h/d",
            "postgres://u:12/PW@h/d",
            "postgres://u:12?PW@h/d",
            "postgres://u:SECRET?PW@h/d",
            "postgres://u:SEC@RETPW@h/d",
            "postgres://u:SEC RET@h/d",
            "postgres://u:SECRET@h:port/d",
            "postgres://u:SECRET@[h]/d",
            "postgres://u:SECRET@h/d?a=b=c",
            "host=h password=SEC RET",
            "host=h password='SECRET",
            "SECRET",
        ] {
            assert!(!is_well_formed(bad), "{bad}");
        }
    }

    #[test]
    fn errors_lose_the_string_and_its_passwords() {
        let url = "postgres://u:SEC%40RET@h/d?password=OTHER&x=y";
        let said = redacted(
            &format!("bad {url}; SEC%40RET, SEC@RET and OTHER are wrong at h"),
            url,
        );
        assert!(!said.contains("SEC") && !said.contains("OTHER"), "{said}");
        assert!(said.ends_with("are wrong at h"), "{said}");
        let said = redacted("no SECRET here", "host=h password = 'SECRET' dbname=d");
        assert_eq!(said, "no [redacted] here");
    }
}
