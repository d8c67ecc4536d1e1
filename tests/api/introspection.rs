//! Introspection (RFC 7662) and revocation (RFC 7009) for backends.

use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::support::{CLEANUP_KEY, Reply, SERVICE_KEY, TestApp};

const UNKNOWN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn ask(app: &TestApp, path: &str, token: &str) -> RequestBuilder {
    app.auth(Method::POST, path)
        .header("X-API-Key", SERVICE_KEY)
        .form(&[("token", token)])
}

async fn introspect(app: &TestApp, token: &str) -> Reply {
    Reply::of(ask(app, "introspect", token)).await
}

#[tokio::test]
async fn a_live_token_is_described_with_the_types_that_resource_servers_cast() {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let reply = introspect(&app, &token).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let body = reply.json();
    let session = app.get("session", &token).await.json();
    assert_eq!(body["active"], true);
    assert_eq!(body["sub"], id.to_string());
    assert_eq!(body["username"], "ada@example.com");
    assert_eq!(body["sid"], session["session"]["id"]);
    assert_eq!(
        (&body["acr"], &body["token_type"]),
        (&json!("password"), &json!("Bearer"))
    );
    let seconds = |column: &str| {
        app.db.number(&format!(
            "SELECT floor(extract(epoch FROM {column}))::bigint AS value FROM sessions"
        ))
    };
    assert_eq!(body["iat"], seconds("created_at"));
    assert_eq!(body["exp"], seconds("expires_at"));
    assert_eq!(body["auth_time"], seconds("authenticated_at"));
    assert_eq!(body.as_object().unwrap().len(), 9);
}

#[tokio::test]
async fn every_other_token_is_inactive_and_nothing_more_is_told() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let (ended, expired) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    app.post("logout", &ended).await;
    app.db.execute(
        "UPDATE sessions SET expires_at = now() - interval '1 second' WHERE revoked_at IS NULL",
    );
    let flipped = format!(
        "{}{}",
        &expired[..42],
        if expired.ends_with('A') { 'B' } else { 'A' }
    );
    for token in [
        &ended,
        &expired,
        &flipped,
        UNKNOWN,
        "",
        "no-token",
        "%00\u{1F512}",
    ] {
        let reply = introspect(&app, token).await;
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (200, r#"{"active":false}"#),
            "{token}"
        );
    }
}

#[tokio::test]
async fn asking_is_no_use_of_the_session() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db
        .execute("UPDATE sessions SET last_seen_at = now() - interval '20 minutes'");
    let seen = "SELECT last_seen_at::text AS value FROM sessions";
    let before = app.db.text(seen);
    assert_eq!(introspect(&app, &token).await.json()["active"], true);
    // A touch that introspection had caused would be under way before this one, which is seen.
    let touches = &app.context.touches;
    while !touches.is_idle() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(app.db.text(seen), before);
    app.get("session", &token).await;
    while !touches.is_idle() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_ne!(app.db.text(seen), before);
}

#[tokio::test]
async fn the_caller_authenticates_as_oauth_clients_do() {
    let key = "a-key+with/odd%chars:32-or-more-%2B-of-them";
    let app = TestApp::start_with(&[("SERVICE_API_KEY", key)]).await;
    let encoded = "a-key%2Bwith%2Fodd%25chars%3A32-or-more-%252B-of-them";
    for path in ["introspect", "revoke"] {
        let call = || app.auth(Method::POST, path);
        let form = [("token", UNKNOWN), ("token_type_hint", "access_token")];
        let welcome = [
            call().basic_auth("any", Some(key)).form(&form),
            call().basic_auth("", Some(encoded)).form(&form),
            call().header("X-API-Key", key).form(&form),
            call().form(&[
                ("token", UNKNOWN),
                ("client_id", "any"),
                ("client_secret", key),
            ]),
        ];
        for request in welcome {
            let reply = Reply::of(request).await;
            assert_eq!(reply.status, 200, "{path} {reply:?}");
        }
        let wrong = "b".repeat(40);
        let refused = [
            call().form(&form),
            call().basic_auth("any", Some(&wrong)).form(&form),
            call().basic_auth(key, None::<&str>).form(&form),
            call().bearer_auth(key).form(&form),
            call().header("X-API-Key", CLEANUP_KEY).form(&form),
            call()
                .header("X-API-Key", key)
                .header("X-API-Key", key)
                .form(&form),
            call().form(&[("token", UNKNOWN), ("client_secret", &wrong)]),
            // Each that is there must be right.
            call()
                .basic_auth("any", Some(&wrong))
                .header("X-API-Key", key)
                .form(&form),
            call()
                .basic_auth("any", Some(&wrong))
                .form(&[("token", UNKNOWN), ("client_secret", key)]),
        ];
        for request in refused {
            let reply = Reply::of(request).await;
            assert_eq!(
                reply.refusal(),
                (401, "api_key_invalid".to_owned()),
                "{path}"
            );
            assert_eq!(
                reply.header("www-authenticate"),
                Some(r#"Basic realm="sekisho", charset="UTF-8""#)
            );
        }
    }
}

#[tokio::test]
async fn bodies_that_are_no_such_form_are_refused() {
    let app = TestApp::start().await;
    let call = || {
        app.auth(Method::POST, "introspect")
            .header("X-API-Key", SERVICE_KEY)
    };
    let json = Reply::of(call().json(&json!({"token": UNKNOWN}))).await;
    assert_eq!(json.refusal(), (415, "unsupported_media_type".to_owned()));
    for form in [vec![("hint", "x")], vec![("token", "a"), ("token", "b")]] {
        let reply = Reply::of(call().form(&form)).await;
        assert_eq!(
            reply.refusal(),
            (400, "malformed_request".to_owned()),
            "{form:?}"
        );
    }
    let large = "x".repeat(20_000);
    let reply = Reply::of(call().form(&[("token", &large)])).await;
    assert_eq!(reply.refusal(), (413, "body_too_large".to_owned()));
    let got = Reply::of(
        app.auth(Method::GET, "introspect")
            .header("X-API-Key", SERVICE_KEY),
    )
    .await;
    assert_eq!(got.refusal(), (405, "method_not_allowed".to_owned()));
}

#[tokio::test]
async fn revoking_ends_the_session_at_once_and_succeeds_for_any_token() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let (token, other) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    for token in [token.as_str(), token.as_str(), UNKNOWN, "no-token", ""] {
        let reply = Reply::of(ask(&app, "revoke", token)).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    }
    assert!(!app.is_alive(&token).await && app.is_alive(&other).await);
    assert_eq!(introspect(&app, &token).await.body, r#"{"active":false}"#);
    let told = app.get("session", &token).await;
    assert_eq!(told.json()["reason"], "service_revoked");
    let events = "session_events WHERE kind = 'session_revoked' AND reason = 'service_revoked' \
                  AND actor = 'service' AND actor_id IS NULL";
    assert_eq!(app.db.count(events), 1);
}

#[tokio::test]
async fn an_outage_is_neither_inactive_nor_revoked() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db
        .execute("ALTER TABLE sessions RENAME TO sessions_away");
    for path in ["introspect", "revoke"] {
        let reply = Reply::of(ask(&app, path, &token)).await;
        assert_eq!(reply.refusal(), (503, "unavailable".to_owned()), "{path}");
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
    app.db
        .execute("ALTER TABLE sessions_away RENAME TO sessions");
    assert_eq!(introspect(&app, &token).await.json()["active"], true);
}
