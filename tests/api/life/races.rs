//! Two things at once, where the outcome must be as if one had come after the other.

use diesel::connection::SimpleConnection;
use futures_util::future::{join, join_all};
use reqwest::Method;
use serde_json::json;

use super::session_id;
use crate::support::{PASSWORD, Reply, TestApp};

#[tokio::test]
async fn of_two_rotations_of_a_token_one_wins() {
    let app = TestApp::start().await;
    let other = app.another(&[]).await;
    app.sign_up("ada@example.com").await;
    let mut token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    for _ in 0..15 {
        let replies: [Reply; 2] = join(
            app.post("rotate_session", &token),
            other.post("rotate_session", &token),
        )
        .await
        .into();
        let (won, lost): (Vec<&Reply>, Vec<&Reply>) =
            replies.iter().partition(|reply| reply.status == 200);
        assert_eq!(
            (won.len(), lost[0].refusal()),
            (1, (401, "session_unknown".to_owned())),
            "{replies:?}"
        );
        let new = won[0].json()["session_token"].as_str().unwrap().to_owned();
        assert!(!app.is_alive(&token).await && !other.is_alive(&token).await);
        assert_eq!(session_id(&other, &new).await, session);
        token = new;
    }
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'session_rotated'"),
        15
    );
}

#[tokio::test]
async fn no_log_in_with_the_old_password_outlives_its_change() {
    let app = TestApp::start_with(&[
        ("LOGIN_THROTTLE_FAILURES", "0"),
        ("LOGIN_THROTTLE_ADDRESS_FAILURES", "0"),
    ])
    .await;
    let other = app
        .another(&[
            ("LOGIN_THROTTLE_FAILURES", "0"),
            ("LOGIN_THROTTLE_ADDRESS_FAILURES", "0"),
        ])
        .await;
    app.sign_up("ada@example.com").await;
    let (mut old, mut token) = (PASSWORD.to_owned(), app.login("ada@example.com").await);
    let (mut early, mut late) = (0, 0);
    for round in 0..12 {
        let new = format!("correct horse battery {round}");
        let body = json!({"email": "ada@example.com", "password": old, "delivery": "token"});
        let logins =
            join_all((0..10).map(|n| [&*app, &other][n % 2].post_public("login", body.clone())));
        let change = app.post_json(
            "change_password",
            &token,
            json!({"current_password": old, "new_password": new}),
        );
        let (logins, change) = join(logins, change).await;
        assert_eq!(change.status, 200, "{change:?}");
        token = change.json()["session_token"].as_str().unwrap().to_owned();
        for login in logins {
            if login.status == 200 {
                early += 1;
                assert!(
                    !app.is_alive(login.json()["session_token"].as_str().unwrap())
                        .await
                );
            } else {
                late += 1;
                assert_eq!(login.refusal(), (401, "invalid_credentials".to_owned()));
            }
        }
        assert!(app.is_alive(&token).await);
        old = new;
    }
    assert_eq!(early + late, 120);
}

#[tokio::test]
async fn a_log_in_that_waited_for_an_ending_of_everything_survives_it() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    for _ in 0..10 {
        let token = app.login("ada@example.com").await;
        let (ended, logins) = join(
            app.post("logout_all", &token),
            join_all((0..4).map(|_| app.login("ada@example.com"))),
        )
        .await;
        assert_eq!(ended.status, 200);
        // Either way: but what lives, lives on every look, and what was ended stays so.
        for login in &logins {
            let first = app.is_alive(login).await;
            assert_eq!(app.is_alive(login).await, first);
        }
        assert!(!app.is_alive(&token).await);
        // In the order of the ledger, which is drawn under the user's lock.
        let outlived = "session_events c WHERE kind = 'session_created'
            AND id < (SELECT max(id) FROM session_events WHERE reason = 'logout_all')
            AND NOT EXISTS (SELECT FROM session_events e WHERE e.session_id = c.session_id AND e.kind <> 'session_created')";
        assert_eq!(app.db.count(outlived), 0);
    }
}

const WAITING: &str = "SELECT count(*) AS value FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND state = 'active'";

