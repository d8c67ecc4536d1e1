//! Rules for passwords, and what a failed log-in tells.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{another, comparable, start};
use crate::support::{PASSWORD, Reply, TestApp};

/// Every kind of log-in that fails: the account's e-mail and the password.
const FAILING: [(&str, &str); 5] = [
    ("unknown@example.com", PASSWORD),
    ("wrong@example.com", "wrong horse battery"),
    ("disabled@example.com", PASSWORD),
    ("passwordless@example.com", PASSWORD),
    ("foreign-hash@example.com", PASSWORD),
];

async fn failing_accounts(app: &TestApp) {
    for (email, _) in &FAILING[1..] {
        app.sign_up(email).await;
    }
    app.db.execute(
        "UPDATE users SET disabled_at = now() WHERE email LIKE 'disabled@%'; \
         UPDATE users SET password_hash = NULL WHERE email LIKE 'passwordless@%'; \
         UPDATE users SET password_hash = '$pbkdf2-sha256$i=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA' \
         WHERE email LIKE 'foreign-hash@%'",
    );
}

async fn fail(app: &TestApp, (email, password): (&str, &str)) -> Reply {
    app.post_public("login", json!({"email": email, "password": password}))
        .await
}

#[tokio::test]
async fn every_failed_log_in_is_one_and_the_same_answer() {
    let app = start(&[("LOGIN_THROTTLE_FAILURES", "1")]).await;
    failing_accounts(&app).await;
    let mut answers = Vec::new();
    let mut throttled = Vec::new();
    for kind in FAILING {
        let before = app.db.count("session_events WHERE kind = 'login_failed'");
        let answer = fail(&app, kind).await;
        assert_eq!(
            answer.refusal(),
            (401, "invalid_credentials".to_owned()),
            "{kind:?}"
        );
        assert_eq!(
            app.db.count("session_events WHERE kind = 'login_failed'"),
            before + 1
        );
        answers.push(comparable(&answer));
        // So that a slow machine does not outlast the delay of one second.
        app.db.execute("UPDATE login_throttle SET blocked_until = now() + INTERVAL '59.5 seconds' WHERE failures = 1");
        let answer = fail(&app, kind).await;
        assert_eq!(answer.refusal(), (429, "throttled".to_owned()), "{kind:?}");
        throttled.push((
            answer.status,
            answer.body.clone(),
            answer.header("set-cookie").is_some(),
        ));
        app.db
            .execute("UPDATE login_throttle SET blocked_until = now()");
    }
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    assert!(
        throttled.iter().all(|answer| *answer == throttled[0]),
        "{throttled:?}"
    );
    // The ledger holds no e-mail of somebody unknown.
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'login_failed' AND user_id IS NULL"),
        1
    );
}

/// The median time of each kind, over interleaved samples: what slows the machine down slows all.
async fn median_costs(app: &TestApp) -> Vec<Duration> {
    const ROUNDS: usize = 9;
    let mut samples = vec![Vec::new(); FAILING.len()];
    for round in 0..ROUNDS {
        for turn in 0..FAILING.len() {
            let kind = (round + turn) % FAILING.len();
            let started = Instant::now();
            assert_eq!(fail(app, FAILING[kind]).await.status, 401);
            samples[kind].push(started.elapsed());
        }
    }
    let median = |samples: &mut Vec<Duration>| {
        samples.sort();
        samples[ROUNDS / 2]
    };
    samples.iter_mut().map(median).collect()
}

/// A loose guard that holds on a busy machine; bench/login_cost measures the same closely.
#[tokio::test]
async fn every_failed_log_in_costs_the_same() {
    let settings = [
        ("PASSWORD_ARGON2_MEMORY", "19456"),
        ("PASSWORD_ARGON2_ITERATIONS", "2"),
        ("LOGIN_THROTTLE_FAILURES", "0"),
        ("LOGIN_THROTTLE_ADDRESS_FAILURES", "0"),
    ];
    let app = start(&settings).await;
    failing_accounts(&app).await;
    let mut seen = Vec::new();
    // A hash left out, or made twice, is a factor of two and more, every time; noise is not.
    for _ in 0..10 {
        let medians = median_costs(&app).await;
        let (least, most) = (medians.iter().min().unwrap(), medians.iter().max().unwrap());
        if *most < least.mul_f64(1.4) {
            return;
        }
        seen.push(medians);
    }
    panic!("{seen:?}");
}

