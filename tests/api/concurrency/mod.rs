//! Many clients, two instances, one database: what happened is recorded and then checked against
//! what must hold (docs/testing.md lists the properties).
//!
//! `SEKISHO_HISTORY_SECONDS` sets how long each run takes, `SEKISHO_SEED` repeats the choices of
//! an earlier one.

mod chaos;
mod check;
mod client;
mod ledger;
mod record;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Client, Known, User};
use record::{History, Operation, Random};

use crate::support::app::Instance;
use crate::support::{PASSWORD, TestApp};

const USERS: usize = 3;
const CLIENTS_OF_EACH: u64 = 6;
const CAP: usize = 6;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is {text:?}, not a number")),
    )
}

#[tokio::test]
async fn a_recorded_history_is_right_where_lookups_share_queries() {
    run("true").await;
}

#[tokio::test]
async fn a_recorded_history_is_right_where_lookups_are_alone() {
    run("false").await;
}

async fn run(coalesce: &str) {
    let seconds = number("SEKISHO_HISTORY_SECONDS").unwrap_or(4);
    let seed =
        number("SEKISHO_SEED").unwrap_or_else(|| u64::from(uuid::Uuid::new_v4().as_fields().0));
    let settings = [
        ("COALESCE_LOOKUPS", coalesce),
        ("SESSION_MAX_PER_USER", &CAP.to_string()),
        ("SESSION_TOUCH_INTERVAL", "1s"),
        ("LOGIN_THROTTLE_FAILURES", "0"),
        ("LOGIN_THROTTLE_ADDRESS_FAILURES", "0"),
        // Near deadlines are part of it, and touches keep this much distance from them.
        ("DATABASE_TIMEOUT", "1s"),
    ];
    let app = TestApp::start_with(&settings).await;
    let other = app.another(&settings).await;
    app.db.execute(chaos::AUDIT);
    let users = sign_up(&app).await;
    let bystander = app.login("bystander@example.com").await;
    let history = History::new();
    app.db
        .execute("CREATE TABLE history_began AS SELECT clock_timestamp() AS began");
    let (seen, looks) = drive(
        &app,
        [&app, &other],
        &users,
        &history,
        seed,
        Duration::from_secs(seconds),
    )
    .await;
    assert!(
        app.is_alive(&bystander).await,
        "P10: the bystander was signed out"
    );
    app.db.execute(
        "DELETE FROM sessions WHERE user_id = (SELECT id FROM users WHERE email LIKE 'bystander%')",
    );
    app.db.execute("ALTER TABLE session_events DISABLE TRIGGER USER;
        DELETE FROM session_events WHERE user_id = (SELECT id FROM users WHERE email LIKE 'bystander%')");
    let operations = history.operations.into_inner().unwrap();
    let tokens = history.tokens.into_inner().unwrap();
    let ids: Vec<i64> = users.iter().map(|user| user.id).collect();
    let mut violations = seen;
    violations.extend(check::violations(&operations, &tokens, &ids, CAP));
    violations.extend(ledger::violations(&app.db, &operations, &tokens));
    let failed_cleanups = app.db.texts("SELECT coalesce(error, 'unfinished') AS value FROM cleanup_runs WHERE error IS NOT NULL OR finished_at IS NULL");
    let summary = format!(
        "seed {seed}, {seconds} s, {} requests, {} tokens, {looks} looks, failed cleanups: {failed_cleanups:?}; {}",
        operations.len(),
        tokens.len(),
        tally(&operations)
    );
    eprintln!("{summary}");
    let shown: Vec<&String> = violations.iter().take(20).collect();
    assert!(
        violations.is_empty(),
        "{} violations (repeat with SEKISHO_SEED={seed}): {shown:#?}\nby kind: {:#?}\n{summary}",
        violations.len(),
        by_kind(&violations)
    );
    // Otherwise the run would prove nothing.
    assert!(operations.len() > 50, "{summary}");
}

async fn sign_up(app: &TestApp) -> Vec<Arc<User>> {
    app.sign_up("bystander@example.com").await;
    let mut users = Vec::new();
    for number in 0..USERS {
        let email = format!("user-{number}@example.com");
        let known = Known {
            tokens: Vec::new(),
            passwords: vec![PASSWORD.to_owned()],
            changes: 0,
        };
        users.push(Arc::new(User {
            number,
            id: app.sign_up(&email).await,
            email,
            known: Mutex::new(known),
        }));
    }
    users
}

/// Ends the threads beside, also where a client panics.
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets everybody loose for a while; returns what the observer saw.
async fn drive(
    app: &TestApp,
    instances: [&Instance; 2],
    users: &[Arc<User>],
    history: &History,
    seed: u64,
    time: Duration,
) -> (Vec<String>, usize) {
    let over = Over(Arc::new(AtomicBool::new(false)));
    let beside = || (app.db.url.clone(), over.0.clone());
    let (url, is_over) = beside();
    let aging = std::thread::spawn(move || chaos::age(&url, &Random::new(seed ^ 0xA6E), &is_over));
    let (url, is_over) = beside();
    let holding =
        std::thread::spawn(move || chaos::hold(&url, &Random::new(seed ^ 0x401D), &is_over));
    let (url, is_over) = beside();
    let observing = std::thread::spawn(move || chaos::observe(&url, CAP, &is_over));
    let clients: Vec<Client<'_>> = (1..=CLIENTS_OF_EACH)
        .flat_map(|n| users.iter().map(move |user| (user, n)))
        .map(|(user, n)| Client {
            instances,
            users,
            user: user.clone(),
            history,
            random: Random::new(seed ^ (u64::try_from(user.number).unwrap() << 32 | n)),
        })
        .collect();
    let end = tokio::time::Instant::now() + time;
    let work = clients.iter().map(|client| async move {
        while tokio::time::Instant::now() < end {
            client.step().await;
        }
    });
    futures_util::future::join_all(work).await;
    drop(over);
    aging.join().unwrap();
    holding.join().unwrap();
    observing.join().unwrap()
}

fn tally(operations: &[Operation]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for operation in operations {
        let outcome = match &operation.outcome {
            record::Outcome::Refused(status, _) => format!("{status}"),
            other => format!("{other:?}"),
        };
        *counts
            .entry(format!("{:?} {outcome}", operation.kind))
            .or_default() += 1;
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(what, count)| format!("{what}: {count}"))
        .collect();
    parts.join(", ")
}

fn by_kind(violations: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for violation in violations {
        *counts
            .entry(violation.split([':', ' ']).next().unwrap_or_default())
            .or_default() += 1;
    }
    counts
}
