//! What strangers and careless operators have tried.

use reqwest::Method;
use serde_json::{Value, json};

use crate::admin::administrator;
use crate::support::{PASSWORD, Reply, SERVICE_KEY, TestApp, process};

async fn issue(app: &TestApp, body: Value) -> Reply {
    let request = app.auth(Method::POST, "issue").json(&body);
    Reply::of(request.header("X-API-Key", SERVICE_KEY)).await
}

#[tokio::test]
async fn whoever_signed_up_for_an_id_is_not_taken_for_the_backends_user() {
    let app = TestApp::start().await;
    let id = app.sign_up("mallory@evil.example").await;
    let other = issue(&app, json!({"user_id": id, "email": "victim@corp.example"})).await;
    assert_eq!(other.refusal(), (409, "email_conflict".to_owned()));
    assert_eq!(app.db.count("sessions"), 0);
    for body in [
        json!({"user_id": id, "email": "Mallory@EVIL.example"}),
        json!({"user_id": id}),
    ] {
        assert_eq!(issue(&app, body).await.status, 201);
    }
    // An account without a password is the backend's own, whatever its e-mail is by now.
    let first = issue(&app, json!({"user_id": 900, "email": "old@corp.example"})).await;
    assert_eq!(first.status, 201);
    let renamed = issue(&app, json!({"user_id": 900, "email": "new@corp.example"})).await;
    assert_eq!(renamed.status, 201);
    assert_eq!(renamed.json()["user"]["email"], "old@corp.example");
}

#[test]
fn a_connection_string_is_checked_and_its_password_printed_nowhere() {
    for url in [
        "mysql://u:SECRET@127.0.0.1/db",
        "postgress://u:SECRET@127.0.0.1/db",
        "\"postgres://u:SECRET@127.0.0.1/db\"",
        "postgres://u:SECRET%X@127.0.0.1/db",
        "postgres://u:SECRET/X@127.0.0.1/db",
        "postgres://u:X@SECRET@127.0.0.1/db",
        "password='SECRET",
    ] {
        for (name, command) in [
            ("DATABASE_URL", "serve"),
            ("DATABASE_URL", "cleanup"),
            ("MIGRATION_DATABASE_URL", "migrate"),
        ] {
            let settings = [("DATABASE_URL", "postgres://127.0.0.1/db"), (name, url)];
            let output = process::run_bare(&settings, &[command]);
            assert!(!output.status.success(), "{url}");
            let (out, err) = (&output.stdout, &output.stderr);
            let printed = String::from_utf8_lossy(out) + String::from_utf8_lossy(err);
            assert!(printed.contains(name), "{printed}");
            assert!(!printed.contains("SECRET"), "{printed}");
        }
    }
}

#[tokio::test]
async fn planted_cookies_never_make_a_log_out_claim_what_it_did_not_do() {
    let app = TestApp::start_with(&[
        ("SESSION_COOKIE_NAME", "sid"),
        ("SESSION_COOKIE_DOMAIN", "example.com"),
    ])
    .await;
    app.sign_up("ada@example.com").await;
    let planted = |count: usize| {
        let values = (0..count).map(|n| format!("sid={n:A>43}; "));
        values.collect::<String>()
    };
    let ask = |method: Method, path: &str, cookie: String| {
        Reply::of(app.auth(method, path).header("Cookie", cookie))
    };
    for count in [3, 4, 40] {
        let live = app.login("ada@example.com").await;
        let cookie = format!("{}sid={live}", planted(count));
        let seen = ask(Method::GET, "session", cookie.clone()).await;
        match count {
            3 => assert_eq!(seen.status, 200),
            _ => assert_eq!(seen.refusal(), (401, "session_ambiguous".to_owned())),
        }
        let out = ask(Method::POST, "logout", cookie).await;
        assert_eq!((out.status, &out.json()["revoked_count"]), (200, &json!(1)));
        assert!(app.get("session", &live).await.status == 401, "{count}");
    }
    let live = app.login("ada@example.com").await;
    let out = ask(Method::POST, "logout", format!("{}sid={live}", planted(70))).await;
    assert_eq!(out.refusal(), (401, "session_ambiguous".to_owned()));
    assert!(app.get("session", &live).await.status == 200);
}

#[tokio::test]
async fn a_password_alone_gives_no_second_factor() {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    let issued = issue(&app, json!({"user_id": id, "auth_level": "mfa"})).await;
    let token = issued.json()["session_token"].as_str().unwrap().to_owned();
    let change = json!({"current_password": PASSWORD, "new_password": "another long one"});
    let changed = app.post_json("change_password", &token, change).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(changed.json()["session"]["auth_level"], "password");
}