#[tokio::test]
async fn a_weaker_hash_is_upgraded_at_the_log_in_and_nothing_else_moves() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let stored = || {
        app.db
            .text("SELECT password_hash AS value FROM users")
            .unwrap()
    };
    let changed = || {
        app.db
            .text("SELECT password_changed_at::text AS value FROM users")
    };
    let (weak, changed_before) = (stored(), changed());
    assert!(weak.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{weak}");
    let token = app.login("ada@example.com").await;
    let stronger = another(
        &app,
        &[
            ("PASSWORD_ARGON2_MEMORY", "256"),
            ("PASSWORD_ARGON2_ITERATIONS", "2"),
        ],
    )
    .await;
    let wrong = json!({"email": "ada@example.com", "password": "wrong"});
    assert_eq!(stronger.post_public("login", wrong).await.status, 401);
    assert_eq!(stored(), weak);
    let upgraded = stronger.login("ada@example.com").await;
    let strong = stored();
    assert!(
        strong.starts_with("$argon2id$v=19$m=256,t=2,p=1$"),
        "{strong}"
    );
    assert_eq!(changed(), changed_before);
    assert!(app.is_alive(&token).await && app.is_alive(&upgraded).await);
    // An instance with the old parameters does not weaken it again.
    app.login("ada@example.com").await;
    assert_eq!(stored(), strong);
}

#[tokio::test]
async fn by_default_a_password_is_hashed_as_owasp_asks() {
    let settings = [
        ("PASSWORD_ARGON2_MEMORY", ""),
        ("PASSWORD_ARGON2_ITERATIONS", ""),
    ];
    let app = start(&settings).await;
    app.sign_up("ada@example.com").await;
    app.sign_up("bob@example.com").await;
    let hashes = app
        .db
        .texts("SELECT password_hash AS value FROM users ORDER BY id");
    for hash in hashes.iter().flatten() {
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{hash}"
        );
    }
    // The same password twice: salts differ.
    assert_ne!(hashes[0], hashes[1]);
}

#[tokio::test]
async fn a_new_password_is_refused_with_a_reason_that_a_form_can_show() {
    let app = start(&[("PASSWORD_CONTEXT_WORDS", "sekisho,barrier")]).await;
    app.sign_up("mallory.example@mail.test").await;
    let token = app.login("mallory.example@mail.test").await;
    let long = "aé".repeat(64) + "x";
    let refused = [
        ("séveñ-7", "too_short"),
        (long.as_str(), "too_long"),
        ("password1", "common"),
        ("Sunshine2027!", "common"),
        ("aaaaaaaaaa", "common"),
        ("Sekisho123", "guessable"),
        ("barrier#9", "guessable"),
        ("mallory-77", "guessable"),
        ("mallory.example@mail.test", "guessable"),
    ];
    for (password, reason) in refused {
        let sign_up = json!({"email": "mallory.example@mail.test", "password": password});
        let change = json!({"current_password": PASSWORD, "new_password": password});
        for reply in [
            app.post_public("sign_up", sign_up).await,
            app.post_json("change_password", &token, change).await,
        ] {
            assert_eq!(
                reply.refusal(),
                (422, "password_rejected".to_owned()),
                "{password}: {reply:?}"
            );
            // Parts of the e-mail count for the account that has them.
            assert_eq!(reply.json()["reason"], reason, "{password}");
            assert!(reply.json()["message"].as_str().unwrap().ends_with('.'));
            assert!(!reply.body.contains(password));
        }
    }
    let nul = json!({"email": "nul@example.com", "password": "nul\0nul\0nul"});
    assert_eq!(
        app.post_public("sign_up", nul).await.refusal(),
        (422, "invalid_field".to_owned())
    );
    assert!(app.is_alive(&token).await);
    assert_eq!(app.db.count("users"), 1);
}

#[tokio::test]
async fn passwords_are_taken_verbatim_and_without_rules_of_composition() {
    let app = start(&[]).await;
    let longest = "aé".repeat(64);
    let taken = [
        "correct horse",
        "  spaces count  ",
        "関所手形を見せよ",
        "purple monkey 🐒 dishwasher",
        "wholly lower case",
        "40351976 2208",
        "e\u{301}tude in g minor",
        longest.as_str(),
    ];
    for (number, password) in taken.iter().enumerate() {
        let email = format!("user{number}@example.com");
        let reply = app
            .post_public("sign_up", json!({"email": email, "password": password}))
            .await;
        assert_eq!(reply.status, 201, "{password}: {reply:?}");
        let login = |password: &str| {
            app.post_public("login", json!({"email": email, "password": password}))
        };
        assert_eq!(login(password).await.status, 200, "{password}");
        let mut last = password.chars();
        last.next_back();
        assert_eq!(login(last.as_str()).await.status, 401, "{password}");
        assert_eq!(
            login(&password.to_uppercase()).await.status == 401,
            password.to_uppercase() != **password
        );
    }
    let login = |number: usize, password: &str| {
        app.post_public(
            "login",
            json!({"email": format!("user{number}@example.com"), "password": password}),
        )
    };
    assert_eq!(login(1, "spaces count").await.status, 401);
    assert_eq!(login(6, "\u{e9}tude in g minor").await.status, 401);
    // Beyond what a password may have, a log-in is simply wrong.
    assert_eq!(login(7, &format!("{longest}x")).await.status, 401);
}
