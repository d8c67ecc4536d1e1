//! The signed-in devices of a user: seen, renamed, ended.

use reqwest::Method;
use serde_json::{Value, json};

use crate::envelope::assert_common;
use crate::support::{Reply, TestApp};

async fn id_of(app: &TestApp, token: &str) -> String {
    let session = app.get("session", token).await.json();
    session["session"]["id"].as_str().unwrap().to_owned()
}

async fn rename(app: &TestApp, id: &str, token: &str, label: &str) -> Reply {
    let path = format!("sessions/{id}");
    let request = app.auth(Method::PATCH, &path).bearer_auth(token);
    Reply::of(request.json(&json!({"device_label": label}))).await
}

async fn end(app: &TestApp, id: &str, token: &str) -> Reply {
    let path = format!("sessions/{id}");
    Reply::of(app.auth(Method::DELETE, &path).bearer_auth(token)).await
}

#[tokio::test]
async fn the_list_has_the_active_devices_most_recently_seen_first() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    app.sign_up("eve@example.com").await;
    app.login("eve@example.com").await;
    let mut tokens = Vec::new();
    for label in ["first", "second", "third", "ended", "expired"] {
        let more = json!({"device_label": label});
        tokens.push(app.login_with("ada@example.com", more).await);
    }
    app.post("logout", &tokens[3]).await;
    app.db.execute(
        "UPDATE sessions SET expires_at = now() - interval '1 second' WHERE device_label = 'expired';
         UPDATE sessions SET last_seen_at = now() - interval '2 minutes' WHERE device_label = 'third';
         UPDATE sessions SET last_seen_at = now() - interval '1 minute' WHERE device_label = 'first'",
    );
    let reply = app.get("sessions", &tokens[0]).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_common(&reply);
    assert_eq!(reply.header("x-total-count"), Some("3"));
    let list = reply.json();
    let of = |name: &str| -> Vec<Value> {
        let list = list.as_array().unwrap();
        list.iter().map(|session| session[name].clone()).collect()
    };
    assert_eq!(of("device_label"), ["second", "first", "third"]);
    assert_eq!(of("current"), [false, true, false]);
    for token in &tokens {
        assert!(!reply.body.contains(token.as_str()));
    }
    for hash in app.db.texts("SELECT session_hash AS value FROM sessions") {
        assert!(!reply.body.contains(&hash.unwrap()));
    }
}

#[tokio::test]
async fn a_device_is_renamed_also_the_current_one() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let (phone, laptop) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    for (token, current) in [(&phone, true), (&laptop, false)] {
        let id = id_of(&app, token).await;
        let reply = rename(&app, &id, &phone, "  Kitchen 🦀 ").await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_common(&reply);
        let session = reply.json();
        assert_eq!(session["device_label"], "Kitchen 🦀");
        assert_eq!(session["id"], id.as_str());
        assert_eq!(session["current"], current);
        // Upper case and other spellings are the same id.
        let again = rename(&app, &id.to_uppercase(), &phone, "Attic").await;
        assert_eq!(again.status, 200, "{again:?}");
    }
    assert_eq!(app.db.count("sessions WHERE device_label = 'Attic'"), 2);
}

#[tokio::test]
async fn a_device_is_ended_and_its_holder_is_told_why() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let (phone, laptop) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    let id = id_of(&app, &laptop).await;
    let reply = end(&app, &id, &phone).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_common(&reply);
    assert_eq!(reply.json()["revoked_count"], 1);
    let refused = app.get("session", &laptop).await;
    assert_eq!(refused.refusal(), (401, "session_revoked".to_owned()));
    assert_eq!(refused.json()["reason"], "device_revoked");
    // Its own that had ended already: fine, and nothing counted.
    let again = end(&app, &id, &phone).await;
    assert_eq!(
        (again.status, &again.json()["revoked_count"]),
        (200, &json!(0))
    );
    assert_eq!(
        app.db
            .count("session_events WHERE reason = 'device_revoked'"),
        1
    );
    // The current one too.
    let own = id_of(&app, &phone).await;
    assert_eq!(end(&app, &own, &phone).await.json()["revoked_count"], 1);
    assert!(!app.is_alive(&phone).await);
}

