//! The database is not there: at the start, suddenly, and after a restart.

use std::time::Instant;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::rig::{Held, IN_TIME, LONG, Rig, assert_unavailable, number, until, until_blocked};
use crate::support::app::Instance;
use crate::support::{CLEANUP_KEY, Cluster, PASSWORD, Reply, TestApp};

#[tokio::test]
async fn without_a_database_the_service_starts_says_so_and_comes_up_by_itself() {
    let cluster = Cluster::create(&[]);
    cluster.control("stop");
    let app = Instance::start(&cluster.url, &[]);
    let get = |path: &'static str| Reply::of(app.request(Method::GET, path));
    assert_eq!(get("/health/live").await.status, 200);
    assert_unavailable(&get("/health/ready").await);
    let token = "A".repeat(43);
    assert_unavailable(&app.get("session", &token).await);
    assert_unavailable(&app.post("logout", &token).await);
    let login = json!({"email": "ada@example.com", "password": PASSWORD});
    assert_unavailable(&app.post_public("login", login).await);
    assert_eq!(
        app.cleanup().await.refusal(),
        (500, "internal_error".to_owned())
    );
    // Who has no key learns nothing about the database.
    assert_eq!(
        Reply::of(app.auth(Method::POST, "cleanup_sessions"))
            .await
            .status,
        401
    );
    cluster.control("start");
    let started = Instant::now();
    until("it is ready", LONG, async || {
        get("/health/ready").await.status == 200
    })
    .await;
    assert!(started.elapsed() < IN_TIME, "{:?}", started.elapsed());
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn killed_amid_requests_it_is_503_and_nothing_is_half_done() {
    let rig = Rig::start(&[
        ("DATABASE_LOOKUP_TIMEOUT", "3s"),
        ("DATABASE_TIMEOUT", "5s"),
    ])
    .await;
    let app = &rig.app;
    app.sign_up("ada@example.com").await;
    let (phone, laptop) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    // A writer waits for the user's row and, as long as the table is locked, a reader for the session.
    let user = Held::open(&rig.cluster.url, "SELECT 1 FROM users FOR UPDATE");
    let mut observer = rig.connect();
    let writer = app.post("logout_all", &phone);
    let reader = async {
        until_blocked(&mut observer, 1).await;
        let table = Held::open(&rig.cluster.url, "LOCK TABLE sessions");
        let observe = async {
            until_blocked(&mut observer, 2).await;
            rig.control("kill").await;
        };
        let (reply, ()) = tokio::join!(app.get("session", &laptop), observe);
        drop(table);
        reply
    };
    let (written, read) = tokio::join!(writer, reader);
    drop(user);
    assert_unavailable(&written);
    assert_unavailable(&read);
    assert_eq!(
        Reply::of(app.request(Method::GET, "/health/live"))
            .await
            .status,
        200
    );
    assert_unavailable(&app.get("verify", &phone).await);
    rig.control("start").await;
    let ready = app.request(Method::GET, "/health/ready");
    assert_eq!(Reply::of(ready).await.status, 200);
    assert!(app.is_alive(&phone).await && app.is_alive(&laptop).await);
    assert_eq!(
        rig.number("SELECT count(*) AS value FROM sessions WHERE revoked_at IS NOT NULL"),
        0
    );
    assert_eq!(
        rig.number("SELECT count(*) AS value FROM session_events WHERE kind = 'session_revoked'"),
        0
    );
    assert_eq!(
        app.post("logout_all", &phone).await.json()["revoked_count"],
        2
    );
}

#[tokio::test]
async fn after_a_restart_the_first_requests_succeed_on_every_connection() {
    let rig = Rig::start(&[]).await;
    let app = &rig.app;
    app.sign_up("ada@example.com").await;
    let mut tokens = Vec::new();
    for _ in 0..24 {
        tokens.push(app.login("ada@example.com").await);
    }
    // Both ways of shutting down, and each time all connections of the pool are dead.
    for (round, action) in ["restart", "kill"].into_iter().enumerate() {
        rig.control(action).await;
        if action == "kill" {
            rig.control("start").await;
        }
        let begin = Instant::now();
        let own = &tokens[12 * round..][..12];
        let reads = join_all(own.iter().map(|token| app.get("session", token)));
        let lists = join_all(own.iter().map(|token| app.get("sessions", token)));
        let writes = join_all(
            own[6..]
                .iter()
                .map(|token| app.post("logout_others", token)),
        );
        let (reads, lists) = tokio::join!(reads, lists);
        for reply in reads.iter().chain(&lists) {
            assert_eq!(reply.status, 200, "after {action}: {reply:?}");
        }
        assert!(begin.elapsed() < IN_TIME, "{:?}", begin.elapsed());
        if round == 1 {
            // Each ends the others, so that only one of them can have been in time.
            let ended: Vec<_> = writes.await;
            assert!(
                ended
                    .iter()
                    .all(|reply| reply.status == 200 || reply.status == 401),
                "{ended:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_write_cut_off_while_committing_is_not_tried_again() {
    let app = TestApp::start_with(&[("DATABASE_TIMEOUT", "20s")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    // The sequence counts tries, those rolled back included; the commit takes its time.
    app.db.execute(
        "CREATE SEQUENCE tries;
         CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN PERFORM nextval('tries'); PERFORM pg_sleep(15); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER dawdle AFTER UPDATE ON sessions
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();",
    );
    let mut observer = app.db.connect();
    let sleeping = "SELECT count(*) AS value FROM pg_stat_activity \
                    WHERE datname = current_database() AND wait_event = 'PgSleep'";
    let cut_off = async {
        until("it commits", LONG, async || {
            number(&mut observer, sleeping) == 1
        })
        .await;
        app.db.number(
            "SELECT count(pg_terminate_backend(pid)) AS value FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event = 'PgSleep'",
        )
    };
    let (reply, cut) = tokio::join!(app.post("logout", &token), cut_off);
    assert_eq!(cut, 1);
    assert_unavailable(&reply);
    assert_eq!(app.db.number("SELECT last_value AS value FROM tries"), 1);
    assert!(app.is_alive(&token).await);
    app.db.execute("DROP TRIGGER dawdle ON sessions");
    assert_eq!(app.post("logout", &token).await.json()["revoked_count"], 1);
}

#[tokio::test]
async fn a_write_cut_off_before_that_is_tried_again_unnoticed() {
    let app = TestApp::start_with(&[("DATABASE_TIMEOUT", "20s")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let held = Held::open(&app.db.url, "SELECT 1 FROM users FOR UPDATE");
    let mut observer = app.db.connect();
    let cut_off = async {
        until_blocked(&mut observer, 1).await;
        app.db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        held.release();
    };
    let (reply, ()) = tokio::join!(app.post("logout_all", &token), cut_off);
    assert_eq!(reply.json()["revoked_count"], 1);
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_revoked'"),
        1
    );
}

#[tokio::test]
async fn the_cleanup_endpoint_answers_500_when_its_database_dies() {
    let rig = Rig::start(&[]).await;
    rig.control("kill").await;
    let request = || {
        rig.app
            .auth(Method::POST, "cleanup_sessions")
            .header("X-API-Key", CLEANUP_KEY)
    };
    let reply = Reply::of(request()).await;
    assert_eq!(reply.refusal(), (500, "internal_error".to_owned()));
    assert!(!reply.headers.contains_key("retry-after"));
    rig.control("start").await;
    let reply = Reply::of(request()).await;
    assert_eq!(
        reply.body,
        r#"{"message":"Session cleanup completed","cleaned_count":0}"#
    );
}
