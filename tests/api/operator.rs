//! The subcommands for operators, through the real program.

use serde_json::json;

use crate::support::{PASSWORD, TestApp, process};

fn run(app: &TestApp, arguments: &[&str], input: &str) -> (Option<i32>, String) {
    let output = process::run(&app.db.url, &[], arguments, input);
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[tokio::test]
async fn create_admin_makes_an_administrator_once() {
    let app = TestApp::start().await;
    let make = ["create_admin", "--email", "Root@Example.com"];
    let (code, said) = run(&app, &make, "password1\n");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("common passwords"), "{said}");
    let (code, said) = run(&app, &make, &format!("{PASSWORD}\n"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("administrator 1 made"), "{said}");
    let reply = app
        .get("session", &app.login("root@example.com").await)
        .await;
    assert_eq!(reply.json()["user"]["role"], "admin");
    let (code, said) = run(&app, &make, "another fine password\n");
    assert_eq!(
        (code, said.contains("an account with this e-mail already")),
        (Some(1), true),
        "{said}"
    );
    // An ordinary account is not raised either.
    app.sign_up("ada@example.com").await;
    assert_eq!(
        run(
            &app,
            &["create_admin", "--email", "ada@example.com"],
            "another fine password\n"
        )
        .0,
        Some(1)
    );
    assert_eq!(app.db.count("users WHERE role = 'admin'"), 1);
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'user_created' AND actor = 'system'"),
        1
    );
}

#[tokio::test]
async fn set_password_ends_every_session() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let set = ["set_password", "--email", "ada@example.com"];
    assert_eq!(run(&app, &set, "short\n").0, Some(1));
    assert!(app.is_alive(&token).await);
    let (code, said) = run(&app, &set, "a wholly different phrase\nand a second line");
    assert_eq!(
        (code, said.contains("1 sessions ended")),
        (Some(0), true),
        "{said}"
    );
    let refused = app.get("session", &token).await;
    assert_eq!(refused.json()["reason"], "password_changed");
    let login = |password: &str| json!({"email": "ada@example.com", "password": password});
    assert_eq!(app.post_public("login", login(PASSWORD)).await.status, 401);
    assert_eq!(
        app.post_public("login", login("a wholly different phrase"))
            .await
            .status,
        200
    );
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'password_changed' AND actor = 'system'"),
        1
    );
    assert_eq!(
        run(
            &app,
            &["set_password", "--email", "nobody@example.com"],
            "a wholly different phrase\n"
        )
        .0,
        Some(1)
    );
}

#[tokio::test]
async fn revoke_all_signs_everybody_out() {
    let app = TestApp::start().await;
    let mut tokens = Vec::new();
    for email in ["ada@example.com", "bob@example.com", "eve@example.com"] {
        app.sign_up(email).await;
        tokens.push(app.login(email).await);
        tokens.push(app.login(email).await);
    }
    app.sign_up("nobody-home@example.com").await;
    assert_eq!(run(&app, &["revoke"], "").0, Some(2));
    assert_eq!(
        run(&app, &["revoke", "--all", "--user", "1"], "").0,
        Some(2)
    );
    assert_eq!(run(&app, &["revoke", "--user", "99"], "").0, Some(1));
    let (code, said) = run(
        &app,
        &["revoke", "--all", "--note", "restored a backup"],
        "",
    );
    assert_eq!(
        (code, said.contains("6 sessions ended")),
        (Some(0), true),
        "{said}"
    );
    for token in &tokens {
        assert!(!app.is_alive(token).await);
    }
    let recorded = "session_events WHERE reason = 'admin_revoked' AND actor = 'system' AND note = 'restored a backup'";
    assert_eq!(app.db.count(recorded), 6);
    // Whoever signs in afterwards is.
    assert!(app.is_alive(&app.login("ada@example.com").await).await);
}

#[tokio::test]
async fn disable_and_enable_are_recorded_once() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    for subcommand in ["disable_user", "disable_user", "enable_user", "enable_user"] {
        let (code, said) = run(&app, &[subcommand, "--email", "ada@example.com"], "");
        assert_eq!(code, Some(0), "{said}");
    }
    let kinds = app.db.texts(
        "SELECT kind AS value FROM session_events WHERE kind LIKE 'user_%abled' ORDER BY id",
    );
    assert_eq!(
        kinds,
        ["user_disabled", "user_enabled"].map(|kind| Some(kind.to_owned()))
    );
    assert_eq!(
        run(&app, &["disable_user", "--email", "nobody@example.com"], "").0,
        Some(1)
    );
}
