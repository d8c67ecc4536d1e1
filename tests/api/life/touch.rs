//! Recording use: seldom, and never in anybody's way.

use diesel::connection::SimpleConnection;
use futures_util::future::join_all;

use super::{idle_for, session_id, touches_done, until, verdict};
use crate::support::{TestApp, TestDatabase};

/// Counts every change of a session.
const COUNTER: &str = "CREATE TABLE changes (at timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE FUNCTION count_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO changes DEFAULT VALUES; RETURN NULL; END $$;
    CREATE TRIGGER count_change AFTER UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION count_change()";

fn last_seen(db: &TestDatabase) -> String {
    db.text("SELECT last_seen_at::text AS value FROM sessions")
        .unwrap()
}

#[tokio::test]
async fn many_requests_at_once_write_once() {
    let app = TestApp::start().await;
    let other = app.another(&[("COALESCE_LOOKUPS", "false")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    idle_for(&app, &session, 400);
    app.db.execute(COUNTER);
    let instances = [&*app, &other];
    join_all((0..60).map(|n| instances[n % 2].get("session", &token))).await;
    touches_done(&app).await;
    until(&app.db, "SELECT count(*) AS value FROM changes", 1).await;
    // Now it is fresh.
    join_all((0..10).map(|n| instances[n % 2].get("session", &token))).await;
    touches_done(&app).await;
    assert_eq!(app.db.count("changes"), 1);
}

#[tokio::test]
async fn a_use_that_gains_little_leaves_the_indexed_deadline_alone() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db.execute(
        "UPDATE sessions SET last_seen_at = last_seen_at - interval '301 seconds',
        expires_at = expires_at - interval '170 seconds'",
    );
    let deadline = app
        .db
        .text("SELECT expires_at::text AS value FROM sessions");
    let seen = last_seen(&app.db);
    assert!(app.is_alive(&token).await);
    touches_done(&app).await;
    assert_ne!(last_seen(&app.db), seen);
    assert_eq!(
        app.db
            .text("SELECT expires_at::text AS value FROM sessions"),
        deadline
    );
    // From a tenth of the idle time-out on, here 180 s, it is worth it.
    app.db.execute(
        "UPDATE sessions SET last_seen_at = last_seen_at - interval '301 seconds',
        expires_at = expires_at - interval '11 seconds'",
    );
    assert!(app.is_alive(&token).await);
    touches_done(&app).await;
    until(&app.db, "SELECT count(*) AS value FROM sessions WHERE expires_at > statement_timestamp() + interval '1790 seconds'", 1).await;
}

#[tokio::test]
async fn a_touch_that_does_not_slide_is_a_hot_update() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for _ in 0..3 {
        // Neither of these changes an indexed column.
        app.db
            .execute("UPDATE sessions SET last_seen_at = last_seen_at - interval '301 seconds'");
        assert!(app.is_alive(&token).await);
        touches_done(&app).await;
    }
    // The counters arrive with some delay.
    until(
        &app.db,
        "SELECT n_tup_upd AS value FROM pg_stat_user_tables WHERE relname = 'sessions'",
        6,
    )
    .await;
    assert_eq!(
        app.db.number(
            "SELECT n_tup_hot_upd AS value FROM pg_stat_user_tables WHERE relname = 'sessions'"
        ),
        6
    );
}

#[tokio::test]
async fn a_short_idle_timeout_is_touched_after_a_quarter_of_it() {
    let app = TestApp::start_with(&[("SESSION_IDLE_TIMEOUT", "60s")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    idle_for(&app, &session, 16);
    let seen = last_seen(&app.db);
    assert!(app.is_alive(&token).await);
    touches_done(&app).await;
    assert_ne!(last_seen(&app.db), seen);
}

#[tokio::test]
async fn verify_touches_unless_told_not_to() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    idle_for(&app, &session, 400);
    let seen = last_seen(&app.db);
    assert_eq!(app.get("verify?touch=false", &token).await.status, 200);
    touches_done(&app).await;
    assert_eq!(last_seen(&app.db), seen);
    assert_eq!(app.get("verify", &token).await.status, 200);
    touches_done(&app).await;
    assert_ne!(last_seen(&app.db), seen);
}

#[tokio::test]
async fn a_session_about_to_end_is_not_touched() {
    let app = TestApp::start_with(&[("DATABASE_TIMEOUT", "60s")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    // Less to live than a statement may take: it could be dead by the time of the write.
    app.db.execute(
        "UPDATE sessions SET last_seen_at = last_seen_at - interval '400 seconds',
        expires_at = statement_timestamp() + interval '50 seconds'",
    );
    let seen = last_seen(&app.db);
    assert!(app.is_alive(&token).await);
    touches_done(&app).await;
    assert_eq!(last_seen(&app.db), seen);
}

async fn beside_a_held_row(coalesce: &str) {
    let app = TestApp::start_with(&[("COALESCE_LOOKUPS", coalesce)]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    idle_for(&app, &session, 400);
    let seen = last_seen(&app.db);
    let mut holder = app.db.connect();
    holder
        .batch_execute("BEGIN; SELECT 1 FROM sessions FOR UPDATE")
        .unwrap();
    // Were these to wait, they would do so for ever: the row is let go after their answers.
    for _ in 0..3 {
        assert!(app.is_alive(&token).await);
    }
    touches_done(&app).await;
    assert_eq!(last_seen(&app.db), seen);
    holder.batch_execute("ROLLBACK").unwrap();
    assert!(app.is_alive(&token).await);
    touches_done(&app).await;
    assert_ne!(last_seen(&app.db), seen);
}

#[tokio::test]
async fn a_row_that_somebody_holds_delays_no_request_where_lookups_share_queries() {
    beside_a_held_row("true").await;
}

#[tokio::test]
async fn a_row_that_somebody_holds_delays_no_request_where_lookups_are_alone() {
    beside_a_held_row("false").await;
}

#[tokio::test]
async fn an_ending_under_way_wins_over_a_touch() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    idle_for(&app, &session, 400);
    let mut ending = app.db.connect();
    ending
        .batch_execute("BEGIN; UPDATE sessions SET revoked_at = statement_timestamp(), revoked_reason = 'user_logout'")
        .unwrap();
    let seen = last_seen(&app.db);
    assert!(app.is_alive(&token).await);
    touches_done(&app).await;
    ending.batch_execute("COMMIT").unwrap();
    assert_eq!(verdict(&app, &token).await, super::revoked("user_logout"));
    touches_done(&app).await;
    assert_eq!(last_seen(&app.db), seen);
}
