//! Every Set-Cookie, parsed as a browser parses it.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::json;

use super::{start, with_cookie};
use crate::support::{PASSWORD, Reply, TestApp, cookie_value};

/// Name, value and attributes, of which none may come twice.
fn parse(cookie: &str) -> (String, String, BTreeMap<String, String>) {
    let mut parts = cookie.split(';').map(str::trim);
    let (name, value) = parts.next().unwrap().split_once('=').unwrap();
    let mut attributes = BTreeMap::new();
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let twice = attributes.insert(name.to_ascii_lowercase(), value.to_owned());
        assert!(twice.is_none(), "{cookie}");
    }
    (name.to_owned(), value.to_owned(), attributes)
}

/// The one cookie of an answer: its value and the attributes that differ; the others are checked.
fn checked(
    reply: &Reply,
    name: &str,
    same_site: &str,
    domain: Option<&str>,
) -> (String, Option<String>) {
    assert_eq!(reply.status, 200, "{reply:?}");
    let (its_name, value, mut attributes) = parse(reply.header("set-cookie").expect("a cookie"));
    assert_eq!(its_name, name);
    let max_age = attributes.remove("max-age");
    let expires = attributes.remove("expires");
    assert_eq!(
        value.is_empty(),
        max_age.as_deref() == Some("0"),
        "{reply:?}"
    );
    assert_eq!(value.is_empty(), expires.is_some());
    let mut expected: BTreeMap<String, String> = [
        ("path", "/"),
        ("httponly", ""),
        ("secure", ""),
        ("samesite", same_site),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    if let Some(domain) = domain {
        expected.insert("domain".to_owned(), domain.to_owned());
    }
    assert_eq!(attributes, expected);
    if !value.is_empty() {
        assert_eq!(value.len(), 43);
        assert!(
            !reply.body.contains(&value) && !reply.body.contains("session_token"),
            "{reply:?}"
        );
    }
    (value, max_age)
}

async fn every_cookie(app: &TestApp, name: &str, domain: Option<&str>) {
    app.sign_up("ada@example.com").await;
    let login = json!({"email": "ada@example.com", "password": PASSWORD});
    let cookie = |method, path: &str, token: &str| {
        app.auth(method, path)
            .header("Cookie", format!("{name}={token}"))
    };
    let (mut token, max_age) = checked(
        &app.post_public("login", login.clone()).await,
        name,
        "Lax",
        domain,
    );
    assert_eq!(max_age, None);
    let steps = [
        ("reauthenticate", json!({"password": PASSWORD})),
        ("rotate_session", json!({})),
        (
            "change_password",
            json!({"current_password": PASSWORD, "new_password": PASSWORD.to_uppercase()}),
        ),
        (
            "change_password",
            json!({"current_password": PASSWORD.to_uppercase(), "new_password": PASSWORD}),
        ),
    ];
    for (path, body) in steps {
        let reply = Reply::of(cookie(Method::POST, path, &token).json(&body)).await;
        token = checked(&reply, name, "Lax", domain).0;
    }
    for path in ["logout", "logout_all"] {
        let cleared = Reply::of(cookie(Method::POST, path, &token)).await;
        assert_eq!(checked(&cleared, name, "Lax", domain).0, "");
        token = checked(
            &app.post_public("login", login.clone()).await,
            name,
            "Lax",
            domain,
        )
        .0;
    }
    let id = Reply::of(cookie(Method::GET, "session", &token))
        .await
        .json()["session"]["id"]
        .clone();
    let path = format!("sessions/{}", id.as_str().unwrap());
    assert_eq!(
        checked(
            &Reply::of(cookie(Method::DELETE, &path, &token)).await,
            name,
            "Lax",
            domain
        )
        .0,
        ""
    );
    let mut remembered = login.clone();
    remembered["remember_me"] = true.into();
    let (token, max_age) = checked(
        &app.post_public("login", remembered).await,
        name,
        "Lax",
        domain,
    );
    let max_age: i64 = max_age.unwrap().parse().unwrap();
    assert!((2_591_000..=2_592_000).contains(&max_age), "{max_age}");
    app.db.execute("UPDATE users SET role = 'admin'");
    let (admin, max_age) = checked(
        &app.post_public("login", login.clone()).await,
        name,
        "Strict",
        domain,
    );
    assert_eq!(max_age, None);
    let body = json!({"password": PASSWORD});
    let deleted = Reply::of(cookie(Method::DELETE, "user", &admin).json(&body)).await;
    assert_eq!(checked(&deleted, name, "Lax", domain).0, "");
    assert_eq!(
        Reply::of(cookie(Method::GET, "session", &token))
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn every_cookie_is_secure_http_only_host_bound_and_cleared_as_it_was_set() {
    every_cookie(&start(&[]).await, "__Host-session_id", None).await;
}

#[tokio::test]
async fn with_a_domain_the_same_holds_under_the_other_prefix() {
    let app = start(&[("SESSION_COOKIE_DOMAIN", "example.com")]).await;
    every_cookie(&app, "__Secure-session_id", Some("example.com")).await;
}

#[tokio::test]
async fn a_token_comes_in_the_cookie_or_in_the_body_and_never_in_both() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let body = json!({"email": "ada@example.com", "password": PASSWORD, "delivery": "token", "remember_me": true});
    let reply = app.post_public("login", body).await;
    assert!(reply.cookies().is_empty() && reply.json()["session_token"].is_string());
    let token = reply.json()["session_token"].as_str().unwrap().to_owned();
    let rotated = app.post("rotate_session", &token).await;
    assert!(rotated.cookies().is_empty() && rotated.json()["session_token"].is_string());
    // A GET sets none, whatever the session.
    let browser = app.login_browser("ada@example.com").await;
    let reply = Reply::of(with_cookie(&app, Method::GET, "session", &browser)).await;
    assert!(reply.cookies().is_empty());
}

#[tokio::test]
async fn malformed_cookies_are_refused_and_foreign_ones_do_no_harm() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login_browser("ada@example.com").await;
    let long = "a".repeat(5 * 1024);
    let junk: [&[u8]; 8] = [
        b"%00",
        b"\"",
        b"\xff",
        b"",
        b"=",
        b"\\",
        b" ",
        long.as_bytes(),
    ];
    let get = |cookie: Vec<u8>| {
        let value = reqwest::header::HeaderValue::from_bytes(&cookie).unwrap();
        Reply::of(app.auth(Method::GET, "session").header("Cookie", value))
    };
    for bad in junk {
        let reply = get([b"__Host-session_id=", bad].concat()).await;
        assert_eq!(
            reply.refusal(),
            (401, "session_unknown".to_owned()),
            "{bad:?}"
        );
        for name in [
            &b"other="[..],
            b"__host-session_id=",
            b"x__Host-session_id=",
            b"",
        ] {
            let cookie = [name, bad, b"; __Host-session_id=", token.as_bytes()].concat();
            assert_eq!(get(cookie).await.status, 200, "{bad:?}");
        }
    }
}

#[tokio::test]
async fn where_several_came_both_variants_are_cleared() {
    let settings = [("SESSION_COOKIE_NAME", "session_id")];
    let app = start(&settings).await;
    app.sign_up("ada@example.com").await;
    let cookies = format!(
        "session_id={}; session_id={}",
        "A".repeat(43),
        "B".repeat(43)
    );
    let request = |host: &str| {
        app.auth(Method::POST, "logout")
            .header("Cookie", &cookies)
            .header("Host", host)
    };
    let reply = Reply::of(request("app.example.com:8080")).await;
    let domains: Vec<Option<String>> = reply
        .cookies()
        .iter()
        .map(|cookie| parse(cookie).2.remove("domain"))
        .collect();
    assert_eq!(domains, [None, Some("app.example.com".to_owned())]);
    // What is no domain is not repeated.
    for host in ["localhost", "[::1]:80", "a.b;x=y", "a.b,c"] {
        let reply = Reply::of(request(host)).await;
        assert_eq!(
            (reply.status, reply.cookies().len()),
            (200, 1),
            "{host}: {reply:?}"
        );
    }
    let reply = app
        .post_public(
            "login",
            json!({"email": "ada@example.com", "password": PASSWORD}),
        )
        .await;
    assert!(cookie_value(&reply).is_some());
}
