//! Ending sessions: one's own, all, all others; and what a holder of an ended token is told.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use crate::envelope::assert_common;
use crate::support::{CHROME_ON_MACOS, PASSWORD, Reply, SAFARI_ON_IPHONE, TestApp, cookie_value};

#[tokio::test]
async fn logging_out_on_one_device_leaves_the_other() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let (phone, browser) = (
        app.login("ada@example.com").await,
        app.login_browser("ada@example.com").await,
    );
    let reply = app.post("logout", &phone).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_common(&reply);
    assert_eq!(reply.json()["revoked_count"], 1);
    assert!(reply.json()["message"].is_string());
    assert!(!app.is_alive(&phone).await && app.is_alive(&browser).await);
    let refused = app.get("session", &phone).await;
    assert_eq!(refused.refusal(), (401, "session_revoked".to_owned()));
    assert_eq!(refused.json()["reason"], "user_logout");
    // Once more does no harm.
    let again = app.post("logout", &phone).await;
    assert_eq!(
        (again.status, &again.json()["revoked_count"]),
        (200, &json!(0))
    );
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_revoked'"),
        1
    );
}

#[tokio::test]
async fn logout_all_on_one_device_ends_both() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    app.sign_up("eve@example.com").await;
    let eve = app.login("eve@example.com").await;
    let login = |agent: &'static str, delivery: &'static str| {
        let body = json!({"email": "ada@example.com", "password": PASSWORD, "delivery": delivery});
        let request = app
            .auth(reqwest::Method::POST, "login")
            .header("User-Agent", agent);
        Reply::of(request.json(&body))
    };
    let browser = cookie_value(&login(CHROME_ON_MACOS, "cookie").await).unwrap();
    let phone = login(SAFARI_ON_IPHONE, "token").await.json()["session_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let reply = app.post("logout_all", &phone).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_common(&reply);
    assert_eq!(reply.json()["revoked_count"], 2);
    for token in [&phone, &browser] {
        assert!(!app.is_alive(token).await);
        let refused = app.get("session", token).await;
        assert_eq!(refused.json()["reason"], "logout_all");
    }
    assert!(app.is_alive(&eve).await, "nobody else's ended");
    // With a dead token nothing more can be ended.
    let refused = app.post("logout_all", &phone).await;
    assert_eq!(refused.refusal(), (401, "session_revoked".to_owned()));
    let labels = app.db.texts(
        "SELECT device_label AS value FROM session_events WHERE reason = 'logout_all' ORDER BY 1",
    );
    let labels: Vec<_> = labels.into_iter().flatten().collect();
    assert_eq!(labels, ["Chrome on macOS", "Safari on iPhone"]);
}

#[tokio::test]
async fn logout_others_keeps_the_caller_signed_in() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        tokens.push(app.login("ada@example.com").await);
    }
    let reply = app.post("logout_others", &tokens[1]).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["revoked_count"], 2);
    assert!(app.is_alive(&tokens[1]).await);
    for ended in [&tokens[0], &tokens[2]] {
        let refused = app.get("session", ended).await;
        assert_eq!(refused.json()["reason"], "logout_others");
    }
    let again = app.post("logout_others", &tokens[1]).await;
    assert_eq!(again.json()["revoked_count"], 0);
}

#[tokio::test]
async fn an_expired_session_is_refused_before_and_after_the_cleanup() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    assert!(app.is_alive(&token).await);
    app.db
        .execute("UPDATE sessions SET expires_at = now() - interval '1 second'");
    let before = app.get("session", &token).await;
    assert_eq!(before.refusal(), (401, "session_expired".to_owned()));
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 1);
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 1);
    let after = app.get("session", &token).await;
    assert_eq!(after.refusal(), (401, "session_expired".to_owned()));
    assert_eq!(before.body, after.body);
    assert_eq!(
        app.db.text("SELECT revoked_reason AS value FROM sessions"),
        Some("expired".to_owned())
    );
}

