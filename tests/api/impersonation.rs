//! Who could be taken for somebody else: by an id, by a second factor, by where they come from.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::process::run_bare;
use crate::support::{PASSWORD, Process, Reply, SERVICE_KEY, TestApp, TestDatabase};

async fn call(app: &TestApp, path: &str, body: Value) -> Reply {
    let request = app
        .auth(Method::POST, path)
        .header("X-API-Key", SERVICE_KEY);
    Reply::of(request.json(&body)).await
}

#[tokio::test]
async fn an_account_that_somebody_made_here_is_not_handed_to_a_backends_user_of_its_id() {
    let app = TestApp::start().await;
    let id = app.sign_up("mallory@example.com").await;
    let reply = call(
        &app,
        "issue",
        json!({"user_id": id, "email": "victim@corp.example"}),
    )
    .await;
    assert_eq!(reply.refusal(), (409, "email_conflict".to_owned()));
    let taken = call(
        &app,
        "issue",
        json!({"user_id": id, "email": "Mallory@Example.com"}),
    )
    .await;
    assert_eq!(taken.status, 201, "{taken:?}");
    // Without a password here, nobody but the backend opens it: another e-mail is news of no matter.
    call(
        &app,
        "issue",
        json!({"user_id": 7_000, "email": "ada@corp.example"}),
    )
    .await;
    let moved = call(
        &app,
        "issue",
        json!({"user_id": 7_000, "email": "ada@new.example"}),
    )
    .await;
    assert_eq!(moved.status, 201, "{moved:?}");
    let password = json!({"new_password": PASSWORD});
    assert_eq!(
        call(&app, "users/7000/password", password).await.status,
        200
    );
    let moved = call(
        &app,
        "issue",
        json!({"user_id": 7_000, "email": "ada@new.example"}),
    )
    .await;
    assert_eq!(moved.refusal(), (409, "email_conflict".to_owned()));
}

#[tokio::test]
async fn ids_shared_by_sign_ups_and_a_backend_are_warned_of() {
    let db = TestDatabase::new();
    let warning = "SERVICE_API_KEY is set while SIGN_UP_ENABLED is true";
    for (enabled, is_warned) in [("true", true), ("false", false)] {
        let process = Process::serve(
            &db.url,
            &[
                ("SERVICE_API_KEY", SERVICE_KEY),
                ("SIGN_UP_ENABLED", enabled),
            ],
        );
        process.base_url_when_ready().await;
        assert_eq!(process.output().contains(warning), is_warned);
    }
}

#[tokio::test]
async fn a_proof_of_the_password_is_none_of_a_second_factor() {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    let body = json!({"user_id": id, "auth_level": "mfa"});
    let issued = call(&app, "issue", body.clone()).await.json();
    let token = issued["session_token"].as_str().unwrap().to_owned();
    let strong = app.get("verify?auth_level=mfa", &token).await;
    assert_eq!(strong.status, 200, "{strong:?}");
    let proved = json!({"password": PASSWORD});
    let again = app.post_json("reauthenticate", &token, proved).await;
    assert_eq!(again.json()["session"]["auth_level"], "password");
    let token = again.json()["session_token"].as_str().unwrap().to_owned();
    let weak = app.get("verify?auth_level=mfa&max_age=300", &token).await;
    assert_eq!(
        weak.refusal(),
        (401, "reauthentication_required".to_owned())
    );
    let issued = call(&app, "issue", body).await.json();
    let token = issued["session_token"].as_str().unwrap().to_owned();
    let change = json!({"current_password": PASSWORD, "new_password": "another horse battery"});
    let changed = app.post_json("change_password", &token, change).await;
    assert_eq!(changed.json()["session"]["auth_level"], "password");
}

#[tokio::test]
async fn a_machine_that_acts_for_an_administrator_is_a_warning() {
    let db = TestDatabase::new();
    let process = Process::serve(&db.url, &[("SERVICE_API_KEY", SERVICE_KEY)]);
    let base = process.base_url_when_ready().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = |path: &str, body: Value| {
        let url = format!("{base}/api/v1/auth/{path}");
        Reply::of(http.post(url).header("X-API-Key", SERVICE_KEY).json(&body))
    };
    assert_eq!(post("issue", json!({"user_id": 7})).await.status, 201);
    let begun = "a backend has begun a session of an administrator";
    assert!(!process.output().contains(begun));
    db.execute("UPDATE users SET role = 'admin'");
    assert_eq!(post("issue", json!({"user_id": 7})).await.status, 201);
    process.wait_for(begun);
    let password = json!({"new_password": PASSWORD});
    assert_eq!(post("users/7/password", password).await.status, 200);
    process.wait_for("a backend has set the password of an administrator");
}

#[tokio::test]
async fn a_users_history_does_not_say_where_others_came_from() {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let other = app.login("ada@example.com").await;
    app.post("logout", &other).await;
    call(
        &app,
        "issue",
        json!({"user_id": id, "ip_address": "203.0.113.7"}),
    )
    .await;
    let events = app.get("session_events", &token).await.json();
    for event in events.as_array().unwrap() {
        let is_own = event["actor"] == "user";
        assert_eq!(event["ip_address"].is_string(), is_own, "{event}");
    }
    let actors: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|e| &e["actor"])
        .collect();
    assert!(actors.contains(&&json!("service")) && actors.contains(&&json!("user")));
}

#[test]
fn networks_of_nearly_everybody_are_no_proxies() {
    for wide in ["0.0.0.0/1,128.0.0.0/1", "::ffff:0.0.0.0/96", "::/1"] {
        let settings = [
            ("DATABASE_URL", "postgres://h/d"),
            ("TRUSTED_PROXIES", wide),
        ];
        let output = run_bare(&settings, &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("TRUSTED_PROXIES"), "{said}");
    }
}
