//! The same faults under load: 64 connections that verify without pause, through the program.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;

use super::rig::{Hit, IN_TIME, LONG, Load, Rig, is_left_out, number, threads, until};
use crate::support::{Process, Reply};

const CONNECTIONS: usize = 64;
const OURS: &str =
    "SELECT count(*) AS value FROM pg_stat_activity WHERE application_name = 'sekisho'";

/// A second's worth of requests that began `after` a moment.
fn rate(hits: &[Hit], after: Instant, seconds: f64) -> f64 {
    let until = after + Duration::from_secs_f64(seconds);
    let count = hits
        .iter()
        .filter(|hit| hit.begin >= after && hit.begin < until)
        .count();
    count as f64 / seconds
}

/// Puts a service under load and breaks its database: `fault` returns when that is whole again.
async fn survives(name: &str, fault: impl AsyncFnOnce(&Rig)) {
    let rig = Rig::start(&[("SESSION_MAX_PER_USER", "1000")]).await;
    rig.app.sign_up("ada@example.com").await;
    let mut tokens = Vec::new();
    // Every eighth has ended: it must never be let in.
    for index in 0..CONNECTIONS {
        let token = rig
            .app
            .login_with("ada@example.com", serde_json::json!({}))
            .await;
        let expected = if index % 8 == 0 { 401 } else { 200 };
        if expected == 401 {
            assert_eq!(rig.app.post("logout", &token).await.status, 200);
        }
        tokens.push((token, expected));
    }
    let url = rig.cluster.url.clone();
    let program = Process::serve(
        &url,
        &[
            ("DATABASE_POOL_SIZE", "14"),
            ("SESSION_MAX_PER_USER", "1000"),
        ],
    );
    let base = program.base_url();
    program.wait_for("the database is ready");
    let mut observer = rig.connect();
    until("all are connected", LONG, async || {
        number(&mut observer, OURS) == 12 + 14
    })
    .await;
    let load = Load::start(&base, &tokens);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let warm = Instant::now();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let threads_before = threads(program.id());
    let broken = Instant::now();
    fault(&rig).await;
    let whole = Instant::now();
    let back = whole + IN_TIME;
    tokio::time::sleep(IN_TIME).await;
    // A busy machine has slow seconds of its own.
    let enough = rate(&load.hits(), warm, 3.0) / 2.0;
    let is_fast = async || {
        rate(
            &load.hits(),
            Instant::now() - Duration::from_millis(1500),
            1.0,
        ) >= enough
    };
    until("the speed is as before", 2 * LONG, is_fast).await;
    let hits = load.end().await;
    let refused = hits.iter().filter(|hit| hit.status == 503);
    let late = refused.clone().filter(|hit| hit.begin >= back).count();
    let longest = hits.iter().map(|hit| hit.took).max().expect("requests");
    let last = refused.clone().map(|hit| hit.begin).max();
    let before = 2.0 * enough;
    println!(
        "{name}: {} requests, {} refused, the last {:?} after the return; {before:.0}/s before; \
         longest {longest:?}; outage {:?}",
        hits.len(),
        refused.count(),
        last.map(|last| last.saturating_duration_since(whole)),
        whole - broken,
    );
    // A busy machine may stall for longer than a check may take.
    let all_late = hits.iter().filter(|hit| hit.begin >= back).count();
    assert!(
        late * 100 <= all_late,
        "{late} of {all_late} refused though the database is back"
    );
    assert!(longest < IN_TIME, "{longest:?}");
    // Nothing is lost and nothing is left over. Idle threads stay for 10 s.
    let mut observer = rig.connect();
    let count = async || number(&mut observer, OURS) <= 12 + 14;
    until("the connections are as before", LONG, count).await;
    until("the threads are as before", LONG, async || {
        threads(program.id()) <= threads_before
    })
    .await;
    let idle = "SELECT count(*) AS value FROM pg_stat_activity \
                WHERE application_name = 'sekisho' AND state <> 'idle'";
    until("all are idle", LONG, async || {
        number(&mut observer, idle) == 0
    })
    .await;
    // Connections that died unused are replaced when they are needed.
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("client");
    let list = |token: &String| {
        Reply::of(
            http.get(format!("{base}/api/v1/auth/sessions"))
                .bearer_auth(token),
        )
    };
    let live = tokens.iter().filter(|(_, expected)| *expected == 200);
    for reply in join_all(live.map(|(token, _)| list(token))).await {
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    let (live, _) = &tokens[1];
    let logout = http
        .request(Method::POST, format!("{base}/api/v1/auth/logout"))
        .bearer_auth(live);
    assert_eq!(Reply::of(logout).await.json()["revoked_count"], 1);
}

#[tokio::test]
async fn under_load_a_killed_database_costs_503s_and_nothing_else() {
    if is_left_out("under_load_a_killed_database_costs_503s_and_nothing_else") {
        return;
    }
    survives("killed", async |rig| {
        rig.control("kill").await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        rig.control("start").await;
    })
    .await;
}

#[tokio::test]
async fn under_load_a_restarted_database_costs_503s_and_nothing_else() {
    if is_left_out("under_load_a_restarted_database_costs_503s_and_nothing_else") {
        return;
    }
    survives("restarted", async |rig| rig.control("restart").await).await;
}

#[tokio::test]
async fn under_load_a_frozen_database_costs_503s_and_nothing_else() {
    if is_left_out("under_load_a_frozen_database_costs_503s_and_nothing_else") {
        return;
    }
    survives("frozen", async |rig| {
        rig.control("freeze").await;
        // Longer than it takes to write off every drainer that may be, and to need the next.
        tokio::time::sleep(Duration::from_secs(8)).await;
        rig.control("thaw").await;
    })
    .await;
}

#[tokio::test]
async fn under_load_backends_that_are_terminated_cost_nothing() {
    if is_left_out("under_load_backends_that_are_terminated_cost_nothing") {
        return;
    }
    survives("terminated", async |rig| {
        for _ in 0..10 {
            rig.number(
                "SELECT count(pg_terminate_backend(pid)) AS value FROM pg_stat_activity \
                 WHERE application_name = 'sekisho'",
            );
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    })
    .await;
}
