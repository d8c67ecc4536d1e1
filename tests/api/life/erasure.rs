//! Deleting an account forgets the person, and keeps what happened.

use reqwest::Method;
use serde_json::json;

use super::{count_of, unknown, verdict};
use crate::support::process;
use crate::support::{CHROME_ON_MACOS, PASSWORD, Reply, TestApp};

#[tokio::test]
async fn a_deleted_account_leaves_events_without_the_person() {
    let app = TestApp::start().await;
    let ada = app.sign_up("ada@example.com").await;
    let bob = app.sign_up("bob@example.com").await;
    let bobs = app.login("bob@example.com").await;
    // Ada signs in where Bob was signed in: her address then stands in his history.
    let superseding = app
        .auth(Method::POST, "login")
        .header("Cookie", format!("__Host-session_id={bobs}"))
        .header("User-Agent", CHROME_ON_MACOS)
        .json(&json!({"email": "ada@example.com", "password": PASSWORD, "delivery": "token"}));
    let token = Reply::of(superseding).await.json()["session_token"]
        .as_str()
        .unwrap()
        .to_owned();
    app.login_with("ada@example.com", json!({"device_label": "Ada's laptop"}))
        .await;
    let of_ada = format!("session_events WHERE user_id = {ada}");
    let before = app.db.count(&of_ada);
    let wrong = app
        .auth(Method::DELETE, "user")
        .bearer_auth(&token)
        .json(&json!({"password": "not the password"}));
    assert_eq!(Reply::of(wrong).await.status, 403);
    let deletion = app
        .auth(Method::DELETE, "user")
        .bearer_auth(&token)
        .json(&json!({"password": PASSWORD}));
    assert_eq!(count_of(&Reply::of(deletion).await), 2);
    assert_eq!(verdict(&app, &token).await, unknown());
    assert_eq!(app.db.count(&format!("users WHERE id = {ada}")), 0);
    assert_eq!(app.db.count(&format!("sessions WHERE user_id = {ada}")), 0);
    // The failed deletion, two endings and the deletion itself.
    assert_eq!(app.db.count(&of_ada), before + 4);
    assert_eq!(
        app.db.count(&format!(
            "session_events WHERE reason = 'user_deleted' AND user_id = {ada} AND actor_id = {ada}"
        )),
        2
    );
    assert_eq!(
        app.db.count(&format!(
            "{of_ada} AND (ip_address IS NOT NULL OR device_label IS NOT NULL)"
        )),
        0
    );
    assert_eq!(
        app.db.count(&format!(
            "session_events WHERE actor_id = {ada} AND ip_address IS NOT NULL"
        )),
        0
    );
    // Bob's own history keeps what is his.
    assert_eq!(app.db.count(&format!("session_events WHERE user_id = {bob} AND kind = 'session_created' AND ip_address IS NOT NULL")), 1);
    let again = json!({"email": "ada@example.com", "password": PASSWORD});
    assert_eq!(
        app.post_public("login", again).await.refusal(),
        (401, "invalid_credentials".to_owned())
    );
    app.sign_up("ada@example.com").await;
}

#[tokio::test]
async fn the_operator_deletes_an_account_likewise() {
    let app = TestApp::start().await;
    let user = app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let output = process::run(
        &app.db.url,
        &[],
        &["delete_user", "--email", "ada@example.com"],
        "",
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1 sessions ended"),
        "{output:?}"
    );
    assert_eq!(verdict(&app, &token).await, unknown());
    let kept = app.db.texts(&format!(
        "SELECT concat_ws(' ', kind, reason, actor, ip_address, device_label) AS value
        FROM session_events WHERE user_id = {user} ORDER BY id DESC LIMIT 2"
    ));
    assert_eq!(
        kept,
        ["user_deleted system", "session_revoked user_deleted system"]
            .map(|text| Some(text.to_owned()))
    );
    let again = process::run(
        &app.db.url,
        &[],
        &["delete_user", "--email", "ada@example.com"],
        "",
    );
    assert_eq!(again.status.code(), Some(1), "{again:?}");
}
