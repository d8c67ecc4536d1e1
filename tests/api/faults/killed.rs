//! The service itself is killed, or its client goes away.

use std::time::Duration;

use reqwest::Method;
use tokio::io::AsyncWriteExt as _;

use super::rig::{Held, LONG, number, until, until_blocked};
use crate::support::{CLEANUP_KEY, Process, TestApp, TestDatabase};

const OURS: &str = "SELECT count(*) AS value FROM pg_stat_activity \
                    WHERE datname = current_database() AND application_name = 'sekisho'";

/// A request to a program that is about to be killed: no answer is expected.
fn ask(base: &str, path: &str, header: (&str, String)) -> tokio::task::JoinHandle<bool> {
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("client");
    let request = http
        .request(Method::POST, format!("{base}/api/v1/auth/{path}"))
        .header(header.0, header.1);
    tokio::spawn(async move { request.send().await.is_ok() })
}

fn kill(program: Process) {
    program.signal("KILL");
    drop(program);
}

#[tokio::test]
async fn a_killed_cleanup_leaves_whole_batches_and_the_next_one_completes_it() {
    let db = TestDatabase::new();
    db.execute(
        "INSERT INTO users (id, email) VALUES (1, 'ada@example.com');
         INSERT INTO sessions (id, user_id, session_hash, created_at, last_seen_at, expires_at,
                               absolute_expires_at, idle_timeout, authenticated_at)
         SELECT gen_random_uuid(), 1, encode(sha256(n::text::bytea), 'hex'), now() - interval '1 h',
                now() - interval '1 h', now() - n * interval '1 ms', now() + interval '1 h', interval '1 h',
                now() - interval '1 h'
         FROM generate_series(1, 30000) n",
    );
    let program = Process::serve(&db.url, &[("CLEANUP_BATCH_SIZE", "500")]);
    let base = program.base_url();
    program.wait_for("the database is ready");
    let cleanup = ask(
        &base,
        "cleanup_sessions",
        ("X-API-Key", CLEANUP_KEY.to_owned()),
    );
    let mut observer = db.connect();
    let ended = "SELECT count(*) AS value FROM sessions WHERE revoked_at IS NOT NULL";
    until("it is amid its work", LONG, async || {
        number(&mut observer, ended) > 0
    })
    .await;
    kill(program);
    assert!(
        !cleanup.await.expect("no panic"),
        "it was answered before it could be killed"
    );
    until("the orphaned backends end", LONG, async || {
        number(&mut observer, OURS) == 0
    })
    .await;
    let left = number(&mut observer, ended);
    assert!(left < 30_000 && left % 500 == 0, "{left}");
    assert_eq!(
        db.count("session_events WHERE kind = 'session_expired'"),
        left
    );
    assert_eq!(db.count("cleanup_runs WHERE finished_at IS NULL"), 1);
    let output = crate::support::process::run(&db.url, &[], &["cleanup"], "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains(&format!("{} sessions were expired", 30_000 - left)),
        "{text}"
    );
    assert_eq!(db.count("sessions WHERE revoked_at IS NULL"), 0);
    assert_eq!(
        db.count("session_events WHERE kind = 'session_expired'"),
        30_000
    );
}

#[tokio::test]
async fn a_killed_logout_all_is_undone_whole_and_its_backend_does_not_outlive_it() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.login("ada@example.com").await;
    // So long that only the check of the connection can end the statement in time.
    let program = Process::serve(&app.db.url, &[("DATABASE_TIMEOUT", "60s")]);
    let base = program.base_url();
    program.wait_for("the database is ready");
    let mut observer = app.db.connect();
    let pool = i64::try_from(app.context.config.database.pool_size).expect("small");
    until("both have all their connections", LONG, async || {
        number(&mut observer, OURS) == 2 * pool
    })
    .await;
    // It has the user's row and one session's, and waits for the other.
    let held = Held::open(
        &app.db.url,
        "SELECT 1 FROM sessions ORDER BY id DESC LIMIT 1 FOR UPDATE",
    );
    let answer = ask(
        &base,
        "logout_all",
        ("Authorization", format!("Bearer {token}")),
    );
    until_blocked(&mut observer, 1).await;
    kill(program);
    assert!(!answer.await.expect("no panic"));
    until("the orphaned backends end", LONG, async || {
        number(&mut observer, OURS) == pool
    })
    .await;
    let waiting =
        "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    assert_eq!(app.db.count(waiting), 0);
    held.release();
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 2);
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_revoked'"),
        0
    );
    assert_eq!(
        app.post("logout_all", &token).await.json()["revoked_count"],
        2
    );
}

#[tokio::test]
async fn a_killed_cleanup_that_waits_for_a_lock_does_not_outlive_its_program() {
    let db = TestDatabase::new();
    let held = Held::open(&db.url, "LOCK TABLE cleanup_runs");
    let program = Process::serve(&db.url, &[("CLEANUP_INTERVAL", "1s")]);
    let mut observer = db.connect();
    // With 5 minutes to go.
    until_blocked(&mut observer, 1).await;
    kill(program);
    until("the orphaned backends end", LONG, async || {
        number(&mut observer, OURS) == 0
    })
    .await;
    held.release();
}

#[tokio::test]
async fn a_logout_whose_client_has_gone_is_committed_with_its_event() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    // Once the client closes, once it resets.
    for is_reset in [false, true] {
        let token = app.login("ada@example.com").await;
        let held = Held::open(
            &app.db.url,
            "SELECT 1 FROM sessions WHERE revoked_at IS NULL FOR UPDATE",
        );
        let mut stream = tokio::net::TcpStream::connect(app.address)
            .await
            .expect("connect");
        if is_reset {
            stream.set_zero_linger().expect("linger");
        }
        let request = format!(
            "POST /api/v1/auth/logout HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("write");
        let mut observer = app.db.connect();
        until_blocked(&mut observer, 1).await;
        drop(stream);
        tokio::time::sleep(Duration::from_millis(200)).await;
        held.release();
        until("it is committed", LONG, async || {
            app.get("session", &token).await.status == 401
        })
        .await;
    }
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_revoked' AND reason = 'user_logout'"),
        2
    );
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 0);
}
