//! Tokens, passwords and keys are nowhere but where they belong: not in the database, not in the
//! logs. Shown on the program itself, with its most talkative log.

use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::program;
use crate::support::{CLEANUP_KEY, PASSWORD, Process, Reply, TestDatabase};

/// The whole database as text.
fn dump(database: &TestDatabase) -> String {
    let output = Command::new(program("pg_dump"))
        .arg(&database.url)
        .output()
        .expect("pg_dump");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[tokio::test]
async fn secrets_are_in_neither_the_dump_nor_the_logs() {
    let db = TestDatabase::new();
    for format in ["text", "json"] {
        let service = Process::serve(&db.url, &[("LOG_LEVEL", "trace"), ("LOG_FORMAT", format)]);
        let secrets = use_everything(&service, format).await;
        let (log, dump) = (service.output(), dump(&db));
        assert!(log.contains("logged in") && dump.contains("COPY public.sessions"));
        for secret in &secrets {
            assert!(!dump.contains(secret), "{secret} is in the dump");
            assert!(!log.contains(secret), "{secret} is in the {format} log");
        }
        // Who it was is in the database, and nowhere else.
        let email = format!("marked-{format}@example.com");
        assert!(dump.contains(&email) && !log.contains(&email));
        assert!(!dump.contains("127.0.0.1"), "a full address was kept");
    }
}

/// Calls what handles secrets, and returns every one of them.
async fn use_everything(service: &Process, name: &str) -> Vec<String> {
    let api = format!("{}/api/v1/auth", service.base_url_when_ready().await);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let email = format!("marked-{name}@example.com");
    let new_password = format!("marked new password {name}");
    let mut secrets = vec![
        PASSWORD.to_owned(),
        new_password.clone(),
        "marked wrong password".to_owned(),
        CLEANUP_KEY.to_owned(),
        "marked-wrong-key".to_owned(),
        format!("{}x", "W".repeat(42)),
    ];
    let post = async |path: &str, token: &str, body: Value| {
        let request = http
            .request(Method::POST, format!("{api}/{path}"))
            .bearer_auth(token);
        Reply::of(request.json(&body)).await
    };
    let token = |reply: &Reply| reply.json()["session_token"].as_str().unwrap().to_owned();
    let account = json!({"email": email, "password": PASSWORD});
    assert_eq!(post("sign_up", "", account.clone()).await.status, 201);
    let wrong = json!({"email": email, "password": "marked wrong password"});
    assert_eq!(post("login", "", wrong).await.status, 401);
    assert_eq!(post("logout", &secrets[5], json!({})).await.status, 200);
    let browser = post("login", "", account.clone()).await;
    secrets.push(crate::support::cookie_value(&browser).unwrap());
    let mut with_token = account;
    with_token["delivery"] = json!("token");
    let mut current = token(&post("login", "", with_token).await);
    for (path, body) in [
        ("rotate_session", json!({})),
        ("reauthenticate", json!({"password": PASSWORD})),
        (
            "change_password",
            json!({"current_password": PASSWORD, "new_password": new_password}),
        ),
    ] {
        secrets.push(current.clone());
        let reply = post(path, &current, body).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        current = token(&reply);
    }
    let asked = http
        .get(format!("{api}/session?session_id={current}"))
        .header("Cookie", format!("__Host-session_id={current}"));
    assert_eq!(Reply::of(asked).await.status, 200);
    for (key, status) in [("marked-wrong-key", 401), (CLEANUP_KEY, 200)] {
        let request = http.post(format!("{api}/cleanup_sessions"));
        let reply = Reply::of(request.header("X-API-Key", key)).await;
        assert_eq!(reply.status, status);
    }
    let malformed = http
        .post(format!("{api}/login"))
        .header("Content-Type", "application/json");
    let body = format!(r#"{{"email":"{email}","password":"{new_password}""#);
    assert_eq!(Reply::of(malformed.body(body)).await.status, 400);
    secrets.push(current);
    secrets
}
