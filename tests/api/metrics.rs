//! What Prometheus is told.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use crate::support::{Cluster, PASSWORD, Reply, SERVICE_KEY, TestApp, TestDatabase, app::Instance};

async fn scrape(app: &Instance) -> String {
    let reply = Reply::of(app.request(Method::GET, "/metrics")).await;
    assert_eq!(reply.status, 200);
    let kind = reply.header("content-type").unwrap();
    assert!(
        kind.starts_with("application/openmetrics-text; version=1.0.0"),
        "{kind}"
    );
    reply.body
}

/// The value of a sample, named with its labels in their order; `None` where there is none.
fn sample(text: &str, name: &str) -> Option<f64> {
    let mut lines = text
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    let found = lines.next();
    assert!(lines.next().is_none(), "{name} twice");
    found
}

async fn value(app: &Instance, name: &str) -> f64 {
    let text = scrape(app).await;
    sample(&text, name).unwrap_or_else(|| panic!("no {name} in\n{text}"))
}

#[tokio::test]
async fn requests_are_counted_by_route_method_and_status() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for _ in 0..3 {
        app.get("session", &token).await;
    }
    app.post("session", &token).await;
    app.get("verify/some/page", &token).await;
    app.get("nowhere/at/all", &token).await;
    let odd = Method::from_bytes(b"BREW").unwrap();
    Reply::of(app.auth(odd, "session")).await;
    let text = scrape(&app).await;
    let requests = |route: &str, method: &str, status: u16| {
        let labels = format!("{{route=\"{route}\",method=\"{method}\",status=\"{status}\"}}");
        sample(&text, &format!("http_requests_total{labels}"))
    };
    assert_eq!(requests("/api/v1/auth/session", "GET", 200), Some(3.0));
    assert_eq!(requests("/api/v1/auth/session", "POST", 405), Some(1.0));
    assert_eq!(requests("/api/v1/auth/session", "other", 405), Some(1.0));
    assert_eq!(requests("/api/v1/auth/login", "POST", 200), Some(1.0));
    assert_eq!(requests("/api/v1/auth/sign_up", "POST", 201), Some(1.0));
    assert_eq!(
        requests("/api/v1/auth/verify/{tail:.*}", "GET", 200),
        Some(1.0)
    );
    assert_eq!(requests("-", "GET", 404), Some(1.0));
    assert!(!text.contains("nowhere") && !text.contains("some/page") && !text.contains("BREW"));
    let count = "http_request_duration_seconds_count{route=\"/api/v1/auth/session\"}";
    assert_eq!(sample(&text, count), Some(5.0));
    assert!(text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn verifications_are_counted_by_verdict() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let (live, ended) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    app.post("logout", &ended).await;
    app.get("session", &live).await;
    app.get("verify", &live).await;
    app.get("session", &ended).await;
    app.get("session", "no-token").await;
    app.get("session", &"A".repeat(43)).await;
    Reply::of(app.auth(Method::GET, "session")).await;
    let both = format!(
        "__Host-session_id={live}; __Host-session_id={}",
        app.login("ada@example.com").await
    );
    Reply::of(app.auth(Method::GET, "session").header("Cookie", both)).await;
    app.db
        .execute("UPDATE sessions SET expires_at = now() WHERE revoked_at IS NULL");
    app.get("session", &live).await;
    app.db.execute("ALTER TABLE sessions RENAME TO away");
    app.get("session", &live).await;
    let text = scrape(&app).await;
    let expected = [
        ("active", 2.0),
        ("revoked", 1.0),
        ("unknown", 2.0),
        ("missing", 1.0),
        ("ambiguous", 1.0),
        ("expired", 1.0),
        ("unavailable", 1.0),
    ];
    for (verdict, number) in expected {
        let name = format!("sekisho_verifications_total{{verdict=\"{verdict}\"}}");
        assert_eq!(sample(&text, &name), Some(number), "{verdict}");
    }
}

