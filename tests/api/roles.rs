//! The service under a role with no more rights than it needs (deploy/roles.sql).

use diesel::connection::SimpleConnection as _;
use serde_json::json;

use crate::support::app::Instance;
use crate::support::{Cluster, PASSWORD, Reply, SERVICE_KEY, TestDatabase, database, process};

const ROLES: &str = include_str!("../../deploy/roles.sql");

/// A server of its own, for roles belong to a whole server; and the two roles' URLs.
fn prepared() -> (Cluster, TestDatabase, String, String) {
    let cluster = Cluster::create(&[]);
    let db = TestDatabase::empty(&cluster.url);
    db.execute(ROLES);
    let url = |role: &str| db.url.replacen("://dev@", &format!("://{role}@"), 1);
    let (owner, app) = (url("sekisho_owner"), url("sekisho_app"));
    assert_ne!(owner, db.url);
    let migrated = process::run(&owner, &[], &["migrate"], "");
    assert!(
        migrated.status.success(),
        "{}",
        String::from_utf8_lossy(&migrated.stderr)
    );
    // Again, now that the tables are there.
    db.execute(ROLES);
    (cluster, db, owner, app)
}

#[tokio::test]
async fn the_main_path_needs_no_more_rights() {
    let (_cluster, db, _, role) = prepared();
    let app = Instance::start(&role, &[("AUTO_MIGRATE", "false")]);
    app.ready().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let (other, third) = (
        app.login("ada@example.com").await,
        app.login("ada@example.com").await,
    );
    assert!(app.is_alive(&token).await && app.is_alive(&third).await);
    assert_eq!(app.post("logout", &third).await.status, 200);
    let changed = app
        .post_json(
            "change_password",
            &token,
            json!({
                "current_password": PASSWORD, "new_password": "another horse battery",
            }),
        )
        .await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert!(!app.is_alive(&other).await);
    // An id of the caller's own moves the sequence, which the role itself may not set.
    let issue = app
        .auth(reqwest::Method::POST, "issue")
        .header("X-API-Key", SERVICE_KEY)
        .json(&json!({"user_id": 50}));
    assert_eq!(Reply::of(issue).await.status, 201);
    assert_eq!(app.sign_up("bob@example.com").await, 51);
    let wrong = json!({"email": "bob@example.com", "password": "wrong but long"});
    assert_eq!(app.post_public("login", wrong).await.status, 401);
    // The whole cleanup: expire, purge, forget addresses, delete old events.
    db.execute(
        "ALTER TABLE session_events DISABLE TRIGGER USER;
         UPDATE sessions SET created_at = now() - interval '31 days',
             expires_at = now() - interval '31 days', absolute_expires_at = now();
         UPDATE session_events SET occurred_at = now() - interval '31 days';
         UPDATE session_events SET occurred_at = now() - interval '400 days' WHERE kind = 'login_failed';
         ALTER TABLE session_events ENABLE TRIGGER USER;",
    );
    let cleaned = app.cleanup().await;
    assert_eq!(cleaned.status, 200, "{cleaned:?}");
    assert_eq!(cleaned.header("x-cleanup-complete"), None);
    assert_eq!(db.count("sessions"), 0);
    assert_eq!(db.count("session_events WHERE kind = 'login_failed'"), 0);
    let old =
        "session_events WHERE ip_address IS NOT NULL AND occurred_at < now() - interval '1 day'";
    assert_eq!(db.count(old), 0);
    let bob = app.login("bob@example.com").await;
    let delete = app.auth(reqwest::Method::DELETE, "user").bearer_auth(&bob);
    let deleted = Reply::of(delete.json(&json!({"password": PASSWORD}))).await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    assert_eq!(
        Reply::of(app.request(reqwest::Method::GET, "/health/ready"))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn the_services_role_can_neither_drop_nor_rewrite() {
    let (_cluster, db, _, role) = prepared();
    let app = Instance::start(&role, &[("AUTO_MIGRATE", "false")]);
    app.ready().await;
    app.sign_up("ada@example.com").await;
    app.login("ada@example.com").await;
    let forbidden = [
        "DROP TABLE login_throttle",
        "TRUNCATE cleanup_runs",
        "TRUNCATE session_events",
        "ALTER TABLE session_events DISABLE TRIGGER ALL",
        "ALTER TABLE sessions ADD COLUMN x INT",
        "DROP TRIGGER session_events_is_a_ledger ON session_events",
        "DROP FUNCTION session_events_is_a_ledger() CASCADE",
        "CREATE OR REPLACE FUNCTION session_events_is_a_ledger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TABLE mine (x INT)",
        "CREATE TEMPORARY TABLE mine (x INT)",
        "CREATE SCHEMA mine",
        "UPDATE session_events SET note = 'never happened'",
        "UPDATE session_events SET kind = 'login_failed', user_id = 2",
        "UPDATE session_events SET device_label = 'another'",
        "DELETE FROM session_events",
        "DELETE FROM __diesel_schema_migrations",
        "SELECT setval('users_id_seq', 1)",
        "SET session_replication_role = replica",
        "SET ROLE sekisho_owner",
    ];
    let mut connection = database::connect(&role);
    for statement in forbidden {
        let refusal = connection
            .batch_execute(statement)
            .expect_err(statement)
            .to_string();
        let is_meant = [
            "permission denied",
            "must be owner",
            "the ledger permits no such",
        ]
        .iter()
        .any(|meant| refusal.contains(meant));
        assert!(is_meant, "{statement}: {refusal}");
    }
    assert_eq!(db.count("session_events WHERE kind = 'session_created'"), 1);
}

#[tokio::test]
async fn the_service_waits_for_migrations_that_it_may_not_apply() {
    let cluster = Cluster::create(&[]);
    let db = TestDatabase::empty(&cluster.url);
    db.execute(ROLES);
    let url = |role: &str| db.url.replacen("://dev@", &format!("://{role}@"), 1);
    let app = Instance::start(&url("sekisho_app"), &[("AUTO_MIGRATE", "false")]);
    let ready = || Reply::of(app.request(reqwest::Method::GET, "/health/ready"));
    assert_eq!(ready().await.status, 503);
    let migrated = process::run(&url("sekisho_owner"), &[], &["migrate"], "");
    assert!(
        migrated.status.success(),
        "{}",
        String::from_utf8_lossy(&migrated.stderr)
    );
    app.ready().await;
    assert_eq!(ready().await.status, 200);
}
