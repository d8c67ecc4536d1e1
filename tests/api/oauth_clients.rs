//! Introspection and revocation by clients that others wrote.

use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{SERVICE_KEY, TestApp, tools};

async fn check(mut command: Command, script: &str) {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    let (live, ended) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    app.post("logout", &ended).await;
    let output = command
        .arg(script)
        .args([&app.url(""), SERVICE_KEY, &live, &ended])
        .output()
        .await
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let answers: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for method in ["basic", "post"] {
        let answer = &answers[method];
        assert_eq!(answer["live"]["active"], true, "{answers}");
        assert_eq!(answer["live"]["sub"], id.to_string());
        assert_eq!(answer["live"]["username"], "ada@example.com");
        assert!(answer["live"]["exp"].as_i64() > answer["live"]["iat"].as_i64());
        assert_eq!(answer["ended"], json!({"active": false}));
    }
    assert_eq!(answers["stranger"], "basic");
    assert_eq!(answers["revoked"], json!({"active": false}));
    assert!(!app.is_alive(&live).await);
}

fn script(name: &str) -> String {
    format!("{}/tests/programs/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test]
async fn openid_client_is_served() {
    let Some(folder) = tools::node_folder("openid-client") else {
        return;
    };
    // Modules are looked for beside the script.
    let copy: &Path = &folder.join("introspect.mjs");
    std::fs::copy(script("introspect.mjs"), copy).expect("copy");
    check(Command::new("node"), copy.to_str().expect("UTF-8")).await;
}

#[tokio::test]
async fn authlib_is_served() {
    let Some(python) = tools::python_program("python") else {
        return;
    };
    check(Command::new(python), &script("introspect.py")).await;
}
