//! Every reason, as the holder of the token is told it and as the ledger keeps it.

use reqwest::Method;
use sekisho::domain::event::Actor;
use sekisho::domain::session::Reason;
use sekisho::services::users;
use serde_json::json;

use super::{count_of, ending, expired, revoked, session_id, verdict};
use crate::support::process;
use crate::support::{PASSWORD, Reply, TestApp};

/// A user with two devices: the tokens and sessions of both.
struct Devices {
    user: i64,
    tokens: [String; 2],
    sessions: [String; 2],
}

async fn devices(app: &TestApp, email: &str) -> Devices {
    let user = app.sign_up(email).await;
    let tokens = [app.login(email).await, app.login(email).await];
    let sessions = [
        session_id(app, &tokens[0]).await,
        session_id(app, &tokens[1]).await,
    ];
    Devices {
        user,
        tokens,
        sessions,
    }
}

#[tokio::test]
async fn user_logout_ends_the_one_device() {
    let app = TestApp::start().await;
    let Devices {
        user,
        tokens,
        sessions,
    } = devices(&app, "ada@example.com").await;
    assert_eq!(count_of(&app.post("logout", &tokens[0]).await), 1);
    assert_eq!(verdict(&app, &tokens[0]).await, revoked("user_logout"));
    assert_eq!(
        ending(&app.db, &sessions[0]),
        format!("session_revoked {user} user_logout user {user}")
    );
    assert!(app.is_alive(&tokens[1]).await);
    // Once more is fine, and no second ending.
    assert_eq!(count_of(&app.post("logout", &tokens[0]).await), 0);
    ending(&app.db, &sessions[0]);
}

#[tokio::test]
async fn logout_all_and_logout_others_say_so() {
    let app = TestApp::start().await;
    let Devices {
        user,
        tokens,
        sessions,
    } = devices(&app, "ada@example.com").await;
    assert_eq!(count_of(&app.post("logout_others", &tokens[0]).await), 1);
    assert_eq!(verdict(&app, &tokens[1]).await, revoked("logout_others"));
    assert_eq!(
        ending(&app.db, &sessions[1]),
        format!("session_revoked {user} logout_others user {user}")
    );
    let third = app.login("ada@example.com").await;
    assert_eq!(count_of(&app.post("logout_all", &third).await), 2);
    for token in [&tokens[0], &third] {
        assert_eq!(verdict(&app, token).await, revoked("logout_all"));
    }
    assert_eq!(
        ending(&app.db, &sessions[0]),
        format!("session_revoked {user} logout_all user {user}")
    );
    // What has ended keeps its first reason.
    assert_eq!(verdict(&app, &tokens[1]).await, revoked("logout_others"));
}

#[tokio::test]
async fn device_revoked_is_an_ending_from_the_list() {
    let app = TestApp::start().await;
    let Devices {
        user,
        tokens,
        sessions,
    } = devices(&app, "ada@example.com").await;
    let path = format!("sessions/{}", sessions[1]);
    let end = || app.auth(Method::DELETE, &path).bearer_auth(&tokens[0]);
    assert_eq!(count_of(&Reply::of(end()).await), 1);
    assert_eq!(verdict(&app, &tokens[1]).await, revoked("device_revoked"));
    assert_eq!(
        ending(&app.db, &sessions[1]),
        format!("session_revoked {user} device_revoked user {user}")
    );
    assert_eq!(count_of(&Reply::of(end()).await), 0);
}

#[tokio::test]
async fn password_changed_ends_every_session_and_hands_over_a_new_one() {
    let app = TestApp::start().await;
    let Devices {
        user,
        tokens,
        sessions,
    } = devices(&app, "ada@example.com").await;
    let body = json!({"current_password": PASSWORD, "new_password": "a wholly different phrase"});
    let reply = app.post_json("change_password", &tokens[0], body).await;
    let new = reply.json()["session_token"].as_str().unwrap().to_owned();
    assert!(app.is_alive(&new).await);
    for n in 0..2 {
        assert_eq!(verdict(&app, &tokens[n]).await, revoked("password_changed"));
        assert_eq!(
            ending(&app.db, &sessions[n]),
            format!("session_revoked {user} password_changed user {user}")
        );
    }
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'password_changed' AND actor = 'user'"),
        1
    );
}

#[tokio::test]
async fn superseded_is_whoever_was_signed_in_on_the_same_browser() {
    let app = TestApp::start().await;
    let ada = app.sign_up("ada@example.com").await;
    let bob = app.sign_up("bob@example.com").await;
    let first = app.login_browser("ada@example.com").await;
    let session = session_id(&app, &first).await;
    let login = |email: &str, cookie: &str| {
        app.auth(Method::POST, "login")
            .header("Cookie", format!("__Host-session_id={cookie}"))
            .json(&json!({"email": email, "password": PASSWORD}))
    };
    // One's own.
    let reply = Reply::of(login("ada@example.com", &first)).await;
    let second = crate::support::cookie_value(&reply).unwrap();
    assert_eq!(verdict(&app, &first).await, revoked("superseded"));
    assert_eq!(
        ending(&app.db, &session),
        format!("session_revoked {ada} superseded user {ada}")
    );
    // Another's: the event stands under its owner, and says who did it.
    let session = session_id(&app, &second).await;
    let wrong = app
        .auth(Method::POST, "login")
        .header("Cookie", format!("__Host-session_id={second}"))
        .json(&json!({"email": "bob@example.com", "password": "not the password"}));
    assert_eq!(Reply::of(wrong).await.status, 401);
    assert!(app.is_alive(&second).await, "a failed log-in ends nothing");
    assert_eq!(
        Reply::of(login("bob@example.com", &second)).await.status,
        200
    );
    assert_eq!(verdict(&app, &second).await, revoked("superseded"));
    assert_eq!(
        ending(&app.db, &session),
        format!("session_revoked {ada} superseded user {bob}")
    );
}

