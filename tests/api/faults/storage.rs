//! The database answers and cannot write: read-only, or its disk is full.

use std::process::Command;

use diesel::connection::SimpleConnection as _;
use diesel::pg::PgConnection;
use reqwest::Method;
use serde_json::json;

use super::rig::{IN_TIME, LONG, Rig, assert_unavailable, is_root, skip, until};
use crate::support::{PASSWORD, Reply, TestApp};

/// Makes new connections of a database read-only or not, and ends the old ones.
fn set_read_only(app: &TestApp, is_read_only: bool) {
    let mut connection = app.db.connect();
    connection
        .batch_execute(&format!(
            "BEGIN READ WRITE;
             DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = {is_read_only}',
                 current_database()); END $$;
             COMMIT;
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ))
        .expect("read-only");
}

#[tokio::test]
async fn on_a_read_only_database_sessions_are_checked_and_whatever_writes_is_503() {
    // Every check is due to write last_seen_at, which must do no harm.
    let app = TestApp::start_with(&[("SESSION_TOUCH_INTERVAL", "1s")]).await;
    app.sign_up("ada@example.com").await;
    let browser = app.login_browser("ada@example.com").await;
    let phone = app.login("ada@example.com").await;
    app.db.execute("UPDATE sessions SET created_at = now() - interval '1 h', last_seen_at = now() - interval '1 h'");
    set_read_only(&app, true);
    for _ in 0..5 {
        assert!(app.is_alive(&browser).await);
        assert_eq!(app.get("verify", &phone).await.status, 200);
    }
    let login = json!({"email": "ada@example.com", "password": PASSWORD});
    assert_unavailable(&app.post_public("login", login).await);
    let wrong = json!({"email": "ada@example.com", "password": "wrong password"});
    assert_unavailable(&app.post_public("login", wrong).await);
    let cookie = format!("__Host-session_id={browser}");
    let logout = || {
        Reply::of(
            app.auth(Method::POST, "logout")
                .header("Cookie", cookie.clone()),
        )
    };
    assert_unavailable(&logout().await);
    assert_unavailable(&app.post("logout_all", &phone).await);
    assert_eq!(app.cleanup().await.status, 500);
    assert_eq!(
        Reply::of(app.request(Method::GET, "/health/ready"))
            .await
            .status,
        200
    );
    set_read_only(&app, false);
    let reply = logout().await;
    assert_eq!(reply.json()["revoked_count"], 1, "{reply:?}");
    assert_eq!(reply.cookies().len(), 1);
    assert!(app.is_alive(&phone).await && !app.is_alive(&browser).await);
}

/// A small file system in memory. To be dropped before its server is removed.
struct Disk(String);

impl Disk {
    /// Mounts one for the server's user; `None` where that is not allowed.
    fn mount(directory: String) -> Option<Self> {
        std::fs::create_dir(&directory).ok()?;
        let run = |program: &str, arguments: &[&str]| {
            Command::new(program)
                .args(arguments)
                .output()
                .is_ok_and(|output| output.status.success())
        };
        let disk = Self(directory);
        let is_mounted = run(
            "mount",
            &["-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs", &disk.0],
        );
        let owner = std::path::Path::new(&disk.0).parent()?.to_str()?;
        (is_mounted && run("chown", &[&format!("--reference={owner}"), &disk.0])).then_some(disk)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", &self.0]).output();
    }
}

fn execute(connection: &mut PgConnection, sql: &str) {
    connection
        .batch_execute(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[tokio::test]
async fn on_a_full_disk_sessions_are_checked_and_whatever_writes_is_503() {
    let test = "on_a_full_disk_sessions_are_checked_and_whatever_writes_is_503";
    if !is_root() {
        return skip(test, "needs root, to mount a small file system");
    }
    let rig = Rig::start(&[("SESSION_MAX_PER_USER", "100000")]).await;
    let Some(disk) = Disk::mount(format!("{}/disk", rig.cluster.directory())) else {
        return skip(test, "no file system in memory could be mounted");
    };
    let app = &rig.app;
    app.sign_up("ada@example.com").await;
    let mut tokens = Vec::new();
    for _ in 0..40 {
        tokens.push(app.login_browser("ada@example.com").await);
    }
    let mut sql = rig.connect();
    execute(
        &mut sql,
        &format!("CREATE TABLESPACE small LOCATION '{}'", disk.0),
    );
    // Rewritten without a gap in any page.
    execute(
        &mut sql,
        "ALTER TABLE sessions SET (fillfactor = 100);
         ALTER TABLE sessions SET TABLESPACE small; ALTER TABLE session_events SET TABLESPACE small;
         CREATE TABLE filler (bytes TEXT) TABLESPACE small;",
    );
    execute(&mut sql, "VACUUM FULL sessions");
    let full = (0..10_000).any(|_| {
        sql.batch_execute("INSERT INTO filler SELECT repeat('x', 1900) FROM generate_series(1, 4)")
            .is_err()
    });
    assert!(full);
    // What still fits into the last pages succeeds; then it is over.
    let login = json!({"email": "ada@example.com", "password": PASSWORD});
    let mut refused = None;
    for _ in 0..500 {
        let reply = app.post_public("login", login.clone()).await;
        if reply.status != 200 {
            refused = Some(reply);
            break;
        }
    }
    assert_unavailable(&refused.expect("the disk is full"));
    let logout = |token: &str| {
        let cookie = format!("__Host-session_id={token}");
        Reply::of(app.auth(Method::POST, "logout").header("Cookie", cookie))
    };
    let mut kept = Vec::new();
    for token in &tokens {
        let reply = logout(token).await;
        if reply.status == 200 {
            assert!(!app.is_alive(token).await);
        } else {
            assert_unavailable(&reply);
            assert!(app.is_alive(token).await);
            kept.push(token);
        }
    }
    assert!(!kept.is_empty(), "no log-out met the full disk");
    assert_eq!(app.get("sessions", kept[0]).await.status, 200);
    execute(&mut sql, "DROP TABLE filler; CHECKPOINT");
    until("there is room again", LONG, async || {
        logout(kept[0]).await.status == 200
    })
    .await;
    assert!(!app.is_alive(kept[0]).await);
    let unmatched = "SELECT count(*) AS value FROM sessions s WHERE revoked_at IS NOT NULL AND NOT EXISTS \
                     (SELECT FROM session_events e WHERE e.session_id = s.id AND e.kind = 'session_revoked')";
    assert_eq!(rig.number(unmatched), 0);
    tokio::time::timeout(IN_TIME, app.login("ada@example.com"))
        .await
        .expect("log-in works again");
}
