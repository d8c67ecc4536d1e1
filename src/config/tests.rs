use super::*;

fn config(pairs: &[(&str, &str)]) -> Result<Config, String> {
    let base = [("DATABASE_URL", "postgres://localhost/x")];
    let all = base.iter().chain(pairs).map(|(k, v)| (*k, *v));
    Config::new(&Source::from_pairs(all)).map_err(|e| e.0)
}

#[test]
fn defaults_are_valid() {
    let config = config(&[]).unwrap();
    assert_eq!(config.cookie.name, "__Host-session_id");
    assert!(config.cookie.secure);
    assert_eq!(
        config.session.lifetime(Role::User, false).0.idle,
        TimeDelta::minutes(30)
    );
    assert_eq!(
        config.session.lifetime(Role::Admin, true),
        (config.session.lifetime(Role::Admin, false).0, false)
    );
    assert!(config.session.reauthentication_max_age.is_none());
    assert!(config.cleanup_api_keys.is_empty());
}

#[test]
fn a_wrong_value_names_variable_value_and_what_is_allowed() {
    let wrong = [
        ("SESSION_IDLE_TIMEOUT", "soon", "duration"),
        ("SESSION_IDLE_TIMEOUT", "1s", "10s"),
        ("SESSION_IDLE_TIMEOUT", "99999999999999999999d", "duration"),
        ("DATABASE_POOL_SIZE", "1", "12 to 512"),
        ("SIGN_UP_ENABLED", "maybe", "true or false"),
        ("LISTEN_ADDRESS", "localhost", "127.0.0.1:8080"),
        ("TRUSTED_PROXIES", "everyone", "10.0.0.0/8"),
        (
            "TRUSTED_ORIGINS",
            "app.example.com",
            "https://app.example.com",
        ),
        ("PUBLIC_ORIGIN", "https://a.example/path", "https://"),
        ("LOG_FORMAT", "xml", "text or json"),
        ("PASSWORD_MIN_LENGTH", "4", "8 to 64"),
        ("CLEANUP_EVENT_RETENTION", "7d", "30d"),
        ("SESSION_COOKIE_NAME", "a;b", "cookie name"),
        ("SESSION_COOKIE_DOMAIN", "exa mple.com", ""),
        ("PASSWORD_ARGON2_MEMORY", "7", "8"),
    ];
    for (name, value, allowed) in wrong {
        let error = config(&[(name, value)]).unwrap_err();
        assert!(
            error.contains(name) && error.contains(value) && error.contains(allowed),
            "{error}"
        );
    }
}

#[test]
fn unsafe_combinations_are_refused_with_a_way_out() {
    let refused = |pairs: &[(&str, &str)], word: &str| {
        let error = config(pairs).unwrap_err();
        assert!(error.contains(word), "{error}");
    };
    refused(&[("SESSION_COOKIE_SECURE", "false")], "session_id");
    refused(
        &[
            ("SESSION_COOKIE_SECURE", "false"),
            ("SESSION_COOKIE_NAME", "__SECURE-x"),
        ],
        "Secure",
    );
    refused(
        &[
            ("SESSION_COOKIE_NAME", "__Host-x"),
            ("SESSION_COOKIE_DOMAIN", "example.com"),
        ],
        "__Secure-",
    );
    refused(
        &[("DATABASE_TRANSACTION_POOLING", "true")],
        "MIGRATION_DATABASE_URL",
    );
    for wide in [
        "0.0.0.0/0",
        "0.0.0.0/1,128.0.0.0/1",
        "::/0",
        "8000::/1",
        "::ffff:0.0.0.0/96",
    ] {
        refused(&[("TRUSTED_PROXIES", wide)], "everybody");
    }
    let networks = "10.0.0.0/8,fd00::/8,::ffff:192.168.0.0/112";
    let proxies = config(&[("TRUSTED_PROXIES", networks)]).unwrap();
    assert_eq!(
        proxies.http.trusted_proxies[2].to_string(),
        "192.168.0.0/16"
    );
    refused(&[("TRUSTED_PROXIES", "10.0.0.0/8,::/0")], "everybody");
    refused(
        &[("SESSION_IDLE_TIMEOUT", "13h")],
        "SESSION_ABSOLUTE_TIMEOUT",
    );
    refused(
        &[
            ("SESSION_COOKIE_SAME_SITE", "none"),
            ("SESSION_COOKIE_SECURE", "false"),
            ("SESSION_COOKIE_NAME", "s"),
        ],
        "none",
    );
}

#[test]
fn api_keys_are_long_and_at_most_two_and_never_shown() {
    let (one, two) = ("a".repeat(32), "b".repeat(64));
    let keys = |value: &str| {
        config(&[("SESSION_CLEANUP_API_KEY", value)]).map(|c| c.cleanup_api_keys.len())
    };
    assert_eq!(keys(""), Ok(0));
    assert_eq!(keys(&one), Ok(1));
    assert_eq!(keys(&format!("{one},{two}")), Ok(2));
    for bad in [
        "short-key".to_owned(),
        format!("{one},short-key"),
        format!("{one},{two},{one}"),
    ] {
        let error = keys(&bad).unwrap_err();
        assert!(
            error.contains("SESSION_CLEANUP_API_KEY") && error.contains("32"),
            "{error}"
        );
        assert!(
            !error.contains("short-key") && !error.contains(&one),
            "{error}"
        );
    }
    let error =
        config(&[("SESSION_CLEANUP_API_KEY", &one), ("SERVICE_API_KEY", &one)]).unwrap_err();
    assert!(
        error.contains("SERVICE_API_KEY") && !error.contains(&one),
        "{error}"
    );
    let shown = format!(
        "{:?}",
        config(&[("SESSION_CLEANUP_API_KEY", &one)]).unwrap()
    );
    assert!(
        !shown.contains(&one) && !shown.contains("postgres://"),
        "{shown}"
    );
}

#[test]
fn a_domain_changes_the_default_name() {
    assert_eq!(
        config(&[("SESSION_COOKIE_DOMAIN", "example.com")])
            .unwrap()
            .cookie
            .name,
        "__Secure-session_id"
    );
}

#[test]
fn durations_have_units() {
    for (text, seconds) in [
        ("90", 90),
        ("90s", 90),
        ("2m", 120),
        ("1h", 3600),
        ("14d", 1_209_600),
    ] {
        let config = config(&[("SESSION_REMEMBER_IDLE_TIMEOUT", text)]).unwrap();
        assert_eq!(
            config.session.lifetime(Role::User, true).0.idle,
            TimeDelta::seconds(seconds)
        );
    }
}

#[test]
fn the_readme_has_every_setting_with_its_default() {
    let readme = include_str!("../../README.md");
    for setting in settings::SETTINGS {
        let row = readme
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", setting.name)));
        let row = row.unwrap_or_else(|| panic!("README.md has no row for {}", setting.name));
        let default = if setting.default.is_empty() {
            "–".to_owned()
        } else {
            format!("`{}`", setting.default)
        };
        assert!(
            row.starts_with(&format!("| `{}` | {default} |", setting.name)),
            "{row}"
        );
    }
}
