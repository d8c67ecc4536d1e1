//! Tokens and keys that are none.

use reqwest::Method;

use crate::envelope::assert_common;
use crate::support::{CLEANUP_KEY, Instance, Reply, TestApp};

/// Where nothing can be asked of the database, what is answered was not asked of it.
#[tokio::test]
async fn a_malformed_token_is_refused_without_a_query() {
    let app = Instance::start("postgres://nobody@127.0.0.1:1/nowhere", &[]);
    let well_formed = "A".repeat(43);
    let asked = app.get("session", &well_formed).await;
    assert_eq!(asked.refusal(), (503, "unavailable".to_owned()));
    let (short, long) = ("A".repeat(42), "A".repeat(44));
    let (padded, plus) = (format!("{short}="), format!("{short}+"));
    let quoted = format!("\"{well_formed}\"");
    let enormous = "A".repeat(5_000);
    let wide = "é".repeat(43);
    for token in [
        "x", "null", "%00", &short, &long, &padded, &plus, &quoted, &enormous, &wide,
    ] {
        let cookie = format!("__Host-session_id={token}");
        for request in [
            app.auth(Method::GET, "session")
                .header("Authorization", format!("Bearer {token}")),
            app.auth(Method::GET, "session").header("Cookie", cookie),
        ] {
            let reply = Reply::of(request).await;
            assert_eq!(
                reply.refusal(),
                (401, "session_unknown".to_owned()),
                "{token}"
            );
            let challenge = reply.header("www-authenticate").unwrap();
            assert!(
                challenge.contains(r#"error="invalid_token""#),
                "{challenge}"
            );
        }
        // Nor does logging out with it ask anything.
        let request = app.auth(Method::POST, "logout").bearer_auth(token);
        assert_eq!(Reply::of(request).await.status, 200);
    }
    let nothing = Reply::of(app.auth(Method::GET, "session")).await;
    assert_eq!(nothing.refusal(), (401, "credentials_missing".to_owned()));
    let challenge = nothing.header("www-authenticate").unwrap();
    assert!(!challenge.contains("error"), "{challenge}");
    // Nor are wrong keys.
    for keys in [vec![], vec!["wrong"], vec![CLEANUP_KEY, CLEANUP_KEY]] {
        let mut request = app.auth(Method::POST, "cleanup_sessions");
        for key in keys {
            request = request.header("X-API-Key", key);
        }
        let reply = Reply::of(request).await;
        assert_eq!(reply.refusal(), (401, "api_key_invalid".to_owned()));
        assert_common(&reply);
    }
}

#[tokio::test]
async fn any_changed_character_makes_a_token_unknown() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for position in [0, 21, 42] {
        let mut other = token.clone().into_bytes();
        other[position] = if other[position] == b'x' { b'y' } else { b'x' };
        let other = String::from_utf8(other).unwrap();
        let reply = app.get("session", &other).await;
        assert_eq!(reply.refusal(), (401, "session_unknown".to_owned()));
    }
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn the_query_that_a_proxy_appends_is_the_application_s() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for query in [
        "max_age=junk",
        "max_age=0&max_age=0",
        "auth_level=mfa",
        "touch=7",
    ] {
        let appended = app.get(&format!("verify/shop/list?{query}"), &token).await;
        assert_eq!(appended.status, 200, "{query}: {appended:?}");
        for before in ["", "touch=false&"] {
            let path = format!("verify?{before}path=/shop/list?{query}&other=1&{query}");
            let appended = app.get(&path, &token).await;
            assert_eq!(appended.status, 200, "{query}: {appended:?}");
        }
        let own = app.get(&format!("verify?{query}"), &token).await;
        assert!(own.status == 400 || own.status == 401, "{query}: {own:?}");
    }
}
