//! Logging in, from a browser and from an app.

use reqwest::Method;
use serde_json::{Value, json};

use crate::envelope::assert_common;
use crate::support::{CHROME_ON_MACOS, PASSWORD, Reply, SAFARI_ON_IPHONE, TestApp};

/// The names of an object's members, in order.
fn names(object: &Value) -> Vec<&str> {
    let mut names: Vec<_> = object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    names.sort();
    names
}

fn credentials() -> Value {
    json!({"email": "ada@example.com", "password": PASSWORD})
}

#[tokio::test]
async fn a_browser_gets_its_token_in_the_cookie_alone() {
    let app = TestApp::start().await;
    let user = app.sign_up("ada@example.com").await;
    let request = app
        .auth(Method::POST, "login")
        .header("User-Agent", CHROME_ON_MACOS);
    let reply = Reply::of(request.json(&credentials())).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_common(&reply);
    let body = reply.json();
    assert_eq!(names(&body), ["session", "user"]);
    assert_eq!(body["user"]["id"], user);
    let session = &body["session"];
    assert_eq!(
        names(session),
        [
            "absolute_expires_at",
            "auth_level",
            "authenticated_at",
            "created_at",
            "current",
            "device_label",
            "expires_at",
            "expires_in",
            "id",
            "ip_address",
            "last_seen_at",
            "remember_me",
        ]
    );
    assert_eq!(session["device_label"], "Chrome on macOS");
    assert_eq!(session["ip_address"], "127.0.0.0/24");
    assert_eq!(session["auth_level"], "password");
    assert_eq!(session["remember_me"], false);
    assert_eq!(session["current"], true);
    assert!((1_795..=1_800).contains(&session["expires_in"].as_i64().unwrap()));
    let token = crate::support::cookie_value(&reply).unwrap();
    assert_eq!(token.len(), 43);
    assert!(!reply.body.contains(&token));
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn an_app_gets_its_token_in_the_body_alone() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let mut body = credentials();
    body["delivery"] = json!("token");
    let request = app
        .auth(Method::POST, "login")
        .header("User-Agent", SAFARI_ON_IPHONE);
    let reply = Reply::of(request.json(&body)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.cookies().is_empty());
    let body = reply.json();
    assert_eq!(
        names(&body),
        [
            "expires_in",
            "session",
            "session_token",
            "token_type",
            "user"
        ]
    );
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["expires_in"], body["session"]["expires_in"]);
    assert_eq!(body["session"]["device_label"], "Safari on iPhone");
    let token = body["session_token"].as_str().unwrap();
    assert_eq!(token.len(), 43);
    assert!(app.is_alive(token).await);
}

#[tokio::test]
async fn a_caller_may_name_its_device() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app
        .login_with(
            "ada@example.com",
            json!({"device_label": "  Ada's 関所 🦀  "}),
        )
        .await;
    let session = app.get("session", &token).await.json();
    assert_eq!(session["session"]["device_label"], "Ada's 関所 🦀");
    let longest = "é".repeat(64);
    let more = json!({"device_label": longest});
    let token = app.login_with("ada@example.com", more).await;
    let session = app.get("session", &token).await.json();
    assert_eq!(session["session"]["device_label"], longest);
}

#[tokio::test]
async fn metadata_never_fails_a_log_in() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let long = format!("Mozilla/5.0 {}", "x".repeat(60_000));
    let agents: [&[u8]; 6] = [
        b"",
        b" ",
        b"Mozilla/5.0 \xff\xfe\xc3",
        "é".as_bytes(),
        b"\"';--",
        long.as_bytes(),
    ];
    for agent in agents {
        let value = reqwest::header::HeaderValue::from_bytes(agent).unwrap();
        let request = app.auth(Method::POST, "login").header("User-Agent", value);
        let reply = Reply::of(request.json(&credentials())).await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    let longest = "SELECT coalesce(max(length(device_label)), 0)::bigint AS value FROM sessions";
    assert!(app.db.number(longest) <= 64);
}

