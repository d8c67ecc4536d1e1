//! The pages in a real browser, without a window: Debian's chromium and chromium-driver. These run
//! where SEKISHO_TEST_ALL is set, as script/test --all does.

mod driver;

use std::time::Duration;

use fantoccini::Locator;
use serde_json::json;

use crate::admin::administrator;
use crate::support::{PASSWORD, TestApp};
use driver::{Browser, Look, wanted};

/// Settings with which a browser keeps the cookie over plain HTTP, and a machine that is busy with
/// browsers has time.
const PLAIN: [(&str, &str); 4] = [
    ("DATABASE_TIMEOUT", "30s"),
    ("DATABASE_LOOKUP_TIMEOUT", "30s"),
    ("SESSION_COOKIE_NAME", "session_id"),
    ("SESSION_COOKIE_SECURE", "false"),
];

async fn alive(app: &TestApp, token: &str) -> bool {
    app.get("session", token).await.status == 200
}

#[tokio::test]
async fn an_administrator_finds_and_ends_sessions() {
    if !wanted() {
        return;
    }
    let app = TestApp::start_with(&PLAIN).await;
    administrator(&app).await;
    for name in ["ada@example.com", "eve@example.com", "bob@example.com"] {
        app.sign_up(name).await;
    }
    let ada = app.login("ada@example.com").await;
    let (eve, other_eve) = (
        app.login("eve@example.com").await,
        app.login("eve@example.com").await,
    );
    let bob = app.login("bob@example.com").await;
    let browser = Browser::start(Look::default()).await;
    browser.sign_in(&app, "/admin", "root@example.com").await;
    browser.sees("Active sessions").await;
    browser.audit("the overview").await;

    // Filter, end one, and see it refused over the API.
    browser.click_link("Sessions").await;
    browser.click("details.filter > summary").await;
    browser.type_into("#email", "eve@example.com").await;
    browser.click("details.filter button").await;
    assert_eq!(browser.count("table.rows tbody tr").await, 2);
    browser.audit("the list").await;
    browser.click("table.rows tbody tr td:nth-child(2) a").await;
    browser.click("details.action > summary").await;
    browser.audit("a session").await;
    browser.click("details.action button").await;
    browser.sees("Sessions ended: 1.").await;
    // The newest stands first.
    assert!(!alive(&app, &other_eve).await && alive(&app, &eve).await);
    assert_eq!(
        app.get("session", &other_eve).await.json()["reason"],
        "admin_revoked"
    );

    // Disable a user.
    browser.go(&app, "/admin/users?query=bob").await;
    browser.click("table.rows tbody a").await;
    browser
        .click(".actions details:nth-of-type(2) > summary")
        .await;
    browser.audit("a user").await;
    browser
        .click(".actions details:nth-of-type(2) button")
        .await;
    browser.sees("Account disabled; sessions ended: 1.").await;
    assert!(!alive(&app, &bob).await);
    let refused = app
        .post_public(
            "login",
            json!({"email": "bob@example.com", "password": PASSWORD}),
        )
        .await;
    assert_eq!(refused.status, 401);

    // End all that match.
    browser.go(&app, "/admin/sessions?state=active").await;
    browser.click(".head a.danger").await;
    browser.sees("End all that match?").await;
    browser.audit("the preview").await;
    browser.click("button.danger.solid").await;
    // The administrator's other session is among them.
    browser.sees("Sessions ended: 3.").await;
    assert!(!alive(&app, &ada).await && !alive(&app, &eve).await);

    for path in ["/admin/events", "/admin/cleanup"] {
        browser.go(&app, path).await;
        browser.audit(path).await;
    }
    browser.click("button.primary").await;
    browser.sees("Cleanup done").await;
    browser.click("header .who button").await;
    browser.sees("You are signed out.").await;
    browser.finish().await;
}

#[tokio::test]
async fn the_account_page_fits_a_phone_and_works_without_script() {
    if !wanted() {
        return;
    }
    let app = TestApp::start_with(&PLAIN).await;
    let look = Look {
        is_phone: true,
        is_dark: true,
        has_script: false,
        ..Look::default()
    };
    let browser = Browser::start(look).await;
    browser.go(&app, "/account/sign_up").await;
    browser.type_into("#email", "ada@example.com").await;
    browser.type_into("#password", PASSWORD).await;
    browser.click("main form button").await;
    browser.sees("Account made.").await;
    browser.sign_in(&app, "/account", "ada@example.com").await;
    browser.sees("This device").await;
    let phone = app.login("ada@example.com").await;
    browser.go(&app, "/account").await;
    assert_eq!(browser.count("li.device").await, 2);
    browser.fits("the devices").await;
    browser.click(".actions details > summary").await;
    browser.click(".actions details button").await;
    browser.sees("Sessions ended: 1.").await;
    assert!(!alive(&app, &phone).await);
    for path in ["/account/history", "/account/password"] {
        browser.go(&app, path).await;
        browser.fits(path).await;
    }
    browser.go(&app, "/account").await;
    browser.click(".actions details > summary").await;
    browser.click(".actions details button").await;
    browser
        .sees("Signed out everywhere; sessions ended: 1.")
        .await;
    browser.finish().await;
}

#[tokio::test]
async fn the_pages_work_in_japanese() {
    if !wanted() {
        return;
    }
    let app = TestApp::start_with(&PLAIN).await;
    administrator(&app).await;
    let look = Look {
        language: "ja",
        is_dark: true,
        ..Look::default()
    };
    let browser = Browser::start(look).await;
    browser.sign_in(&app, "/admin", "root@example.com").await;
    browser.sees("有効なセッション").await;
    browser.audit("the overview in Japanese, dark").await;
    browser.go(&app, "/account").await;
    browser.sees("この端末").await;
    browser.audit("the devices in Japanese, dark").await;
    browser.finish().await;
}

#[tokio::test]
async fn markup_does_not_run() {
    if !wanted() {
        return;
    }
    let app = TestApp::start_with(&PLAIN).await;
    administrator(&app).await;
    let label = json!({"device_label": "<img src=x onerror=\"document.title='owned'\">"});
    app.login_with("root@example.com", label).await;
    let browser = Browser::start(Look::default()).await;
    browser.sign_in(&app, "/admin", "root@example.com").await;
    browser.go(&app, "/admin/sessions").await;
    browser.sees("<img src=x onerror=").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let title = browser.client.title().await.expect("a title");
    assert_eq!(title, "Sessions · sekisho");
    let images = browser.client.find_all(Locator::Css("main img")).await;
    assert!(images.expect("a search").is_empty());
    browser.finish().await;
}
