//! Beginning, keeping and ending sessions.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::{another, assert_dead, comparable, start, with_cookie};
use crate::support::{CLEANUP_KEY, PASSWORD, Reply, SERVICE_KEY, cookie_value, process};

#[tokio::test]
async fn headers_and_cookies_that_name_a_user_or_a_level_change_nothing() {
    let app = start(&[]).await;
    let ada = app.sign_up("ada@example.com").await;
    let bob = app.sign_up("bob@example.com").await;
    let token = app.login("ada@example.com").await;
    let claims = |request: reqwest::RequestBuilder| {
        let names = [
            "X-Auth-User-Id",
            "X-User-Id",
            "X-Forwarded-User",
            "Remote-User",
            "X-Auth-Session-Id",
        ];
        let request = names
            .iter()
            .fold(request, |request, name| request.header(*name, bob));
        request
            .header("X-Auth-Level", "mfa")
            .header("X-Role", "admin")
            .header(
                "Cookie",
                format!("user_id={bob}; role=admin; auth_level=mfa"),
            )
    };
    let session = Reply::of(claims(app.auth(Method::GET, "session")).bearer_auth(&token)).await;
    assert_eq!(session.json()["user"]["id"], ada);
    assert_eq!(session.json()["user"]["role"], "user");
    assert_eq!(session.json()["session"]["auth_level"], "password");
    let verified = Reply::of(claims(app.auth(Method::GET, "verify")).bearer_auth(&token)).await;
    assert_eq!(
        verified.header("x-auth-user-id"),
        Some(ada.to_string().as_str())
    );
    assert_eq!(verified.header("x-auth-level"), Some("password"));
    for path in ["session", "verify", "sessions"] {
        let nobody = Reply::of(claims(app.auth(Method::GET, path))).await;
        assert_eq!(
            nobody.refusal(),
            (401, "credentials_missing".to_owned()),
            "{path}"
        );
        assert!(nobody.header("x-auth-user-id").is_none());
    }
}

