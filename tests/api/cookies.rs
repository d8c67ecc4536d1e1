//! The session cookie's attributes, where it is set and where it is cleared.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{PASSWORD, Reply, TestApp};

/// A Set-Cookie, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    attributes: Vec<String>,
}

impl Cookie {
    fn parse(header: &str) -> Self {
        let mut parts = header.split("; ");
        let (name, value) = parts.next().unwrap().split_once('=').unwrap();
        let mut attributes: Vec<_> = parts.map(str::to_owned).collect();
        attributes.sort();
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
            attributes,
        }
    }

    /// The one cookie of an answer.
    fn of(reply: &Reply) -> Self {
        let cookies = reply.cookies();
        assert_eq!(cookies.len(), 1, "{reply:?}");
        Self::parse(cookies[0])
    }
}

async fn login(app: &TestApp, more: Value) -> Reply {
    let mut body = json!({"email": "ada@example.com", "password": PASSWORD});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let reply = app.post_public("login", body).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply
}

/// A request with the cookie, as a browser on the site's own pages sends it.
async fn with_cookie(app: &TestApp, method: Method, path: &str, cookie: &Cookie) -> Reply {
    let request = app
        .auth(method, path)
        .header("Cookie", format!("{}={}", cookie.name, cookie.value))
        .header("Sec-Fetch-Site", "same-origin");
    Reply::of(request).await
}

const CLEARED: [&str; 6] = [
    "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    "HttpOnly",
    "Max-Age=0",
    "Path=/",
    "SameSite=Lax",
    "Secure",
];

#[tokio::test]
async fn the_cookie_of_a_log_in_ends_with_the_browser() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let cookie = Cookie::of(&login(&app, json!({})).await);
    assert_eq!(cookie.name, "__Host-session_id");
    assert_eq!(
        cookie.attributes,
        ["HttpOnly", "Path=/", "SameSite=Lax", "Secure"]
    );
}

#[tokio::test]
async fn the_cookie_of_remember_me_lasts_as_long_as_the_session_can() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let cookie = Cookie::of(&login(&app, json!({"remember_me": true})).await);
    let max_age = cookie.attributes.iter().find(|a| a.starts_with("Max-Age="));
    let seconds: i64 = max_age.unwrap()["Max-Age=".len()..].parse().unwrap();
    assert!((30 * 86_400 - 5..=30 * 86_400).contains(&seconds));
    // Asking with it sets nothing anew.
    let asked = with_cookie(&app, Method::GET, "session", &cookie).await;
    assert_eq!(asked.status, 200, "{asked:?}");
    assert!(asked.cookies().is_empty());
}

#[tokio::test]
async fn what_ends_the_current_session_clears_the_cookie_with_its_attributes() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    for path in ["logout", "logout_all", "sessions"] {
        let reply = login(&app, json!({})).await;
        let cookie = Cookie::of(&reply);
        let (method, path) = match path {
            "sessions" => {
                let id = reply.json()["session"]["id"].as_str().unwrap().to_owned();
                (Method::DELETE, format!("sessions/{id}"))
            }
            _ => (Method::POST, path.to_owned()),
        };
        let ended = with_cookie(&app, method, &path, &cookie).await;
        assert_eq!(ended.status, 200, "{ended:?}");
        let cleared = Cookie::of(&ended);
        assert_eq!(
            (cleared.name.as_str(), cleared.value.as_str()),
            ("__Host-session_id", "")
        );
        assert_eq!(cleared.attributes, CLEARED, "{path}");
    }
}

#[tokio::test]
async fn logout_others_and_ending_another_device_keep_the_cookie() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let other = login(&app, json!({"delivery": "token"})).await.json();
    let other = other["session"]["id"].as_str().unwrap().to_owned();
    let cookie = Cookie::of(&login(&app, json!({})).await);
    for (method, path) in [
        (Method::DELETE, format!("sessions/{other}")),
        (Method::POST, "logout_others".to_owned()),
    ] {
        let reply = with_cookie(&app, method, &path, &cookie).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(reply.cookies().is_empty());
    }
    assert!(app.is_alive(&cookie.value).await);
}

