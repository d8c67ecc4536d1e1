//! The ledger: guarded, complete, and there when sessions are gone.

use diesel::connection::SimpleConnection;
use diesel::result::Error;
use reqwest::Method;
use serde_json::json;

use super::session_id;
use crate::support::{PASSWORD, Reply, TestApp, TestDatabase};

/// The constraint that refuses a statement.
pub fn refused_by(db: &TestDatabase, sql: &str) -> String {
    match db.connect().batch_execute(sql).expect_err(sql) {
        Error::DatabaseError(_, info) => info.constraint_name().unwrap_or_default().to_owned(),
        other => panic!("{sql}: {other}"),
    }
}

#[tokio::test]
async fn the_ledger_cannot_be_rewritten() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    app.login("ada@example.com").await;
    for sql in [
        "UPDATE session_events SET kind = 'login_failed'",
        "UPDATE session_events SET user_id = 99",
        "UPDATE session_events SET occurred_at = occurred_at - interval '1 year'",
        "UPDATE session_events SET ip_address = '192.0.2.0/24'",
        "UPDATE session_events SET device_label = 'Another'",
        "UPDATE session_events SET note = 'added later'",
        "DELETE FROM session_events",
        "TRUNCATE session_events",
    ] {
        assert_eq!(
            refused_by(&app.db, sql),
            "session_events_is_a_ledger",
            "{sql}"
        );
    }
    let (before, labels) = (
        app.db.count("session_events"),
        "session_events WHERE ip_address IS NOT NULL OR device_label IS NOT NULL",
    );
    assert!(app.db.count(labels) > 0);
    app.db
        .execute("UPDATE session_events SET ip_address = NULL, device_label = NULL");
    assert_eq!(
        (app.db.count("session_events"), app.db.count(labels)),
        (before, 0)
    );
}

#[tokio::test]
async fn failed_log_ins_are_kept_though_the_request_fails() {
    let app = TestApp::start().await;
    let user = app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    let login = |email: &str| json!({"email": email, "password": "not the password"});
    assert_eq!(
        app.post_public("login", login("ada@example.com"))
            .await
            .status,
        401
    );
    assert_eq!(
        app.post_public("login", login("nobody@example.com"))
            .await
            .status,
        401
    );
    let wrong = json!({"password": "not the password"});
    assert_eq!(
        app.post_json("reauthenticate", &token, wrong.clone())
            .await
            .refusal(),
        (403, "password_incorrect".to_owned())
    );
    let deletion = app
        .auth(Method::DELETE, "user")
        .bearer_auth(&token)
        .json(&wrong);
    assert_eq!(
        Reply::of(deletion).await.refusal(),
        (403, "password_incorrect".to_owned())
    );
    let kept = app.db.texts("SELECT concat_ws(' ', coalesce(user_id::text, '-'), coalesce(session_id::text, '-'), coalesce(actor_id::text, '-'), ip_address) AS value
        FROM session_events WHERE kind = 'login_failed' ORDER BY id");
    let known = format!("{user} {session} {user} 127.0.0.0/24");
    let expected = [
        format!("{user} - - 127.0.0.0/24"),
        "- - - 127.0.0.0/24".to_owned(),
        known.clone(),
        known,
    ];
    assert_eq!(kept, expected.map(Some));
    // No e-mail anywhere, least of all one that is nobody's.
    assert_eq!(
        app.db
            .count("session_events e WHERE e::text LIKE '%example.com%'"),
        0
    );
}

#[tokio::test]
async fn rotation_and_new_proof_are_kept() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let rotated = app.post("rotate_session", &token).await.json()["session_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let proved = app
        .post_json("reauthenticate", &rotated, json!({"password": PASSWORD}))
        .await;
    assert_eq!(proved.status, 200, "{proved:?}");
    let kinds = app
        .db
        .texts("SELECT kind AS value FROM session_events WHERE session_id IS NOT NULL ORDER BY id");
    assert_eq!(
        kinds,
        ["session_created", "session_rotated", "reauthenticated"].map(|kind| Some(kind.to_owned()))
    );
}

#[tokio::test]
async fn the_history_outlives_the_sessions() {
    let app = TestApp::start_with(&[("CLEANUP_RETENTION", "0s")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    app.post("logout", &token).await;
    assert_eq!(app.cleanup().await.status, 200);
    assert_eq!(app.db.count("sessions"), 0);
    let now = app.login("ada@example.com").await;
    let history = app.get("session_events", &now).await.json();
    let of_session: Vec<&str> = history
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["session_id"] == session.as_str())
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert_eq!(of_session, ["session_revoked", "session_created"]);
}
