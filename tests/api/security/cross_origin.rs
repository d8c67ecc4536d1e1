//! Pages of other origins, forms, and changes by GET.

use reqwest::{Method, RequestBuilder};

use super::{start, unsafe_calls, with_cookie};
use crate::support::Reply;
use crate::support::app::Instance;

const ORIGIN: &str = "https://app.example.com";

async fn session_id(app: &Instance, token: &str) -> String {
    app.get("session", token).await.json()["session"]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Every unsafe call with the cookie.
async fn calls(app: &Instance, token: &str) -> Vec<(String, RequestBuilder)> {
    let id = session_id(app, token).await;
    let calls = unsafe_calls().into_iter().map(|(method, path, body)| {
        let path = path.replace("{id}", &id);
        let request = with_cookie(app, method, &path, token);
        let request = match body {
            Some(body) => request
                .header("Content-Type", "application/json")
                .body(body),
            None => request,
        };
        (path, request)
    });
    calls.collect()
}

#[tokio::test]
async fn pages_of_other_origins_can_do_nothing_with_the_cookie() {
    let app = start(&[("PUBLIC_ORIGIN", ORIGIN)]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login_browser("ada@example.com").await;
    let foreign: [&[(&str, &str)]; 9] = [
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[
            ("Sec-Fetch-Site", "cross-site"),
            ("Origin", "https://evil.example"),
        ],
        &[("Sec-Fetch-Site", "whatever")],
        &[("Origin", "https://evil.example")],
        &[("Origin", "null")],
        &[("Origin", "http://app.example.com")],
        &[("Origin", "https://app.example.com.evil.example")],
        &[("Origin", "https://app.example.com:444")],
    ];
    for headers in foreign {
        for (path, request) in calls(&app, &token).await {
            let request = headers.iter().fold(request, |request, (name, value)| {
                request.header(*name, *value)
            });
            let refused = Reply::of(request).await;
            assert_eq!(
                refused.refusal(),
                (403, "cross_origin".to_owned()),
                "{path} {headers:?}"
            );
            assert!(refused.cookies().is_empty());
        }
    }
    assert!(app.is_alive(&token).await);
    assert_eq!(app.db.count("users"), 1);
    assert_eq!(app.db.count("sessions"), 1);
    assert_eq!(
        app.db
            .count("session_events WHERE kind NOT IN ('user_created', 'session_created')"),
        0
    );
}

#[tokio::test]
async fn its_own_pages_and_programs_pass() {
    let app = start(&[("PUBLIC_ORIGIN", ORIGIN)]).await;
    app.sign_up("ada@example.com").await;
    let own: [&[(&str, &str)]; 5] = [
        &[("Sec-Fetch-Site", "same-origin")],
        &[("Sec-Fetch-Site", "none")],
        &[("Origin", ORIGIN)],
        &[("Sec-Fetch-Site", "same-site"), ("Origin", ORIGIN)],
        &[],
    ];
    for headers in own {
        let token = app.login_browser("ada@example.com").await;
        let request = with_cookie(&app, Method::POST, "logout", &token);
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        assert_eq!(
            Reply::of(request).await.json()["revoked_count"],
            1,
            "{headers:?}"
        );
    }
    // A bearer is not sent by a browser of itself.
    let token = app.login("ada@example.com").await;
    let request = app
        .auth(Method::POST, "logout_all")
        .bearer_auth(&token)
        .header("Origin", "https://evil.example");
    assert_eq!(Reply::of(request).await.status, 200);
}

#[tokio::test]
async fn without_a_configured_origin_the_host_decides() {
    let app = start(&[]).await;
    let post = |host: &str, origin: &str| {
        Reply::of(
            app.auth(Method::POST, "logout")
                .header("Host", host)
                .header("Origin", origin),
        )
    };
    assert_eq!(post("app.example.com", ORIGIN).await.status, 200);
    assert_eq!(post("APP.example.com", ORIGIN).await.status, 200);
    assert_eq!(post("evil.example", ORIGIN).await.status, 403);
    assert_eq!(post("app.example.com:8443", ORIGIN).await.status, 403);
    assert_eq!(
        post("app.example.com", "https://app.example.com@evil.example")
            .await
            .status,
        403
    );
    // What a proxy in front might add decides nothing.
    let request = app
        .auth(Method::POST, "logout")
        .header("Origin", ORIGIN)
        .header("X-Forwarded-Host", "app.example.com");
    assert_eq!(Reply::of(request).await.status, 403);
}

#[tokio::test]
async fn forms_and_text_are_not_taken_for_json() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login_browser("ada@example.com").await;
    let id = session_id(&app, &token).await;
    let types = [
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
        Some("text/plain"),
        Some("text/plain; application/json"),
        Some("application/jsonp"),
        Some("application/json, text/plain"),
        Some(""),
        None,
    ];
    for (method, path, body) in unsafe_calls() {
        let Some(body) = body else { continue };
        for content_type in types {
            let request =
                with_cookie(&app, method.clone(), &path.replace("{id}", &id), &token).body(body);
            let request = match content_type {
                Some(content_type) => request.header("Content-Type", content_type),
                None => request,
            };
            let refused = Reply::of(request).await;
            assert_eq!(
                refused.refusal(),
                (415, "unsupported_media_type".to_owned()),
                "{path} {content_type:?}"
            );
        }
    }
    assert_eq!(app.db.count("users"), 1);
    assert!(app.is_alive(&token).await);
    let login = r#"{"email": "ada@example.com", "password": "correct horse battery"}"#;
    for content_type in ["application/json; charset=utf-8", "Application/JSON"] {
        let request = app
            .auth(Method::POST, "login")
            .header("Content-Type", content_type)
            .body(login);
        assert_eq!(Reply::of(request).await.status, 200);
    }
}

#[tokio::test]
async fn nothing_changes_by_get() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login_browser("ada@example.com").await;
    let id = session_id(&app, &token).await;
    for (method, path, _) in unsafe_calls() {
        let path = path.replace("{id}", &id);
        for safe in [Method::GET, Method::HEAD] {
            let query = format!("{path}?email=ada%40example.com&password=correct+horse+battery");
            let refused = Reply::of(with_cookie(&app, safe.clone(), &query, &token)).await;
            assert_eq!(refused.status, 405, "{safe} {path}");
            assert!(refused.cookies().is_empty());
            assert!(refused.header("allow").unwrap().contains(method.as_str()));
        }
        let request = app
            .auth(Method::GET, &path)
            .header("X-HTTP-Method-Override", method.as_str());
        assert_eq!(Reply::of(request).await.status, 405, "{path}");
    }
    assert!(app.is_alive(&token).await);
    assert_eq!(app.db.count("sessions"), 1);
}
