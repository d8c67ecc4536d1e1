//! What must not get through.

use reqwest::Method;
use serde_json::json;

use super::{ROOT, Visitor, between};
use crate::admin::administrator;
use crate::support::{PASSWORD, Reply, TestApp};

#[tokio::test]
async fn markup_is_shown_as_text() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    let evil = "<img src=x onerror=alert(1)>\"'&";
    let user = app.sign_up("ada@example.com").await;
    let agent = "<script>alert(2)</script>/1.0";
    let login = json!({"email": "ada@example.com", "password": PASSWORD});
    Reply::of(
        app.auth(Method::POST, "login")
            .header("User-Agent", agent)
            .json(&login),
    )
    .await;
    app.db.execute(&format!(
        "UPDATE sessions SET device_label = $${evil}$$ WHERE user_id = {user}; \
         UPDATE users SET email = $${evil}@example.com$$ WHERE id = {user}; \
         INSERT INTO session_events (kind, user_id, session_id, actor, device_label, note) \
         SELECT 'access_denied', user_id, id, 'user', $${evil}$$, $${evil}$$ FROM sessions WHERE user_id = {user}"
    ));
    let session = app
        .db
        .text(&format!(
            "SELECT id::text AS value FROM sessions WHERE user_id = {user}"
        ))
        .expect("id");
    let attack = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%22";
    for path in [
        "/admin/sessions".to_owned(),
        format!("/admin/sessions/{session}"),
        "/admin/users".to_owned(),
        format!("/admin/users/{user}"),
        "/admin/events".to_owned(),
    ] {
        let page = root.get(&path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.body.contains("<img src=x"), "{path}");
        assert!(!page.body.contains("<script"), "{path}");
        assert!(page.body.contains("&#60;img src=x"), "{path} shows it");
    }
    for path in [
        format!("/admin/sessions?email={attack}"),
        format!("/admin/users?query={attack}"),
        format!("/admin/events?user_id={attack}"),
        format!("/admin/sessions?done={attack}"),
        format!("/account/sign_in?because={attack}"),
    ] {
        let page = root.get(&path).await;
        assert!(page.status < 500, "{path}");
        assert!(!page.body.contains("<img src=x"), "{path}");
    }
    let typed = root
        .post("/admin/sign_in", &[("email", evil), ("password", "x")])
        .await;
    assert!(!typed.body.contains("<img src=x"), "{typed:?}");
}

#[tokio::test]
async fn forms_need_the_token_of_their_session() {
    let app = TestApp::start().await;
    let (_, _) = administrator(&app).await;
    let ada = app.sign_up("ada@example.com").await;
    let live = app.login("ada@example.com").await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    let path = format!("/admin/users/{ada}/end");
    let mut user = Visitor::new(&app);
    user.sign_in("/account", "ada@example.com").await;
    let foreign = user.get("/account").await;
    let foreign = between(&foreign.body, "name=\"token\" value=\"", "\"").expect("a token");
    for token in ["", "0", foreign] {
        let refused = root.post(&path, &[("token", token)]).await;
        assert_eq!(refused.status, 403, "{token}");
    }
    let without = root.post(&path, &[]).await;
    assert_eq!(without.status, 403);
    let elsewhere = Reply::of(
        root.request(Method::POST, &path)
            .header("Sec-Fetch-Site", "cross-site")
            .header("Origin", "https://evil.example")
            .form(&[("token", "")]),
    )
    .await;
    assert_eq!(elsewhere.status, 403);
    let by_get = root.get(&path).await;
    assert_eq!(by_get.status, 405);
    assert!(app.is_alive(&live).await, "nothing happened");
    let ended = root
        .submit(&format!("/admin/users/{ada}"), &path, &[])
        .await;
    let page = root.follow(&ended).await;
    assert!(page.body.contains("Sessions ended: 2."), "{page:?}");
    assert!(!app.is_alive(&live).await);
}
