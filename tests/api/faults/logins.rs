//! A flood of log-ins, each of which wants 19 MiB.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use super::rig::{LONG, is_left_out};
use crate::support::{PASSWORD, Process, Reply, TestApp};

/// The most memory that a process ever had, in MiB.
fn peak(process: u32) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{process}/status")).expect("a running process");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("VmHWM");
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number")
        / 1024
}

#[tokio::test]
async fn two_hundred_parallel_logins_stay_within_memory_and_checks_are_answered_meanwhile() {
    if is_left_out(
        "two_hundred_parallel_logins_stay_within_memory_and_checks_are_answered_meanwhile",
    ) {
        return;
    }
    let app = TestApp::start().await;
    let settings = [
        ("PASSWORD_ARGON2_MEMORY", "19456"),
        ("PASSWORD_ARGON2_ITERATIONS", "2"),
        ("PASSWORD_HASH_SLOTS", "2"),
        ("PASSWORD_HASH_QUEUE_LENGTH", "150"),
        ("SESSION_MAX_PER_USER", "1000"),
    ];
    let program = Process::serve(&app.db.url, &settings);
    let base = program.base_url();
    program.wait_for("the database is ready");
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("client");
    let credentials =
        json!({"email": "ada@example.com", "password": PASSWORD, "delivery": "token"});
    let post = |path: &str| {
        http.request(Method::POST, format!("{base}/api/v1/auth/{path}"))
            .json(&credentials)
    };
    let sign_up = json!({"email": "ada@example.com", "password": PASSWORD});
    assert_eq!(Reply::of(post("sign_up").json(&sign_up)).await.status, 201);
    let token = Reply::of(post("login")).await.json()["session_token"]
        .as_str()
        .expect("token")
        .to_owned();
    let before = peak(program.id());
    let logins: Vec<_> = (0..200)
        .map(|_| {
            let login = post("login");
            tokio::spawn(async move { Reply::of(login).await.status })
        })
        .collect();
    let mut times = Vec::new();
    while !logins.iter().all(tokio::task::JoinHandle::is_finished) {
        let begin = Instant::now();
        let check = http
            .get(format!("{base}/api/v1/auth/session"))
            .bearer_auth(&token);
        assert_eq!(Reply::of(check).await.status, 200);
        times.push(begin.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut statuses = Vec::new();
    for login in logins {
        statuses.push(login.await.expect("an answer"));
    }
    times.sort();
    let grown = peak(program.id()) - before;
    let p99 = times[times.len() * 99 / 100];
    let done = statuses.iter().filter(|status| **status == 200).count();
    println!(
        "{done} of 200 logged in, {grown} MiB more, checks: {} with p99 {p99:?}",
        times.len()
    );
    assert!(
        statuses
            .iter()
            .all(|status| *status == 200 || *status == 503),
        "{statuses:?}"
    );
    // 2 at work and 150 waiting; the others were refused at once. A slow machine serves fewer.
    assert!((20..=190).contains(&done), "{done}");
    assert_eq!(
        app.db.count("sessions"),
        i64::try_from(done).expect("small") + 1
    );
    // Without a bound it would be 3.8 GiB.
    assert!(grown < 2 * 19 + 100, "{grown} MiB");
    assert!(p99 < LONG / 15, "{p99:?}");
}
