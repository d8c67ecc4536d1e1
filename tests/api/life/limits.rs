//! The cap on sessions, and what demands a recent proof of the password.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::{count_of, session_id};
use crate::support::{PASSWORD, Reply, TestApp};

#[tokio::test]
async fn a_hundred_log_ins_at_once_leave_exactly_the_cap() {
    let settings = [("SESSION_MAX_PER_USER", "7"), ("DATABASE_TIMEOUT", "20s")];
    let app = TestApp::start_with(&settings).await;
    let other = app.another(&settings).await;
    app.sign_up("ada@example.com").await;
    let instances = [&*app, &other];
    let tokens = join_all((0..100).map(|n| instances[n % 2].login("ada@example.com"))).await;
    let active = "sessions WHERE revoked_at IS NULL AND expires_at > statement_timestamp()";
    assert_eq!(app.db.count(active), 7);
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_created'"),
        100
    );
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_revoked' AND reason = 'session_limit'"),
        93
    );
    let mut alive = 0;
    for token in &tokens {
        alive += usize::from(app.get("session", token).await.status == 200);
    }
    assert_eq!(alive, 7);
}

#[tokio::test]
async fn ending_other_devices_can_demand_a_recent_proof() {
    let app = TestApp::start_with(&[("REAUTHENTICATION_MAX_AGE", "60s")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let second = app.login("ada@example.com").await;
    let other = session_id(&app, &second).await;
    app.db
        .execute("UPDATE sessions SET authenticated_at = authenticated_at - interval '61 seconds'");
    let end = |token: &str, id: &str| {
        app.auth(Method::DELETE, &format!("sessions/{id}"))
            .bearer_auth(token)
    };
    let refused = [
        app.post("logout_all", &token).await,
        app.post("logout_others", &token).await,
        Reply::of(end(&token, &other)).await,
    ];
    for reply in refused {
        assert_eq!(
            reply.refusal(),
            (401, "reauthentication_required".to_owned())
        );
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(
            challenge.contains(r#"error="insufficient_user_authentication""#)
                && challenge.contains(r#"max_age="60""#),
            "{challenge}"
        );
    }
    // Looking, and leaving oneself, never demand it.
    assert_eq!(
        app.get("sessions", &token).await.header("x-total-count"),
        Some("2")
    );
    let third = app.login("ada@example.com").await;
    app.db
        .execute("UPDATE sessions SET authenticated_at = authenticated_at - interval '61 seconds'");
    let own = session_id(&app, &third).await;
    assert_eq!(count_of(&Reply::of(end(&third, &own)).await), 1);
    // A rotation is no proof.
    let rotated = app.post("rotate_session", &token).await.json()["session_token"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(app.post("logout_others", &rotated).await.status, 401);
    let proved = app
        .post_json("reauthenticate", &rotated, json!({"password": PASSWORD}))
        .await;
    let fresh = proved.json()["session_token"].as_str().unwrap().to_owned();
    assert!(!app.is_alive(&rotated).await);
    assert_eq!(count_of(&app.post("logout_others", &fresh).await), 1);
    assert_eq!(count_of(&app.post("logout_all", &fresh).await), 1);
}

#[tokio::test]
async fn a_new_proof_restarts_the_cap_and_nothing_else_does() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db.execute(
        "UPDATE sessions SET absolute_expires_at = absolute_expires_at - interval '6 hours',
        authenticated_at = authenticated_at - interval '6 hours'",
    );
    let times = || {
        app.db.text("SELECT absolute_expires_at::text || ' ' || authenticated_at::text || ' ' || auth_level AS value FROM sessions")
    };
    let before = times();
    let rotated = app.post("rotate_session", &token).await.json()["session_token"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(times(), before);
    let session = session_id(&app, &rotated).await;
    let proved = app
        .post_json("reauthenticate", &rotated, json!({"password": PASSWORD}))
        .await;
    assert_eq!(proved.json()["session"]["id"], session.as_str());
    let left = app.db.number("SELECT extract(epoch FROM absolute_expires_at - statement_timestamp())::bigint AS value FROM sessions");
    assert!((43_190..=43_200).contains(&left), "{left}");
}