#[tokio::test]
async fn a_cookie_that_means_nothing_is_cleared_by_logging_out() {
    let app = TestApp::start().await;
    for cookie in [
        "__Host-session_id=junk".to_owned(),
        format!("__Host-session_id={}", "A".repeat(43)),
        "other=1".to_owned(),
    ] {
        let reply = Reply::of(app.auth(Method::POST, "logout").header("Cookie", cookie)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json()["revoked_count"], 0);
        assert_eq!(Cookie::of(&reply).attributes, CLEARED);
    }
}

#[tokio::test]
async fn the_cookie_is_as_configured() {
    let app = TestApp::start_with(&[
        ("SESSION_COOKIE_NAME", "sid"),
        ("SESSION_COOKIE_SECURE", "false"),
        ("SESSION_COOKIE_SAME_SITE", "strict"),
        ("CLEAR_SITE_DATA_ON_LOGOUT", "true"),
    ])
    .await;
    app.sign_up("ada@example.com").await;
    let reply = login(&app, json!({})).await;
    assert_eq!(reply.header("clear-site-data"), None);
    let cookie = Cookie::of(&reply);
    assert_eq!(cookie.name, "sid");
    assert_eq!(cookie.attributes, ["HttpOnly", "Path=/", "SameSite=Strict"]);
    let ended = with_cookie(&app, Method::POST, "logout", &cookie).await;
    assert_eq!(
        ended.header("clear-site-data"),
        Some(r#""cache", "cookies", "storage""#)
    );
    let shared = TestApp::start_with(&[("SESSION_COOKIE_DOMAIN", "example.com")]).await;
    shared.sign_up("ada@example.com").await;
    let cookie = Cookie::of(&login(&shared, json!({})).await);
    assert_eq!(cookie.name, "__Secure-session_id");
    assert!(cookie.attributes.contains(&"Domain=example.com".to_owned()));
}

#[tokio::test]
async fn an_administrators_cookie_is_strict_and_never_remembered() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    app.db.execute("UPDATE users SET role = 'admin'");
    let reply = login(&app, json!({"remember_me": true})).await;
    assert_eq!(
        Cookie::of(&reply).attributes,
        ["HttpOnly", "Path=/", "SameSite=Strict", "Secure"]
    );
    assert_eq!(reply.json()["session"]["remember_me"], false);
    let idle = reply.json()["session"]["expires_in"].as_i64().unwrap();
    assert!((895..=900).contains(&idle), "{idle}");
}

#[tokio::test]
async fn new_tokens_come_in_the_form_that_the_caller_came_with() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let body = json!({"password": PASSWORD});
    for remember_me in [false, true] {
        let cookie = Cookie::of(&login(&app, json!({"remember_me": remember_me})).await);
        let request = app
            .auth(Method::POST, "reauthenticate")
            .header("Cookie", format!("{}={}", cookie.name, cookie.value));
        let reply = Reply::of(request.json(&body)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let renewed = Cookie::of(&reply);
        assert_ne!(renewed.value, cookie.value);
        assert_eq!(reply.json().get("session_token"), None);
        let lasts = renewed.attributes.iter().any(|a| a.starts_with("Max-Age="));
        assert_eq!(lasts, remember_me);
        let rotated = with_cookie(&app, Method::POST, "rotate_session", &renewed).await;
        assert_eq!(rotated.status, 200, "{rotated:?}");
        assert!(app.is_alive(&Cookie::of(&rotated).value).await);
        assert!(!app.is_alive(&renewed.value).await && !app.is_alive(&cookie.value).await);
    }
    let token = app.login("ada@example.com").await;
    let reply = app.post("rotate_session", &token).await;
    assert!(reply.cookies().is_empty());
    assert_eq!(reply.json()["token_type"], "Bearer");
}
