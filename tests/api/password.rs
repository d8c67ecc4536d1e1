//! What demands the password again, and new tokens for sessions that stay.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::envelope::assert_common;
use crate::support::{PASSWORD, Reply, TestApp};

const NEW_PASSWORD: &str = "a new fine password";

fn token_of(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["session_token"].as_str().unwrap().to_owned()
}

async fn delete_user(app: &TestApp, token: &str, body: Value) -> Reply {
    Reply::of(
        app.auth(Method::DELETE, "user")
            .bearer_auth(token)
            .json(&body),
    )
    .await
}

fn change(current: &str, new: &str) -> Value {
    json!({"current_password": current, "new_password": new})
}

#[tokio::test]
async fn changing_the_password_ends_every_session_and_begins_a_new_one() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let more = json!({"remember_me": true, "device_label": "Kitchen"});
    let phone = app.login_with("ada@example.com", more).await;
    let browser = app.login_browser("ada@example.com").await;
    let before = app.get("session", &phone).await.json()["session"].clone();
    let reply = app
        .post_json("change_password", &phone, change(PASSWORD, NEW_PASSWORD))
        .await;
    assert_common(&reply);
    let token = token_of(&reply);
    for ended in [&phone, &browser] {
        let refused = app.get("session", ended).await;
        assert_eq!(refused.json()["reason"], "password_changed");
    }
    let after = app.get("session", &token).await.json()["session"].clone();
    assert_ne!(after["id"], before["id"]);
    assert_eq!(after["device_label"], "Kitchen");
    assert_eq!(after["remember_me"], true);
    let login = async |password: &str| {
        let body = json!({"email": "ada@example.com", "password": password});
        app.post_public("login", body).await.status
    };
    assert_eq!(
        (login(PASSWORD).await, login(NEW_PASSWORD).await),
        (401, 200)
    );
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'password_changed'"),
        1
    );
}

#[tokio::test]
async fn a_mistyped_password_is_403_and_the_session_stays() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for reply in [
        app.post_json("change_password", &token, change("wrong", NEW_PASSWORD))
            .await,
        app.post_json("reauthenticate", &token, json!({"password": "wrong"}))
            .await,
        delete_user(&app, &token, json!({"password": "wrong"})).await,
    ] {
        assert_eq!(reply.refusal(), (403, "password_incorrect".to_owned()));
        assert_common(&reply);
        assert!(reply.cookies().is_empty());
    }
    assert!(app.is_alive(&token).await);
    assert_eq!(app.db.count("users"), 1);
    assert_eq!(
        app.db.count("session_events WHERE kind = 'login_failed'"),
        3
    );
}

#[tokio::test]
async fn an_account_without_a_password_is_told_so() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db.execute("UPDATE users SET password_hash = NULL");
    for reply in [
        app.post_json("change_password", &token, change(PASSWORD, NEW_PASSWORD))
            .await,
        app.post_json("reauthenticate", &token, json!({"password": PASSWORD}))
            .await,
        delete_user(&app, &token, json!({"password": PASSWORD})).await,
    ] {
        assert_eq!(reply.refusal(), (409, "password_not_set".to_owned()));
        assert_common(&reply);
    }
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn a_new_password_obeys_the_rules_of_sign_up() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for (new, reason) in [
        ("short".to_owned(), "too_short"),
        ("y".repeat(129), "too_long"),
    ] {
        let body = change(PASSWORD, &new);
        let reply = app.post_json("change_password", &token, body).await;
        assert_eq!(reply.refusal(), (422, "password_rejected".to_owned()));
        assert_eq!(reply.json()["reason"], reason);
    }
    assert!(app.is_alive(&token).await);
    app.login("ada@example.com").await;
}

#[tokio::test]
async fn reauthenticating_keeps_the_session_under_a_new_token() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db.execute(
        "UPDATE sessions SET authenticated_at = now() - interval '2 hours', \
         absolute_expires_at = now() + interval '10 hours'",
    );
    let before = app.get("session", &token).await.json()["session"].clone();
    let reply = app
        .post_json("reauthenticate", &token, json!({"password": PASSWORD}))
        .await;
    assert_common(&reply);
    let renewed = token_of(&reply);
    assert!(app.is_alive(&renewed).await);
    let refused = app.get("session", &token).await;
    assert_eq!(refused.refusal(), (401, "session_unknown".to_owned()));
    let after = app.get("session", &renewed).await.json()["session"].clone();
    assert_eq!(after["id"], before["id"]);
    assert_eq!(after["created_at"], before["created_at"]);
    let text = |session: &Value, name: &str| session[name].as_str().unwrap().to_owned();
    assert!(text(&after, "authenticated_at") > text(&before, "authenticated_at"));
    assert!(text(&after, "absolute_expires_at") > text(&before, "absolute_expires_at"));
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'reauthenticated'"),
        1
    );
}

