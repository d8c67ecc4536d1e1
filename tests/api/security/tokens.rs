//! What a token is, where it is not, and how several of them are told apart.

use std::process::Command;

use reqwest::Method;
use serde_json::json;

use super::{start, with_cookie};
use crate::support::{PASSWORD, Reply, cookie_value};

#[tokio::test]
async fn a_token_is_43_characters_and_any_flipped_one_is_unknown() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    assert_eq!(token.len(), 43);
    assert!(
        token
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    );
    for place in 0..43 {
        let flipped: String = token
            .char_indices()
            .map(|(at, c)| match (at == place, c) {
                (true, 'A') => 'B',
                (true, _) => 'A',
                (false, c) => c,
            })
            .collect();
        assert_eq!(
            app.get("session", &flipped).await.refusal(),
            (401, "session_unknown".to_owned())
        );
    }
    // In base64 these would decode to the same bytes.
    for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".chars() {
        let other = format!("{}{last}", &token[..42]);
        assert_eq!(app.is_alive(&other).await, other == token);
    }
    for padded in [
        format!("{token}="),
        format!(" {token}x"),
        token[..42].to_owned(),
        token.to_uppercase(),
    ] {
        assert!(!app.is_alive(&padded).await, "{padded}");
    }
}

#[tokio::test]
async fn a_dump_of_the_database_holds_no_token_and_no_password() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let mut tokens = vec![
        app.login("ada@example.com").await,
        app.login_browser("ada@example.com").await,
    ];
    let proved = app
        .post_json("reauthenticate", &tokens[0], json!({"password": PASSWORD}))
        .await;
    tokens.push(proved.json()["session_token"].as_str().unwrap().to_owned());
    app.post("logout", &tokens[1]).await;
    let find = concat!(env!("CARGO_MANIFEST_DIR"), "/script/postgres");
    let bin = Command::new(find).arg("bin").output().unwrap();
    let pg_dump = format!("{}/pg_dump", String::from_utf8(bin.stdout).unwrap().trim());
    let dump = Command::new(pg_dump)
        .arg("--dbname")
        .arg(&app.db.url)
        .output()
        .unwrap();
    assert!(
        dump.status.success(),
        "{}",
        String::from_utf8_lossy(&dump.stderr)
    );
    let dump = String::from_utf8(dump.stdout).unwrap();
    assert!(dump.contains("ada@example.com") && dump.contains("$argon2id$"));
    assert!(!dump.contains(PASSWORD));
    for token in &tokens {
        assert!(!dump.contains(token.as_str()));
    }
}

#[tokio::test]
async fn a_token_in_the_query_is_ignored() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for name in ["session_id", "access_token", "token", "__Host-session_id"] {
        let reply = Reply::of(app.auth(Method::GET, &format!("session?{name}={token}"))).await;
        assert_eq!(
            reply.refusal(),
            (401, "credentials_missing".to_owned()),
            "{name}"
        );
        let ended = Reply::of(app.auth(Method::POST, &format!("logout?{name}={token}"))).await;
        assert_eq!(ended.json()["revoked_count"], 0);
    }
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn challenges_say_what_is_wrong_and_only_where_something_was_presented() {
    let app = start(&[]).await;
    let none = Reply::of(app.auth(Method::GET, "session")).await;
    assert_eq!(
        none.header("www-authenticate"),
        Some(r#"Bearer realm="sekisho""#)
    );
    for bad in ["x", &"A".repeat(43), "a b", "a, b"] {
        let request = app
            .auth(Method::GET, "session")
            .header("Authorization", format!("Bearer {bad}"));
        let reply = Reply::of(request).await;
        assert_eq!(
            reply.refusal(),
            (401, "session_unknown".to_owned()),
            "{bad:?}"
        );
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(
            challenge.contains(r#"error="invalid_token""#),
            "{challenge}"
        );
    }
    // Other schemes are not ours to judge.
    let basic = Reply::of(
        app.auth(Method::GET, "session")
            .basic_auth("ada", Some("x")),
    )
    .await;
    assert_eq!(basic.refusal(), (401, "credentials_missing".to_owned()));
}

#[tokio::test]
async fn a_bearer_wins_over_the_cookie() {
    let app = start(&[]).await;
    let ada = app.sign_up("ada@example.com").await;
    app.sign_up("bob@example.com").await;
    let (of_ada, of_bob) = (
        app.login("ada@example.com").await,
        app.login("bob@example.com").await,
    );
    let both = with_cookie(&app, Method::GET, "session", &of_bob).bearer_auth(&of_ada);
    assert_eq!(Reply::of(both).await.json()["user"]["id"], ada);
    let bad = with_cookie(&app, Method::GET, "session", &of_bob).bearer_auth("bad");
    assert_eq!(
        Reply::of(bad).await.refusal(),
        (401, "session_unknown".to_owned())
    );
    let two = app
        .auth(Method::GET, "session")
        .header("Authorization", format!("Bearer {of_ada}"))
        .header("Authorization", format!("Bearer {of_bob}"));
    assert_eq!(Reply::of(two).await.status, 401);
}

#[tokio::test]
async fn two_live_cookies_are_refused_but_one_among_stale_ones_is_found() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    let (live, stale) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    let request = |method: Method, path: &str, tokens: &[&str]| {
        let pairs: Vec<String> = tokens
            .iter()
            .map(|token| format!("__Host-session_id={token}"))
            .collect();
        app.auth(method, path).header("Cookie", pairs.join("; "))
    };
    let two = Reply::of(request(Method::GET, "session", &[&live, &stale])).await;
    assert_eq!(two.refusal(), (401, "session_ambiguous".to_owned()));
    let same_twice = Reply::of(request(Method::GET, "session", &[&live, &live])).await;
    assert_eq!(same_twice.status, 200);
    app.post("logout", &stale).await;
    let made_up = "A".repeat(43);
    let one = Reply::of(request(
        Method::GET,
        "session",
        &[&stale, "%00", &live, &made_up],
    ))
    .await;
    assert_eq!(one.status, 200, "{one:?}");
    // Out of the dead end there is always a way.
    let other = app.login("ada@example.com").await;
    let body = json!({"email": "ada@example.com", "password": PASSWORD});
    let login = Reply::of(request(Method::POST, "login", &[&live, &other]).json(&body)).await;
    assert_eq!(login.status, 200);
    let new = cookie_value(&login).unwrap();
    assert!(!app.is_alive(&live).await && !app.is_alive(&other).await && app.is_alive(&new).await);
    let another = app.login("ada@example.com").await;
    let out = Reply::of(request(Method::POST, "logout", &[&new, &another])).await;
    assert_eq!(
        (out.status, out.json()["revoked_count"].as_i64()),
        (200, Some(2))
    );
}
