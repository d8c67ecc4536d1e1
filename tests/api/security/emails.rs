//! One e-mail in many spellings.

use serde_json::json;

use super::start;
use crate::support::PASSWORD;

#[tokio::test]
async fn spellings_of_one_address_are_one_account_and_one_throttle() {
    let app = start(&[]).await;
    app.sign_up("Alice@Example.COM").await;
    // The last one's K is the Kelvin sign, which lower-cases to k.
    app.sign_up("mike@example.com").await;
    for spelling in [
        "alice@example.com",
        " ALICE@EXAMPLE.COM\t",
        "aLiCe@eXample.cOm",
        "mi\u{212A}e@example.com",
    ] {
        let taken = app
            .post_public("sign_up", json!({"email": spelling, "password": PASSWORD}))
            .await;
        assert_eq!(
            taken.refusal(),
            (409, "email_taken".to_owned()),
            "{spelling}"
        );
        let wrong = app
            .post_public("login", json!({"email": spelling, "password": "wrong"}))
            .await;
        assert_eq!(wrong.status, 401);
    }
    // One for the two e-mails each, and one for the address.
    assert_eq!(app.db.count("login_throttle"), 3);
    assert_eq!(
        app.db
            .number("SELECT max(failures)::bigint AS value FROM login_throttle"),
        10
    );
    assert!(app.is_alive(&app.login("ALICE@example.com").await).await);
}

#[tokio::test]
async fn addresses_that_look_alike_or_hide_something_are_refused() {
    let app = start(&[]).await;
    let long = format!("{}@example.com", "a".repeat(250));
    for email in [
        "alice\u{200b}@example.com",
        "alice\u{202e}@example.com",
        "alice\0@example.com",
        "alice\r\nBcc: eve@example.com",
        "\"a\u{1b}\"@example.com",
        "Alice <alice@example.com>",
        "alice@[127.0.0.1]",
        "alice@example.com, eve@example.com",
        "' OR 1=1 --",
        "",
        &long,
    ] {
        for path in ["sign_up", "login"] {
            let refused = app
                .post_public(path, json!({"email": email, "password": PASSWORD}))
                .await;
            assert_eq!(
                refused.refusal(),
                (422, "invalid_field".to_owned()),
                "{email:?}"
            );
            assert_eq!(refused.json()["field"], "email");
        }
    }
    assert_eq!(app.db.count("users"), 0);
    // Quotes that are allowed are data and nothing else.
    app.sign_up("o'brien--@example.com").await;
    assert!(
        app.is_alive(&app.login("o'brien--@example.com").await)
            .await
    );
}
