//! The cleanup key.

use reqwest::Method;

use super::start;
use crate::support::{CLEANUP_KEY, Process, Reply, TestDatabase};

#[tokio::test]
async fn without_a_configured_key_nobody_gets_in_and_each_try_is_one_line() {
    let database = TestDatabase::new();
    let settings = [("SESSION_CLEANUP_API_KEY", ""), ("LOG_LEVEL", "debug")];
    let service = Process::serve(&database.url, &settings);
    service.wait_for("SESSION_CLEANUP_API_KEY is not set");
    let url = format!("{}/api/v1/auth/cleanup_sessions", service.base_url());
    service.wait_for("the database is ready");
    database.execute(
        "INSERT INTO users (email) VALUES ('ada@example.com'); \
         INSERT INTO sessions (id, user_id, session_hash, expires_at, absolute_expires_at, idle_timeout) \
         SELECT gen_random_uuid(), id, repeat('a', 64), now() - INTERVAL '1 hour', now(), '1800 seconds' FROM users",
    );
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    // The last is the digest that stands in for a key.
    let dummy = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let zeroes = ["0".repeat(32), "0".repeat(64)];
    let tries = [
        "",
        &zeroes[0],
        &zeroes[1],
        "null",
        "undefined",
        CLEANUP_KEY,
        dummy,
    ];
    for key in tries {
        let reply = Reply::of(client.post(&url).header("X-API-Key", key)).await;
        assert_eq!(
            reply.refusal(),
            (401, "api_key_invalid".to_owned()),
            "{key:?}"
        );
        assert_eq!(
            reply.header("www-authenticate"),
            Some(r#"ApiKey realm="sekisho""#)
        );
    }
    assert_eq!(Reply::of(client.post(&url)).await.status, 401);
    assert_eq!(database.count("sessions WHERE revoked_at IS NULL"), 1);
    assert_eq!(
        database.count("cleanup_runs") + database.count("session_events"),
        0
    );
    let output = service.output();
    let lines: Vec<_> = output
        .lines()
        .filter(|line| line.contains("api_key_invalid"))
        .collect();
    assert_eq!(lines.len(), tries.len() + 1, "{output}");
    for line in lines {
        assert!(
            line.contains("sekisho::security") && line.contains("client=127.0.0.0/24"),
            "{line}"
        );
        assert!(line.contains("request_id="), "{line}");
    }
    for key in tries.iter().filter(|key| key.len() > 9) {
        assert!(!output.contains(key));
    }
}

#[tokio::test]
async fn either_key_works_while_rotating_and_nothing_near_them_does() {
    let (old, new) = (
        "old-key-old-key-old-key-old-key-1",
        "new-key-new-key-new-key-new-key-2",
    );
    let both = format!("{old},{new}");
    let app = start(&[("SESSION_CLEANUP_API_KEY", &both)]).await;
    let call = |keys: &[&str]| {
        let request = app.auth(Method::POST, "cleanup_sessions");
        Reply::of(
            keys.iter()
                .fold(request, |request, key| request.header("X-API-Key", *key)),
        )
    };
    for key in [old, new] {
        assert_eq!(call(&[key]).await.status, 200);
        let near = [
            &key[1..],
            &key[..key.len() - 1],
            &key.to_uppercase(),
            &format!("{key}x"),
            &both,
        ];
        for near in near {
            assert_eq!(
                call(&[near]).await.refusal(),
                (401, "api_key_invalid".to_owned()),
                "{near}"
            );
        }
    }
    for two in [[old, new], [old, old], ["", new], [new, ""]] {
        assert_eq!(
            call(&two).await.refusal(),
            (401, "api_key_invalid".to_owned()),
            "{two:?}"
        );
    }
    // Wrong keys lock nothing: a scheduler retries for hours.
    for _ in 0..150 {
        assert_eq!(call(&["wrong"]).await.status, 401);
    }
    assert_eq!(call(&[new]).await.status, 200);
}
