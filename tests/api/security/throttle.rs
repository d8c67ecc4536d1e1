//! Guessing is slowed down: everywhere, for everybody alike, and never for somebody elsewhere.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{another, start, with_cookie};
use crate::support::app::Instance;
use crate::support::{PASSWORD, Reply, TestApp};

const WRONG: &str = "wrong horse battery";
const TRUSTED: (&str, &str) = ("TRUSTED_PROXIES", "127.0.0.0/8");

async fn attempt(app: &Instance, email: &str, password: &str, from: Option<&str>) -> Reply {
    let request = app
        .auth(Method::POST, "login")
        .json(&json!({"email": email, "password": password}));
    Reply::of(match from {
        Some(address) => request.header("X-Forwarded-For", address),
        None => request,
    })
    .await
}

/// Failures of the one counter, and the delay in seconds that the last one brought.
fn counted(app: &TestApp) -> (i64, i64) {
    assert_eq!(app.db.count("login_throttle"), 1);
    // The two times are of two statements, between which a busy machine may pause.
    let delay = "floor(greatest(extract(epoch FROM blocked_until - last_failure_at), 0))";
    let column = |what: &str| {
        app.db.number(&format!(
            "SELECT {what}::bigint AS value FROM login_throttle"
        ))
    };
    (column("failures"), column(delay))
}

/// Without waiting for it, the delay is over; or it is long, so that a slow machine does not outlast it.
fn end_delays(app: &TestApp) {
    app.db
        .execute("UPDATE login_throttle SET blocked_until = now() - INTERVAL '1 second'");
}
fn prolong_delays(app: &TestApp) {
    app.db.execute("UPDATE login_throttle SET blocked_until = now() + INTERVAL '5 minutes' WHERE blocked_until > last_failure_at");
}

#[tokio::test]
async fn after_five_failures_delays_double_up_to_fifteen_minutes_for_known_and_unknown_alike() {
    let app = start(&[("LOGIN_THROTTLE_ADDRESS_FAILURES", "0")]).await;
    app.sign_up("ada@example.com").await;
    for email in ["ada@example.com", "nobody@example.com"] {
        app.db.execute("DELETE FROM login_throttle");
        for failure in 1..=4 {
            assert_eq!(attempt(&app, email, WRONG, None).await.status, 401);
            assert_eq!(counted(&app), (failure, 0));
        }
        for (failure, delay) in [(5, 1), (6, 2), (7, 4), (8, 8)] {
            assert_eq!(
                attempt(&app, email, WRONG, None).await.status,
                401,
                "{failure}"
            );
            assert_eq!(counted(&app), (failure, delay));
            end_delays(&app);
        }
        for failures in [14, 15, 100, 1_000_000] {
            app.db
                .execute(&format!("UPDATE login_throttle SET failures = {failures}"));
            assert_eq!(attempt(&app, email, WRONG, None).await.status, 401);
            assert_eq!(counted(&app), (failures + 1, 900));
            let events = app.db.count("session_events");
            let refused = attempt(&app, email, PASSWORD, None).await;
            assert_eq!(refused.refusal(), (429, "throttled".to_owned()));
            let wait: i64 = refused.header("retry-after").unwrap().parse().unwrap();
            assert!((800..=901).contains(&wait), "{wait}");
            // Neither hashed, counted nor recorded.
            assert_eq!(counted(&app), (failures + 1, 900));
            assert_eq!(app.db.count("session_events"), events);
            end_delays(&app);
        }
    }
}

#[tokio::test]
async fn success_clears_and_old_failures_are_forgotten() {
    let app = start(&[("LOGIN_THROTTLE_ADDRESS_FAILURES", "0")]).await;
    app.sign_up("ada@example.com").await;
    for _ in 0..9 {
        attempt(&app, "ada@example.com", WRONG, None).await;
        end_delays(&app);
    }
    assert_eq!(
        attempt(&app, "ada@example.com", PASSWORD, None)
            .await
            .status,
        200
    );
    assert_eq!(app.db.count("login_throttle"), 0);
    attempt(&app, "ada@example.com", WRONG, None).await;
    app.db.execute(
        "UPDATE login_throttle SET failures = 50, last_failure_at = now() - INTERVAL '25 hours'",
    );
    attempt(&app, "ada@example.com", WRONG, None).await;
    assert_eq!(counted(&app), (1, 0));
}