#[tokio::test]
async fn logging_out_of_an_expired_session_counts_nothing_and_says_expired() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let expired = app.login("ada@example.com").await;
    app.db
        .execute("UPDATE sessions SET expires_at = now() - interval '1 second'");
    let live = app.login("ada@example.com").await;
    let reply = app.post("logout", &expired).await;
    assert_eq!(
        (reply.status, &reply.json()["revoked_count"]),
        (200, &json!(0))
    );
    let refused = app.get("session", &expired).await;
    assert_eq!(refused.refusal(), (401, "session_expired".to_owned()));
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_expired'"),
        1
    );
    // Among several, only those that were active count.
    app.login("ada@example.com").await;
    app.db.execute(
        "UPDATE sessions SET expires_at = now() - interval '1 second' \
         WHERE id = (SELECT id FROM sessions WHERE revoked_at IS NULL ORDER BY created_at DESC LIMIT 1)",
    );
    let reply = app.post("logout_all", &live).await;
    assert_eq!(reply.json()["revoked_count"], 1);
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 0);
}

#[tokio::test]
async fn the_absolute_deadline_ends_a_session_in_use() {
    let app = TestApp::start_with(&[("SESSION_TOUCH_INTERVAL", "1s")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db.execute(
        "UPDATE sessions SET last_seen_at = now() - interval '5 minutes', \
         expires_at = now() - interval '1 second', absolute_expires_at = now() - interval '1 second'",
    );
    let refused = app.get("session", &token).await;
    assert_eq!(refused.refusal(), (401, "session_expired".to_owned()));
    // Being asked revives nothing.
    assert_eq!(app.db.count("sessions WHERE expires_at > now()"), 0);
}

/// Log-ins and logout_alls of one user at once: whatever was answered before a logout_all was asked
/// for is dead after its answer, and rows, events and answers agree.
#[tokio::test]
async fn log_ins_race_with_logout_all_and_the_state_is_consistent() {
    let settings = [
        ("SESSION_MAX_PER_USER", "1000"),
        ("PASSWORD_HASH_SLOTS", "8"),
    ];
    let app = TestApp::start_with(&settings).await;
    app.sign_up("ada@example.com").await;
    let login = async |delay: u64| {
        tokio::time::sleep(Duration::from_millis(delay)).await;
        let token = app.login("ada@example.com").await;
        (Instant::now(), token)
    };
    let logout_all = async |delay: u64| {
        let token = app.login("ada@example.com").await;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        let asked = Instant::now();
        let reply = app.post("logout_all", &token).await;
        // Another logout_all may have ended this one's session first.
        assert!(reply.status == 200 || reply.status == 401, "{reply:?}");
        (reply.status == 200).then_some(asked)
    };
    let (logins, endings) = tokio::join!(
        join_all((0..60).map(|i| login(i * 7 % 200))),
        join_all((0..10).map(|i| logout_all(i * 20))),
    );
    let last_asked = endings.into_iter().flatten().max().expect("one succeeded");
    let mut alive = 0;
    for (answered, token) in &logins {
        let is_alive = app.is_alive(token).await;
        assert!(!is_alive || *answered > last_asked, "survived a logout_all");
        assert_eq!(is_alive, app.is_alive(token).await);
        alive += i64::from(is_alive);
    }
    let active = "sessions WHERE revoked_at IS NULL AND expires_at > now()";
    assert!(app.db.count(active) >= alive);
    // One event a fact: a beginning for each row, an ending for each that ended.
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_created'"),
        app.db.count("sessions")
    );
    let unmatched = "sessions s WHERE (s.revoked_at IS NOT NULL) <> (1 = (SELECT count(*) FROM session_events e \
                     WHERE e.session_id = s.id AND e.kind = 'session_revoked' AND e.reason = s.revoked_reason))";
    assert_eq!(app.db.count(unmatched), 0);
    // And in the end nothing is left.
    let token = app.login("ada@example.com").await;
    assert_eq!(app.post("logout_all", &token).await.status, 200);
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 0);
}
