//! Many cookies of our name at once, as pages of a sibling domain can set them.

use reqwest::Method;

use crate::support::{Reply, TestApp};

const SETTINGS: [(&str, &str); 1] = [("SESSION_COOKIE_NAME", "session_id")];

/// So many values of the form of a token, and then the live one.
fn flood(junk: usize, token: &str) -> String {
    let junk = (0..junk).map(|n| format!("session_id={n:043}; "));
    format!("{}session_id={token}", junk.collect::<String>())
}

async fn send(app: &TestApp, method: Method, path: &str, cookie: &str) -> Reply {
    let request = app.auth(method, path).header("Cookie", cookie);
    Reply::of(request.header("Sec-Fetch-Site", "same-origin")).await
}

async fn is_alive(app: &TestApp, token: &str) -> bool {
    app.get("session", token).await.status == 200
}

async fn started() -> (TestApp, String) {
    let app = TestApp::start_with(&SETTINGS).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    (app, token)
}

#[tokio::test]
async fn a_session_behind_a_few_is_found_and_behind_many_is_never_called_unknown() {
    let (app, token) = started().await;
    let few = send(&app, Method::GET, "session", &flood(3, &token)).await;
    assert_eq!(few.status, 200, "{few:?}");
    for junk in [4, 63, 64, 100] {
        for (method, path) in [
            (Method::GET, "session"),
            (Method::GET, "verify"),
            (Method::POST, "logout_all"),
        ] {
            let reply = send(&app, method, path, &flood(junk, &token)).await;
            let refused = (401, "session_ambiguous".to_owned());
            assert_eq!(reply.refusal(), refused, "{path} {junk}");
        }
    }
    assert!(is_alive(&app, &token).await);
}

#[tokio::test]
async fn logging_out_ends_the_session_behind_many_or_says_that_it_did_not() {
    let (app, token) = started().await;
    let refused = send(&app, Method::POST, "logout", &flood(64, &token)).await;
    assert_eq!(refused.refusal(), (401, "session_ambiguous".to_owned()));
    assert!(is_alive(&app, &token).await);
    let reply = send(&app, Method::POST, "logout", &flood(63, &token)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["revoked_count"], 1);
    assert!(!is_alive(&app, &token).await);
}

#[tokio::test]
async fn a_log_in_supersedes_the_session_behind_many() {
    let (app, token) = started().await;
    let body =
        serde_json::json!({"email": "ada@example.com", "password": crate::support::PASSWORD});
    let request = app
        .auth(Method::POST, "login")
        .header("Cookie", flood(20, &token))
        .json(&body);
    let reply = Reply::of(request).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(!is_alive(&app, &token).await);
    let new = reply.cookies()[0];
    let new = send(&app, Method::GET, "session", new.split(';').next().unwrap()).await;
    assert_eq!(new.status, 200, "{new:?}");
}
