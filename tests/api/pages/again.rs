//! Forms that are shown again, with what was typed and what is wrong with it.

use reqwest::Method;

use super::{ROOT, Visitor, between};
use crate::admin::administrator;
use crate::support::{PASSWORD, Reply, TestApp};

#[tokio::test]
async fn what_is_not_a_form_is_415_and_a_page() {
    let app = TestApp::start().await;
    let visitor = Visitor::new(&app);
    let sent = visitor
        .request(Method::POST, "/account/sign_in")
        .json(&serde_json::json!({"email": "ada@example.com", "password": PASSWORD}));
    let page = Reply::of(sent).await;
    assert_eq!(page.status, 415);
    assert!(page.body.contains("not sent by a form"), "{page:?}");
}

#[tokio::test]
async fn a_form_says_when_to_come_back_while_the_database_is_away() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let visitor = Visitor::new(&app);
    app.db.execute("ALTER TABLE users RENAME TO elsewhere");
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    let page = visitor.post("/account/sign_in", &fields).await;
    app.db.execute("ALTER TABLE elsewhere RENAME TO users");
    assert_eq!(page.status, 503);
    assert!(page.header("retry-after").is_some(), "{page:?}");
    assert!(page.body.contains("cannot answer at the moment"));
    assert!(page.body.contains("value=\"ada@example.com\""));
    assert_eq!(
        visitor.post("/account/sign_in", &fields).await.status,
        303,
        "nothing was lost"
    );
}

#[tokio::test]
async fn a_filter_that_cannot_be_used_is_shown_again() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    let page = root.get("/admin/events?user_id=abc&ip=10.0.0.0/8").await;
    assert_eq!(page.status, 422);
    for part in [
        "User id: Write a whole number.",
        "value=\"abc\"",
        "value=\"10.0.0.0/8\"",
        "filter\" open",
    ] {
        assert!(page.body.contains(part), "{part}: {page:?}");
    }
    assert!(!page.body.contains("Nothing matches."));
    let page = root.get("/admin/users?disabled=maybe&query=ada").await;
    assert_eq!(page.status, 422);
    assert!(page.body.contains("State: Choose one of the list."));
    assert!(page.body.contains("value=\"ada\""), "{page:?}");
    assert!(!page.body.contains("Nothing matches."));
    // Of a preview as well.
    let page = root.get("/admin/sessions/end?user_id=abc").await;
    assert_eq!(page.status, 422);
    assert!(page.body.contains("value=\"abc\""), "{page:?}");
    root.languages = "ja";
    let page = root.get("/admin/sessions?user_id=abc").await;
    assert!(
        page.body.contains("ユーザーID: 整数を入力してください。"),
        "{page:?}"
    );
}

#[tokio::test]
async fn a_name_that_is_refused_stays_in_its_form() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let mut ada = Visitor::new(&app);
    ada.sign_in("/account", "ada@example.com").await;
    let page = ada.get("/account").await;
    let to = between(&page.body, "action=\"/account/devices/", "/rename").expect("a form");
    let to = format!("/account/devices/{to}/rename");
    let long = "a long name ".repeat(6);
    for (language, problem) in [
        ("en", "Name: At most 64 characters."),
        ("ja", "名前: 64 文字以内で入力してください。"),
    ] {
        ada.languages = language;
        let page = ada.submit("/account", &to, &[("name", &long)]).await;
        assert_eq!(page.status, 422);
        assert!(page.body.contains(problem), "{page:?}");
        assert!(page.body.contains(&format!("value=\"{long}\"")), "{page:?}");
        assert!(page.body.contains("class=\"action\" open"), "{page:?}");
    }
}

#[tokio::test]
async fn a_remark_that_is_refused_stays_in_its_form() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let ada = app.sign_up("ada@example.com").await;
    let live = app.login("ada@example.com").await;
    let session = app
        .db
        .text(&format!(
            "SELECT id::text AS value FROM sessions WHERE user_id = {ada}"
        ))
        .expect("id");
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    let long = "lost it ".repeat(70);
    let user = format!("/admin/users/{ada}");
    for (from, to) in [
        (&user, format!("{user}/disable")),
        (&user, format!("{user}/end")),
        (
            &format!("/admin/sessions/{session}"),
            format!("/admin/sessions/{session}/end"),
        ),
    ] {
        let page = root.submit(from, &to, &[("note", &long)]).await;
        assert_eq!(page.status, 422, "{to}");
        assert!(page.body.contains("At most 500 characters."), "{to}");
        // In that form alone, which stands open.
        let (_, form) = page.body.split_once(&format!("action=\"{to}\"")).unwrap();
        assert!(
            between(form, "", "</form>").unwrap().contains(&long),
            "{to}"
        );
        assert_eq!(page.body.matches(&long).count(), 1, "{to}");
        assert_eq!(page.body.matches("class=\"action\" open").count(), 1);
    }
    assert!(app.is_alive(&live).await);
}

#[tokio::test]
async fn who_counted_before_others_began_sees_the_filter_and_the_new_count() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    app.sign_up("eve@example.com").await;
    let first = app.login("eve@example.com").await;
    app.login("eve@example.com").await;
    let path = "/admin/sessions/end?email=eve%40example.com&state=active";
    let preview = root.get(path).await;
    let as_of = between(&preview.body, "name=\"as_of\" value=\"", "\"")
        .expect("a time")
        .replace("&#43;", "+");
    // As if only one had been counted.
    let fields = [
        ("sessions", "1"),
        ("as_of", as_of.as_str()),
        ("note", "stolen laptop"),
    ];
    let again = root.submit(path, path, &fields).await;
    assert_eq!(again.status, 409);
    for part in [
        "More sessions match now",
        "id=\"matching\">2<",
        "value=\"stolen laptop\"",
        "<dd>eve@example.com</dd>",
        "name=\"sessions\" value=\"2\"",
    ] {
        assert!(again.body.contains(part), "{part}: {again:?}");
    }
    let long = "x".repeat(501);
    let fields = [
        ("sessions", "2"),
        ("as_of", as_of.as_str()),
        ("note", long.as_str()),
    ];
    let again = root.submit(path, path, &fields).await;
    assert_eq!(again.status, 422);
    assert!(again.body.contains(&format!("value=\"{long}\"")));
    assert!(app.is_alive(&first).await, "nothing has ended");
    // The page that came back has all that ending them takes.
    let (_, form) = again
        .body
        .split_once("action=\"/admin/sessions/end?")
        .unwrap();
    let to = between(form, "", "\"").unwrap().replace("&#38;", "&");
    let as_of = between(form, "name=\"as_of\" value=\"", "\"")
        .unwrap()
        .replace("&#43;", "+");
    let fields = [("sessions", "2"), ("as_of", as_of.as_str())];
    let to = format!("/admin/sessions/end?{to}");
    let ended = root.submit(path, &to, &fields).await;
    let page = root.follow(&ended).await;
    assert!(page.body.contains("Sessions ended: 2."), "{page:?}");
}
