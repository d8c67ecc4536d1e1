//! The security requirements, each with the test that shows it; docs/security.md says which is which.

mod cookies;
mod cross_origin;
mod emails;
mod headers;
mod keys;
mod logs;
mod panics;
mod parsers;
mod passwords;
mod requests;
mod sessions;
mod throttle;
mod tokens;

use reqwest::{Method, RequestBuilder};

use crate::support::app::Instance;
use crate::support::{Reply, TestApp};

/// Time enough for a busy machine; how long things may take is shown elsewhere.
const PATIENT: [(&str, &str); 2] = [
    ("DATABASE_TIMEOUT", "30s"),
    ("DATABASE_LOOKUP_TIMEOUT", "30s"),
];

/// A service with these settings.
async fn start(settings: &[(&str, &str)]) -> TestApp {
    TestApp::start_with(&[&PATIENT, settings].concat()).await
}

/// A further instance beside it.
async fn another(app: &TestApp, settings: &[(&str, &str)]) -> Instance {
    app.another(&[&PATIENT, settings].concat()).await
}

/// What is left of an answer when that is taken away which always differs.
fn comparable(reply: &Reply) -> (u16, Vec<(String, String)>, String) {
    let mut headers: Vec<_> = reply
        .headers
        .iter()
        .filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), format!("{value:?}")))
        .collect();
    headers.sort();
    (reply.status, headers, reply.body.clone())
}

/// The requirements' DEAD(t): refused as cookie and as bearer, on every instance.
async fn assert_dead(instances: &[&Instance], token: &str) {
    for instance in instances {
        assert!(!instance.is_alive(token).await);
    }
}

/// A request with the cookie.
fn with_cookie(app: &Instance, method: Method, path: &str, token: &str) -> RequestBuilder {
    app.auth(method, path)
        .header("Cookie", format!("__Host-session_id={token}"))
}

/// Every call that changes something for an end user, with a body that fits.
fn unsafe_calls() -> Vec<(Method, &'static str, Option<&'static str>)> {
    let password = r#"{"password": "wrong horse"}"#;
    vec![
        (
            Method::POST,
            "sign_up",
            Some(r#"{"email": "eve@example.com", "password": "correct horse battery"}"#),
        ),
        (
            Method::POST,
            "login",
            Some(r#"{"email": "ada@example.com", "password": "correct horse battery"}"#),
        ),
        (Method::POST, "logout", None),
        (Method::POST, "logout_all", None),
        (Method::POST, "logout_others", None),
        (Method::POST, "rotate_session", None),
        (Method::POST, "reauthenticate", Some(password)),
        (Method::DELETE, "user", Some(password)),
        (
            Method::POST,
            "change_password",
            Some(
                r#"{"current_password": "correct horse battery", "new_password": "another horse battery"}"#,
            ),
        ),
        (
            Method::PATCH,
            "sessions/{id}",
            Some(r#"{"device_label": "Mine"}"#),
        ),
        (Method::DELETE, "sessions/{id}", None),
    ]
}
