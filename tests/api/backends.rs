//! Backends that authenticate users themselves, end their sessions and set their passwords.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    CHROME_ON_MACOS, CLEANUP_KEY, PASSWORD, Reply, SAFARI_ON_IPHONE, SERVICE_KEY, TestApp,
};

async fn call(app: &TestApp, path: &str, body: Value) -> Reply {
    Reply::of(
        app.auth(Method::POST, path)
            .header("X-API-Key", SERVICE_KEY)
            .json(&body),
    )
    .await
}

async fn issue(app: &TestApp, body: Value) -> Reply {
    call(app, "issue", body).await
}

fn token(reply: &Reply) -> String {
    assert_eq!(reply.status, 201, "{reply:?}");
    reply.json()["session_token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_is_issued_for_a_user_whom_the_backend_knows() {
    let app = TestApp::start().await;
    let asked = json!({
        "user_id": 4711, "email": "Grace@Example.com", "auth_level": "mfa",
        "ip_address": "203.0.113.77", "user_agent": SAFARI_ON_IPHONE, "remember_me": true,
    });
    let reply = issue(&app, asked).await;
    let secret = token(&reply);
    assert!(reply.cookies().is_empty());
    let body = reply.json();
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["user"]["id"], 4711);
    assert_eq!(body["user"]["email"], "grace@example.com");
    let session = &body["session"];
    assert_eq!(session["device_label"], "Safari on iPhone");
    assert_eq!(session["ip_address"], "203.0.113.0/24");
    assert_eq!(
        (&session["auth_level"], &session["remember_me"]),
        (&json!("mfa"), &json!(true))
    );
    assert!(app.is_alive(&secret).await);
    for kind in ["user_created", "session_created"] {
        let events = format!(
            "session_events WHERE kind = '{kind}' AND actor = 'service' AND user_id = 4711"
        );
        assert_eq!(app.db.count(&events), 1, "{kind}");
    }
    // The account has no password: nobody logs in with one.
    let login = app
        .post_public(
            "login",
            json!({"email": "grace@example.com", "password": PASSWORD}),
        )
        .await;
    assert_eq!(login.refusal(), (401, "invalid_credentials".to_owned()));
}

#[tokio::test]
async fn the_backend_is_not_taken_for_the_users_device() {
    let app = TestApp::start().await;
    let reply = Reply::of(
        app.auth(Method::POST, "issue")
            .header("X-API-Key", SERVICE_KEY)
            .header("User-Agent", CHROME_ON_MACOS)
            .json(&json!({"user_id": 1})),
    )
    .await;
    let session = &reply.json()["session"];
    assert!(
        session["ip_address"].is_null() && session["device_label"].is_null(),
        "{reply:?}"
    );
    assert_eq!(session["auth_level"], "password");
    assert_eq!(app.db.count("sessions WHERE user_agent_hash IS NULL"), 1);
    let labelled = issue(&app, json!({"user_id": 1, "device_label": " Till 3 "})).await;
    assert_eq!(labelled.json()["session"]["device_label"], "Till 3");
    assert_eq!(app.db.count("users"), 1);
}

#[tokio::test]
async fn an_email_never_links_two_accounts() {
    let app = TestApp::start().await;
    let ada = app.sign_up("ada@example.com").await;
    for id in [ada + 1, 4711] {
        let reply = issue(&app, json!({"user_id": id, "email": "ADA@example.com"})).await;
        assert_eq!(reply.refusal(), (409, "email_taken".to_owned()));
    }
    assert_eq!(app.db.count("users"), 1);
    token(&issue(&app, json!({"user_id": 4711})).await);
    let known = issue(&app, json!({"user_id": 4711, "email": "ada@example.com"})).await;
    assert_eq!(known.refusal(), (409, "email_taken".to_owned()));
    // A known account's own e-mail does no harm; under another one it may be somebody else's.
    token(&issue(&app, json!({"user_id": ada, "email": "ada@example.com"})).await);
    let other = issue(&app, json!({"user_id": ada, "email": "new@example.com"})).await;
    assert_eq!(other.refusal(), (409, "email_conflict".to_owned()));
    assert_eq!(app.db.count("users WHERE email = 'ada@example.com'"), 1);
    assert_eq!(app.db.count("users WHERE email = 'new@example.com'"), 0);
}

