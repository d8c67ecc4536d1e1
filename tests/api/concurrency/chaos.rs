//! What goes on in the database beside: rows that somebody holds, sessions that come of age, and
//! two observers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::record::Random;
use crate::support::database::connect;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

/// Notes every change of a session, so that what no answer shows can be checked afterwards. Changes
/// made here are told apart by the connection's name.
pub const AUDIT: &str = "
    CREATE TABLE history_audit (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        is_chaos BOOLEAN NOT NULL DEFAULT current_setting('application_name') = 'chaos',
        session_id UUID NOT NULL, idle INTERVAL NOT NULL, old sessions NOT NULL, new sessions NOT NULL);
    CREATE FUNCTION history_audit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO history_audit (session_id, idle, old, new) VALUES (NEW.id, NEW.idle_timeout, OLD, NEW);
        RETURN NULL;
    END $$;
    CREATE TRIGGER history_audit AFTER UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION history_audit()";

/// A session that is still active.
fn any_active(random: &Random) -> String {
    let chosen = random.below(1_000_000);
    format!(
        "(SELECT id FROM sessions WHERE revoked_at IS NULL AND expires_at > statement_timestamp()
          AND user_id <> (SELECT id FROM users WHERE email = 'bystander@example.com')
          ORDER BY md5(id::text || '{chosen}') LIMIT 1)"
    )
}

/// Brings deadlines near, or past, and makes uses look old so that touches are due.
pub fn age(url: &str, random: &Random, is_over: &AtomicBool) {
    let mut conn = connect(url);
    conn.batch_execute("SET application_name = 'chaos'; SET lock_timeout = '100ms'")
        .unwrap();
    while !is_over.load(Ordering::Relaxed) {
        let session = any_active(random);
        let milliseconds = random.below(900);
        let change = match random.below(15) {
            0 => "expires_at = least(expires_at, statement_timestamp())".to_owned(),
            1 | 2 => format!(
                "expires_at = least(expires_at, statement_timestamp() + interval '{milliseconds} milliseconds')"
            ),
            _ => "last_seen_at = last_seen_at - interval '3 seconds'".to_owned(),
        };
        let sql =
            format!("UPDATE sessions SET {change} WHERE id = {session} AND revoked_at IS NULL");
        // A row that is held is left for another time.
        let _ = conn.batch_execute(&sql);
        std::thread::sleep(Duration::from_millis(8));
    }
}

/// Holds a row for a while, as a slow transaction would.
pub fn hold(url: &str, random: &Random, is_over: &AtomicBool) {
    let mut conn = connect(url);
    conn.batch_execute("SET application_name = 'chaos'")
        .unwrap();
    while !is_over.load(Ordering::Relaxed) {
        let held = conn.transaction(|conn| {
            let sql = format!(
                "UPDATE sessions SET last_seen_at = last_seen_at - interval '3 seconds' WHERE id = {} AND revoked_at IS NULL",
                any_active(random)
            );
            conn.batch_execute(&sql)?;
            let milliseconds = random.below(150);
            conn.batch_execute(&format!("SELECT pg_sleep({milliseconds} / 1000.0)"))
        });
        // Where two hold each other up, one gives way.
        let _ = held;
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Looks, again and again, for what must be true at every moment: nobody has more sessions than
/// the cap, and no touch waits for a lock. Returns what it saw otherwise, and how often it looked.
pub fn observe(url: &str, cap: usize, is_over: &AtomicBool) -> (Vec<String>, usize) {
    let sql = format!(
        "SELECT 'P13: user ' || user_id || ' has ' || count(*) || ' sessions' AS line FROM sessions
         WHERE revoked_at IS NULL AND expires_at > statement_timestamp() GROUP BY user_id HAVING count(*) > {cap}
         UNION ALL
         SELECT 'a touch waits: ' || wait_event FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND state = 'active'
           AND query LIKE 'UPDATE \"sessions\" SET \"last_seen_at\" = statement_timestamp(), \"expires_at\"%'"
    );
    let mut conn = connect(url);
    let (mut seen, mut looks) = (Vec::new(), 0);
    while !is_over.load(Ordering::Relaxed) {
        let lines: Vec<Line> = diesel::sql_query(&sql).load(&mut conn).unwrap();
        seen.extend(lines.into_iter().map(|line| line.line));
        looks += 1;
        std::thread::sleep(Duration::from_millis(4));
    }
    (seen, looks)
}
