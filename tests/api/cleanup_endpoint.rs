//! POST cleanup_sessions, as schedulers call it.

use reqwest::Method;
use serde_json::json;

use crate::envelope::assert_common;
use crate::support::{CLEANUP_KEY, Instance, Reply, SERVICE_KEY, TestApp};

/// `count` sessions of a user, expired an hour ago.
fn seed_expired(app: &TestApp, user: i64, count: usize) {
    app.db.execute(&format!(
        "INSERT INTO sessions (id, user_id, session_hash, created_at, last_seen_at, expires_at, absolute_expires_at, idle_timeout) \
         SELECT gen_random_uuid(), {user}, encode(sha256(('expired ' || n)::bytea), 'hex'), now() - interval '3 hours', \
         now() - interval '2 hours', now() - interval '1 hour' - n * interval '1 second', now(), interval '1800 seconds' \
         FROM generate_series(1, {count}) n"
    ));
}

#[tokio::test]
async fn the_answer_is_exactly_as_documented_and_counts_the_rows_changed() {
    let app = TestApp::start_with(&[("CLEANUP_BATCH_SIZE", "100")]).await;
    let user = app.sign_up("ada@example.com").await;
    let live = app.login("ada@example.com").await;
    let ended = app.login("ada@example.com").await;
    app.post("logout", &ended).await;
    seed_expired(&app, user, 250);
    let reply = app.cleanup().await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_common(&reply);
    assert_eq!(
        reply.body,
        r#"{"message":"Session cleanup completed","cleaned_count":250}"#
    );
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("x-cleanup-complete"), None);
    let expired = "sessions WHERE revoked_reason = 'expired' AND revoked_at IS NOT NULL";
    assert_eq!(app.db.count(expired), 250);
    let with_event = "sessions s JOIN session_events e ON e.session_id = s.id AND e.kind = 'session_expired' \
                      AND e.reason = 'expired' AND e.actor = 'system'";
    assert_eq!(app.db.count(with_event), 250);
    assert!(app.is_alive(&live).await);
    assert_eq!(
        app.get("session", &ended).await.json()["reason"],
        "user_logout"
    );
    // The second call finds nothing.
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 0);
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_expired'"),
        250
    );
    let runs = "SELECT string_agg(trigger || ' ' || expired || ' ' || complete, ', ' ORDER BY id) AS value \
                FROM cleanup_runs WHERE finished_at IS NOT NULL AND error IS NULL";
    assert_eq!(
        app.db.text(runs).as_deref(),
        Some("http 250 true, http 0 true")
    );
}

#[tokio::test]
async fn any_body_type_and_range_are_ignored() {
    let app = TestApp::start().await;
    let requests = [
        app.auth(Method::POST, "cleanup_sessions"),
        app.auth(Method::POST, "cleanup_sessions")
            .header("Content-Type", "application/json; charset=utf-8")
            .header("Range", "bytes=0-1048575")
            .body(r#"{"version":"0","detail-type":"Scheduled Event"}"#),
        app.auth(Method::POST, "cleanup_sessions")
            .header("Content-Type", "text/plain")
            .body("{"),
        app.auth(Method::POST, "cleanup_sessions")
            .header("Sec-Fetch-Site", "cross-site")
            .body(vec![0xff; 20_000]),
    ];
    for request in requests {
        let reply = Reply::of(request.header("X-API-Key", CLEANUP_KEY)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json()["cleaned_count"], 0);
    }
}

#[tokio::test]
async fn a_wrong_key_changes_nothing() {
    let app = TestApp::start().await;
    let user = app.sign_up("ada@example.com").await;
    seed_expired(&app, user, 3);
    let (shorter, longer) = (&CLEANUP_KEY[1..], format!("{CLEANUP_KEY}x"));
    let upper = CLEANUP_KEY.to_uppercase();
    for keys in [
        vec![],
        vec![""],
        vec!["wrong"],
        vec![shorter],
        vec![longer.as_str()],
        vec![upper.as_str()],
        vec![SERVICE_KEY],
        vec![CLEANUP_KEY, CLEANUP_KEY],
        vec!["wrong", CLEANUP_KEY],
    ] {
        let mut request = app.auth(Method::POST, "cleanup_sessions");
        for key in &keys {
            request = request.header("X-API-Key", *key);
        }
        let reply = Reply::of(request).await;
        assert_eq!(
            reply.refusal(),
            (401, "api_key_invalid".to_owned()),
            "{keys:?}"
        );
        assert_eq!(
            reply.header("www-authenticate"),
            Some(r#"ApiKey realm="sekisho""#)
        );
        assert_common(&reply);
    }
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NOT NULL"), 0);
    assert_eq!(app.db.count("cleanup_runs"), 0);
}

#[tokio::test]
async fn without_a_configured_key_nobody_gets_in_and_with_two_either_does() {
    let app = TestApp::start_with(&[("SESSION_CLEANUP_API_KEY", "")]).await;
    let (zeros, more_zeros) = ("0".repeat(32), "0".repeat(64));
    for key in ["", "null", &zeros, &more_zeros, CLEANUP_KEY] {
        let request = app.auth(Method::POST, "cleanup_sessions");
        let reply = Reply::of(request.header("X-API-Key", key)).await;
        assert_eq!(reply.refusal(), (401, "api_key_invalid".to_owned()));
    }
    let (old, new) = ("a".repeat(40), "b".repeat(40));
    let both = format!("{old},{new}");
    let rotating = app.another(&[("SESSION_CLEANUP_API_KEY", &both)]).await;
    for (key, status) in [(&old, 200), (&new, 200), (&both, 401)] {
        let request = rotating.auth(Method::POST, "cleanup_sessions");
        let reply = Reply::of(request.header("X-API-Key", key)).await;
        assert_eq!(reply.status, status);
    }
}

#[tokio::test]
async fn every_failure_is_500_and_says_nothing_of_the_inside() {
    let app = Instance::start("postgres://nobody@127.0.0.1:1/nowhere", &[]);
    let reply = app.cleanup().await;
    assert_eq!(reply.refusal(), (500, "internal_error".to_owned()));
    assert_common(&reply);
    let app = TestApp::start().await;
    app.db.execute("ALTER TABLE cleanup_runs RENAME TO away");
    let reply = app.cleanup().await;
    assert_eq!(reply.refusal(), (500, "internal_error".to_owned()));
    for word in ["cleanup_runs", "relation", "SELECT", "postgres"] {
        assert!(!reply.body.contains(word), "{reply:?}");
    }
    app.db.execute("ALTER TABLE away RENAME TO cleanup_runs");
    assert_eq!(app.cleanup().await.json()["cleaned_count"], json!(0));
}

#[tokio::test]
async fn two_runs_at_once_share_the_work() {
    let app = TestApp::start_with(&[("CLEANUP_BATCH_SIZE", "50")]).await;
    let user = app.sign_up("ada@example.com").await;
    seed_expired(&app, user, 1_000);
    let other = app.another(&[("CLEANUP_BATCH_SIZE", "50")]).await;
    let (one, two) = tokio::join!(app.cleanup(), other.cleanup());
    let count = |reply: &Reply| {
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["cleaned_count"].as_i64().unwrap()
    };
    // Rows that the other one held were left to it; had it failed, the next run would do them.
    assert_eq!(
        count(&one) + count(&two) + count(&app.cleanup().await),
        1_000
    );
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_expired'"),
        1_000
    );
}
