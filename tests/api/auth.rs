//! Signing up, logging in and out.

use reqwest::Method;

use crate::support::{Reply, TestApp};

#[tokio::test]
async fn the_main_job() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let phone = app.login("ada@example.com").await;
    let browser = app.login_browser("ada@example.com").await;
    assert!(app.is_alive(&phone).await && app.is_alive(&browser).await);
    let devices = app.get("sessions", &phone).await;
    assert_eq!(devices.header("x-total-count"), Some("2"));
    let ended = app.post("logout_all", &phone).await;
    assert_eq!(ended.json()["revoked_count"], 2);
    assert!(!app.is_alive(&phone).await && !app.is_alive(&browser).await);
    let refused = Reply::of(app.auth(Method::GET, "session").bearer_auth(&browser)).await;
    assert_eq!(refused.refusal(), (401, "session_revoked".to_owned()));
    assert_eq!(refused.json()["reason"], "logout_all");
}
