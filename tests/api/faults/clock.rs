//! The service's own clock is wrong: only the database's decides.

use serde_json::{Value, json};

use super::rig::skip;
use crate::support::{PASSWORD, Process, Reply, TestApp};

fn library() -> Option<String> {
    let places = [
        "/usr/lib",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
    ];
    places
        .iter()
        .map(|place| format!("{place}/faketime/libfaketime.so.1"))
        .find(|file| std::path::Path::new(file).exists())
}

#[tokio::test]
async fn an_hour_s_error_of_the_service_s_clock_changes_nothing() {
    let test = "an_hour_s_error_of_the_service_s_clock_changes_nothing";
    let Some(library) = library() else {
        return skip(test, "needs libfaketime (Debian: apt-get install faketime)");
    };
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("client");
    let mut wrong = Vec::new();
    for error in ["+1h", "-1h"] {
        let settings = [
            ("LD_PRELOAD", library.as_str()),
            ("FAKETIME", error),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        let program = Process::serve(&app.db.url, &settings);
        let base = program.base_url();
        program.wait_for("the database is ready");
        let line = program.wait_for("listening");
        let hours = |text: &str| text[..13].to_owned();
        let now = app
            .db
            .text("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24') AS value");
        assert_ne!(hours(&line), now.expect("now"), "its clock is right");
        wrong.push((program, base));
    }
    let get = |base: &str, path: &str, token: &str| {
        Reply::of(
            http.get(format!("{base}/api/v1/auth/{path}"))
                .bearer_auth(token),
        )
    };
    for (_, base) in &wrong {
        let body = json!({"email": "ada@example.com", "password": PASSWORD, "delivery": "token"});
        let login = Reply::of(http.post(format!("{base}/api/v1/auth/login")).json(&body)).await;
        let login: Value = login.json();
        assert!(
            (1795..=1800).contains(&login["expires_in"].as_i64().expect("number")),
            "{login}"
        );
        let token = login["session_token"].as_str().expect("token").to_owned();
        assert!(app.is_alive(&token).await);
        let ages = "sessions WHERE abs(extract(epoch FROM created_at - now())) < 300
             AND abs(extract(epoch FROM expires_at - created_at) - 1800) < 1";
        assert_eq!(app.db.count(ages), app.db.count("sessions"));
        let bases = || wrong.iter().map(|(_, base)| base);
        for base in bases() {
            let reply = get(base, "session", &token).await;
            assert!(
                (1700..=1800).contains(
                    &reply.json()["session"]["expires_in"]
                        .as_i64()
                        .expect("number")
                )
            );
            let recent = get(base, "verify?max_age=600", &token).await;
            assert_eq!(recent.status, 200, "{recent:?}");
        }
        // A minute from the deadline it lives, a second past it it is dead, for everybody.
        app.db.execute(
            "UPDATE sessions SET expires_at = now() + interval '1 min' WHERE revoked_at IS NULL",
        );
        for base in bases() {
            assert_eq!(get(base, "verify?touch=false", &token).await.status, 200);
        }
        app.db.execute(
            "UPDATE sessions SET expires_at = now() - interval '1 s' WHERE revoked_at IS NULL",
        );
        for base in bases() {
            assert_eq!(
                get(base, "verify", &token).await.refusal(),
                (401, "session_expired".to_owned())
            );
        }
        app.db.execute("DELETE FROM sessions");
    }
}