#[tokio::test]
async fn a_mistyped_demand_is_refused_and_not_ignored() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for query in ["maxage=0", "Max_Age=0", "foo=1", "max_age=1&max-age=1"] {
        let reply = app.get(&format!("verify?{query}"), &token).await;
        assert_eq!(
            reply.refusal(),
            (400, "malformed_request".to_owned()),
            "{query}"
        );
        // That of a proxy which appends the application's.
        let reply = app.get(&format!("verify/page?{query}"), &token).await;
        assert_eq!(reply.status, 200, "{query}");
    }
}

#[test]
fn proxies_are_not_half_of_the_world() {
    for networks in [
        "0.0.0.0/1,128.0.0.0/1",
        "::/4",
        "::ffff:10.0.0.0/104",
        "0.0.0.0/0",
    ] {
        let url = ("DATABASE_URL", "postgres://127.0.0.1/db");
        let output = process::run_bare(&[url, ("TRUSTED_PROXIES", networks)], &["serve"]);
        assert!(!output.status.success(), "{networks}");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(printed.contains("TRUSTED_PROXIES"), "{printed}");
    }
}

#[tokio::test]
async fn users_do_not_learn_where_others_sit() {
    let app = TestApp::start().await;
    let root = administrator(&app).await.1;
    let id = app.sign_up("ada@example.com").await;
    app.login("ada@example.com").await;
    let path = format!("/api/v1/admin/users/{id}/revoke_sessions");
    let request = app.request(Method::POST, &path).bearer_auth(&root);
    assert_eq!(Reply::of(request).await.status, 200);
    let token = app.login("ada@example.com").await;
    let events = app.get("session_events", &token).await.json();
    let address = |kind: &str| {
        let mut events = events.as_array().unwrap().iter();
        events.find(|event| event["kind"] == kind).unwrap()["ip_address"].clone()
    };
    assert_eq!(address("session_revoked"), Value::Null);
    assert_eq!(address("session_created"), "127.0.0.0/24");
    let kept = "session_events WHERE kind = 'session_revoked' AND ip_address IS NOT NULL";
    assert_eq!(app.db.count(kept), 1);
}

#[tokio::test]
async fn strangers_are_told_so_before_their_body_is_looked_at() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let paths = [
        "/api/v1/admin/sessions/revoke",
        "/api/v1/admin/users/1/disable",
        "/api/v1/admin/sessions?state=nonsense",
    ];
    for (count, path) in paths.into_iter().enumerate() {
        let method = if path.contains('?') {
            Method::GET
        } else {
            Method::POST
        };
        for body in ["{", "[]", "{\"x\": 1}"] {
            let send = |token: &str| {
                let request = app.request(method.clone(), path).bearer_auth(token);
                Reply::of(request.header("Content-Type", "text/html").body(body))
            };
            assert_eq!(
                send(&token).await.refusal(),
                (403, "forbidden".to_owned()),
                "{path}"
            );
            assert_eq!(
                send(&"x".repeat(43)).await.refusal(),
                (401, "session_unknown".to_owned())
            );
        }
        let denied = app.db.count("session_events WHERE kind = 'access_denied'");
        assert_eq!(denied, 3 * (i64::try_from(count).unwrap() + 1), "{path}");
    }
    for path in ["change_password", "reauthenticate"] {
        let request = app.auth(Method::POST, path).json(&json!({"x": 1}));
        assert_eq!(
            Reply::of(request).await.refusal(),
            (401, "credentials_missing".to_owned())
        );
    }
}

#[tokio::test]
async fn small_lies_are_not_told() {
    let app = TestApp::start_with(&[("SIGN_UP_ENABLED", "false")]).await;
    // Nothing behind the scheme is nothing presented.
    let bare = app
        .auth(Method::GET, "session")
        .header("Authorization", "Bearer ");
    assert_eq!(
        Reply::of(bare).await.refusal(),
        (401, "credentials_missing".to_owned())
    );
    let bad = app
        .post_public("sign_up", json!({"email": "x", "password": "x"}))
        .await;
    assert_eq!(bad.refusal(), (403, "sign_up_disabled".to_owned()));
    let login = json!({"email": "ada@example.com", "password": PASSWORD});
    let packed = app
        .auth(Method::POST, "login")
        .json(&login)
        .header("Content-Encoding", "gzip");
    assert_eq!(
        Reply::of(packed).await.refusal(),
        (415, "unsupported_media_type".to_owned())
    );
    let plain = app
        .auth(Method::POST, "login")
        .json(&login)
        .header("Content-Encoding", "Identity");
    assert_eq!(
        Reply::of(plain).await.refusal(),
        (401, "invalid_credentials".to_owned())
    );
}
