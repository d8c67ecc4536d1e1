//! Two things at once, where the outcome must be as if one had come after the other.

use futures_util::future::{join, join_all};
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
