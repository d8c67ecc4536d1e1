//! Shared lookups: what a slow or a failing query does to the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use diesel::pg::PgConnection;
use diesel::prelude::*;
use sekisho::db::Failure;
use sekisho::db::coalescer::{Coalescer, Limits};

use crate::support::TestApp;

const LIMITS: Limits = Limits {
    drainers: 2,
    queue: 1000,
    timeout: Duration::from_secs(30),
};

fn lookups(
    app: &TestApp,
    query: impl Fn(&mut PgConnection, &[u32]) -> QueryResult<HashMap<u32, u32>> + Send + Sync + 'static,
) -> Coalescer<u32, u32> {
    Coalescer::new(app.context.database.clone(), LIMITS, query)
}

fn doubled(keys: &[u32]) -> HashMap<u32, u32> {
    keys.iter().map(|key| (*key, 2 * key)).collect()
}

#[tokio::test]
async fn a_slow_query_does_not_hold_up_the_others() {
    let app = TestApp::start().await;
    let gate = Arc::new(AtomicBool::new(false));
    let inner = gate.clone();
    let lookups = lookups(&app, move |_, keys| {
        let begin = Instant::now();
        while keys.contains(&0)
            && !inner.load(Ordering::Acquire)
            && begin.elapsed() < LIMITS.timeout
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(doubled(keys))
    });
    let own = lookups.clone();
    let slow = tokio::spawn(async move { own.get(0).await });
    // Those that come at once may wait for it; later ones find a second thread.
    let mut others = Vec::new();
    while !others.iter().any(tokio::task::JoinHandle::is_finished) {
        assert!(others.len() < 1000, "the slow query holds up all");
        let own = lookups.clone();
        others.push(tokio::spawn(async move { own.get(21).await }));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!slow.is_finished());
    gate.store(true, Ordering::Release);
    assert_eq!(slow.await.unwrap().unwrap(), Some(0));
    for other in others {
        assert_eq!(other.await.unwrap().unwrap(), Some(42));
    }
}

#[tokio::test]
async fn a_failing_query_is_tried_again_and_then_answers_unavailable() {
    let app = TestApp::start().await;
    let tries = Arc::new(AtomicUsize::new(0));
    let inner = tries.clone();
    let lookups = lookups(&app, move |conn, keys| {
        if keys.contains(&1) {
            inner.fetch_add(1, Ordering::AcqRel);
            diesel::sql_query("SELECT 1 FROM no_such_table").execute(conn)?;
        }
        Ok(doubled(keys))
    });
    assert!(matches!(lookups.get(1).await, Err(Failure::Unavailable(_))));
    assert_eq!(tries.load(Ordering::Acquire), 2);
    assert_eq!(lookups.get(2).await.unwrap(), Some(4));
}

#[tokio::test]
async fn a_key_without_a_value_and_a_deep_queue_are_answered_in_full() {
    let app = TestApp::start().await;
    let lookups = lookups(&app, |_, keys| {
        Ok(doubled(keys)
            .into_iter()
            .filter(|(key, _)| key % 3 != 0)
            .collect())
    });
    let asked = (0..900_u32).map(|i| (i % 450, lookups.get(i % 450)));
    let answers = asked.map(async |(key, answer)| (key, answer.await.unwrap()));
    for (key, value) in futures_util::future::join_all(answers).await {
        assert_eq!(value, (key % 3 != 0).then_some(2 * key), "{key}");
    }
}

#[tokio::test]
async fn checks_go_on_after_a_column_changed_its_type() {
    for coalesce in ["true", "false"] {
        let settings = [
            ("COALESCE_LOOKUPS", coalesce),
            ("DATABASE_TIMEOUT", "30s"),
            ("DATABASE_LOOKUP_TIMEOUT", "30s"),
            ("HTTP_HEADER_TIMEOUT", "60s"),
        ];
        let app = TestApp::start_with(&settings).await;
        app.sign_up("ada@example.com").await;
        let token = app.login("ada@example.com").await;
        // On every connection a statement is prepared.
        let checks = (0..60).map(|_| app.get("verify", &token));
        for reply in futures_util::future::join_all(checks).await {
            assert_eq!(reply.status, 200, "{reply:?}");
        }
        app.db
            .execute("ALTER TABLE sessions ALTER COLUMN device_label TYPE VARCHAR(200)");
        // Each connection may fail once.
        let mut refused = 0;
        while app.get("verify", &token).await.status == 503 {
            refused += 1;
            assert!(refused <= 12, "it does not recover, coalesce={coalesce}");
        }
        assert_eq!(app.get("verify", &token).await.status, 200);
    }
}
