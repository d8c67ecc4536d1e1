//! What the pages say where something does not work.

use reqwest::Method;

use super::{ROOT, Visitor, between};
use crate::admin::administrator;
use crate::support::{PASSWORD, Reply, TestApp, cookie_value};

#[tokio::test]
async fn errors_are_sentences_under_the_forms_own_names() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    let page = root.get("/admin/sessions?user_id=abc").await;
    assert_eq!(page.status, 422);
    assert!(
        page.body.contains("User id: Write a whole number."),
        "{page:?}"
    );
    assert!(!page.body.contains("Nothing matches."));
    let page = root.get("/account/history?cursor=abc").await;
    assert_eq!(page.status, 422);
    assert!(page.body.contains("There is no such page."), "{page:?}");
    let broken = root.post("/admin/sign_in", &[("email", "x")]).await;
    assert_eq!(broken.status, 400);
    assert!(
        broken.body.contains("incomplete or not well-formed"),
        "{broken:?}"
    );
}

#[tokio::test]
async fn a_form_that_is_throttled_says_when_to_come_back() {
    let app = TestApp::start_with(&[("LOGIN_THROTTLE_FAILURES", "1")]).await;
    app.sign_up("ada@example.com").await;
    let visitor = Visitor::new(&app);
    let wrong = [("email", "ada@example.com"), ("password", "wrong password")];
    let mut reply = visitor.post("/account/sign_in", &wrong).await;
    for _ in 0..6 {
        if reply.status == 429 {
            break;
        }
        reply = visitor.post("/account/sign_in", &wrong).await;
    }
    assert_eq!(reply.status, 429);
    assert!(reply.header("retry-after").is_some(), "{reply:?}");
    assert!(reply.header("www-authenticate").is_none());
    assert!(reply.body.contains("value=\"ada@example.com\""));
}

#[tokio::test]
async fn methods_and_slashes_that_do_not_fit_are_answered_for_people() {
    let app = TestApp::start().await;
    let visitor = Visitor::new(&app);
    let page = visitor.get("/account/end_all").await;
    assert_eq!((page.status, page.header("allow")), (405, Some("POST")));
    assert!(page.body.starts_with("<!doctype html>"), "{page:?}");
    for path in ["/account/sign_in", "/admin/sign_in", "/assets/pages.css"] {
        let head = Reply::of(visitor.request(Method::HEAD, path)).await;
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
    }
    for (path, to) in [
        ("/admin/", "/admin"),
        ("/account/", "/account"),
        ("/admin/users/?query=ada", "/admin/users?query=ada"),
    ] {
        let led = visitor.get(path).await;
        assert_eq!((led.status, led.header("location")), (308, Some(to)));
    }
    let big = "x".repeat(20_000);
    let page = visitor
        .post("/account/sign_in", &[("email", big.as_str())])
        .await;
    assert_eq!(page.status, 413);
    assert!(page.body.contains("too much text"), "{page:?}");
}

#[tokio::test]
async fn a_refused_sign_in_of_administrators_leaves_the_session_alone() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let mut ada = Visitor::new(&app);
    ada.sign_in("/account", "ada@example.com").await;
    let refused = ada.sign_in("/admin", "ada@example.com").await;
    assert_eq!(refused.status, 403);
    assert_eq!(ada.get("/account").await.status, 200);
    let denied = ada.get("/admin").await;
    assert!(
        denied.body.contains("href=\"/admin/sign_in\"")
            && denied.body.contains("href=\"/account\"")
    );
}

#[tokio::test]
async fn no_link_claims_what_did_not_happen() {
    let app = TestApp::start().await;
    let visitor = Visitor::new(&app);
    for claim in ["signed_up", "signed_out", "user_deleted", "expired"] {
        let page = visitor
            .get(&format!("/account/sign_in?because={claim}"))
            .await;
        assert!(!page.body.contains("role=\"status\""), "{claim}");
    }
}

