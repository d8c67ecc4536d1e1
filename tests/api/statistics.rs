//! The administrators' figures.

use reqwest::Method;
use serde_json::{Value, json};

use crate::admin::administrator;
use crate::support::{Reply, TestApp};

/// Failed log-ins of so many days ago, as the figures have them.
async fn failures(app: &TestApp, root: &str, days_ago: usize) -> Value {
    let request = app.request(Method::GET, "/api/v1/admin/statistics");
    let figures = Reply::of(request.bearer_auth(root)).await.json();
    let date = app.db.texts(&format!(
        "SELECT ((now() AT TIME ZONE 'UTC')::date - {days_ago})::text AS value"
    ));
    let days = figures["days"].as_array().expect("days");
    let day = days.iter().find(|day| day["date"] == json!(date[0]));
    day.map_or(json!(0), |day| day["failures"].clone())
}

fn fail(app: &TestApp, days_ago: usize) {
    app.db.execute(&format!(
        "INSERT INTO session_events (occurred_at, kind, actor) \
         VALUES (statement_timestamp() - {days_ago} * interval '1 day', 'login_failed', 'user')"
    ));
}

#[tokio::test]
async fn days_that_are_over_are_counted_once_and_today_each_time() {
    let app = TestApp::start().await;
    let (_, root) = administrator(&app).await;
    // 13 days ago is the first of the fourteen, and 14 days ago is none of them.
    for days_ago in [0, 3, 3, 13, 14] {
        fail(&app, days_ago);
    }
    for (days_ago, count) in [(0, 1), (3, 2), (13, 1), (14, 0), (5, 0)] {
        assert_eq!(
            failures(&app, &root, days_ago).await,
            json!(count),
            "{days_ago}"
        );
    }
    // The ledger of a day that is over does not change; that it is not read again can be seen.
    for days_ago in [0, 3, 5] {
        fail(&app, days_ago);
    }
    for (days_ago, count) in [(0, 2), (3, 2), (5, 0)] {
        assert_eq!(
            failures(&app, &root, days_ago).await,
            json!(count),
            "{days_ago}"
        );
    }
    // Another instance has counted nothing yet.
    let other = app.another(&[]).await;
    let request = other.request(Method::GET, "/api/v1/admin/statistics");
    let figures = Reply::of(request.bearer_auth(&root)).await.json();
    let sum = |day: &Value| day["failures"].as_i64().unwrap();
    assert_eq!(
        figures["days"]
            .as_array()
            .unwrap()
            .iter()
            .map(sum)
            .sum::<i64>(),
        7
    );
}
