//! Bad input: a clear 4xx with its code, and nothing changed.

use reqwest::Method;
use serde_json::{Value, json};

use crate::envelope::assert_common;
use crate::support::{PASSWORD, Reply, TestApp};

/// Every endpoint that takes JSON, with a body that is right.
fn endpoints(id: &str) -> Vec<(Method, String, Value)> {
    let credentials = json!({"email": "new@example.com", "password": PASSWORD});
    vec![
        (Method::POST, "sign_up".to_owned(), credentials.clone()),
        (Method::POST, "login".to_owned(), credentials),
        (
            Method::POST,
            "change_password".to_owned(),
            json!({"current_password": PASSWORD, "new_password": "another fine password"}),
        ),
        (
            Method::POST,
            "reauthenticate".to_owned(),
            json!({"password": PASSWORD}),
        ),
        (
            Method::DELETE,
            "user".to_owned(),
            json!({"password": PASSWORD}),
        ),
        (
            Method::PATCH,
            format!("sessions/{id}"),
            json!({"device_label": "Kitchen"}),
        ),
    ]
}

/// An account, a session of it, and what the tables hold.
async fn signed_in(app: &TestApp) -> (String, String) {
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let id = app.get("session", &token).await.json()["session"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    (token, id)
}

/// Everything that a request could change; uses of the session aside.
fn contents(app: &TestApp) -> Vec<Option<String>> {
    app.db.texts(
        "SELECT to_jsonb(u)::text AS value FROM users u \
         UNION ALL SELECT (to_jsonb(s) - 'last_seen_at' - 'expires_at')::text FROM sessions s \
         UNION ALL SELECT to_jsonb(e)::text FROM session_events e \
         UNION ALL SELECT to_jsonb(t)::text FROM login_throttle t ORDER BY 1",
    )
}

async fn send(app: &TestApp, method: &Method, path: &str, token: &str, body: Vec<u8>) -> Reply {
    let request = app
        .auth(method.clone(), path)
        .bearer_auth(token)
        .header("Content-Type", "application/json")
        .body(body);
    Reply::of(request).await
}

#[tokio::test]
async fn malformed_bodies_are_400_and_change_nothing() {
    let app = TestApp::start().await;
    let (token, id) = signed_in(&app).await;
    let before = contents(&app);
    for (method, path, right) in endpoints(&id) {
        let whole = right.to_string();
        let deep = format!("{}{}", "[".repeat(8_000), "]".repeat(8_000));
        let mut invalid_utf8 = whole.clone().into_bytes();
        invalid_utf8[2] = 0xff;
        let mut bodies: Vec<Vec<u8>> = [
            "",
            " ",
            "null",
            "[]",
            "42",
            "\"text\"",
            "{",
            "{]",
            "{\"email\"",
            "\u{0}",
            "NaN",
            &deep,
            "{}",
        ]
        .map(|text| text.as_bytes().to_vec())
        .to_vec();
        bodies.push(invalid_utf8);
        bodies.push(format!("{whole} trailing").into_bytes());
        bodies.push(whole.as_bytes()[..whole.len() - 1].to_vec());
        // A lone surrogate is no character.
        bodies.push(whole.replacen(":\"", ":\"\\ud800", 1).into_bytes());
        for (name, value) in right.as_object().unwrap() {
            for wrong in [json!(null), json!(1), json!(true), json!([]), json!({})] {
                let mut body = right.clone();
                body[name] = wrong;
                bodies.push(body.to_string().into_bytes());
            }
            let mut missing = right.clone();
            missing.as_object_mut().unwrap().remove(name);
            bodies.push(missing.to_string().into_bytes());
            let duplicate = format!("{{\"{name}\":{value},{}", &whole[1..]);
            bodies.push(duplicate.into_bytes());
        }
        let mut unknown = right.clone();
        unknown["role"] = json!("admin");
        bodies.push(unknown.to_string().into_bytes());
        for body in bodies {
            let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            let reply = send(&app, &method, &path, &token, body).await;
            assert_eq!(
                reply.refusal(),
                (400, "malformed_request".to_owned()),
                "{path} {shown}"
            );
            assert_common(&reply);
            assert!(!reply.body.contains(PASSWORD), "{reply:?}");
            assert!(reply.cookies().is_empty());
        }
    }
    assert_eq!(contents(&app), before);
    assert!(app.is_alive(&token).await);
}

/// Read by position an array would do for an object.
#[tokio::test]
async fn an_array_in_place_of_an_object_is_400() {
    let app = TestApp::start().await;
    let (token, id) = signed_in(&app).await;
    let before = contents(&app);
    for (method, path, right) in endpoints(&id) {
        let mut values: Vec<Value> = right.as_object().unwrap().values().cloned().collect();
        let orders = [values.clone(), {
            values.reverse();
            values
        }];
        for values in orders {
            let body = format!(" {}", json!(values)).into_bytes();
            let reply = send(&app, &method, &path, &token, body).await;
            assert_eq!(
                reply.refusal(),
                (400, "malformed_request".to_owned()),
                "{path}"
            );
        }
    }
    assert_eq!(contents(&app), before);
}

#[tokio::test]
async fn a_message_names_the_field_and_never_its_value() {
    let app = TestApp::start().await;
    for (body, name) in [
        (r#"{"email":"a@example.com"}"#, "password"),
        (
            r#"{"email":"a@example.com","password":"x","is_admin":true}"#,
            "is_admin",
        ),
        (
            r#"{"email":"a@example.com","email":"b@example.com","password":"x"}"#,
            "email",
        ),
    ] {
        let reply = send(&app, &Method::POST, "sign_up", "", body.into()).await;
        let message = reply.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains(name), "{message}");
    }
    let body = r#"{"email":"a@example.com","password":{"hunter2":1}}"#;
    let reply = send(&app, &Method::POST, "sign_up", "", body.into()).await;
    assert!(!reply.body.contains("hunter2"), "{reply:?}");
}

#[tokio::test]
async fn nul_is_422_in_every_text() {
    let app = TestApp::start().await;
    let (token, id) = signed_in(&app).await;
    let before = contents(&app);
    for (method, path, right) in endpoints(&id) {
        for (name, value) in right.as_object().unwrap() {
            let mut body = right.clone();
            body[name] = json!(format!("{}\u{0}", value.as_str().unwrap()));
            let reply = send(&app, &method, &path, &token, body.to_string().into()).await;
            assert_eq!(
                reply.refusal(),
                (422, "invalid_field".to_owned()),
                "{path} {name}"
            );
            assert_eq!(reply.json()["field"], name.as_str());
        }
    }
    assert_eq!(contents(&app), before);
}

#[tokio::test]
async fn a_device_label_is_one_short_line() {
    let app = TestApp::start().await;
    let (token, id) = signed_in(&app).await;
    let before = contents(&app);
    let long = "x".repeat(65);
    for label in [
        "",
        "   ",
        &long,
        "two\nlines",
        "a\u{0}b",
        "\u{202e}abc",
        "\u{1b}[31m",
    ] {
        let rename = json!({"device_label": label});
        let path = format!("sessions/{id}");
        let request = app.auth(Method::PATCH, &path).bearer_auth(&token);
        let login =
            json!({"email": "ada@example.com", "password": PASSWORD, "device_label": label});
        for reply in [
            Reply::of(request.json(&rename)).await,
            app.post_public("login", login).await,
        ] {
            assert_eq!(
                reply.refusal(),
                (422, "invalid_field".to_owned()),
                "{label:?}"
            );
            assert_eq!(reply.json()["field"], "device_label");
        }
    }
    assert_eq!(contents(&app), before);
}

#[tokio::test]
async fn a_login_takes_no_other_delivery_and_no_other_types() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    for (name, wrong) in [
        ("delivery", json!("both")),
        ("delivery", json!("Token")),
        ("delivery", json!(null)),
        ("delivery", json!({"token": null})),
        ("remember_me", json!("true")),
        ("remember_me", json!(1)),
        ("remember_me", json!(null)),
        ("device_label", json!(7)),
    ] {
        let mut body = json!({"email": "ada@example.com", "password": PASSWORD});
        body[name] = wrong;
        let reply = app.post_public("login", body).await;
        assert_eq!(
            reply.refusal(),
            (400, "malformed_request".to_owned()),
            "{name}"
        );
    }
    assert_eq!(app.db.count("sessions"), 0);
}
