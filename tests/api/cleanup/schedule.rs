//! The built-in schedule.

use std::time::Duration;

use futures_util::future::join;
use sekisho::services::cleanup::run_scheduled;

use super::Seed;
use crate::support::TestApp;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn of_several_instances_one_runs_in_each_interval() {
    let settings = [("CLEANUP_INTERVAL", "1s")];
    let app = TestApp::start_with(&settings).await;
    let _other = app.another(&settings).await;
    let user = app.sign_up("ada@example.com").await;
    Seed::expired(3, "1 hour").insert(&app.db, user);
    let mut runs = 0;
    for _ in 0..600 {
        runs = app
            .db
            .count("cleanup_runs WHERE trigger = 'schedule' AND complete");
        if runs >= 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(runs >= 3);
    assert_eq!(app.db.count("sessions WHERE revoked_reason = 'expired'"), 3);
    assert_eq!(
        app.db
            .number("SELECT sum(expired)::bigint AS value FROM cleanup_runs"),
        3
    );
    let close = "cleanup_runs a JOIN cleanup_runs b ON a.id < b.id AND b.started_at - a.started_at < interval '0.9 seconds'";
    assert_eq!(app.db.count(close), 0);
}

#[tokio::test]
async fn of_two_claims_at_once_one_wins() {
    let app = TestApp::start().await;
    let other = app.another(&[]).await;
    let user = app.sign_up("ada@example.com").await;
    Seed::expired(3, "1 hour").insert(&app.db, user);
    let (one, two) = join(
        run_scheduled(&app.context, HOUR),
        run_scheduled(&other.context, HOUR),
    )
    .await;
    let done: Vec<_> = [one.unwrap(), two.unwrap()].into_iter().flatten().collect();
    assert_eq!((done.len(), done[0].expired), (1, 3));
    assert_eq!(app.db.count("cleanup_runs"), 1);
    // Nor again before the interval is over, while other callers may at any time.
    assert_eq!(run_scheduled(&app.context, HOUR).await.unwrap(), None);
    assert_eq!(app.cleanup().await.status, 200);
    app.db.execute("UPDATE cleanup_runs SET started_at = started_at - interval '55 minutes', finished_at = finished_at - interval '55 minutes'");
    assert!(run_scheduled(&app.context, HOUR).await.unwrap().is_some());
}

#[tokio::test]
async fn the_claim_of_a_killed_instance_goes_stale() {
    let app = TestApp::start_with(&[("CLEANUP_BUDGET", "60s")]).await;
    let claim = |age: &str| {
        app.db.execute(&format!(
            "DELETE FROM cleanup_runs; INSERT INTO cleanup_runs (trigger, started_at) VALUES ('schedule', now() - interval '{age}')"
        ));
    };
    claim("110 seconds");
    assert_eq!(
        run_scheduled(&app.context, Duration::from_secs(10))
            .await
            .unwrap(),
        None
    );
    claim("121 seconds");
    assert!(run_scheduled(&app.context, HOUR).await.unwrap().is_some());
}