#[tokio::test]
async fn ids_of_any_size_leave_sign_ups_working() {
    let app = TestApp::start().await;
    for id in [1, 41, 1 << 53, i64::MAX - 1, i64::MAX] {
        token(&issue(&app, json!({"user_id": id})).await);
    }
    // The ids go on after those that sign-ups could come to, and stay readable everywhere.
    assert_eq!(app.sign_up("ada@example.com").await, 42);
    let great = (1_i64 << 53) - 9;
    token(&issue(&app, json!({"user_id": great})).await);
    assert_eq!(app.sign_up("bob@example.com").await, great + 1);
    for id in [0, -1, i64::MIN] {
        let reply = issue(&app, json!({"user_id": id})).await;
        assert_eq!(reply.refusal(), (422, "invalid_field".to_owned()));
        assert_eq!(reply.json()["field"], "user_id");
    }
    for id in ["9223372036854775808", "1e3", "1.0", "\"7\"", "null"] {
        let reply = Reply::of(
            app.auth(Method::POST, "issue")
                .header("X-API-Key", SERVICE_KEY)
                .header("Content-Type", "application/json")
                .body(format!("{{\"user_id\": {id}}}")),
        )
        .await;
        assert_eq!(
            reply.refusal(),
            (400, "malformed_request".to_owned()),
            "{id}"
        );
    }
}

#[tokio::test]
async fn fields_that_make_no_sense_are_refused_by_name() {
    let app = TestApp::start().await;
    let long = "x".repeat(65);
    for (field, value) in [
        ("email", json!("nobody")),
        ("ip_address", json!("300.1.2.3")),
        ("user_agent", json!("a\0b")),
        ("device_label", json!(long)),
        ("device_label", json!("")),
    ] {
        let mut body = json!({"user_id": 1});
        body[field] = value;
        let reply = issue(&app, body).await;
        assert_eq!(
            reply.refusal(),
            (422, "invalid_field".to_owned()),
            "{field}"
        );
        assert_eq!(reply.json()["field"], field);
    }
    for body in [
        json!({}),
        json!({"user_id": 1, "auth_level": "iris"}),
        json!({"user_id": 1, "x": 1}),
    ] {
        assert_eq!(issue(&app, body).await.refusal().0, 400);
    }
    assert_eq!(app.db.count("users"), 0);
}

#[tokio::test]
async fn the_cap_and_disabling_hold_for_issued_sessions_too() {
    let app = TestApp::start_with(&[("SESSION_MAX_PER_USER", "3")]).await;
    let calls = (0..12).map(|_| issue(&app, json!({"user_id": 7})));
    for reply in futures_util::future::join_all(calls).await {
        token(&reply);
    }
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 3);
    assert_eq!(
        app.db
            .count("sessions WHERE revoked_reason = 'session_limit'"),
        9
    );
    assert_eq!(
        app.db.count("session_events WHERE kind = 'user_created'"),
        1
    );
    app.db.execute("UPDATE users SET disabled_at = now()");
    let refused = issue(&app, json!({"user_id": 7})).await;
    assert_eq!(refused.refusal(), (409, "user_disabled".to_owned()));
}

#[tokio::test]
async fn an_issued_session_of_an_administrator_is_as_short_as_any() {
    let app = TestApp::start().await;
    token(&issue(&app, json!({"user_id": 7})).await);
    app.db.execute("UPDATE users SET role = 'admin'");
    let reply = issue(&app, json!({"user_id": 7, "remember_me": true})).await;
    let session = &reply.json()["session"];
    assert_eq!(session["remember_me"], false);
    assert!(session["expires_in"].as_i64().unwrap() <= 15 * 60);
}

