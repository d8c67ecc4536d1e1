//! Stopping in order.

use reqwest::Method;

use super::rig::{Held, LONG, assert_unavailable, until, until_blocked};
use crate::support::{Process, Reply, TestApp};

/// Not ready while draining, the request under way finishes, and the exit code is 0.
async fn stops_in_order(signal: &str) {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let settings = [
        ("SHUTDOWN_DRAIN", "3s"),
        ("DATABASE_TIMEOUT", "30s"),
        ("SHUTDOWN_TIMEOUT", "30s"),
    ];
    let mut program = Process::serve(&app.db.url, &settings);
    let base = program.base_url();
    program.wait_for("the database is ready");
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("client");
    let get = |path: &str| Reply::of(http.get(format!("{base}{path}")).bearer_auth(&token));
    assert_eq!(get("/health/ready").await.status, 200);
    let held = Held::open(&app.db.url, "SELECT 1 FROM users FOR UPDATE");
    let under_way = http
        .request(Method::POST, format!("{base}/api/v1/auth/logout_all"))
        .bearer_auth(&token);
    let under_way = tokio::spawn(async move { Reply::of(under_way).await });
    until_blocked(&mut app.db.connect(), 1).await;
    program.signal(signal);
    until("it is draining", LONG, async || {
        get("/health/ready").await.status == 503
    })
    .await;
    assert_unavailable(&get("/health/ready").await);
    assert_eq!(get("/health/live").await.status, 200);
    assert_eq!(get("/api/v1/auth/verify").await.status, 200);
    // The drain passes, and the one request is waited for.
    program.wait_for("accept thread stopped");
    assert!(
        http.get(format!("{base}/health/live"))
            .send()
            .await
            .is_err()
    );
    assert!(!under_way.is_finished());
    held.release();
    assert_eq!(
        under_way.await.expect("an answer").json()["revoked_count"],
        1
    );
    let status = program.wait(LONG);
    assert_eq!(status.code(), Some(0), "{}", program.output());
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 0);
}

#[tokio::test]
async fn sigterm_stops_in_order() {
    stops_in_order("TERM").await;
}

#[tokio::test]
async fn ctrl_c_stops_in_order() {
    stops_in_order("INT").await;
}

#[tokio::test]
async fn a_second_signal_stops_at_once() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let settings = [
        ("SHUTDOWN_DRAIN", "10m"),
        ("SHUTDOWN_TIMEOUT", "10m"),
        ("DATABASE_TIMEOUT", "60s"),
    ];
    let mut program = Process::serve(&app.db.url, &settings);
    let base = program.base_url();
    program.wait_for("the database is ready");
    let held = Held::open(&app.db.url, "SELECT 1 FROM users FOR UPDATE");
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("client");
    let under_way = http
        .request(Method::POST, format!("{base}/api/v1/auth/logout_all"))
        .bearer_auth(&token);
    let under_way = tokio::spawn(async move { under_way.send().await.is_ok() });
    until_blocked(&mut app.db.connect(), 1).await;
    program.signal("TERM");
    program.wait_for("stopping");
    program.signal("TERM");
    let status = program.wait(LONG);
    assert_eq!(status.code(), Some(0), "{}", program.output());
    assert!(
        !under_way.await.expect("no panic"),
        "it was answered though it was cut off"
    );
    held.release();
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn the_last_touches_are_written_before_the_end() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db.execute(
        "UPDATE sessions SET created_at = now() - interval '1 h', last_seen_at = now() - interval '29 min'",
    );
    let mut program = Process::serve(&app.db.url, &[]);
    let base = program.base_url();
    program.wait_for("the database is ready");
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("client");
    let verify = http
        .get(format!("{base}/api/v1/auth/verify"))
        .bearer_auth(&token);
    assert_eq!(Reply::of(verify).await.status, 200);
    program.signal("TERM");
    assert!(program.wait(LONG).success());
    assert_eq!(
        app.db
            .count("sessions WHERE last_seen_at > now() - interval '5 min'"),
        1
    );
}