#[tokio::test]
async fn every_place_that_checks_a_password_counts_and_is_throttled_under_one_name() {
    let app = start(&[("LOGIN_THROTTLE_ADDRESS_FAILURES", "0")]).await;
    let other = app
        .another(&[("LOGIN_THROTTLE_ADDRESS_FAILURES", "0")])
        .await;
    app.sign_up("ada@example.com").await;
    // As an existing system may have brought it.
    app.db.execute("UPDATE users SET email = 'Ada@Example.com'");
    let token = app.login_browser("ada@example.com").await;
    let change = |password: &str| json!({"current_password": password, "new_password": "another horse battery"});
    let calls = |password: &str| -> Vec<(Method, &str, Value)> {
        vec![
            (
                Method::POST,
                "reauthenticate",
                json!({"password": password}),
            ),
            (Method::POST, "change_password", change(password)),
            (Method::DELETE, "user", json!({"password": password})),
        ]
    };
    for (count, (method, path, body)) in calls(WRONG).into_iter().enumerate() {
        let instance: &Instance = if count == 1 { &other } else { &app };
        let reply = Reply::of(with_cookie(instance, method, path, &token).json(&body)).await;
        assert_eq!(
            reply.refusal(),
            (403, "password_incorrect".to_owned()),
            "{path}"
        );
        assert_eq!(counted(&app).0, i64::try_from(count + 1).unwrap());
    }
    assert_eq!(
        attempt(&app, "ada@example.com", WRONG, None).await.status,
        401
    );
    assert_eq!(
        attempt(&other, "ada@example.com", WRONG, None).await.status,
        401
    );
    assert_eq!((counted(&app).0, app.db.count("login_throttle")), (5, 1));
    prolong_delays(&app);
    for instance in [&*app, &other] {
        for (method, path, body) in calls(PASSWORD) {
            let reply = Reply::of(with_cookie(instance, method, path, &token).json(&body)).await;
            assert_eq!(reply.refusal(), (429, "throttled".to_owned()), "{path}");
        }
        assert_eq!(
            attempt(instance, "ada@example.com", PASSWORD, None)
                .await
                .status,
            429
        );
    }
    // The session itself is not touched by any of this.
    assert!(app.is_alive(&token).await && other.is_alive(&token).await);
    end_delays(&app);
    let reply = Reply::of(
        with_cookie(&app, Method::POST, "reauthenticate", &token)
            .json(&json!({"password": PASSWORD})),
    )
    .await;
    assert_eq!((reply.status, app.db.count("login_throttle")), (200, 0));
}

#[tokio::test]
async fn guesses_made_at_once_do_not_outrun_the_delay() {
    let settings = [
        ("LOGIN_THROTTLE_ADDRESS_FAILURES", "0"),
        ("PASSWORD_HASH_SLOTS", "16"),
        ("DATABASE_POOL_SIZE", "20"),
    ];
    let app = start(&settings).await;
    let other = another(&app, &settings).await;
    app.sign_up("ada@example.com").await;
    attempt(&app, "ada@example.com", WRONG, None).await;
    for _ in 0..3 {
        app.db.execute(
            "UPDATE login_throttle SET failures = 20, blocked_until = now() - INTERVAL '1 second'",
        );
        let guesses = (0..40).map(|n| {
            let instance: &Instance = if n % 2 == 0 { &app } else { &other };
            attempt(instance, "ada@example.com", WRONG, None)
        });
        let statuses: Vec<u16> = join_all(guesses)
            .await
            .iter()
            .map(|reply| reply.status)
            .collect();
        assert_eq!(
            statuses.iter().filter(|status| **status == 401).count(),
            1,
            "{statuses:?}"
        );
        assert_eq!(
            statuses.iter().filter(|status| **status == 429).count(),
            39,
            "{statuses:?}"
        );
        assert_eq!(counted(&app), (21, 900));
    }
}

#[tokio::test]
async fn right_passwords_at_once_are_never_throttled() {
    let app = start(&[("PASSWORD_HASH_SLOTS", "16")]).await;
    app.sign_up("ada@example.com").await;
    attempt(&app, "ada@example.com", WRONG, None).await;
    let replies = join_all((0..40).map(|_| attempt(&app, "ada@example.com", PASSWORD, None))).await;
    assert!(replies.iter().all(|reply| reply.status == 200));
}

