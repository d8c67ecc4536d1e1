//! Starting: with and without the database, with right and wrong settings.

use std::time::Duration;

use reqwest::Method;
use sekisho::config::settings::SETTINGS;
use serde_json::json;

use crate::envelope::assert_common;
use crate::support::cluster::shared_url;
use crate::support::database::connect;
use crate::support::process::{run, run_bare};
use crate::support::{CLEANUP_KEY, Instance, PASSWORD, Process, Reply, TestDatabase};
use diesel::connection::SimpleConnection as _;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn two_instances_starting_at_once_migrate_an_empty_database_once() {
    let db = TestDatabase::empty(shared_url());
    let pair = [Process::serve(&db.url, &[]), Process::serve(&db.url, &[])];
    let mut applied = 0;
    for process in &pair {
        process.base_url_when_ready().await;
        applied += process.output().matches("migration applied").count();
    }
    let migrations = std::fs::read_dir("migrations").unwrap().count();
    assert_eq!(applied, migrations);
    assert_eq!(
        db.count("__diesel_schema_migrations"),
        i64::try_from(migrations).unwrap()
    );
}

#[tokio::test]
async fn the_service_starts_before_its_database_and_comes_up_with_it() {
    let db = TestDatabase::empty(shared_url());
    let name = db.text("SELECT current_database()::text AS value").unwrap();
    let mut maintenance = connect(shared_url());
    maintenance
        .batch_execute(&format!("DROP DATABASE {name}"))
        .unwrap();
    let app = Instance::start(&db.url, &[]);
    let live = Reply::of(app.request(Method::GET, "/health/live")).await;
    assert_eq!(live.status, 200);
    let credentials = json!({"email": "ada@example.com", "password": PASSWORD});
    for reply in [
        Reply::of(app.request(Method::GET, "/health/ready")).await,
        app.post_public("sign_up", credentials.clone()).await,
        app.post_public("login", credentials.clone()).await,
        app.get("session", &"A".repeat(43)).await,
        app.post("logout", &"A".repeat(43)).await,
    ] {
        assert_eq!(reply.refusal(), (503, "unavailable".to_owned()));
        assert!(reply.header("retry-after").is_some());
        assert!(reply.cookies().is_empty(), "the cookie must stay");
        assert_common(&reply);
        for inside in [&name, "postgres", "sqlstate", "FATAL"] {
            assert!(!reply.body.contains(inside), "{reply:?}");
        }
    }
    maintenance
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .unwrap();
    for _ in 0..200 {
        let ready = Reply::of(app.request(Method::GET, "/health/ready")).await;
        if ready.status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn without_auto_migrate_it_waits_for_somebody_to_migrate() {
    let db = TestDatabase::empty(shared_url());
    let process = Process::serve(&db.url, &[("AUTO_MIGRATE", "false")]);
    let base = process.base_url();
    process.wait_for("sekisho migrate");
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ready = Reply::of(http.get(format!("{base}/health/ready"))).await;
    assert_eq!(ready.status, 503);
    let migrated = run(&db.url, &[], &["migrate"], "");
    assert!(migrated.status.success(), "{}", text(&migrated.stderr));
    assert_eq!(text(&migrated.stdout), "5 migrations applied\n");
    process.base_url_when_ready().await;
    let again = run(&db.url, &[], &["migrate"], "");
    assert_eq!(text(&again.stdout), "0 migrations applied\n");
}

#[test]
fn help_names_every_variable_with_its_default() {
    let output = run_bare(&[("COLUMNS", "400")], &["--help"]);
    assert!(output.status.success());
    let help = text(&output.stdout);
    for setting in SETTINGS {
        assert!(help.contains(setting.name), "{} is missing", setting.name);
        if setting.secret {
            assert!(help.contains(&format!("{} <{}>", setting.name, setting.form)));
            continue;
        }
        let flag = format!("--{} ", setting.name.to_lowercase().replace('_', "-"));
        assert!(help.contains(&flag), "{flag} is missing");
        if !setting.default.is_empty() {
            let default = format!("[default: {}] [env: {}]", setting.default, setting.name);
            assert!(help.contains(&default), "{default} is missing");
        }
    }
}

#[test]
fn a_start_without_a_database_url_says_what_to_do() {
    let output = run_bare(&[], &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("DATABASE_URL") && said.contains("script/run"),
        "{said}"
    );
}

/// Every setting with a value that makes no sense, unless nothing is refused.
#[test]
fn a_wrong_value_ends_the_start_with_the_variable_the_value_and_what_is_allowed() {
    // Any text is a name.
    let free = ["PASSWORD_CONTEXT_WORDS", "PAGES_PRODUCT_NAME"];
    for setting in SETTINGS.iter().filter(|s| !free.contains(&s.name)) {
        let wrong = "(wrong value)";
        let settings = [("DATABASE_URL", "postgres://h/d"), (setting.name, wrong)];
        let output = run_bare(&settings, &[]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{}: {said}", setting.name);
        assert!(
            said.contains(setting.name) && said.contains("llowed"),
            "{said}"
        );
        assert_eq!(said.contains(wrong), !setting.secret, "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        if !setting.secret {
            // The same as a flag, which wins over the environment.
            let flag = format!("--{}", setting.name.to_lowercase().replace('_', "-"));
            let settings = [
                ("DATABASE_URL", "postgres://h/d"),
                (setting.name, setting.default),
            ];
            let output = run_bare(&settings, &[&flag, wrong]);
            assert_eq!(output.status.code(), Some(2), "{flag}");
        }
    }
}

#[test]
fn wrong_usage_ends_with_2_and_shows_no_secret() {
    let secret = "postgres://user:marked-secret@127.0.0.1:1/d";
    let environment = [
        ("DATABASE_URL", secret),
        ("SESSION_CLEANUP_API_KEY", CLEANUP_KEY),
    ];
    for arguments in [
        vec!["--help"],
        vec!["no_such_command"],
        vec!["--no-such-flag"],
        vec!["revoke"],
        vec!["--http-workers", "0"],
        vec!["--database-url", secret],
    ] {
        let output = run_bare(&environment, &arguments);
        let code = if arguments == ["--help"] { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains(CLEANUP_KEY), "{said}");
        if !arguments.contains(&secret) {
            assert!(!said.contains("marked-secret"), "{said}");
        }
    }
}

#[tokio::test]
async fn the_subcommand_cleans_up_and_can_only_count() {
    let db = TestDatabase::new();
    let app = Instance::start(&db.url, &[]);
    app.ready().await;
    app.sign_up("ada@example.com").await;
    app.login("ada@example.com").await;
    db.execute("UPDATE sessions SET expires_at = now() - interval '1 second'");
    let dry = run(&db.url, &[], &["cleanup", "--dry-run"], "");
    assert!(dry.status.success(), "{}", text(&dry.stderr));
    assert!(text(&dry.stdout).starts_with("1 sessions would be expired\n"));
    assert_eq!(db.count("sessions WHERE revoked_at IS NULL"), 1);
    let done = run(&db.url, &[], &["cleanup"], "");
    assert!(text(&done.stdout).starts_with("1 sessions were expired\n"));
    assert_eq!(db.count("sessions WHERE revoked_at IS NULL"), 0);
    assert_eq!(
        db.count("cleanup_runs WHERE trigger = 'cli' AND complete"),
        1
    );
}

#[test]
fn an_address_in_use_ends_the_start_with_a_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let settings = [
        ("DATABASE_URL", "postgres://nobody@127.0.0.1:1/nowhere"),
        ("LISTEN_ADDRESS", address.as_str()),
    ];
    let output = run_bare(&settings, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains(&format!("LISTEN_ADDRESS is {address}: ")),
        "{said}"
    );
}

#[test]
fn a_subcommand_without_its_database_ends_with_1_and_says_why() {
    let output = run(
        "postgres://nobody@127.0.0.1:1/nowhere",
        &[],
        &["cleanup"],
        "",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("sekisho: "));
}
