//! Deadlines: sliding, the cap, lifetimes of each row, and whose clock counts.

use serde_json::json;

use super::{expired, idle_for, session_id, touches_done, until, verdict};
use crate::support::app::Instance;
use crate::support::{PASSWORD, TestApp, TestDatabase};

fn seconds_left(app: &TestApp, column: &str) -> i64 {
    app.db.number(&format!(
        "SELECT extract(epoch FROM {column} - statement_timestamp())::bigint AS value FROM sessions"
    ))
}

#[tokio::test]
async fn use_slides_the_deadline_up_to_the_cap() {
    let app = TestApp::start_with(&[
        ("SESSION_IDLE_TIMEOUT", "1000s"),
        ("SESSION_ABSOLUTE_TIMEOUT", "3000s"),
    ])
    .await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    assert!((990..=1000).contains(&seconds_left(&app, "expires_at")));
    idle_for(&app, &session, 600);
    assert!((390..=400).contains(&seconds_left(&app, "expires_at")));
    assert!(app.is_alive(&token).await);
    until(&app.db, "SELECT count(*) AS value FROM sessions WHERE expires_at > statement_timestamp() + interval '900 seconds'", 1).await;
    // Near the cap the deadline meets it and no more.
    app.db.execute("UPDATE sessions SET absolute_expires_at = statement_timestamp() + interval '500 seconds',
        expires_at = statement_timestamp() + interval '100 seconds', last_seen_at = last_seen_at - interval '900 seconds'");
    assert!(app.is_alive(&token).await);
    until(
        &app.db,
        "SELECT count(*) AS value FROM sessions WHERE expires_at = absolute_expires_at",
        1,
    )
    .await;
    // Past the cap no use helps.
    app.db.execute(
        "UPDATE sessions SET last_seen_at = statement_timestamp(),
        absolute_expires_at = statement_timestamp() - interval '1 second',
        expires_at = statement_timestamp() - interval '1 second'",
    );
    assert_eq!(verdict(&app, &token).await, expired());
    assert!(!app.is_alive(&token).await);
}

#[tokio::test]
async fn a_second_past_the_deadline_is_dead_and_a_second_before_it_is_alive() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    idle_for(&app, &session, 30 * 60 - 20);
    assert!(app.is_alive(&token).await);
    touches_done(&app).await;
    app.db
        .execute("UPDATE sessions SET expires_at = statement_timestamp() - interval '1 second'");
    assert_eq!(verdict(&app, &token).await, expired());
    // Whatever else the row says.
    app.db
        .execute("UPDATE sessions SET last_seen_at = statement_timestamp()");
    assert!(!app.is_alive(&token).await);
    let list = app
        .get("sessions", &app.login("ada@example.com").await)
        .await;
    assert_eq!(list.header("x-total-count"), Some("1"));
}