/// Holds the user's row until somebody waits for it, runs something in between, lets go, and
/// returns what the one who waited was answered.
async fn while_waiting(
    app: &TestApp,
    held: &str,
    waiting: reqwest::RequestBuilder,
    between: impl Future<Output = ()>,
) -> Reply {
    let mut holder = app.db.connect();
    holder.batch_execute(&format!("BEGIN; {held}")).unwrap();
    let waiting = tokio::spawn(Reply::of(waiting));
    super::until(&app.db, WAITING, 1).await;
    between.await;
    holder.batch_execute("COMMIT").unwrap();
    waiting.await.unwrap()
}

const HELD: &str = "SELECT 1 FROM users FOR NO KEY UPDATE";

async fn patient() -> TestApp {
    let app = TestApp::start_with(&[("DATABASE_TIMEOUT", "30s")]).await;
    app.sign_up("ada@example.com").await;
    app
}

#[tokio::test]
async fn a_log_in_whose_password_changes_while_it_waits_fails() {
    let app = patient().await;
    let login = app
        .auth(Method::POST, "login")
        .json(&json!({"email": "ada@example.com", "password": PASSWORD}));
    let change = "UPDATE users SET password_changed_at = statement_timestamp()";
    let reply = while_waiting(&app, change, login, async {}).await;
    assert_eq!(reply.refusal(), (401, "invalid_credentials".to_owned()));
    assert_eq!(app.db.count("sessions"), 0);
    assert_eq!(
        app.db.count("session_events WHERE kind = 'login_failed'"),
        1
    );
}

#[tokio::test]
async fn a_log_in_whose_account_is_disabled_while_it_waits_fails() {
    let app = patient().await;
    let login = app
        .auth(Method::POST, "login")
        .json(&json!({"email": "ada@example.com", "password": PASSWORD}));
    let disable = "UPDATE users SET disabled_at = statement_timestamp()";
    let reply = while_waiting(&app, disable, login, async {}).await;
    assert_eq!(reply.refusal(), (401, "invalid_credentials".to_owned()));
    assert_eq!(app.db.count("sessions"), 0);
}

#[tokio::test]
async fn what_needs_the_password_needs_the_current_token_to_the_end() {
    let app = patient().await;
    let change = |token: &str| {
        let body =
            json!({"current_password": PASSWORD, "new_password": "a wholly different phrase"});
        app.auth(Method::POST, "change_password")
            .bearer_auth(token)
            .json(&body)
    };
    let delete = |token: &str| {
        app.auth(Method::DELETE, "user")
            .bearer_auth(token)
            .json(&json!({"password": PASSWORD}))
    };
    // Rotated meanwhile: the old token is nobody's.
    for request in [&change as &dyn Fn(&str) -> reqwest::RequestBuilder, &delete] {
        let token = app.login("ada@example.com").await;
        let rotate = async {
            assert_eq!(app.post("rotate_session", &token).await.status, 200);
        };
        let reply = while_waiting(&app, HELD, request(&token), rotate).await;
        assert_eq!(reply.refusal(), (401, "session_unknown".to_owned()));
    }
    // Ended meanwhile: told why.
    for request in [&change as &dyn Fn(&str) -> reqwest::RequestBuilder, &delete] {
        let token = app.login("ada@example.com").await;
        let logout = async {
            assert_eq!(app.post("logout", &token).await.status, 200);
        };
        let reply = while_waiting(&app, HELD, request(&token), logout).await;
        assert_eq!(reply.refusal(), (401, "session_revoked".to_owned()));
        assert_eq!(reply.json()["reason"], "user_logout");
    }
    assert!(app.is_alive(&app.login("ada@example.com").await).await);
    assert_eq!(
        app.db
            .count("session_events WHERE kind IN ('password_changed', 'user_deleted')"),
        0
    );
}

#[tokio::test]
async fn a_log_in_that_waited_for_an_ending_begins_after_it() {
    let app = patient().await;
    let login = app
        .auth(Method::POST, "login")
        .json(&json!({"email": "ada@example.com", "password": PASSWORD, "delivery": "token"}));
    // Fixed before the wait, its times would lie before those of what it waited for.
    let note = async {
        app.db
            .execute("CREATE TABLE noted AS SELECT clock_timestamp() AS at");
    };
    let reply = while_waiting(&app, HELD, login, note).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(app.db.count("sessions, noted WHERE created_at > at"), 1);
    assert_eq!(
        app.db
            .count("session_events, noted WHERE kind = 'session_created' AND occurred_at > at"),
        1
    );
}
