//! Whether a failed log-in tells by its time why it failed: medians over interleaved samples of
//! unknown, wrong, disabled and password-less. Run by bench/login_cost.
//!
//!     login_cost BASE_URL DATABASE_URL SAMPLES

use std::error::Error;
use std::time::{Duration, Instant};

use diesel::Connection as _;
use diesel::connection::SimpleConnection as _;
use diesel::pg::PgConnection;
use reqwest::Client;
use serde_json::json;

const PASSWORD: &str = "correct horse battery";
/// How far the medians may lie apart.
const TOLERATED: f64 = 0.05;

/// Each with the e-mail and whether the password is the right one.
const KINDS: [(&str, bool); 4] = [
    ("wrong", false),
    ("unknown", true),
    ("disabled", true),
    ("passwordless", true),
];

async fn post(
    http: &Client,
    url: &str,
    email: &str,
    password: &str,
) -> Result<(u16, Duration), reqwest::Error> {
    let body = json!({"email": email, "password": password});
    let begun = Instant::now();
    let response = http.post(url).json(&body).send().await?;
    let status = response.status().as_u16();
    response.bytes().await?;
    Ok((status, begun.elapsed()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base, database, number] = arguments.as_slice() else {
        return Err("login_cost BASE_URL DATABASE_URL SAMPLES".into());
    };
    let number: usize = number.parse()?;
    let (sign_up, login) = (
        format!("{base}/api/v1/auth/sign_up"),
        format!("{base}/api/v1/auth/login"),
    );
    let http = Client::new();
    for (kind, _) in KINDS.iter().filter(|(kind, _)| *kind != "unknown") {
        post(&http, &sign_up, &format!("{kind}@example.com"), PASSWORD).await?;
    }
    PgConnection::establish(database)?.batch_execute(
        "UPDATE users SET disabled_at = now() WHERE email = 'disabled@example.com'; \
         UPDATE users SET password_hash = NULL WHERE email = 'passwordless@example.com'",
    )?;
    let mut samples = vec![Vec::with_capacity(number); KINDS.len()];
    for round in 0..number {
        for turn in 0..KINDS.len() {
            let kind = (round + turn) % KINDS.len();
            let (name, is_right) = KINDS[kind];
            let password = if is_right {
                PASSWORD
            } else {
                "wrong horse battery"
            };
            let (status, took) =
                post(&http, &login, &format!("{name}@example.com"), password).await?;
            if status != 401 {
                return Err(format!("{name}: {status}").into());
            }
            samples[kind].push(took);
        }
    }
    println!("{number} samples of each, interleaved");
    println!(
        "{:<14}{:>10}{:>10}{:>10}{:>12}",
        "log-in", "p10 ms", "p50 ms", "p90 ms", "to wrong"
    );
    let mut reference = 0.0;
    let mut furthest: f64 = 0.0;
    for ((name, _), samples) in KINDS.iter().zip(&mut samples) {
        samples.sort_unstable();
        let at =
            |percent: usize| samples[(samples.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
        if reference == 0.0 {
            reference = at(50);
        }
        let apart = at(50) / reference - 1.0;
        furthest = furthest.max(apart.abs());
        println!(
            "{name:<14}{:>10.2}{:>10.2}{:>10.2}{:>+11.2}%",
            at(10),
            at(50),
            at(90),
            apart * 100.0
        );
    }
    match furthest <= TOLERATED {
        true => Ok(()),
        false => Err(format!("medians lie {:.1} % apart", furthest * 100.0).into()),
    }
}
