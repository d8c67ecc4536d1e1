//! What every answer carries, whatever it says; and CORS.

use reqwest::Method;

use super::{start, unsafe_calls};
use crate::support::{CLEANUP_KEY, Reply};

fn assert_headers(reply: &Reply, what: &str) {
    let expected = [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        (
            "content-security-policy",
            "default-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        ("referrer-policy", "no-referrer"),
        (
            "strict-transport-security",
            "max-age=31536000; includeSubDomains",
        ),
    ];
    for (name, value) in expected {
        assert_eq!(reply.header(name), Some(value), "{what}: {reply:?}");
    }
    assert!(
        reply
            .header("x-request-id")
            .is_some_and(|id| id.len() >= 16),
        "{what}: {reply:?}"
    );
    assert!(
        reply
            .headers
            .keys()
            .all(|name| !name.as_str().starts_with("access-control-")),
        "{what}: {reply:?}"
    );
    assert!(reply.header("server").is_none() && reply.header("x-powered-by").is_none());
    if reply.status == 401 {
        assert!(
            reply.header("www-authenticate").is_some(),
            "{what}: {reply:?}"
        );
    }
}

#[tokio::test]
async fn every_answer_carries_the_protective_headers_and_every_401_a_challenge() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let mut requests = vec![
        (200, app.auth(Method::GET, "session").bearer_auth(&token)),
        (200, app.auth(Method::GET, "sessions").bearer_auth(&token)),
        (200, app.auth(Method::GET, "verify").bearer_auth(&token)),
        (
            200,
            app.auth(Method::POST, "cleanup_sessions")
                .header("X-API-Key", CLEANUP_KEY),
        ),
        (200, app.request(Method::GET, "/health/live")),
        (
            400,
            app.auth(Method::GET, "session_events?limit=x")
                .bearer_auth(&token),
        ),
        (
            400,
            app.auth(Method::POST, "login")
                .header("Content-Type", "application/json")
                .body("{"),
        ),
        (401, app.auth(Method::GET, "verify")),
        (401, app.auth(Method::GET, "session").bearer_auth("bad")),
        (401, app.auth(Method::POST, "cleanup_sessions")),
        (
            401,
            app.auth(Method::POST, "login")
                .json(&serde_json::json!({"email": "a@b.example", "password": "x"})),
        ),
        (
            403,
            app.auth(Method::POST, "logout")
                .header("Origin", "https://evil.example"),
        ),
        (404, app.request(Method::GET, "/")),
        (404, app.auth(Method::GET, "nothing")),
        (
            404,
            app.auth(Method::DELETE, "sessions/1").bearer_auth(&token),
        ),
        (405, app.auth(Method::GET, "login")),
        (
            405,
            app.auth(Method::OPTIONS, "login")
                .header("Origin", "https://evil.example"),
        ),
        (405, app.auth(Method::TRACE, "session")),
        (
            413,
            app.auth(Method::POST, "login")
                .header("Content-Type", "application/json")
                .body(" ".repeat(20_000)),
        ),
        (415, app.auth(Method::POST, "login")),
        (
            422,
            app.auth(Method::POST, "login")
                .json(&serde_json::json!({"email": "a", "password": "x"})),
        ),
    ];
    for (method, path, _) in unsafe_calls() {
        if !["login", "sign_up", "logout"].contains(&path) {
            requests.push((401, app.auth(method, path)));
        }
    }
    for (status, request) in requests {
        let reply = Reply::of(request).await;
        let what = format!("{status}");
        assert_eq!(reply.status, status, "{reply:?}");
        assert_headers(&reply, &what);
        if status >= 400 {
            reply.code();
        }
    }
}

#[tokio::test]
async fn outages_tell_nothing_of_the_inside() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db
        .execute("ALTER TABLE sessions RENAME TO hidden; ALTER TABLE users RENAME TO hidden_users");
    let mut replies = vec![
        (503, app.get("session", &token).await),
        (503, app.post("logout", &token).await),
        (503, app.get("sessions", &token).await),
        (503, app.get("verify", &token).await),
        (500, app.cleanup().await),
    ];
    let body = serde_json::json!({"email": "ada@example.com", "password": "correct horse battery"});
    replies.push((503, app.post_public("login", body.clone()).await));
    replies.push((503, app.post_public("sign_up", body).await));
    for (status, reply) in replies {
        assert_eq!(reply.status, status, "{reply:?}");
        assert_headers(&reply, "outage");
        assert_eq!(reply.header("retry-after").is_some(), status == 503);
        assert!(reply.cookies().is_empty(), "{reply:?}");
        let body = reply.body.to_lowercase();
        for inside in [
            "relation", "select", "users", "hidden", "postgres", "/tmp", "sql", ".rs", "diesel",
            "column",
        ] {
            assert!(!body.contains(inside), "{inside}: {reply:?}");
        }
    }
    app.db
        .execute("ALTER TABLE hidden RENAME TO sessions; ALTER TABLE hidden_users RENAME TO users");
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn hsts_is_for_secure_cookies_alone() {
    let app = start(&[
        ("SESSION_COOKIE_SECURE", "false"),
        ("SESSION_COOKIE_NAME", "s"),
    ])
    .await;
    let reply = Reply::of(app.request(Method::GET, "/health/live")).await;
    assert!(reply.header("strict-transport-security").is_none());
}

