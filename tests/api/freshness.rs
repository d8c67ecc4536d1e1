//! Checks that share queries: none is answered by a query sent before it arrived, and each gets its
//! own answer. On both paths.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use futures_util::future::join_all;
use reqwest::Method;

use crate::support::{Reply, TestApp};

const PATHS: [&str; 2] = ["true", "false"];
/// Time-outs must not end what the tests hold back.
const PATIENT: [(&str, &str); 3] = [
    ("HTTP_HEADER_TIMEOUT", "60s"),
    ("DATABASE_TIMEOUT", "60s"),
    ("DATABASE_LOOKUP_TIMEOUT", "60s"),
];

async fn start(coalesce: &str) -> TestApp {
    let settings = [PATIENT.as_slice(), &[("COALESCE_LOOKUPS", coalesce)]].concat();
    TestApp::start_with(&settings).await
}

/// Makes every query on sessions stop in its middle, its snapshot taken, while somebody holds the
/// advisory lock 1.
const STOP_IN_THE_MIDDLE: &str = "
    CREATE FUNCTION pass() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        PERFORM pg_advisory_lock_shared(1);
        PERFORM pg_advisory_unlock_shared(1);
        RETURN true;
    END $$;
    ALTER TABLE sessions RENAME TO real_sessions;
    CREATE VIEW sessions AS SELECT * FROM real_sessions WHERE pass();";

const STOPPED: &str = "pg_locks WHERE locktype = 'advisory' AND database = \
     (SELECT oid FROM pg_database WHERE datname = current_database()) AND objid = 1 AND NOT granted";

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(
            begin.elapsed() < Duration::from_secs(40),
            "not in time: {what}"
        );
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

#[tokio::test]
async fn no_check_is_answered_by_a_query_sent_before_an_ending_that_it_follows() {
    for coalesce in PATHS {
        let app = start(coalesce).await;
        app.sign_up("ada@example.com").await;
        let token = app.login("ada@example.com").await;
        app.db.execute(STOP_IN_THE_MIDDLE);
        let mut gate = app.db.connect();
        gate.batch_execute("SELECT pg_advisory_lock(1)").unwrap();
        let check = || {
            let request = app.auth(Method::GET, "verify?touch=false");
            tokio::spawn(Reply::of(request.bearer_auth(&token)))
        };
        let first = check();
        until("a query stands still", || app.db.count(STOPPED) == 1).await;
        // Then the other thread that shares queries is to be busy with an old snapshot too.
        let mut more = Vec::new();
        until("a second one does", || {
            more.push(check());
            app.db.count(STOPPED) >= 2
        })
        .await;
        // Some other instance ends the session and says so.
        app.db.execute(
            "UPDATE real_sessions SET revoked_at = statement_timestamp(), revoked_reason = 'user_logout'",
        );
        let after: Vec<_> = (0..5).map(|_| check()).collect();
        until("the later checks have arrived", || {
            app.context.lookups.waiting() + app.context.database.waiting() > 0
                || app.db.count(STOPPED) > 2
        })
        .await;
        gate.batch_execute("SELECT pg_advisory_unlock(1)").unwrap();
        assert_eq!(first.await.unwrap().status, 200, "coalesce={coalesce}");
        for reply in join_all(after).await {
            let reply = reply.unwrap();
            assert_eq!(
                reply.refusal(),
                (401, "session_revoked".to_owned()),
                "coalesce={coalesce}"
            );
        }
    }
}

#[tokio::test]
async fn checks_at_the_same_time_get_each_its_own_answer() {
    for coalesce in PATHS {
        let app = start(coalesce).await;
        let mut tokens = Vec::new();
        for i in 0..20 {
            let email = format!("user{i}@example.com");
            let id = app.sign_up(&email).await;
            tokens.push((id, app.login(&email).await));
            let ended = app.login(&email).await;
            assert_eq!(app.post("logout", &ended).await.status, 200);
            tokens.push((0, ended));
        }
        tokens.push((-1, "A".repeat(43)));
        // Each three times, and all together: so batches hold duplicates, the ended and the unknown.
        let checks = tokens.iter().cycle().take(3 * tokens.len());
        let replies = checks.map(async |(id, token)| (id, app.get("verify", token).await));
        for (id, reply) in join_all(replies).await {
            match id {
                -1 => assert_eq!(reply.refusal(), (401, "session_unknown".to_owned())),
                0 => assert_eq!(reply.refusal(), (401, "session_revoked".to_owned())),
                id => {
                    assert_eq!(reply.status, 200, "{reply:?}");
                    assert_eq!(
                        reply.header("x-auth-user-id"),
                        Some(id.to_string().as_str())
                    );
                }
            }
        }
        until("nobody works any more", || app.context.lookups.is_idle()).await;
    }
}
