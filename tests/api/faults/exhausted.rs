//! More work than there are connections, and transactions that hold rows for long.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;

use super::rig::{Held, IN_TIME, LONG, assert_unavailable, threads, until, until_blocked};
use crate::support::{Process, Reply, TestApp};

#[tokio::test]
async fn an_exhausted_pool_is_503_in_time_without_a_heap_of_threads_while_checks_go_on() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let program = Process::serve(
        &app.db.url,
        &[
            ("DATABASE_QUEUE_LENGTH", "20"),
            ("HTTP_WORKERS", "2"),
            ("PASSWORD_HASH_SLOTS", "2"),
        ],
    );
    let base = program.base_url();
    program.wait_for("the database is ready");
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("client");
    let send = |method: Method, path: &str| {
        let request = http
            .request(method, format!("{base}/api/v1/auth/{path}"))
            .bearer_auth(&token);
        async move {
            let begin = Instant::now();
            (Reply::of(request).await, begin.elapsed())
        }
    };
    assert_eq!(send(Method::GET, "verify").await.0.status, 200);
    let before = threads(program.id());
    let held = Held::open(&app.db.url, "SELECT 1 FROM users FOR UPDATE");
    let mut observer = app.db.connect();
    let flood = join_all((0..100).map(|_| send(Method::POST, "logout_all")));
    let beside = async {
        until_blocked(&mut observer, 4).await;
        let during = threads(program.id());
        // Checks have connections of their own, and so has readiness.
        let checks = join_all((0..20).map(|_| send(Method::GET, "verify"))).await;
        let ready = Reply::of(http.get(format!("{base}/health/ready"))).await;
        (during, checks, ready)
    };
    let (refused, (during, checks, ready)) = tokio::join!(flood, beside);
    for (reply, took) in &refused {
        assert_unavailable(reply);
        assert!(*took < IN_TIME, "{took:?}");
    }
    // What found the queue full did not wait at all.
    let early = refused
        .iter()
        .filter(|(_, took)| *took < Duration::from_millis(1500))
        .count();
    assert!(early >= 60, "{early} were refused early");
    assert!(
        checks.iter().all(|(reply, _)| reply.status == 200),
        "{checks:?}"
    );
    assert_eq!(ready.status, 200, "{ready:?}");
    // 4 units of work, 8 shared lookups; the rest would be a heap.
    assert!(during <= before + 12, "{before} threads grew to {during}");
    held.release();
    until("writes go through", LONG, async || {
        send(Method::POST, "logout_all").await.0.status == 200
    })
    .await;
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 0);
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_revoked'"),
        1
    );
}

#[tokio::test]
async fn a_long_transaction_is_passed_round_by_cleanup_and_felt_by_no_check() {
    let app = TestApp::start_with(&[("SESSION_TOUCH_INTERVAL", "1s")]).await;
    app.sign_up("ada@example.com").await;
    let mut tokens = Vec::new();
    for _ in 0..6 {
        tokens.push(app.login("ada@example.com").await);
    }
    app.db.execute(
        "UPDATE sessions SET created_at = created_at - interval '1 day', last_seen_at = now() - interval '1 hour';
         UPDATE sessions SET expires_at = now() - interval '1 minute'
             WHERE id IN (SELECT id FROM sessions ORDER BY id LIMIT 4);
         INSERT INTO login_throttle VALUES ('old', 1, now() - interval '2 days', now() - interval '2 days')",
    );
    // It holds two of the four that are due, one that is in use, and a counter that is due.
    let held = Held::open(
        &app.db.url,
        "UPDATE sessions SET device_label = 'held' WHERE id IN
             (SELECT id FROM sessions ORDER BY id OFFSET 2 LIMIT 3);
         UPDATE login_throttle SET failures = 2",
    );
    let begin = Instant::now();
    let reply = app.cleanup().await;
    assert_eq!(reply.json()["cleaned_count"], 2, "{reply:?}");
    assert!(
        !reply.headers.contains_key("x-cleanup-complete"),
        "{reply:?}"
    );
    for token in &tokens[4..] {
        for path in ["verify", "session", "sessions"] {
            assert_eq!(app.get(path, token).await.status, 200);
        }
    }
    assert!(begin.elapsed() < IN_TIME, "{:?}", begin.elapsed());
    held.release();
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 2);
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_expired'"),
        4
    );
    assert_eq!(app.db.count("login_throttle WHERE key = 'old'"), 0);
}