#[tokio::test]
async fn remember_me_gives_a_longer_life() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app
        .login_with("ada@example.com", json!({"remember_me": true}))
        .await;
    let session = app.get("session", &token).await.json()["session"].clone();
    assert_eq!(session["remember_me"], true);
    let seconds = session["expires_in"].as_i64().unwrap();
    assert!((14 * 86_400 - 5..=14 * 86_400).contains(&seconds));
    let cap = "SELECT extract(epoch FROM absolute_expires_at - created_at)::bigint AS value FROM sessions";
    assert_eq!(app.db.number(cap), 30 * 86_400);
}

#[tokio::test]
async fn wrong_unknown_disabled_and_passwordless_are_one_answer() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    app.sign_up("off@example.com").await;
    app.db
        .execute("UPDATE users SET disabled_at = now() WHERE email = 'off@example.com'");
    app.db
        .execute("INSERT INTO users (email) VALUES ('elsewhere@example.com')");
    let mut answers = Vec::new();
    for (email, password) in [
        ("ada@example.com", "not her password"),
        ("ada@example.com", ""),
        ("nobody@example.com", PASSWORD),
        ("off@example.com", PASSWORD),
        ("elsewhere@example.com", PASSWORD),
    ] {
        let request = app
            .auth(Method::POST, "login")
            .header("X-Request-Id", "same");
        let reply = Reply::of(request.json(&json!({"email": email, "password": password}))).await;
        assert_eq!(reply.refusal(), (401, "invalid_credentials".to_owned()));
        assert_common(&reply);
        assert!(reply.cookies().is_empty());
        let mut headers: Vec<_> = reply
            .headers
            .iter()
            .filter(|(name, _)| *name != "date")
            .map(|(name, value)| format!("{name}: {value:?}"))
            .collect();
        headers.sort();
        answers.push((headers, reply.body));
    }
    assert!(
        answers.windows(2).all(|pair| pair[0] == pair[1]),
        "{answers:?}"
    );
    assert_eq!(app.db.count("sessions"), 0);
    // Recorded though the requests failed; an unknown e-mail stays unknown.
    let events = "session_events WHERE kind = 'login_failed'";
    assert_eq!(app.db.count(events), 5);
    assert_eq!(app.db.count(&format!("{events} AND user_id IS NULL")), 1);
}

#[tokio::test]
async fn a_log_in_with_a_live_session_supersedes_it_and_adopts_no_token() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let first = app.login_browser("ada@example.com").await;
    let chosen = "A".repeat(43);
    let cookies = format!("__Host-session_id={first}; __Host-session_id={chosen}");
    let request = app.auth(Method::POST, "login").header("Cookie", cookies);
    let reply = Reply::of(request.json(&credentials())).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let token = crate::support::cookie_value(&reply).unwrap();
    assert!(token != first && token != chosen);
    assert!(app.is_alive(&token).await && !app.is_alive(&chosen).await);
    let refused = app.get("session", &first).await;
    assert_eq!(refused.json()["reason"], "superseded");
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_revoked' AND reason = 'superseded'"),
        1
    );
}

#[tokio::test]
async fn two_live_cookies_are_ambiguous_and_one_among_stale_ones_works() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let (a, b) = (
        app.login_browser("ada@example.com").await,
        app.login_browser("ada@example.com").await,
    );
    let stale = "B".repeat(43);
    let with = async |cookies: String| {
        Reply::of(app.auth(Method::GET, "session").header("Cookie", cookies)).await
    };
    let name = "__Host-session_id";
    let two = with(format!("{name}={a}; {name}={b}")).await;
    assert_eq!(two.refusal(), (401, "session_ambiguous".to_owned()));
    let one = with(format!("{name}={stale}; x=\"; {name}=junk; {name}={a}")).await;
    assert_eq!(one.status, 200, "{one:?}");
    // A bearer wins over a cookie.
    let request = app.auth(Method::GET, "session").bearer_auth(&stale);
    let reply = Reply::of(request.header("Cookie", format!("{name}={a}"))).await;
    assert_eq!(reply.refusal(), (401, "session_unknown".to_owned()));
    // Another scheme is not ours.
    let request = app.auth(Method::GET, "session").basic_auth("a", Some("b"));
    let reply = Reply::of(request.header("Cookie", format!("{name}={a}"))).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}