#[tokio::test]
async fn log_ins_and_endings_are_counted_when_they_are_facts() {
    let app = TestApp::start_with(&[("LOGIN_THROTTLE_FAILURES", "1")]).await;
    let id = app.sign_up("ada@example.com").await;
    for _ in 0..2 {
        app.login("ada@example.com").await;
    }
    let token = app.login("ada@example.com").await;
    app.post("logout", &token).await;
    let wrong = json!({"email": "ada@example.com", "password": "wrong but long"});
    assert_eq!(app.post_public("login", wrong.clone()).await.status, 401);
    assert_eq!(app.post_public("login", wrong).await.status, 429);
    // An ending that does not come about: the ledger refuses its event, and the whole call fails.
    let revoke = || {
        app.auth(Method::POST, &format!("users/{id}/revoke_sessions"))
            .header("X-API-Key", SERVICE_KEY)
    };
    app.db.execute("ALTER TABLE session_events RENAME TO away");
    assert_eq!(Reply::of(revoke()).await.status, 503);
    app.db.execute("ALTER TABLE away RENAME TO session_events");
    let text = scrape(&app).await;
    for (outcome, number) in [("succeeded", 3.0), ("refused", 1.0), ("throttled", 1.0)] {
        let name = format!("sekisho_logins_total{{outcome=\"{outcome}\"}}");
        assert_eq!(sample(&text, &name), Some(number), "{outcome}");
    }
    let ended = |reason: &str| format!("sekisho_sessions_ended_total{{reason=\"{reason}\"}}");
    assert_eq!(sample(&text, &ended("user_logout")), Some(1.0));
    assert_eq!(sample(&text, &ended("service_revoked")), Some(0.0));
    assert_eq!(Reply::of(revoke()).await.json()["revoked_count"], 2);
    assert_eq!(value(&app, &ended("service_revoked")).await, 2.0);
    let issue = json!({"user_id": id});
    Reply::of(
        app.auth(Method::POST, "issue")
            .header("X-API-Key", SERVICE_KEY)
            .json(&issue),
    )
    .await;
    assert_eq!(value(&app, "sekisho_sessions_issued_total").await, 1.0);
}

#[tokio::test]
async fn a_cleanup_that_does_not_run_shows_in_the_age_of_what_is_due() {
    let app = TestApp::start().await;
    let overdue = |kind: &str| format!("sekisho_cleanup_overdue_seconds{{kind=\"{kind}\"}}");
    for kind in ["expire", "purge", "events"] {
        assert_eq!(value(&app, &overdue(kind)).await, 0.0, "{kind}");
    }
    app.sign_up("ada@example.com").await;
    for _ in 0..3 {
        app.login("ada@example.com").await;
    }
    app.db.execute(
        "UPDATE sessions SET expires_at = now() - interval '2 hours'
         WHERE id IN (SELECT id FROM sessions LIMIT 2);
         UPDATE sessions SET revoked_at = now() - interval '33 days', revoked_reason = 'user_logout'
         WHERE expires_at > now();",
    );
    let text = scrape(&app).await;
    let is_about = |kind: &str, seconds: f64| {
        let age = sample(&text, &overdue(kind)).unwrap();
        assert!(age >= seconds && age < seconds + 300.0, "{kind}: {age}");
    };
    is_about("expire", 7200.0);
    is_about("purge", 3.0 * 86_400.0);
    is_about("events", 0.0);
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 2);
    let text = scrape(&app).await;
    for kind in ["expire", "purge"] {
        assert_eq!(sample(&text, &overdue(kind)), Some(0.0), "{kind}");
    }
    let rows = |kind: &str| format!("sekisho_cleanup_rows_total{{kind=\"{kind}\"}}");
    assert_eq!(sample(&text, &rows("expired")), Some(2.0));
    assert_eq!(sample(&text, &rows("purged")), Some(1.0));
    let runs = "sekisho_cleanup_runs_total{trigger=\"http\",outcome=\"complete\"}";
    assert_eq!(sample(&text, runs), Some(1.0));
    assert_eq!(
        sample(&text, "sekisho_sessions_ended_total{reason=\"expired\"}"),
        Some(2.0)
    );
}

#[tokio::test]
async fn in_an_outage_what_only_the_database_knows_is_absent() {
    let cluster = Cluster::create(&[]);
    let db = TestDatabase::empty(&cluster.url);
    let app = Instance::start(&db.url, &[]);
    app.ready().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for action in ["freeze", "thaw", "stop"] {
        cluster.control(action);
        let begun = Instant::now();
        let text = scrape(&app).await;
        assert_eq!(
            text.contains("sekisho_cleanup_overdue_seconds{"),
            action == "thaw",
            "{action}"
        );
        assert!(text.contains("sekisho_database_connections{state=\"idle\"}"));
        assert!(begun.elapsed() < Duration::from_secs(8));
    }
    assert_eq!(app.get("session", &token).await.status, 503);
    let unavailable = "sekisho_verifications_total{verdict=\"unavailable\"}";
    assert_eq!(value(&app, unavailable).await, 1.0);
    cluster.control("start");
}

#[tokio::test]
async fn no_secret_and_nothing_personal_is_told() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.get("session", &token).await;
    let text = scrape(&app).await;
    for secret in [&token, PASSWORD, "ada", "127.0.0.1", SERVICE_KEY] {
        assert!(!text.contains(secret), "{secret}");
    }
}