#[tokio::test]
async fn other_users_sessions_are_byte_for_byte_like_unknown_ones() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    app.sign_up("eve@example.com").await;
    let (ada, eve) = (
        app.login("ada@example.com").await,
        app.login("eve@example.com").await,
    );
    let ended = app.login("eve@example.com").await;
    let expired = app.login("eve@example.com").await;
    let ids = [
        "018f0000-0000-7000-8000-000000000000".to_owned(),
        "00000000-0000-0000-0000-000000000000".to_owned(),
        id_of(&app, &eve).await,
        id_of(&app, &ended).await,
        id_of(&app, &expired).await,
        // Not even ids.
        "1".to_owned(),
        "-1".to_owned(),
        "9223372036854775808".to_owned(),
        "%00".to_owned(),
        "%ff".to_owned(),
        "018f0000-0000-7000-8000-00000000000'".to_owned(),
        "x".repeat(2_000),
    ];
    app.post("logout", &ended).await;
    app.db.execute(&format!(
        "UPDATE sessions SET expires_at = now() - interval '1 second' WHERE id = '{}'",
        ids[4]
    ));
    let before = app
        .db
        .texts("SELECT to_jsonb(s)::text AS value FROM sessions s ORDER BY id");
    for method in [Method::DELETE, Method::PATCH] {
        let mut answers = Vec::new();
        for id in &ids {
            let path = format!("sessions/{id}");
            let mut request = app.auth(method.clone(), &path).bearer_auth(&ada);
            request = request.header("X-Request-Id", "same");
            if method == Method::PATCH {
                request = request.json(&json!({"device_label": "Eve's"}));
            }
            let reply = Reply::of(request).await;
            assert_eq!(reply.refusal(), (404, "not_found".to_owned()), "{id}");
            assert_common(&reply);
            let mut headers: Vec<_> = reply
                .headers
                .iter()
                .filter(|(name, _)| *name != "date")
                .map(|(name, value)| format!("{name}: {value:?}"))
                .collect();
            headers.sort();
            answers.push((headers, reply.body));
        }
        assert!(
            answers.windows(2).all(|pair| pair[0] == pair[1]),
            "{answers:?}"
        );
    }
    let after = app
        .db
        .texts("SELECT to_jsonb(s)::text AS value FROM sessions s ORDER BY id");
    assert_eq!(before, after);
    assert!(app.is_alive(&eve).await);
}

#[tokio::test]
async fn an_ended_device_of_ones_own_cannot_be_renamed() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let (phone, laptop) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    let id = id_of(&app, &laptop).await;
    app.post("logout", &laptop).await;
    let refused = rename(&app, &id, &phone, "Ghost").await;
    assert_eq!(refused.refusal(), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn devices_are_nobodys_business_without_a_session() {
    let app = TestApp::start().await;
    for (method, path) in [
        (Method::GET, "session"),
        (Method::GET, "sessions"),
        (Method::GET, "session_events"),
        (
            Method::DELETE,
            "sessions/018f0000-0000-7000-8000-000000000000",
        ),
        (Method::POST, "logout_all"),
        (Method::POST, "logout_others"),
        (Method::POST, "rotate_session"),
    ] {
        let nobody = Reply::of(app.auth(method.clone(), path)).await;
        assert_eq!(nobody.refusal(), (401, "credentials_missing".to_owned()));
        assert_common(&nobody);
        let unknown = Reply::of(app.auth(method, path).bearer_auth("A".repeat(43))).await;
        assert_eq!(unknown.refusal(), (401, "session_unknown".to_owned()));
        assert_common(&unknown);
    }
}