#[tokio::test]
async fn all_sessions_of_a_user_end_with_the_backends_note() {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    app.sign_up("bob@example.com").await;
    let (one, two) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    let bobs = app.login("bob@example.com").await;
    let path = format!("users/{id}/revoke_sessions");
    let reply = call(&app, &path, json!({"note": "stolen laptop"})).await;
    assert_eq!(
        reply.json(),
        json!({"message": "Sessions revoked", "revoked_count": 2})
    );
    assert!(!app.is_alive(&one).await && !app.is_alive(&two).await && app.is_alive(&bobs).await);
    let events = "session_events WHERE reason = 'service_revoked' AND actor = 'service' \
                  AND note = 'stolen laptop'";
    assert_eq!(app.db.count(events), 2);
    // Without a body; and again.
    let bare = Reply::of(
        app.auth(Method::POST, &path)
            .header("X-API-Key", SERVICE_KEY),
    )
    .await;
    assert_eq!(bare.json()["revoked_count"], 0);
    for (body, code) in [
        (json!({"note": "x".repeat(501)}), 422),
        (json!({"remark": ""}), 400),
    ] {
        assert_eq!(call(&app, &path, body).await.status, code);
    }
    for unknown in [
        "999",
        "0",
        "-1",
        "9223372036854775807",
        "9223372036854775808",
        "x",
    ] {
        let reply = call(&app, &format!("users/{unknown}/revoke_sessions"), json!({})).await;
        assert_eq!(reply.refusal(), (404, "not_found".to_owned()), "{unknown}");
    }
}

#[tokio::test]
async fn a_password_set_by_the_backend_ends_every_session() {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    let old = app.login("ada@example.com").await;
    let path = format!("users/{id}/password");
    let weak = call(&app, &path, json!({"new_password": "password1"})).await;
    assert_eq!(weak.refusal(), (422, "password_rejected".to_owned()));
    assert!(app.is_alive(&old).await);
    let new = "another horse, another battery";
    let reply = call(&app, &path, json!({"new_password": new})).await;
    assert_eq!(
        reply.json(),
        json!({"message": "Password set", "revoked_count": 1})
    );
    let told = app.get("session", &old).await;
    assert_eq!(told.json()["reason"], "password_changed");
    let login = |password: &str| {
        app.post_public(
            "login",
            json!({"email": "ada@example.com", "password": password}),
        )
    };
    assert_eq!(login(PASSWORD).await.status, 401);
    assert_eq!(login(new).await.status, 200);
    let events = "session_events WHERE kind = 'password_changed' AND actor = 'service'";
    assert_eq!(app.db.count(events), 1);
    let unknown = call(&app, "users/999/password", json!({"new_password": new})).await;
    assert_eq!(unknown.refusal(), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn only_the_service_key_opens_these_calls() {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    let session = app.login("ada@example.com").await;
    let body = json!({"user_id": id, "new_password": "another horse battery"});
    for path in [
        "issue".to_owned(),
        format!("users/{id}/revoke_sessions"),
        format!("users/{id}/password"),
    ] {
        let call = || app.auth(Method::POST, &path).json(&body);
        let refused = [
            call(),
            call().bearer_auth(&session),
            call().bearer_auth(SERVICE_KEY),
            call().header("X-API-Key", CLEANUP_KEY),
            call().header("X-API-Key", &session),
            call()
                .header("X-API-Key", SERVICE_KEY)
                .header("X-API-Key", SERVICE_KEY),
        ];
        for request in refused {
            let reply = Reply::of(request).await;
            assert_eq!(
                reply.refusal(),
                (401, "api_key_invalid".to_owned()),
                "{path}"
            );
            assert_eq!(
                reply.header("www-authenticate"),
                Some(r#"ApiKey realm="sekisho""#)
            );
        }
    }
    assert!(app.is_alive(&session).await);
    assert_eq!(app.db.count("sessions"), 1);
    // And the other way round: the service key is no session.
    assert_eq!(app.get("session", SERVICE_KEY).await.status, 401);
}

#[tokio::test]
async fn without_a_configured_key_nobody_gets_in() {
    let app = TestApp::start_with(&[("SERVICE_API_KEY", "")]).await;
    for key in ["", "null", SERVICE_KEY, &"0".repeat(64)] {
        let reply = Reply::of(
            app.auth(Method::POST, "issue")
                .header("X-API-Key", key)
                .json(&json!({"user_id": 1})),
        )
        .await;
        assert_eq!(reply.status, 401, "{key}");
    }
    assert_eq!(app.db.count("users"), 0);
}
