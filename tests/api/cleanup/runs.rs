//! Runs that do not finish, that meet others, and that fail.

use diesel::connection::SimpleConnection;
use futures_util::future::join;

use super::{Seed, insert_events, latest_run};
use crate::support::TestApp;

#[tokio::test]
async fn what_the_time_does_not_suffice_for_is_done_by_the_next_runs() {
    let app = TestApp::start_with(&[
        ("CLEANUP_HTTP_BUDGET", "800ms"),
        ("CLEANUP_BATCH_SIZE", "10"),
    ])
    .await;
    let user = app.sign_up("ada@example.com").await;
    Seed::expired(20_000, "1 hour").insert(&app.db, user);
    Seed {
        count: 2000,
        created: "50 days",
        expired: "-1 day",
        revoked: Some("31 days"),
    }
    .insert(&app.db, user);
    Seed {
        count: 200,
        created: "31 days",
        expired: "-1 day",
        revoked: None,
    }
    .insert(&app.db, user);
    insert_events(&app.db, 2000, 400, "NULL");
    let first = app.cleanup().await;
    assert_eq!(first.header("x-cleanup-complete"), Some("false"));
    let mut cleaned = first.json()["cleaned_count"].as_i64().unwrap();
    assert!(cleaned < 20_000);
    // However long the first class is, each is sure of its share.
    let progress = "SELECT (expired > 0 AND purged > 0 AND ip_scrubbed > 0 AND events_purged > 0)::text AS value FROM cleanup_runs";
    assert_eq!(
        app.db.text(progress),
        Some("true".to_owned()),
        "{}",
        latest_run(&app.db)
    );
    let larger = app.another(&[("CLEANUP_HTTP_BUDGET", "60s")]).await;
    let last = larger.cleanup().await;
    assert_eq!(last.header("x-cleanup-complete"), None);
    cleaned += last.json()["cleaned_count"].as_i64().unwrap();
    assert_eq!(cleaned, 20_000);
    let total = app.db.text("SELECT concat_ws(' ', sum(expired), sum(purged), sum(events_purged)) AS value FROM cleanup_runs");
    assert_eq!(total, Some("20000 2000 2000".to_owned()));
    // Of those that were to be purged some may have been scrubbed first.
    assert!(
        app.db
            .number("SELECT sum(ip_scrubbed)::bigint AS value FROM cleanup_runs")
            >= 200
    );
    assert_eq!(
        app.db.count(
            "sessions WHERE ip_address IS NOT NULL AND created_at < now() - interval '30 days'"
        ),
        0
    );
    assert_eq!(
        app.db
            .texts("SELECT complete::text AS value FROM cleanup_runs ORDER BY id"),
        [Some("false".to_owned()), Some("true".to_owned())]
    );
}

#[tokio::test]
async fn rows_that_a_long_transaction_holds_are_passed_over() {
    let app = TestApp::start_with(&[("CLEANUP_BATCH_SIZE", "10")]).await;
    let user = app.sign_up("ada@example.com").await;
    Seed::expired(50, "1 hour").insert(&app.db, user);
    Seed {
        count: 20,
        created: "50 days",
        expired: "-1 day",
        revoked: Some("31 days"),
    }
    .insert(&app.db, user);
    insert_events(&app.db, 20, 31, "'192.0.2.0/24'");
    let mut holder = app.db.connect();
    holder
        .batch_execute(
            "BEGIN;
             SELECT 1 FROM sessions WHERE id IN (SELECT id FROM sessions WHERE revoked_at IS NULL LIMIT 5) FOR UPDATE;
             SELECT 1 FROM sessions WHERE id IN (SELECT id FROM sessions WHERE revoked_at IS NOT NULL LIMIT 3) FOR UPDATE;
             SELECT 1 FROM session_events WHERE id IN (SELECT min(id) FROM session_events WHERE kind = 'login_failed') FOR UPDATE",
        )
        .unwrap();
    let reply = app.cleanup().await;
    assert_eq!(reply.json()["cleaned_count"], 45);
    assert_eq!(latest_run(&app.db), "http 45 17 19 0 t");
    // Requests go on beside.
    assert!(app.is_alive(&app.login("ada@example.com").await).await);
    holder.batch_execute("ROLLBACK").unwrap();
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 5);
    assert_eq!(latest_run(&app.db), "http 5 3 1 0 t");
}

#[tokio::test]
async fn two_runs_at_once_share_the_work() {
    let settings = [("CLEANUP_BATCH_SIZE", "20"), ("CLEANUP_HTTP_BUDGET", "60s")];
    let app = TestApp::start_with(&settings).await;
    let other = app.another(&settings).await;
    let user = app.sign_up("ada@example.com").await;
    Seed::expired(3000, "40 days").insert(&app.db, user);
    let (one, two) = join(app.cleanup(), other.cleanup()).await;
    assert_eq!((one.status, two.status), (200, 200));
    let count = |reply: &crate::support::Reply| reply.json()["cleaned_count"].as_i64().unwrap();
    // What one holds at the moment the other passes over, so a third run may find a rest to purge.
    assert_eq!(count(&one) + count(&two), 3000);
    assert_eq!(
        app.db
            .number("SELECT sum(expired)::bigint AS value FROM cleanup_runs"),
        3000
    );
    assert_eq!(
        app.db.count(
            "(SELECT DISTINCT session_id FROM session_events WHERE kind = 'session_expired') ids"
        ),
        3000
    );
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_expired'"),
        3000
    );
    app.cleanup().await;
    assert_eq!(
        app.db
            .number("SELECT sum(purged)::bigint AS value FROM cleanup_runs"),
        3000
    );
    assert_eq!(app.db.count("sessions"), 0);
}

#[tokio::test]
async fn a_failed_run_is_500_and_says_so_in_its_record() {
    let app = TestApp::start().await;
    let user = app.sign_up("ada@example.com").await;
    Seed::expired(3, "1 hour").insert(&app.db, user);
    app.db
        .execute("ALTER TABLE session_events RENAME TO elsewhere");
    assert_eq!(
        app.cleanup().await.refusal(),
        (500, "internal_error".to_owned())
    );
    let run = latest_run(&app.db);
    assert!(
        run.starts_with("http 0 0 0 0 f ") && run.contains("session_events"),
        "{run}"
    );
    // No fact without its event.
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NOT NULL"), 0);
    app.db
        .execute("ALTER TABLE elsewhere RENAME TO session_events");
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 3);
}
