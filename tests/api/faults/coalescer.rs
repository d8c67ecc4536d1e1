//! The shared lookups when queries panic, hang or are too many.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::pg::PgConnection;
use diesel::result::QueryResult;
use sekisho::db::coalescer::{Coalescer, Limits};

use super::rig::until;
use crate::support::TestApp;

const LONG: Duration = Duration::from_secs(20);

type Answers = QueryResult<HashMap<u32, u32>>;

fn limits(drainers: usize, queue: usize, timeout: Duration) -> Limits {
    Limits {
        drainers,
        queue,
        timeout,
    }
}

fn coalescer(
    app: &TestApp,
    limits: Limits,
    query: impl Fn(&mut PgConnection, &[u32]) -> Answers + Send + Sync + 'static,
) -> Coalescer<u32, u32> {
    Coalescer::new(app.context.database.clone(), limits, query)
}

fn doubled(keys: &[u32]) -> HashMap<u32, u32> {
    keys.iter().map(|key| (*key, 2 * key)).collect()
}

fn wait_for(gate: &AtomicBool) {
    let begin = Instant::now();
    while !gate.load(Ordering::Acquire) && begin.elapsed() < 2 * LONG {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Starts a lookup and waits until its query runs.
async fn begin(
    coalescer: &Coalescer<u32, u32>,
    key: u32,
    begun: &AtomicUsize,
) -> tokio::task::JoinHandle<bool> {
    let (before, own) = (begun.load(Ordering::Acquire), coalescer.clone());
    let waiter = tokio::spawn(async move { own.get(key).await.is_ok() });
    until("a query runs", LONG, async || {
        begun.load(Ordering::Acquire) > before
    })
    .await;
    waiter
}

#[tokio::test]
async fn a_panic_answers_its_own_batch_and_the_jobs_behind_it_are_served() {
    let app = TestApp::start().await;
    let (gate, begun) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (inner_gate, inner_begun) = (gate.clone(), begun.clone());
    let lookups = coalescer(&app, limits(1, 100, LONG), move |_, keys| {
        inner_begun.fetch_add(1, Ordering::AcqRel);
        wait_for(&inner_gate);
        assert!(!keys.contains(&1), "this query panics");
        Ok(doubled(keys))
    });
    let first = begin(&lookups, 1, &begun).await;
    // They wait behind the batch that is about to panic, and no request comes after them.
    let behind: Vec<_> = (2..40)
        .map(|key| {
            let lookups = lookups.clone();
            tokio::spawn(async move { lookups.get(key).await.ok().flatten() })
        })
        .collect();
    until("they wait", LONG, async || lookups.waiting() == 38).await;
    let released = Instant::now();
    gate.store(true, Ordering::Release);
    assert!(!first.await.expect("no panic here"));
    for (key, waiter) in (2..40).zip(behind) {
        assert_eq!(waiter.await.expect("no panic here"), Some(2 * key));
    }
    assert!(released.elapsed() < LONG / 2, "{:?}", released.elapsed());
    until("the drainer signs off", LONG, async || lookups.is_idle()).await;
    assert_eq!(lookups.drainers(), (0, 0));
    // The connection of the panic is not used again, and the pool is whole.
    let pool_size = app.context.config.database.pool_size as u32;
    until("the pool is whole", LONG, async || {
        app.context.database.connections() == (pool_size, pool_size)
    })
    .await;
}

#[tokio::test]
async fn a_stuck_drainer_is_written_off_once_and_answers_nobody_later() {
    let app = TestApp::start().await;
    let (gate, begun) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (inner_gate, inner_begun) = (gate.clone(), begun.clone());
    let timeout = Duration::from_millis(300);
    let lookups = coalescer(&app, limits(1, 100, timeout), move |_, keys| {
        inner_begun.fetch_add(1, Ordering::AcqRel);
        if keys.iter().any(|key| *key < 10) {
            wait_for(&inner_gate);
        }
        Ok(doubled(keys))
    });
    let stuck = begin(&lookups, 1, &begun).await;
    assert!(!stuck.await.expect("no panic"), "answered though it hangs");
    // Too early to be written off: the one drainer is still counted upon.
    assert!(lookups.get(10).await.is_err());
    assert_eq!(lookups.drainers(), (1, 0));
    tokio::time::sleep(timeout + Duration::from_millis(1600)).await;
    assert_eq!(lookups.get(11).await.ok().flatten(), Some(22));
    until("the second drainer signs off", LONG, async || {
        lookups.drainers() == (0, 1)
    })
    .await;
    // A second one gets stuck. Nobody takes its place: one at a time is written off.
    let stuck = begin(&lookups, 2, &begun).await;
    assert!(!stuck.await.expect("no panic"));
    tokio::time::sleep(timeout + Duration::from_millis(1600)).await;
    assert!(lookups.get(12).await.is_err());
    assert_eq!(lookups.drainers(), (1, 1));
    gate.store(true, Ordering::Release);
    until("both come back", LONG, async || {
        lookups.drainers() == (0, 0)
    })
    .await;
    assert_eq!(lookups.get(13).await.ok().flatten(), Some(26));
    // No connection was lost.
    let pool_size = app.context.config.database.pool_size as u32;
    until("the pool is whole", LONG, async || {
        app.context.database.connections() == (pool_size, pool_size)
    })
    .await;
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_who_has_gone_is_not_asked_for() {
    let app = TestApp::start().await;
    let (gate, begun) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (inner_gate, inner_begun) = (gate.clone(), begun.clone());
    let asked = Arc::new(Mutex::new(Vec::<u32>::new()));
    let inner_asked = asked.clone();
    let lookups = coalescer(&app, limits(1, 5, LONG), move |_, keys| {
        inner_begun.fetch_add(1, Ordering::AcqRel);
        wait_for(&inner_gate);
        inner_asked.lock().expect("lock").extend(keys);
        Ok(doubled(keys))
    });
    let first = begin(&lookups, 1, &begun).await;
    let waiters: Vec<_> = [2, 3, 3, 4, 4]
        .map(|key| {
            let lookups = lookups.clone();
            tokio::spawn(async move { lookups.get(key).await.ok().flatten() })
        })
        .into_iter()
        .collect();
    until("the queue is full", LONG, async || lookups.waiting() == 5).await;
    let full = Instant::now();
    assert!(lookups.get(5).await.is_err());
    assert!(full.elapsed() < LONG / 2);
    waiters[0].abort();
    until("it has gone", LONG, async || waiters[0].is_finished()).await;
    gate.store(true, Ordering::Release);
    assert!(first.await.expect("no panic"));
    for (waiter, expected) in waiters.into_iter().skip(1).zip([6, 6, 8, 8]) {
        assert_eq!(waiter.await.expect("no panic"), Some(expected));
    }
    // Equal keys were one.
    assert_eq!(*asked.lock().expect("lock"), [1, 3, 4]);
}
