//! The life of a session: time, use, endings with their reasons, and the ledger.

mod endings;
mod erasure;
mod ledger;
mod limits;
mod races;
mod reasons;
mod time;
mod touch;

use std::time::Duration;

use crate::support::app::Instance;
use crate::support::{Reply, TestApp, TestDatabase};

/// Polls until a query `SELECT … AS value` gives this number.
async fn until(db: &TestDatabase, sql: &str, wanted: i64) {
    let mut found = 0;
    for _ in 0..500 {
        found = db.number(sql);
        if found == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{sql}: {found}, not {wanted}");
}

/// Waits for touches under way.
async fn touches_done(instance: &Instance) {
    for _ in 0..500 {
        if instance.context.touches.is_idle() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("touches go on and on");
}

/// The id of a token's session.
async fn session_id(app: &Instance, token: &str) -> String {
    let reply = app.get("session", token).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["session"]["id"].as_str().unwrap().to_owned()
}

/// Status, code and reason that the holder of a token is told.
async fn verdict(app: &Instance, token: &str) -> (u16, String, String) {
    let reply = app.get("session", token).await;
    let body = reply.json();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    (reply.status, text("code"), text("reason"))
}

fn revoked(reason: &str) -> (u16, String, String) {
    (401, "session_revoked".to_owned(), reason.to_owned())
}

fn expired() -> (u16, String, String) {
    (401, "session_expired".to_owned(), String::new())
}

fn unknown() -> (u16, String, String) {
    (401, "session_unknown".to_owned(), String::new())
}

/// The ending that the ledger knows of a session: `kind user reason actor actor_id`.
fn ending(db: &TestDatabase, session: &str) -> String {
    let sql = format!(
        "SELECT concat_ws(' ', kind, user_id, reason, actor, coalesce(actor_id::text, '-')) AS value FROM session_events
         WHERE session_id = '{session}' AND kind IN ('session_revoked', 'session_expired')"
    );
    db.text(&sql).unwrap()
}

fn count_of(reply: &Reply) -> i64 {
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["revoked_count"].as_i64().unwrap()
}

/// Makes a session look as if it had been used last so many seconds ago.
fn idle_for(app: &TestApp, session: &str, seconds: i64) {
    app.db.execute(&format!(
        "UPDATE sessions SET last_seen_at = last_seen_at - interval '{seconds} seconds',
         expires_at = expires_at - interval '{seconds} seconds' WHERE id = '{session}'"
    ));
}