#[tokio::test]
async fn who_proved_the_password_long_ago_confirms_it_and_goes_on() {
    let app = TestApp::start_with(&[("REAUTHENTICATION_MAX_AGE", "10m")]).await;
    app.sign_up("ada@example.com").await;
    let mut ada = Visitor::new(&app);
    ada.sign_in("/account", "ada@example.com").await;
    let other = app.login("ada@example.com").await;
    app.db.execute("UPDATE sessions SET created_at = created_at - interval '1 hour', authenticated_at = authenticated_at - interval '1 hour'");
    let asked = ada.submit("/account", "/account/end_others", &[]).await;
    assert_eq!(asked.header("location"), Some("/account/confirm"));
    let path = "/account/confirm";
    let wrong = ada
        .submit(path, path, &[("password", "wrong password")])
        .await;
    assert_eq!(wrong.status, 403);
    let right = ada.submit(path, path, &[("password", PASSWORD)]).await;
    ada.cookie = cookie_value(&right);
    assert!(ada.follow(&right).await.body.contains("Confirmed."));
    let ended = ada.submit("/account", "/account/end_others", &[]).await;
    assert!(ada.follow(&ended).await.body.contains("Sessions ended: 1."));
    assert!(!app.is_alive(&other).await);
}

#[tokio::test]
async fn times_in_filters_are_shown_again_as_the_browser_wants_them() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    for (typed, shown) in [
        (
            "2026-11-30T09:00:00Z",
            "type=\"datetime-local\" value=\"2026-11-30T09:00\"",
        ),
        (
            "2026-12-01",
            "type=\"datetime-local\" value=\"2026-12-01T00:00\"",
        ),
        ("yesterday", "type=\"text\" value=\"yesterday\""),
    ] {
        let page = root
            .get(&format!("/admin/sessions?created_after={typed}"))
            .await;
        assert!(page.body.contains(shown), "{typed}: {page:?}");
    }
    let preview = root.get("/admin/sessions/end?state=active").await;
    assert!(
        preview.body.contains("<dt>State</dt><dd>Active</dd>"),
        "{preview:?}"
    );
}

#[tokio::test]
async fn empty_pages_say_why_they_are_empty() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    let session = app
        .db
        .text("SELECT id::text AS value FROM sessions LIMIT 1")
        .expect("id");
    app.db.execute(
        "ALTER TABLE session_events DISABLE TRIGGER USER; DELETE FROM session_events; \
         ALTER TABLE session_events ENABLE TRIGGER USER",
    );
    let page = root.get(&format!("/admin/sessions/{session}")).await;
    assert!(
        page.body.contains("No events of this session are kept."),
        "{page:?}"
    );
    let page = root.get("/admin/events").await;
    assert!(page.body.contains("Nothing here yet."), "{page:?}");
    for filtered in [
        "/admin/events?kind=login_failed",
        "/admin/users?query=nobody",
    ] {
        let page = root.get(filtered).await;
        assert!(page.body.contains("Nothing matches."), "{page:?}");
    }
}

#[tokio::test]
async fn the_overview_tells_the_ended_from_the_expired_and_groups_digits() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    app.db.execute(
        "INSERT INTO session_events (kind, actor, reason) \
         SELECT 'session_revoked', 'user', 'user_logout' FROM generate_series(1, 1234); \
         INSERT INTO session_events (kind, actor, reason) \
         SELECT 'session_expired', 'system', 'expired' FROM generate_series(1, 5); \
         INSERT INTO cleanup_runs (trigger, started_at, finished_at, expired, complete) \
         VALUES ('cli', now(), now(), 98765, true)",
    );
    let page = root.get("/admin").await;
    let ended = between(&page.body, "kind=session_revoked", "</a>").expect("a figure");
    assert!(
        ended.contains(">1,234<") && ended.contains("and 5 expired"),
        "{ended}"
    );
    assert!(page.body.contains("class=\"count\">1,234<"), "{page:?}");
    let page = root.get("/admin/cleanup").await;
    assert!(page.body.contains(">98,765<"), "{page:?}");
}