#[tokio::test]
async fn ending_other_devices_can_demand_a_recent_password() {
    let app = TestApp::start_with(&[("REAUTHENTICATION_MAX_AGE", "5m")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let other = app.login("ada@example.com").await;
    let session = app.get("session", &other).await.json();
    let path = format!("sessions/{}", session["session"]["id"].as_str().unwrap());
    app.db
        .execute("UPDATE sessions SET authenticated_at = now() - interval '6 minutes'");
    for request in [
        app.auth(Method::POST, "logout_all"),
        app.auth(Method::POST, "logout_others"),
        app.auth(Method::DELETE, &path),
    ] {
        let reply = Reply::of(request.bearer_auth(&token)).await;
        assert_eq!(
            reply.refusal(),
            (401, "reauthentication_required".to_owned())
        );
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(
            challenge.contains(r#"error="insufficient_user_authentication""#)
                && challenge.contains(r#"max_age="300""#),
            "{challenge}"
        );
        assert_common(&reply);
    }
    // Seeing them does not, and the token is as good as before.
    assert_eq!(app.get("sessions", &token).await.status, 200);
    let body = json!({"password": PASSWORD});
    let token = token_of(&app.post_json("reauthenticate", &token, body).await);
    let reply = Reply::of(app.auth(Method::DELETE, &path).bearer_auth(&token)).await;
    assert_eq!(reply.json()["revoked_count"], 1);
}

#[tokio::test]
async fn rotating_changes_the_token_and_nothing_else() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let before = app.get("session", &token).await.json()["session"].clone();
    let reply = app.post("rotate_session", &token).await;
    assert_common(&reply);
    let renewed = token_of(&reply);
    let after = app.get("session", &renewed).await.json()["session"].clone();
    for name in [
        "id",
        "created_at",
        "authenticated_at",
        "absolute_expires_at",
        "auth_level",
    ] {
        assert_eq!(after[name], before[name], "{name}");
    }
    let refused = app.post("rotate_session", &token).await;
    assert_eq!(refused.refusal(), (401, "session_unknown".to_owned()));
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_rotated'"),
        1
    );
}

#[tokio::test]
async fn of_many_rotations_at_once_one_wins() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let replies = join_all((0..12).map(|_| app.post("rotate_session", &token))).await;
    let (won, lost): (Vec<&Reply>, Vec<&Reply>) = replies.iter().partition(|r| r.status == 200);
    assert_eq!(won.len(), 1);
    for reply in lost {
        assert_eq!(reply.refusal(), (401, "session_unknown".to_owned()));
    }
    assert!(app.is_alive(&token_of(won[0])).await && !app.is_alive(&token).await);
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_rotated'"),
        1
    );
}

#[tokio::test]
async fn deleting_the_account_leaves_no_person_behind() {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    app.sign_up("eve@example.com").await;
    let eve = app.login("eve@example.com").await;
    let (token, browser) = (
        app.login("ada@example.com").await,
        app.login_browser("ada@example.com").await,
    );
    let reply = delete_user(&app, &token, json!({"password": PASSWORD})).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_common(&reply);
    assert_eq!(reply.json()["revoked_count"], 2);
    for ended in [&token, &browser] {
        assert!(!app.is_alive(ended).await);
    }
    assert_eq!(app.db.count(&format!("users WHERE id = {id}")), 0);
    assert_eq!(app.db.count(&format!("sessions WHERE user_id = {id}")), 0);
    let events = format!("session_events WHERE user_id = {id}");
    assert!(app.db.count(&events) >= 6);
    let kept = "(ip_address IS NOT NULL OR device_label IS NOT NULL)";
    assert_eq!(app.db.count(&format!("{events} AND {kept}")), 0);
    assert_eq!(
        app.db.count(&format!("{events} AND kind = 'user_deleted'")),
        1
    );
    assert!(app.is_alive(&eve).await);
    // The e-mail is free again, and the new account a new one.
    assert_ne!(app.sign_up("ada@example.com").await, id);
}
