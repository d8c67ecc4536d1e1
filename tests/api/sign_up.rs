//! Making an account.

use reqwest::Method;
use serde_json::json;

use crate::envelope::assert_common;
use crate::support::{PASSWORD, Reply, TestApp};

#[tokio::test]
async fn an_account_is_made_and_its_first_session_begins_with_a_log_in() {
    let app = TestApp::start().await;
    let body = json!({"email": "  Ada@Example.com ", "password": PASSWORD});
    let reply = app.post_public("sign_up", body).await;
    assert_eq!(reply.status, 201, "{reply:?}");
    assert_common(&reply);
    let user = &reply.json()["user"];
    assert_eq!(user["email"], "ada@example.com");
    assert_eq!(user["role"], "user");
    assert!(user["created_at"].as_str().unwrap().ends_with('Z'));
    let mut names: Vec<_> = user.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["created_at", "email", "id", "role"]);
    assert!(reply.cookies().is_empty());
    assert_eq!(app.db.count("sessions"), 0);
    let event = "SELECT kind || ' ' || actor AS value FROM session_events";
    assert_eq!(app.db.text(event).as_deref(), Some("user_created user"));
    let hash = app.db.text("SELECT password_hash AS value FROM users");
    assert!(hash.unwrap().starts_with("$argon2id$v=19$"));
}

#[tokio::test]
async fn an_email_is_taken_whatever_its_case() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    for email in ["ada@example.com", "ADA@example.com", " Ada@EXAMPLE.com"] {
        let body = json!({"email": email, "password": "another fine password"});
        let reply = app.post_public("sign_up", body).await;
        assert_eq!(reply.refusal(), (409, "email_taken".to_owned()), "{email}");
        assert_common(&reply);
    }
    assert_eq!(app.db.count("users"), 1);
    // The first one's password still is the password.
    app.login("ada@example.com").await;
}

#[tokio::test]
async fn of_many_sign_ups_with_one_email_at_once_exactly_one_wins() {
    let app = TestApp::start().await;
    let body = || json!({"email": "ada@example.com", "password": PASSWORD});
    let all = futures_util::future::join_all((0..16).map(|_| app.post_public("sign_up", body())));
    let statuses: Vec<u16> = all.await.iter().map(|reply| reply.status).collect();
    let of = |status| statuses.iter().filter(|s| **s == status).count();
    assert_eq!((of(201), of(409)), (1, 15), "{statuses:?}");
    assert_eq!(app.db.count("users"), 1);
    assert_eq!(app.db.count("session_events"), 1);
}

#[tokio::test]
async fn what_is_no_email_is_refused_by_name() {
    let app = TestApp::start().await;
    let long = format!("{}@example.com", "a".repeat(250));
    let enormous = format!("{}@example.com", "a".repeat(9_000));
    for email in [
        "",
        " ",
        "ada",
        "@example.com",
        "ada@",
        "a b@example.com",
        "ada@exa mple.com",
        "Ada <ada@example.com>",
        "ada\u{0}@example.com",
        "ada@example.com\nBcc: eve@example.com",
        &long,
        &enormous,
    ] {
        for path in ["sign_up", "login"] {
            let reply = app
                .post_public(path, json!({"email": email, "password": PASSWORD}))
                .await;
            assert_eq!(
                reply.refusal(),
                (422, "invalid_field".to_owned()),
                "{path} {email:?}"
            );
            assert_eq!(reply.json()["field"], "email");
            assert_common(&reply);
        }
    }
    assert_eq!(app.db.count("users"), 0);
    assert_eq!(app.db.count("session_events"), 0);
}

#[tokio::test]
async fn a_password_has_a_least_and_a_greatest_length_in_characters() {
    let app = TestApp::start().await;
    let sign_up = async |name: &str, password: String| {
        let body = json!({"email": format!("{name}@example.com"), "password": password});
        app.post_public("sign_up", body).await
    };
    for (password, reason) in [
        ("sevench".to_owned(), "too_short"),
        (String::new(), "too_short"),
        // 28 bytes, but seven characters.
        ("🦀".repeat(7), "too_short"),
        ("y".repeat(129), "too_long"),
        ("y".repeat(8_000), "too_long"),
    ] {
        let reply = sign_up("refused", password).await;
        assert_eq!(reply.refusal(), (422, "password_rejected".to_owned()));
        assert_eq!(reply.json()["reason"], reason);
        assert_common(&reply);
    }
    assert_eq!(app.db.count("users"), 0);
    assert_eq!(sign_up("short", "qz7 kx9 ".to_owned()).await.status, 201);
    assert_eq!(sign_up("long", "関所🦀é".repeat(25)).await.status, 201);
    let nul = sign_up("nul", "correct horse\u{0}battery".to_owned()).await;
    assert_eq!(nul.refusal(), (422, "invalid_field".to_owned()));
    assert_eq!(nul.json()["field"], "password");
}

#[tokio::test]
async fn a_password_is_taken_verbatim() {
    let app = TestApp::start().await;
    let password = "  Spaces À la carte 関所 \t ";
    let body = json!({"email": "ada@example.com", "password": password});
    assert_eq!(app.post_public("sign_up", body.clone()).await.status, 201);
    assert_eq!(app.post_public("login", body).await.status, 200);
    for other in [password.trim(), &password.to_lowercase()] {
        let body = json!({"email": "ada@example.com", "password": other});
        assert_eq!(app.post_public("login", body).await.status, 401);
    }
}

#[tokio::test]
async fn sign_up_can_be_turned_off() {
    let app = TestApp::start_with(&[("SIGN_UP_ENABLED", "false")]).await;
    let body = json!({"email": "ada@example.com", "password": PASSWORD});
    let reply = app.post_public("sign_up", body).await;
    assert_eq!(reply.refusal(), (403, "sign_up_disabled".to_owned()));
    assert_common(&reply);
    assert_eq!(app.db.count("users"), 0);
}

#[tokio::test]
async fn a_page_of_another_origin_can_neither_sign_up_nor_log_in() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let body = json!({"email": "ada@example.com", "password": PASSWORD});
    for path in ["sign_up", "login", "logout"] {
        for (name, value) in [
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Site", "same-site"),
            ("Origin", "https://evil.example"),
            ("Origin", "null"),
        ] {
            let request = app.auth(Method::POST, path).header(name, value).json(&body);
            let reply = Reply::of(request).await;
            assert_eq!(reply.refusal(), (403, "cross_origin".to_owned()), "{path}");
            assert_common(&reply);
        }
    }
    assert_eq!(app.db.count("sessions"), 0);
    let origin = format!("http://{}", app.address);
    for (name, value) in [
        ("Sec-Fetch-Site", "same-origin"),
        ("Sec-Fetch-Site", "none"),
        ("Origin", origin.as_str()),
    ] {
        let request = app.auth(Method::POST, "login").header(name, value);
        assert_eq!(Reply::of(request.json(&body)).await.status, 200);
    }
}
