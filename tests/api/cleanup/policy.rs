//! What goes and what stays.

use super::{Seed, insert_events, latest_run};
use crate::support::{TestApp, TestDatabase, process};

fn seed(db: &TestDatabase, user: i64) {
    let seeds = [
        // To be marked as expired; the second kind goes in the same run.
        Seed::expired(5, "1 hour"),
        Seed::expired(4, "40 days"),
        // To be purged: ended long ago, or expired long before anybody ended it.
        Seed {
            count: 3,
            created: "50 days",
            expired: "-1 day",
            revoked: Some("31 days"),
        },
        Seed {
            count: 1,
            created: "50 days",
            expired: "31 days",
            revoked: Some("10 days"),
        },
        // To stay; the addresses of the first two kinds are too old.
        Seed {
            count: 2,
            created: "40 days",
            expired: "-1 day",
            revoked: Some("10 days"),
        },
        Seed {
            count: 6,
            created: "31 days",
            expired: "-1 day",
            revoked: None,
        },
        Seed {
            count: 7,
            created: "29 days",
            expired: "-1 day",
            revoked: None,
        },
    ];
    for seed in seeds {
        seed.insert(db, user);
    }
    insert_events(db, 7, 31, "'192.0.2.0/24'");
    insert_events(db, 3, 400, "'192.0.2.0/24'");
    insert_events(db, 2, 364, "NULL");
    insert_events(db, 8, 29, "'192.0.2.0/24'");
}

#[tokio::test]
async fn a_run_does_the_whole_policy_and_a_dry_run_tells_it_beforehand() {
    let app = TestApp::start().await;
    let user = app.sign_up("ada@example.com").await;
    seed(&app.db, user);
    let before = app.db.count("session_events");
    let told = process::run(&app.db.url, &[], &["cleanup", "--dry-run"], "");
    assert_eq!(
        String::from_utf8_lossy(&told.stdout),
        "9 sessions would be expired\n8 sessions would be purged\n18 addresses would be forgotten\n3 events would be purged\n"
    );
    assert_eq!(
        (app.db.count("sessions"), app.db.count("cleanup_runs")),
        (28, 0)
    );
    let reply = app.cleanup().await;
    assert_eq!(
        reply.body,
        r#"{"message":"Session cleanup completed","cleaned_count":9}"#
    );
    assert_eq!(reply.header("x-cleanup-complete"), None);
    assert_eq!(latest_run(&app.db), "http 9 8 18 3 t");
    // Nine were marked, each with its event; eight are gone.
    assert_eq!(app.db.count("sessions"), 20);
    assert_eq!(app.db.count("sessions WHERE revoked_reason = 'expired'"), 5);
    assert_eq!(app.db.count("session_events WHERE kind = 'session_expired' AND reason = 'expired' AND actor = 'system'"), 9);
    assert_eq!(app.db.count("session_events"), before + 9 - 3);
    // Of what is left nothing old has an address, and everything younger still has.
    assert_eq!(
        app.db.count(
            "sessions WHERE (ip_address IS NULL) <> (created_at < now() - interval '30 days')"
        ),
        0
    );
    assert_eq!(app.db.count("session_events WHERE ip_address IS NOT NULL AND occurred_at < now() - interval '30 days'"), 0);
    assert_eq!(
        app.db
            .count("session_events WHERE kind = 'login_failed' AND ip_address IS NOT NULL"),
        8
    );
    // A second run finds nothing.
    assert_eq!(app.cleanup().await.json()["cleaned_count"], 0);
    assert_eq!(latest_run(&app.db), "http 0 0 0 0 t");
}

#[tokio::test]
async fn retentions_are_settings() {
    let settings = [
        ("CLEANUP_RETENTION", "1d"),
        ("CLEANUP_IP_RETENTION", "1h"),
        ("CLEANUP_EVENT_RETENTION", "30d"),
    ];
    let app = TestApp::start_with(&settings).await;
    let user = app.sign_up("ada@example.com").await;
    Seed {
        count: 3,
        created: "2 days",
        expired: "25 hours",
        revoked: Some("25 hours"),
    }
    .insert(&app.db, user);
    Seed {
        count: 2,
        created: "2 hours",
        expired: "-1 hour",
        revoked: None,
    }
    .insert(&app.db, user);
    insert_events(&app.db, 4, 31, "NULL");
    insert_events(&app.db, 5, 29, "NULL");
    app.cleanup().await;
    assert_eq!(latest_run(&app.db), "http 0 3 2 4 t");
}

#[tokio::test]
async fn the_subcommand_runs_it_too() {
    let app = TestApp::start().await;
    let user = app.sign_up("ada@example.com").await;
    Seed::expired(3, "1 minute").insert(&app.db, user);
    let output = process::run(&app.db.url, &[], &["cleanup"], "");
    assert!(output.status.success(), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stdout).starts_with("3 sessions were expired\n"),
        "{output:?}"
    );
    assert_eq!(latest_run(&app.db), "cli 3 0 0 0 t");
}
