//! What a request is refused for first, and in whose words.

use reqwest::Method;
use serde_json::json;

use crate::admin::administrator;
use crate::support::{PASSWORD, Reply, SERVICE_KEY, TestApp};

const CALLS: [(&str, &str); 15] = [
    ("GET", "/api/v1/admin/sessions?state=nonsense&x=1"),
    ("GET", "/api/v1/admin/users?x=1"),
    ("GET", "/api/v1/admin/session_events?x=1"),
    ("GET", "/api/v1/auth/session_events?limit=x"),
    ("POST", "/api/v1/admin/sessions/revoke"),
    ("DELETE", "/api/v1/admin/sessions/0197-none"),
    ("POST", "/api/v1/admin/users/1/revoke_sessions"),
    ("POST", "/api/v1/admin/users/1/disable"),
    ("POST", "/api/v1/admin/users/1/enable"),
    ("POST", "/api/v1/auth/change_password"),
    ("POST", "/api/v1/auth/reauthenticate"),
    ("DELETE", "/api/v1/auth/user"),
    ("PATCH", "/api/v1/auth/sessions/none"),
    ("POST", "/api/v1/auth/issue"),
    ("POST", "/api/v1/auth/users/1/password"),
];

#[tokio::test]
async fn who_may_not_ask_is_told_so_before_what_is_wrong_with_the_rest() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let ada = app.login("ada@example.com").await;
    for (method, path) in CALLS {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        for (kind, body) in [("application/json", "{nonsense"), ("text/plain", "x")] {
            let ask = |token: &str| {
                app.request(method.clone(), path)
                    .header("Content-Type", kind)
                    .bearer_auth(token)
                    .body(body)
            };
            let unknown = Reply::of(ask(&"A".repeat(43))).await;
            assert_eq!(unknown.status, 401, "{path}: {unknown:?}");
            if path.contains("/admin/") {
                let before = app.db.count("session_events WHERE kind = 'access_denied'");
                let reply = Reply::of(ask(&ada)).await;
                assert_eq!(reply.refusal(), (403, "forbidden".to_owned()), "{path}");
                let after = app.db.count("session_events WHERE kind = 'access_denied'");
                assert_eq!(after, before + 1, "{path}");
            }
        }
    }
}

#[tokio::test]
async fn a_negative_count_is_no_count() {
    let app = TestApp::start().await;
    let (_, admin) = administrator(&app).await;
    let body = json!({"sessions": -1, "as_of": "2026-01-01T00:00:00Z"});
    let request = app.request(Method::POST, "/api/v1/admin/sessions/revoke?user_id=1");
    let reply = Reply::of(request.bearer_auth(admin).json(&body)).await;
    assert_eq!(reply.refusal(), (422, "invalid_field".to_owned()));
}

#[tokio::test]
async fn where_no_accounts_are_made_that_is_all_a_sign_up_learns() {
    let app = TestApp::start_with(&[("SIGN_UP_ENABLED", "false")]).await;
    for body in [
        json!({"email": "no e-mail", "password": PASSWORD}),
        json!({"email": "ada@example.com", "password": "short"}),
        json!({}),
    ] {
        let reply = app.post_public("sign_up", body).await;
        assert_eq!(reply.refusal(), (403, "sign_up_disabled".to_owned()));
    }
}

#[tokio::test]
async fn the_word_bearer_alone_presents_nothing() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let cookie = app.login_browser("ada@example.com").await;
    for value in ["Bearer", "Bearer ", "bearer   "] {
        let bare = app
            .auth(Method::GET, "session")
            .header("Authorization", value);
        let reply = Reply::of(bare).await;
        assert_eq!(reply.refusal(), (401, "credentials_missing".to_owned()));
        // So it does not exempt the cookie from the cross-origin check.
        let foreign = app
            .auth(Method::POST, "logout_all")
            .header("Authorization", value)
            .header("Cookie", format!("__Host-session_id={cookie}"))
            .header("Sec-Fetch-Site", "cross-site");
        let reply = Reply::of(foreign).await;
        assert_eq!(reply.refusal(), (403, "cross_origin".to_owned()));
    }
}

#[tokio::test]
async fn a_compressed_body_is_not_taken_for_a_plain_one() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let body = json!({"email": "ada@example.com", "password": PASSWORD});
    for (coding, status) in [("gzip", 415), ("identity, br", 415), ("identity", 200)] {
        let request = app.auth(Method::POST, "login").json(&body);
        let reply = Reply::of(request.header("Content-Encoding", coding)).await;
        assert_eq!(reply.status, status, "{coding}: {reply:?}");
    }
    let form = app
        .auth(Method::POST, "introspect")
        .header("X-API-Key", SERVICE_KEY)
        .header("Content-Encoding", "gzip")
        .form(&[("token", "x")]);
    assert_eq!(Reply::of(form).await.status, 415);
}

#[tokio::test]
async fn head_is_answered_wherever_get_is() {
    let app = TestApp::start().await;
    let (_, admin) = administrator(&app).await;
    for path in [
        "/api/v1/auth/session",
        "/api/v1/auth/sessions",
        "/api/v1/auth/session_events",
        "/api/v1/openapi.json",
        "/api/v1/docs/",
        "/metrics",
        "/api/v1/admin/sessions",
        "/api/v1/admin/users",
        "/api/v1/admin/session_events",
        "/api/v1/admin/cleanup_runs",
        "/api/v1/admin/statistics",
    ] {
        let request = app.request(Method::HEAD, path).bearer_auth(&admin);
        let reply = Reply::of(request).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, ""), "{path}");
    }
}
