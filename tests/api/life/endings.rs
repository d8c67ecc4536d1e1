//! Endings of what is past its deadline, and that an ending is final.

use reqwest::Method;

use super::{count_of, ending, expired, session_id, verdict};
use crate::support::{Reply, TestApp};

#[tokio::test]
async fn what_was_past_its_deadline_ends_as_expired_and_is_not_counted() {
    let app = TestApp::start().await;
    let user = app.sign_up("ada@example.com").await;
    let late = app.login("ada@example.com").await;
    let late_session = session_id(&app, &late).await;
    let expire = |session: &str| {
        app.db.execute(&format!(
            "UPDATE sessions SET expires_at = statement_timestamp() WHERE id = '{session}'"
        ));
    };
    expire(&late_session);
    // By log-out, which succeeds all the same.
    assert_eq!(count_of(&app.post("logout", &late).await), 0);
    let expected = format!("session_expired {user} expired user {user}");
    assert_eq!(ending(&app.db, &late_session), expected);
    assert_eq!(verdict(&app, &late).await, expired());
    // From the list, and together with others.
    let (one, two, own) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    let (one, two) = (session_id(&app, &one).await, session_id(&app, &two).await);
    expire(&one);
    let ended = app
        .auth(Method::DELETE, &format!("sessions/{one}"))
        .bearer_auth(&own);
    assert_eq!(count_of(&Reply::of(ended).await), 0);
    assert_eq!(ending(&app.db, &one), expected);
    expire(&two);
    assert_eq!(count_of(&app.post("logout_all", &own).await), 1);
    assert_eq!(ending(&app.db, &two), expected);
}

#[tokio::test]
async fn logout_succeeds_for_any_token() {
    let app = TestApp::start().await;
    let unknown = "x".repeat(43);
    for token in [unknown.as_str(), "malformed", "%00"] {
        assert_eq!(count_of(&app.post("logout", token).await), 0);
    }
    assert_eq!(
        count_of(&Reply::of(app.auth(Method::POST, "logout")).await),
        0
    );
}

#[tokio::test]
async fn logout_ends_every_session_whose_cookie_came_along() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let (one, two) = (
        app.login_browser("ada@example.com").await,
        app.login_browser("ada@example.com").await,
    );
    let cookies = format!("__Host-session_id={one}; __Host-session_id={two}");
    assert_eq!(
        count_of(&Reply::of(app.auth(Method::POST, "logout").header("Cookie", cookies)).await),
        2
    );
    assert!(!app.is_alive(&one).await && !app.is_alive(&two).await);
}

#[tokio::test]
async fn an_ending_is_final() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.post("logout", &token).await;
    for change in [
        "revoked_at = NULL, revoked_reason = NULL",
        "revoked_at = revoked_at + interval '1 second'",
        "revoked_reason = 'expired'",
    ] {
        let constraint =
            super::ledger::refused_by(&app.db, &format!("UPDATE sessions SET {change}"));
        assert_eq!(constraint, "sessions_ending_is_final", "{change}");
    }
    // Half an ending is none.
    app.login("ada@example.com").await;
    let half = "UPDATE sessions SET revoked_at = statement_timestamp() WHERE revoked_at IS NULL";
    assert_eq!(
        super::ledger::refused_by(&app.db, half),
        "sessions_ending_whole"
    );
    let unheard_of = "UPDATE sessions SET revoked_at = statement_timestamp(), revoked_reason = 'boredom' WHERE revoked_at IS NULL";
    assert_eq!(
        super::ledger::refused_by(&app.db, unheard_of),
        "sessions_revoked_reason_known"
    );
    // Its address may still be forgotten.
    app.db.execute("UPDATE sessions SET ip_address = NULL");
}