#[tokio::test]
async fn every_session_keeps_the_lifetime_that_it_was_given() {
    let app = TestApp::start_with(&[("SESSION_IDLE_TIMEOUT", "1h")]).await;
    let stricter = app.another(&[("SESSION_IDLE_TIMEOUT", "10m")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    idle_for(&app, &session, 1500);
    assert!(stricter.is_alive(&token).await);
    until(&app.db, "SELECT count(*) AS value FROM sessions WHERE expires_at > statement_timestamp() + interval '59 minutes'", 1).await;
    let short = stricter.login("ada@example.com").await;
    let left = stricter.get("session", &short).await.json()["session"]["expires_in"]
        .as_i64()
        .unwrap();
    assert!((590..=600).contains(&left), "{left}");
}

#[tokio::test]
async fn remembered_sessions_live_longer_and_their_cookie_outlives_the_browser() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let body = |remember| json!({"email": "ada@example.com", "password": PASSWORD, "remember_me": remember});
    let plain = app.post_public("login", body(false)).await;
    assert!(!plain.header("set-cookie").unwrap().contains("Max-Age"));
    let kept = app.post_public("login", body(true)).await;
    let cookie = kept.header("set-cookie").unwrap();
    let max_age: i64 = cookie
        .split("Max-Age=")
        .nth(1)
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((2_591_990..=2_592_000).contains(&max_age), "{cookie}");
    assert_eq!(kept.json()["session"]["remember_me"], true);
    // In seconds: 14 days have an hour more or less where a clock changes.
    let idle = app.db.texts("SELECT idle_timeout::text || ' ' || extract(epoch FROM absolute_expires_at - created_at)::bigint AS value
        FROM sessions ORDER BY remember_me");
    assert_eq!(
        idle,
        [
            Some("00:30:00 43200".to_owned()),
            Some("336:00:00 2592000".to_owned())
        ]
    );
}

#[tokio::test]
async fn administrators_have_stricter_limits_and_are_never_remembered() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let before = app
        .login_with("ada@example.com", json!({"remember_me": true}))
        .await;
    app.db.execute("UPDATE users SET role = 'admin'");
    let body = json!({"email": "ada@example.com", "password": PASSWORD, "remember_me": true});
    let reply = app.post_public("login", body).await;
    let cookie = reply.header("set-cookie").unwrap();
    assert!(
        cookie.contains("SameSite=Strict") && !cookie.contains("Max-Age"),
        "{cookie}"
    );
    assert_eq!(reply.json()["session"]["remember_me"], false);
    let limits = app.db.texts("SELECT idle_timeout::text || ' ' || extract(epoch FROM absolute_expires_at - created_at)::bigint AS value
        FROM sessions ORDER BY created_at");
    // The role at the log-in decides: what began before keeps what it was given.
    assert_eq!(
        limits,
        [
            Some("336:00:00 2592000".to_owned()),
            Some("00:15:00 28800".to_owned())
        ]
    );
    assert!(app.is_alive(&before).await);
    // Proving the password is as good as a log-in, by the role of now.
    let proved = app
        .post_json("reauthenticate", &before, json!({"password": PASSWORD}))
        .await;
    assert_eq!(proved.status, 200, "{proved:?}");
    assert_eq!(proved.json()["session"]["remember_me"], false);
    assert!(proved.json()["expires_in"].as_i64().unwrap() <= 900);
}

#[tokio::test]
async fn a_client_that_rotates_all_the_time_slides_too() {
    let app = TestApp::start_with(&[
        ("SESSION_IDLE_TIMEOUT", "1000s"),
        ("SESSION_TOUCH_INTERVAL", "100s"),
    ])
    .await;
    app.sign_up("ada@example.com").await;
    let mut token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    for _ in 0..3 {
        idle_for(&app, &session, 90);
        token = app.post("rotate_session", &token).await.json()["session_token"]
            .as_str()
            .unwrap()
            .to_owned();
        touches_done(&app).await;
    }
    until(&app.db, "SELECT count(*) AS value FROM sessions WHERE expires_at > statement_timestamp() + interval '850 seconds'", 1).await;
}

/// The service's clock is that of this machine, so the database's is moved.
async fn with_the_clocks_apart(offset: &str) {
    let db = TestDatabase::new();
    db.execute(&format!(
        "CREATE SCHEMA moved;
         CREATE FUNCTION moved.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
             AS $$ SELECT pg_catalog.statement_timestamp() + interval '{offset}' $$;
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = moved, pg_catalog, public', current_database()); END $$"
    ));
    let app = Instance::start(&db.url, &[]);
    app.ready().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let left = app.get("session", &token).await.json()["session"]["expires_in"]
        .as_i64()
        .unwrap();
    assert!((1780..=1800).contains(&left), "{left}");
    assert!(app.is_alive(&token).await);
    let off = db.number("SELECT abs(extract(epoch FROM created_at - statement_timestamp()))::bigint AS value FROM sessions");
    assert!(off < 60, "{off}");
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 0);
    db.execute("UPDATE sessions SET expires_at = statement_timestamp() - interval '1 second'");
    assert_eq!(verdict(&app, &token).await, expired());
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 1);
    let live = app.login("ada@example.com").await;
    assert_eq!(
        app.post("logout_all", &live).await.json()["revoked_count"],
        1
    );
}

#[tokio::test]
async fn a_service_whose_clock_is_an_hour_slow_does_the_same() {
    with_the_clocks_apart("1 hour").await;
}

#[tokio::test]
async fn a_service_whose_clock_is_an_hour_fast_does_the_same() {
    with_the_clocks_apart("-1 hour").await;
}