#[tokio::test]
async fn an_api_key_is_no_session_and_a_session_no_api_key() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for key in [CLEANUP_KEY, SERVICE_KEY] {
        let as_bearer = app.get("session", key).await;
        assert_eq!(as_bearer.refusal(), (401, "session_unknown".to_owned()));
        let as_key = Reply::of(app.auth(Method::GET, "session").header("X-API-Key", key)).await;
        assert_eq!(as_key.refusal(), (401, "credentials_missing".to_owned()));
        let as_cookie = Reply::of(with_cookie(&app, Method::GET, "session", key)).await;
        assert_eq!(as_cookie.status, 401);
    }
    let cleanup = || app.auth(Method::POST, "cleanup_sessions");
    for request in [
        cleanup().header("X-API-Key", &token),
        cleanup().bearer_auth(&token),
        cleanup().bearer_auth(CLEANUP_KEY),
        cleanup().header("X-API-Key", SERVICE_KEY),
        with_cookie(&app, Method::POST, "cleanup_sessions", &token),
    ] {
        let refused = Reply::of(request).await;
        assert_eq!(refused.refusal(), (401, "api_key_invalid".to_owned()));
        assert_eq!(
            refused.header("www-authenticate"),
            Some(r#"ApiKey realm="sekisho""#)
        );
    }
    assert_eq!(app.db.count("cleanup_runs"), 0);
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn a_log_in_never_adopts_the_token_that_came_with_it() {
    let app = start(&[]).await;
    let other = another(&app, &[]).await;
    app.sign_up("ada@example.com").await;
    app.sign_up("eve@example.com").await;
    let made_up = "A".repeat(43);
    let evil = app.login("eve@example.com").await;
    let body = json!({"email": "ada@example.com", "password": PASSWORD});
    for planted in [&made_up, &evil] {
        let login = Reply::of(with_cookie(&app, Method::POST, "login", planted).json(&body)).await;
        assert_eq!(login.status, 200);
        let token = cookie_value(&login).unwrap();
        assert_ne!(&token, planted);
        assert!(other.is_alive(&token).await);
        assert_dead(&[&app, &other], planted).await;
    }
    // The attacker's own session, planted on the victim, ended with the reason in its owner's ledger.
    let reason = app.get("session", &evil).await.json()["reason"].clone();
    assert_eq!(reason, "superseded");
}

#[tokio::test]
async fn every_proof_and_every_rotation_gives_a_new_token_and_kills_the_old() {
    let app = start(&[]).await;
    let other = another(&app, &[]).await;
    app.sign_up("ada@example.com").await;
    let mut token = app.login("ada@example.com").await;
    let steps = [
        ("reauthenticate", json!({"password": PASSWORD})),
        ("rotate_session", json!({})),
        (
            "change_password",
            json!({"current_password": PASSWORD, "new_password": "another horse battery"}),
        ),
    ];
    for (path, body) in steps {
        let reply = app.post_json(path, &token, body).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        let new = reply.json()["session_token"].as_str().unwrap().to_owned();
        assert_ne!(new, token);
        assert_dead(&[&app, &other], &token).await;
        assert!(
            app.is_alive(&new).await && other.is_alive(&new).await,
            "{path}"
        );
        token = new;
    }
}

#[tokio::test]
async fn a_session_ends_without_use_and_at_its_cap() {
    let app = start(&[("SESSION_IDLE_TIMEOUT", "30m")]).await;
    let other = another(&app, &[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    // Used for the last time nearly the idle time-out ago.
    app.db.execute(
        "UPDATE sessions SET last_seen_at = now() - INTERVAL '1780 seconds', expires_at = now() + INTERVAL '20 seconds'",
    );
    assert!(app.is_alive(&token).await);
    let idle = app.login("ada@example.com").await;
    app.db
        .execute("UPDATE sessions SET expires_at = now() - INTERVAL '1 second'");
    assert_dead(&[&app, &other], &idle).await;
    assert_eq!(
        app.get("session", &idle).await.refusal(),
        (401, "session_expired".to_owned())
    );
    let capped = app.login("ada@example.com").await;
    app.db.execute(
        "UPDATE sessions SET last_seen_at = now(), expires_at = now() - INTERVAL '1 second', \
         absolute_expires_at = now() - INTERVAL '1 second' WHERE expires_at > now()",
    );
    assert_dead(&[&app, &other], &capped).await;
}

#[tokio::test]
async fn use_never_moves_the_deadline_beyond_the_cap() {
    let app = start(&[("SESSION_IDLE_TIMEOUT", "30m")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db.execute(
        "UPDATE sessions SET last_seen_at = now() - INTERVAL '20 minutes', expires_at = now() + INTERVAL '10 minutes', \
         absolute_expires_at = now() + INTERVAL '15 minutes'",
    );
    assert!(app.is_alive(&token).await);
    let slid = "sessions WHERE expires_at = absolute_expires_at";
    for _ in 0..500 {
        if app.db.count(slid) == 1 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the deadline did not slide to the cap");
}

#[tokio::test]
async fn a_token_is_dead_after_its_log_out_and_logging_out_twice_is_fine() {
    let app = start(&[]).await;
    let other = another(&app, &[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login_browser("ada@example.com").await;
    for revoked in [1, 0] {
        let reply = Reply::of(with_cookie(&app, Method::POST, "logout", &token)).await;
        assert_eq!(
            (reply.status, reply.json()["revoked_count"].as_i64()),
            (200, Some(revoked))
        );
        assert_dead(&[&app, &other], &token).await;
    }
    assert_eq!(
        app.get("session", &token).await.json()["reason"],
        "user_logout"
    );
}

#[tokio::test]
async fn disabling_ends_every_session_and_refuses_log_ins_like_a_wrong_password() {
    let app = start(&[]).await;
    let other = another(&app, &[]).await;
    app.sign_up("ada@example.com").await;
    let (one, two) = (
        app.login("ada@example.com").await,
        app.login_browser("ada@example.com").await,
    );
    let disabled = process::run(
        &app.db.url,
        &[],
        &["disable_user", "--email", "ada@example.com"],
        "",
    );
    assert!(disabled.status.success(), "{disabled:?}");
    for token in [&one, &two] {
        assert_dead(&[&app, &other], token).await;
    }
    let right = app
        .post_public(
            "login",
            json!({"email": "ada@example.com", "password": PASSWORD}),
        )
        .await;
    let unknown = app
        .post_public(
            "login",
            json!({"email": "bob@example.com", "password": PASSWORD}),
        )
        .await;
    assert_eq!(right.refusal(), (401, "invalid_credentials".to_owned()));
    assert_eq!(comparable(&right), comparable(&unknown));
}

#[tokio::test]
async fn changing_the_password_ends_every_other_session() {
    let app = start(&[]).await;
    let other = another(&app, &[]).await;
    app.sign_up("ada@example.com").await;
    let (here, there) = (
        app.login("ada@example.com").await,
        app.login_browser("ada@example.com").await,
    );
    let body = json!({"current_password": PASSWORD, "new_password": "another horse battery"});
    let changed = app.post_json("change_password", &here, body).await;
    assert_eq!(changed.status, 200);
    for token in [&here, &there] {
        assert_dead(&[&app, &other], token).await;
        assert_eq!(
            app.get("session", token).await.json()["reason"],
            "password_changed"
        );
    }
    assert!(
        other
            .is_alive(changed.json()["session_token"].as_str().unwrap())
            .await
    );
}

#[tokio::test]
async fn lists_hold_no_token_and_the_sessions_of_others_are_as_unknown_ones() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    app.sign_up("bob@example.com").await;
    let (ada, bob) = (
        app.login("ada@example.com").await,
        app.login("bob@example.com").await,
    );
    let list = app.get("sessions", &ada).await;
    let hash = app.db.texts("SELECT session_hash AS value FROM sessions");
    for secret in hash
        .iter()
        .flatten()
        .map(String::as_str)
        .chain([ada.as_str(), bob.as_str()])
    {
        assert!(
            !list.body.contains(secret) && !app.get("session", &ada).await.body.contains(secret)
        );
    }
    let of_bob = app.get("session", &bob).await.json()["session"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let unknown = "01890000-0000-7000-8000-000000000000";
    for method in [Method::PATCH, Method::DELETE] {
        let mut answers = Vec::new();
        for id in [of_bob.as_str(), unknown, "1"] {
            let request = app
                .auth(method.clone(), &format!("sessions/{id}"))
                .bearer_auth(&ada);
            answers.push(comparable(
                &Reply::of(request.json(&json!({"device_label": "Mine"}))).await,
            ));
        }
        assert_eq!(answers[0].0, 404);
        assert!(
            answers[0] == answers[1] && answers[1] == answers[2],
            "{answers:?}"
        );
    }
    assert!(app.is_alive(&bob).await);
}

#[tokio::test]
async fn ending_other_devices_can_demand_a_fresh_proof() {
    let app = start(&[("REAUTHENTICATION_MAX_AGE", "10m")]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let other = app.login("ada@example.com").await;
    let other_id = app.get("session", &other).await.json()["session"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    app.db
        .execute("UPDATE sessions SET authenticated_at = now() - INTERVAL '11 minutes'");
    let calls = [
        (Method::POST, "logout_all".to_owned()),
        (Method::POST, "logout_others".to_owned()),
        (Method::DELETE, format!("sessions/{other_id}")),
    ];
    for (method, path) in &calls {
        let refused = Reply::of(app.auth(method.clone(), path).bearer_auth(&token)).await;
        assert_eq!(
            refused.refusal(),
            (401, "reauthentication_required".to_owned()),
            "{path}"
        );
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(
            challenge.contains(r#"error="insufficient_user_authentication""#),
            "{challenge}"
        );
        assert!(challenge.contains(r#"max_age="600""#), "{challenge}");
    }
    assert!(app.is_alive(&token).await && app.is_alive(&other).await);
    let proved = app
        .post_json("reauthenticate", &token, json!({"password": PASSWORD}))
        .await;
    let fresh = proved.json()["session_token"].as_str().unwrap().to_owned();
    assert_eq!(
        app.post("logout_others", &fresh).await.json()["revoked_count"],
        1
    );
    // A proxy may demand the same, or a stronger authentication.
    app.db
        .execute("UPDATE sessions SET authenticated_at = now() - INTERVAL '11 minutes'");
    let stale = app.get("verify?max_age=600", &fresh).await;
    assert_eq!(
        stale.refusal(),
        (401, "reauthentication_required".to_owned())
    );
    let weak = app.get("verify?auth_level=mfa", &fresh).await;
    assert!(
        weak.header("www-authenticate")
            .unwrap()
            .contains(r#"acr_values="mfa""#)
    );
}

#[tokio::test]
async fn parallel_log_ins_never_beat_the_cap() {
    let app = start(&[("SESSION_MAX_PER_USER", "5")]).await;
    app.sign_up("ada@example.com").await;
    let first = app.login("ada@example.com").await;
    let tokens = join_all((0..100).map(|_| app.login("ada@example.com"))).await;
    assert_eq!(
        app.db
            .count("sessions WHERE revoked_at IS NULL AND expires_at > now()"),
        5
    );
    let ended = "session_events WHERE kind = 'session_revoked' AND reason = 'session_limit'";
    assert_eq!(app.db.count(ended), 96);
    let mut live = 0;
    for token in &tokens {
        live += i32::from(app.is_alive(token).await);
    }
    assert_eq!(live, 5);
    // The least recently seen went first.
    assert_dead(&[&app], &first).await;
}

#[tokio::test]
async fn an_operator_ends_the_sessions_of_one_user_or_of_everybody() {
    let app = start(&[]).await;
    let ada = app.sign_up("ada@example.com").await.to_string();
    app.sign_up("bob@example.com").await;
    let of_ada = [
        app.login("ada@example.com").await,
        app.login_browser("ada@example.com").await,
    ];
    let of_bob = app.login("bob@example.com").await;
    let revoke = |arguments: &[&str]| {
        let output = process::run(&app.db.url, &[], &[&["revoke"], arguments].concat(), "");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        revoke(&["--user", &ada, "--note", "stolen"]),
        "2 sessions ended\n"
    );
    for token in &of_ada {
        assert_dead(&[&app], token).await;
        assert_eq!(
            app.get("session", token).await.json()["reason"],
            "admin_revoked"
        );
    }
    assert!(app.is_alive(&of_bob).await);
    assert_eq!(revoke(&["--all"]), "1 sessions ended\n");
    assert_dead(&[&app], &of_bob).await;
    assert_eq!(
        app.db
            .count("session_events WHERE reason = 'admin_revoked' AND actor = 'system'"),
        3
    );
}
