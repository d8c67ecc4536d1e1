//! The database is there and does not move: every clock but ours stands still.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::rig::{Held, IN_TIME, LONG, Rig, assert_unavailable, is_left_out, until, until_blocked};
use crate::support::{PASSWORD, Process, Reply};

async fn timed(reply: impl Future<Output = Reply>) -> (Reply, Duration) {
    let begin = Instant::now();
    (reply.await, begin.elapsed())
}

#[tokio::test]
async fn a_frozen_database_is_503_in_time_and_nothing_refused_happens_after_the_thaw() {
    let rig = Rig::start(&[]).await;
    let app = &rig.app;
    app.sign_up("ada@example.com").await;
    app.sign_up("bob@example.com").await;
    let mut tokens = Vec::new();
    for _ in 0..16 {
        tokens.push(app.login("ada@example.com").await);
    }
    let watcher = app.login("bob@example.com").await;
    let sessions = rig.number("SELECT count(*) AS value FROM sessions");
    // Some log-outs are caught waiting for their rows, the others come while all is frozen.
    let held = Held::open(&rig.cluster.url, "SELECT 1 FROM sessions FOR UPDATE");
    let mut observer = rig.connect();
    let (caught, late) = tokens.split_at(4);
    let caught = join_all(caught.iter().map(|token| timed(app.post("logout", token))));
    let frozen = async {
        until_blocked(&mut observer, 4).await;
        rig.control("freeze").await;
        let late = join_all(late.iter().map(|token| timed(app.post("logout", token))));
        let verified = join_all((0..64).map(|_| timed(app.get("verify", &watcher))));
        let login = json!({"email": "bob@example.com", "password": PASSWORD});
        let login = timed(app.post_public("login", login));
        let live = join_all((0..10).map(|_| async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            timed(Reply::of(app.request(Method::GET, "/health/live"))).await
        }));
        let (late, verified, login, live) = tokio::join!(late, verified, login, live);
        for (reply, took) in live {
            assert_eq!(reply.status, 200);
            assert!(took < Duration::from_secs(1), "{took:?}");
        }
        let ready = timed(Reply::of(app.request(Method::GET, "/health/ready"))).await;
        [late, verified, vec![login, ready]].concat_all()
    };
    let (caught, others) = tokio::join!(caught, frozen);
    for (reply, took) in caught.iter().chain(&others) {
        assert_unavailable(reply);
        assert!(*took < IN_TIME, "{took:?} {reply:?}");
    }
    rig.control("thaw").await;
    let thawed = Instant::now();
    until("full service", IN_TIME, async || {
        app.get("session", &watcher).await.status == 200
    })
    .await;
    held.release();
    let again = app.login("bob@example.com").await;
    assert!(thawed.elapsed() < IN_TIME, "{:?}", thawed.elapsed());
    assert!(app.is_alive(&again).await);
    // Whatever was still on its way has come to its end by now.
    until("the pool is at rest", LONG, async || {
        let (connections, idle) = app.context.database.connections();
        connections == idle && connections == 12
    })
    .await;
    for token in &tokens {
        assert!(
            app.is_alive(token).await,
            "a log-out happened after its 503"
        );
    }
    assert_eq!(
        rig.number("SELECT count(*) AS value FROM sessions"),
        sessions + 1
    );
    assert_eq!(
        rig.number("SELECT count(*) AS value FROM session_events WHERE kind = 'session_revoked'"),
        0
    );
    assert_eq!(app.context.lookups.drainers(), (0, 0));
}

/// Several vectors as one.
trait ConcatAll<T> {
    fn concat_all(self) -> Vec<T>;
}

impl<T, const N: usize> ConcatAll<T> for [Vec<T>; N] {
    fn concat_all(self) -> Vec<T> {
        self.into_iter().flatten().collect()
    }
}

#[tokio::test]
async fn a_cleanup_that_freezes_is_500_in_time_and_does_not_block_the_next() {
    if is_left_out("a_cleanup_that_freezes_is_500_in_time_and_does_not_block_the_next") {
        return;
    }
    let rig = Rig::start(&[("CLEANUP_HTTP_BUDGET", "2s")]).await;
    let app = &rig.app;
    // One is caught at work, the others while connecting; together they are more than the slots.
    let held = Held::open(&rig.cluster.url, "LOCK TABLE cleanup_runs");
    let mut observer = rig.connect();
    let caught = timed(app.cleanup());
    let frozen = async {
        until_blocked(&mut observer, 1).await;
        rig.control("freeze").await;
        join_all((0..6).map(|_| timed(app.cleanup()))).await
    };
    let (caught, others) = tokio::join!(caught, frozen);
    for (reply, took) in others.iter().chain([&caught]) {
        assert_eq!(reply.refusal(), (500, "internal_error".to_owned()));
        assert!(*took < Duration::from_millis(4800), "{took:?}");
    }
    rig.control("thaw").await;
    held.release();
    until("cleanups work again", LONG, async || {
        app.cleanup().await.status == 200
    })
    .await;
}

#[tokio::test]
async fn the_service_can_be_stopped_while_its_database_is_frozen() {
    if is_left_out("the_service_can_be_stopped_while_its_database_is_frozen") {
        return;
    }
    let rig = Rig::start(&[]).await;
    rig.app.sign_up("ada@example.com").await;
    let token = rig.app.login("ada@example.com").await;
    let settings = [("SHUTDOWN_TIMEOUT", "2s"), ("CLEANUP_INTERVAL", "1s")];
    let mut program = Process::serve(&rig.cluster.url, &settings);
    let base = program.base_url();
    program.wait_for("the database is ready");
    // A scheduled cleanup is caught amid its work.
    let held = Held::open(&rig.cluster.url, "LOCK TABLE cleanup_runs");
    until_blocked(&mut rig.connect(), 1).await;
    rig.control("freeze").await;
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("client");
    let request = |path: &str| {
        Reply::of(
            http.get(format!("{base}/api/v1/auth/{path}"))
                .bearer_auth(&token),
        )
    };
    let (verified, listed) = tokio::join!(request("verify"), request("sessions"));
    assert_unavailable(&verified);
    assert_unavailable(&listed);
    program.signal("TERM");
    let status = program.wait(LONG / 2);
    assert!(status.success(), "{status:?}: {}", program.output());
    rig.control("thaw").await;
    held.release();
}