#[tokio::test]
async fn session_limit_ends_the_least_recently_seen() {
    let app = TestApp::start_with(&[("SESSION_MAX_PER_USER", "2")]).await;
    let Devices {
        user,
        tokens,
        sessions,
    } = devices(&app, "ada@example.com").await;
    // The older one is used later.
    app.db.execute(&format!(
        "UPDATE sessions SET last_seen_at = last_seen_at - interval '1 minute' WHERE id = '{}'",
        sessions[1]
    ));
    let third = app.login("ada@example.com").await;
    assert_eq!(verdict(&app, &tokens[1]).await, revoked("session_limit"));
    assert_eq!(
        ending(&app.db, &sessions[1]),
        format!("session_revoked {user} session_limit user {user}")
    );
    assert!(app.is_alive(&tokens[0]).await && app.is_alive(&third).await);
}

#[tokio::test]
async fn user_disabled_ends_everything_and_looks_like_a_wrong_password() {
    let app = TestApp::start().await;
    let Devices {
        user,
        tokens,
        sessions,
    } = devices(&app, "ada@example.com").await;
    let output = process::run(
        &app.db.url,
        &[],
        &[
            "disable_user",
            "--email",
            "Ada@Example.com",
            "--note",
            "left us",
        ],
        "",
    );
    assert!(output.status.success(), "{output:?}");
    for n in 0..2 {
        assert_eq!(verdict(&app, &tokens[n]).await, revoked("user_disabled"));
        assert_eq!(
            ending(&app.db, &sessions[n]),
            format!("session_revoked {user} user_disabled system -")
        );
    }
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'user_disabled' AND note = 'left us'"),
        1
    );
    let refused = |password: &str| json!({"email": "ada@example.com", "password": password});
    let right = app.post_public("login", refused(PASSWORD)).await;
    let wrong = app.post_public("login", refused("not the password")).await;
    assert_eq!(right.refusal(), (401, "invalid_credentials".to_owned()));
    assert_eq!(right.body, wrong.body);
    let output = process::run(
        &app.db.url,
        &[],
        &["enable_user", "--email", "ada@example.com"],
        "",
    );
    assert!(output.status.success(), "{output:?}");
    assert!(app.is_alive(&app.login("ada@example.com").await).await);
    assert_eq!(verdict(&app, &tokens[0]).await, revoked("user_disabled"));
}

#[tokio::test]
async fn admin_revoked_and_service_revoked_name_who_did_it() {
    let app = TestApp::start().await;
    let Devices {
        user,
        tokens,
        sessions,
    } = devices(&app, "ada@example.com").await;
    let output = process::run(
        &app.db.url,
        &[],
        &[
            "revoke",
            "--user",
            &user.to_string(),
            "--note",
            "lost phone",
        ],
        "",
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("2 sessions ended"),
        "{output:?}"
    );
    assert_eq!(verdict(&app, &tokens[0]).await, revoked("admin_revoked"));
    assert_eq!(
        ending(&app.db, &sessions[0]),
        format!("session_revoked {user} admin_revoked system -")
    );
    assert_eq!(
        app.db
            .count("session_events WHERE reason = 'admin_revoked' AND note = 'lost phone'"),
        2
    );
    let token = app.login("ada@example.com").await;
    let session = session_id(&app, &token).await;
    let ended = users::revoke_sessions(
        &app.context,
        user,
        Reason::ServiceRevoked,
        Actor::service(None),
        None,
    )
    .await;
    assert_eq!(ended.unwrap(), 1);
    assert_eq!(verdict(&app, &token).await, revoked("service_revoked"));
    assert_eq!(
        ending(&app.db, &session),
        format!("session_revoked {user} service_revoked service -")
    );
}

#[tokio::test]
async fn expired_is_told_before_and_after_the_cleanup() {
    let app = TestApp::start().await;
    let Devices {
        user,
        tokens,
        sessions,
    } = devices(&app, "ada@example.com").await;
    app.db.execute(&format!(
        "UPDATE sessions SET expires_at = statement_timestamp() WHERE id = '{}'",
        sessions[0]
    ));
    assert_eq!(verdict(&app, &tokens[0]).await, expired());
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 1);
    assert_eq!(verdict(&app, &tokens[0]).await, expired());
    assert_eq!(
        ending(&app.db, &sessions[0]),
        format!("session_expired {user} expired system -")
    );
    assert!(app.is_alive(&tokens[1]).await);
}