#[tokio::test]
async fn only_trusted_origins_get_cors_and_preflights() {
    let app = start(&[("TRUSTED_ORIGINS", "https://app.example.com")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let get = |origin: &str| {
        Reply::of(
            app.auth(Method::GET, "sessions")
                .bearer_auth(&token)
                .header("Origin", origin),
        )
    };
    let trusted = get("https://app.example.com").await;
    assert_eq!(
        trusted.header("access-control-allow-origin"),
        Some("https://app.example.com")
    );
    assert_eq!(
        trusted.header("access-control-allow-credentials"),
        Some("true")
    );
    let exposed = trusted
        .header("access-control-expose-headers")
        .unwrap()
        .to_lowercase();
    for name in ["link", "x-total-count", "retry-after", "x-request-id"] {
        assert!(exposed.contains(name), "{exposed}");
    }
    for origin in [
        "https://evil.example",
        "null",
        "http://app.example.com",
        "https://app.example.com.evil.example",
    ] {
        let other = get(origin).await;
        assert!(
            other.header("access-control-allow-origin").is_none(),
            "{origin}: {other:?}"
        );
    }
    let preflight = |origin: &str, method: &str| {
        let request = app.auth(Method::OPTIONS, "login").header("Origin", origin);
        Reply::of(
            request
                .header("Access-Control-Request-Method", method)
                .header("Access-Control-Request-Headers", "content-type"),
        )
    };
    let allowed = preflight("https://app.example.com", "POST").await;
    assert_eq!(
        allowed.header("access-control-allow-origin"),
        Some("https://app.example.com"),
        "{allowed:?}"
    );
    for (origin, method) in [
        ("https://evil.example", "POST"),
        ("https://app.example.com", "PUT"),
    ] {
        let refused = preflight(origin, method).await;
        assert!(refused.status >= 400, "{refused:?}");
        assert!(
            refused.header("access-control-allow-origin").is_none(),
            "{refused:?}"
        );
        refused.code();
        assert!(
            refused.header("x-request-id").is_some()
                && refused.header("cache-control") == Some("no-store")
        );
    }
}

#[tokio::test]
async fn the_sites_data_is_cleared_at_log_out_where_that_is_wanted() {
    let app = start(&[("CLEAR_SITE_DATA_ON_LOGOUT", "true")]).await;
    app.sign_up("ada@example.com").await;
    for path in ["logout", "logout_all"] {
        let token = app.login("ada@example.com").await;
        let reply = app.post(path, &token).await;
        assert_eq!(
            reply.header("clear-site-data"),
            Some(r#""cache", "cookies", "storage""#)
        );
    }
    let plain = start(&[]).await;
    let reply = Reply::of(plain.auth(Method::POST, "logout")).await;
    assert_eq!((reply.status, reply.header("clear-site-data")), (200, None));
}

#[tokio::test]
async fn request_ids_are_echoed_only_where_well_formed() {
    let app = start(&[]).await;
    let ask = |id: Vec<u8>| {
        let value = reqwest::header::HeaderValue::from_bytes(&id).unwrap();
        Reply::of(
            app.request(Method::GET, "/health/live")
                .header("X-Request-Id", value),
        )
    };
    let echoed = ask(b"edge-1_2.3".to_vec()).await;
    assert_eq!(echoed.header("x-request-id"), Some("edge-1_2.3"));
    for bad in [
        b"a b".to_vec(),
        b"a\"b".to_vec(),
        b"a=b".to_vec(),
        b"\xff".to_vec(),
        b"".to_vec(),
        b"a".repeat(65),
    ] {
        let made = ask(bad.clone())
            .await
            .header("x-request-id")
            .unwrap()
            .to_owned();
        assert!(
            made.len() == 32 && made.bytes().all(|b| b.is_ascii_hexdigit()),
            "{bad:?}: {made}"
        );
    }
}
