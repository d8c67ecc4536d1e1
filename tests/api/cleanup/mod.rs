//! Cleaning up: what goes and what stays, in time, beside others, and by itself.

mod policy;
mod runs;
mod schedule;

use crate::support::TestDatabase;

/// Sessions of a user, so many alike; times as SQL intervals before now, negative ones after it.
#[derive(Clone, Copy)]
struct Seed {
    count: i64,
    created: &'static str,
    expired: &'static str,
    revoked: Option<&'static str>,
}

impl Seed {
    const fn expired(count: i64, expired: &'static str) -> Self {
        Self {
            count,
            created: expired,
            expired,
            revoked: None,
        }
    }

    fn insert(self, db: &TestDatabase, user: i64) {
        let (revoked_at, reason) = match self.revoked {
            Some(age) => (format!("now() - interval '{age}'"), "'user_logout'"),
            None => ("NULL".to_owned(), "NULL"),
        };
        let Self {
            count,
            created,
            expired,
            ..
        } = self;
        db.execute(&format!(
            "INSERT INTO sessions (id, user_id, session_hash, ip_address, device_label, created_at, last_seen_at,
                 authenticated_at, expires_at, absolute_expires_at, idle_timeout, revoked_at, revoked_reason)
             SELECT id, {user}, encode(sha256(id::text::bytea), 'hex'), '192.0.2.0/24', 'Chrome on macOS',
                 now() - interval '{created}', now() - interval '{created}', now() - interval '{created}',
                 now() - interval '{expired}', now() - interval '{expired}' + interval '1 hour', '1800 seconds',
                 {revoked_at}, {reason}
             FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, {count})) ids"
        ));
    }
}

/// Events so many days old.
fn insert_events(db: &TestDatabase, count: i64, days: i64, address: &str) {
    db.execute(&format!(
        "INSERT INTO session_events (occurred_at, kind, actor, ip_address)
         SELECT now() - interval '{days} days', 'login_failed', 'user', {address} FROM generate_series(1, {count})"
    ));
}

/// The counts of the latest run: `trigger expired purged ip_scrubbed events_purged complete error`.
fn latest_run(db: &TestDatabase) -> String {
    db.text(
        "SELECT concat_ws(' ', trigger, expired, purged, ip_scrubbed, events_purged, complete, error) AS value
         FROM cleanup_runs WHERE finished_at >= started_at ORDER BY id DESC LIMIT 1",
    )
    .unwrap()
}
