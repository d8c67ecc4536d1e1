//! The users' own pages.

use super::Visitor;
use crate::support::{PASSWORD, TestApp, cookie_value};

#[tokio::test]
async fn a_user_signs_up_and_manages_devices() {
    let app = TestApp::start().await;
    let mut ada = Visitor::new(&app);
    let fields = [("email", "ada@example.com"), ("password", "short")];
    let refused = ada.post("/account/sign_up", &fields).await;
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("value=\"ada@example.com\""));
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    let made = ada.post("/account/sign_up", &fields).await;
    assert!(made.body.contains("Account made."), "{made:?}");
    let wrong = [("email", "ada@example.com"), ("password", "wrong password")];
    let refused = ada.post("/account/sign_in", &wrong).await;
    assert_eq!((refused.status, refused.cookies().len()), (403, 0));
    let fields = [
        ("email", "ada@example.com"),
        ("password", PASSWORD),
        ("remember_me", "on"),
    ];
    let entered = ada.post("/account/sign_in", &fields).await;
    let cookie = entered.header("set-cookie").expect("a cookie");
    assert!(
        cookie.contains("Max-Age=") && cookie.contains("HttpOnly") && cookie.contains("Secure")
    );
    ada.cookie = cookie_value(&entered);
    let (phone, tablet) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    let page = ada.get("/account").await;
    assert_eq!(page.body.matches("class=\"card device\"").count(), 3);
    assert_eq!(page.body.matches(">This device<").count(), 1);

    let id = app.get("session", &phone).await.json()["session"]["id"]
        .as_str()
        .expect("id")
        .to_owned();
    let renamed = ada
        .submit(
            "/account",
            &format!("/account/devices/{id}/rename"),
            &[("name", "My phone")],
        )
        .await;
    assert!(ada.follow(&renamed).await.body.contains("My phone"));
    let ended = ada
        .submit("/account", &format!("/account/devices/{id}/end"), &[])
        .await;
    assert!(ada.follow(&ended).await.body.contains("Sessions ended: 1."));
    assert!(!app.is_alive(&phone).await && app.is_alive(&tablet).await);
    let ended = ada.submit("/account", "/account/end_others", &[]).await;
    assert!(ada.follow(&ended).await.body.contains("Sessions ended: 1."));
    assert!(!app.is_alive(&tablet).await);

    let wrong = [
        ("current_password", "no"),
        ("new_password", "another fine one"),
    ];
    let refused = ada
        .submit("/account/password", "/account/password", &wrong)
        .await;
    assert_eq!(refused.status, 403);
    let right = [
        ("current_password", PASSWORD),
        ("new_password", "another fine one"),
    ];
    let old = ada.cookie.clone().expect("cookie");
    let changed = ada
        .submit("/account/password", "/account/password", &right)
        .await;
    ada.cookie = cookie_value(&changed);
    assert!(ada.follow(&changed).await.body.contains("Password changed"));
    assert!(!app.is_alive(&old).await);
    let history = ada.get("/account/history").await;
    assert!(history.body.contains("Ended from the device list"));

    let current = ada.cookie.clone().expect("cookie");
    let left = ada.submit("/account", "/account/end_all", &[]).await;
    assert!(left.cookies().iter().any(|c| c.contains("Max-Age=0")));
    assert!(!app.is_alive(&current).await);
    let led = ada.get("/account").await;
    assert_eq!(led.header("location"), Some("/account/sign_in"));
    assert!(
        ada.follow(&led)
            .await
            .body
            .contains("Signed out everywhere")
    );
}