#[tokio::test]
async fn a_right_password_with_a_bad_new_one_leaves_no_delay() {
    let app = start(&[("LOGIN_THROTTLE_ADDRESS_FAILURES", "0")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    attempt(&app, "ada@example.com", WRONG, None).await;
    app.db.execute("UPDATE login_throttle SET failures = 12");
    let body = |new: &str| json!({"current_password": PASSWORD, "new_password": new});
    let refused = app
        .post_json("change_password", &token, body("short"))
        .await;
    assert_eq!(refused.refusal(), (422, "password_rejected".to_owned()));
    let changed = app
        .post_json("change_password", &token, body("another horse battery"))
        .await;
    assert_eq!(changed.status, 200, "{changed:?}");
}

#[tokio::test]
async fn nobody_can_lock_out_somebody_in_another_network() {
    let app = start(&[TRUSTED, ("LOGIN_THROTTLE_ADDRESS_FAILURES", "10")]).await;
    app.sign_up("ada@example.com").await;
    let evil = Some("198.51.100.66");
    for _ in 0..30 {
        attempt(&app, "ada@example.com", WRONG, evil).await;
        app.db
            .execute("UPDATE login_throttle SET blocked_until = now()");
    }
    attempt(&app, "ada@example.com", WRONG, evil).await;
    assert_eq!(
        attempt(&app, "ada@example.com", PASSWORD, evil)
            .await
            .status,
        429
    );
    // The same network is one: an attacker has all of its addresses.
    assert_eq!(
        attempt(&app, "ada@example.com", PASSWORD, Some("198.51.100.9"))
            .await
            .status,
        429
    );
    for elsewhere in [
        "203.0.113.5",
        "198.51.101.66",
        "2001:db8::1",
        "::ffff:192.0.2.1",
    ] {
        assert_eq!(
            attempt(&app, "ada@example.com", PASSWORD, Some(elsewhere))
                .await
                .status,
            200,
            "{elsewhere}"
        );
    }
    // And a success elsewhere does not help the attacker.
    assert_eq!(
        attempt(&app, "ada@example.com", PASSWORD, evil)
            .await
            .status,
        429
    );
}

#[tokio::test]
async fn claims_of_clients_about_their_address_are_not_believed() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    for n in 0..5 {
        attempt(
            &app,
            "ada@example.com",
            WRONG,
            Some(&format!("203.0.{n}.1")),
        )
        .await;
    }
    prolong_delays(&app);
    assert_eq!(
        attempt(&app, "ada@example.com", PASSWORD, Some("192.0.2.1"))
            .await
            .status,
        429
    );
    let behind_proxy = start(&[TRUSTED]).await;
    behind_proxy.sign_up("ada@example.com").await;
    for n in 0..5 {
        // To the left of what the proxy saw stands what the client made up.
        let chain = format!("203.0.{n}.1, 198.51.100.66");
        attempt(&behind_proxy, "ada@example.com", WRONG, Some(&chain)).await;
    }
    prolong_delays(&behind_proxy);
    assert_eq!(
        attempt(
            &behind_proxy,
            "ada@example.com",
            PASSWORD,
            Some("198.51.100.66")
        )
        .await
        .status,
        429
    );
}

#[tokio::test]
async fn an_address_is_limited_in_sign_ups_and_in_trying_many_e_mails() {
    let app = start(&[TRUSTED, ("LOGIN_THROTTLE_ADDRESS_FAILURES", "4")]).await;
    let sign_up = |n: usize, from: &str| {
        let body = json!({"email": format!("user{n}@example.com"), "password": PASSWORD});
        Reply::of(
            app.auth(Method::POST, "sign_up")
                .json(&body)
                .header("X-Forwarded-For", from),
        )
    };
    for n in 0..4 {
        assert_eq!(sign_up(n, "198.51.100.1").await.status, 201);
    }
    prolong_delays(&app);
    let refused = sign_up(4, "198.51.100.2").await;
    assert_eq!(refused.refusal(), (429, "throttled".to_owned()));
    assert_eq!(app.db.count("users"), 4);
    assert_eq!(sign_up(4, "203.0.113.1").await.status, 201);
    // A taken e-mail counts too: it tells that it is taken.
    for n in 0..4 {
        assert_eq!(sign_up(n, "192.0.2.1").await.status, 409);
    }
    prolong_delays(&app);
    assert_eq!(sign_up(0, "192.0.2.1").await.status, 429);
    for n in 0..4 {
        assert_eq!(
            attempt(
                &app,
                &format!("user{n}@example.com"),
                WRONG,
                Some("2001:db8::1")
            )
            .await
            .status,
            401
        );
    }
    prolong_delays(&app);
    assert_eq!(
        attempt(&app, "user9@example.com", WRONG, Some("2001:db8::2"))
            .await
            .status,
        429
    );
    assert_eq!(
        attempt(&app, "user0@example.com", PASSWORD, Some("2001:db8:1::2"))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn the_counters_are_no_list_of_e_mails_or_addresses() {
    let app = start(&[TRUSTED]).await;
    attempt(&app, "ada@example.com", WRONG, Some("203.0.113.5")).await;
    let keys = app.db.texts("SELECT key AS value FROM login_throttle");
    assert_eq!(keys.len(), 2);
    for key in keys.iter().flatten() {
        assert!(
            key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit()),
            "{key}"
        );
    }
}
