//! Checks against the database as it is after the run: the audit of every change, and the ledger.

use std::collections::HashMap;

use super::record::{Kind, Operation, Outcome, Token};
use crate::support::TestDatabase;

/// Each query gives what is wrong, a line each.
const QUERIES: &[&str] = &[
    // P5: what has ended is written no more, but for its address.
    "SELECT 'P5: ended session ' || session_id || ' was written' FROM history_audit
     WHERE NOT is_chaos AND (old).revoked_at IS NOT NULL AND
       ((old).last_seen_at, (old).expires_at, (old).session_hash, (old).revoked_at, (old).revoked_reason)
       IS DISTINCT FROM
       ((new).last_seen_at, (new).expires_at, (new).session_hash, (new).revoked_at, (new).revoked_reason)",
    // P6, P9: only a new proof, which always gives a new token, moves the cap and the time of proof.
    "SELECT 'P6/P9: session ' || session_id || ' was extended without proof' FROM history_audit
     WHERE NOT is_chaos AND ((new).auth_level <> (old).auth_level
       OR (new).absolute_expires_at <> (old).absolute_expires_at AND (new).authenticated_at = (old).authenticated_at
       OR (new).authenticated_at <> (old).authenticated_at AND (new).session_hash = (old).session_hash)",
    "SELECT 'P9: session ' || session_id || ' has other proofs than events' FROM
       (SELECT session_id, count(*) AS n FROM history_audit
        WHERE (new).authenticated_at <> (old).authenticated_at GROUP BY session_id) proofs
     FULL JOIN (SELECT session_id, count(*) AS n FROM session_events
        WHERE kind = 'reauthenticated' GROUP BY session_id) events USING (session_id)
     WHERE proofs.n IS DISTINCT FROM events.n",
    // P7: two touches of a session are an interval apart.
    "SELECT 'P7: session ' || session_id || ' was touched twice in an interval' FROM history_audit
     WHERE NOT is_chaos AND (old).revoked_at IS NULL AND (new).session_hash = (old).session_hash
       AND (new).last_seen_at <> (old).last_seen_at
       AND (new).last_seen_at - (old).last_seen_at < least(interval '1 second', idle * 0.25)",
    "SELECT 'session ' || session_id || ' was revived' FROM history_audit
     WHERE NOT is_chaos AND (new).expires_at > (old).expires_at AND (old).expires_at <= (new).last_seen_at",
    // P11: only what was past its deadline ends as expired, and all of that does.
    "SELECT 'P11: session ' || session_id || ' ended as ' || (new).revoked_reason FROM history_audit
     WHERE (old).revoked_at IS NULL AND (new).revoked_at IS NOT NULL
       AND ((new).revoked_reason = 'expired') <> ((old).expires_at <= (new).revoked_at)",
    // P12: every fact has its one event, every event its fact.
    "SELECT 'P12: session ' || coalesce(s.id, e.session_id) || ' has other endings than events'
     FROM (SELECT * FROM sessions WHERE revoked_at IS NOT NULL) s
     FULL JOIN (SELECT session_id, count(*) AS n, min(user_id) AS user_id, min(reason) AS reason, min(kind) AS kind
                FROM session_events WHERE kind IN ('session_revoked', 'session_expired') GROUP BY session_id) e
       ON e.session_id = s.id
     WHERE e.n IS DISTINCT FROM 1 OR e.user_id IS DISTINCT FROM s.user_id OR e.reason IS DISTINCT FROM s.revoked_reason
       OR (e.kind = 'session_expired') <> (s.revoked_reason = 'expired')",
    "SELECT 'P12: session ' || coalesce(s.id, e.session_id) || ' has other beginnings than events'
     FROM sessions s FULL JOIN (SELECT session_id, count(*) AS n, min(user_id) AS user_id FROM session_events
                                WHERE kind = 'session_created' GROUP BY session_id) e ON e.session_id = s.id
     WHERE e.n IS DISTINCT FROM 1 OR e.user_id IS DISTINCT FROM s.user_id",
    "SELECT 'P12: session ' || coalesce(r.session_id, e.session_id) || ' has other rotations than events'
     FROM (SELECT session_id, count(*) AS n FROM history_audit
           WHERE (new).session_hash <> (old).session_hash GROUP BY session_id) r
     FULL JOIN (SELECT session_id, count(*) AS n FROM session_events
                WHERE kind IN ('session_rotated', 'reauthenticated') GROUP BY session_id) e USING (session_id)
     WHERE r.n IS DISTINCT FROM e.n",
    // P10: nobody ends another's sessions, but for superseding one whose token he holds.
    "SELECT 'P10: user ' || actor_id || ' ended a session of ' || user_id FROM session_events
     WHERE actor = 'user' AND actor_id <> user_id AND reason IS DISTINCT FROM 'superseded'",
    // Serialisation. Ledger ids are drawn under the user's lock: what began before an ending of
    // everything has ended with it at the latest.
    "WITH ending AS (SELECT user_id, occurred_at, min(id) AS first_id, max(id) AS last_id FROM session_events e
                     WHERE kind IN ('session_revoked', 'session_expired') GROUP BY user_id, occurred_at
                     HAVING bool_or(reason IN ('logout_all', 'password_changed'))),
          ended AS (SELECT session_id, id FROM session_events WHERE kind IN ('session_revoked', 'session_expired'))
     SELECT 'P2: session ' || c.session_id || ' outlived the ending at event ' || m.first_id
     FROM session_events c
     CROSS JOIN LATERAL (SELECT * FROM ending m WHERE m.user_id = c.user_id AND m.first_id > c.id
                         ORDER BY m.first_id LIMIT 1) m
     LEFT JOIN ended e ON e.session_id = c.session_id
     WHERE c.kind = 'session_created' AND (e.id IS NULL OR e.id > m.last_id)",
];

fn lines(db: &TestDatabase, sql: &str) -> Vec<String> {
    db.texts(&format!("SELECT line AS value FROM ({sql}) lines (line)"))
        .into_iter()
        .flatten()
        .collect()
}

/// `key:value` pairs.
fn pairs(db: &TestDatabase, sql: &str) -> HashMap<String, i64> {
    lines(db, sql)
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.to_owned(), value.parse().unwrap()))
        .collect()
}

pub fn violations(db: &TestDatabase, operations: &[Operation], tokens: &[Token]) -> Vec<String> {
    let mut found: Vec<String> = QUERIES.iter().flat_map(|sql| lines(db, sql)).collect();
    found.extend(old_passwords(db, operations, tokens));
    found.extend(counts(db, operations));
    found.extend(unended(db, operations, tokens));
    found
}

/// P4: a log-in that checked a password began before the event that retired it.
fn old_passwords(db: &TestDatabase, operations: &[Operation], tokens: &[Token]) -> Vec<String> {
    let begun = pairs(
        db,
        "SELECT session_id || ':' || id FROM session_events WHERE kind = 'session_created'",
    );
    // A session changes the password once at most: it ends thereby.
    let changed = pairs(
        db,
        "SELECT session_id || ':' || id FROM session_events WHERE kind = 'password_changed'",
    );
    let accepted = |kind| {
        operations
            .iter()
            .filter(move |o| o.kind == kind && o.outcome == Outcome::Accepted)
    };
    let retired: HashMap<(usize, &str), i64> = accepted(Kind::ChangePassword)
        .map(|change| {
            let session = &tokens[change.token.unwrap()].session;
            (
                (change.user, change.password.as_deref().unwrap()),
                changed[session],
            )
        })
        .collect();
    accepted(Kind::Login)
        .filter_map(|login| {
            let session = &tokens[login.gives.unwrap()].session;
            let end = retired.get(&(login.user, login.password.as_deref().unwrap()))?;
            (begun[session] > *end)
                .then(|| format!("P4: session {session} began with a password that was gone"))
        })
        .collect()
}

/// Counts that answers gave against rows. A lost answer makes the database's count the greater.
fn counts(db: &TestDatabase, operations: &[Operation]) -> Vec<String> {
    let is_lost = |kind| {
        operations
            .iter()
            .any(|o| o.kind == kind && o.outcome == Outcome::Maybe)
    };
    let mut found = Vec::new();
    let mut compare = |what: &str, kind: Kind, answered: i64, from: &str| {
        let rows = db.count(from);
        if rows < answered || rows > answered && !is_lost(kind) {
            found.push(format!(
                "{what}: {answered} answered, {rows} in the database"
            ));
        }
    };
    let sum = |kind| -> i64 {
        operations
            .iter()
            .filter(|o| o.kind == kind && o.outcome == Outcome::Accepted)
            .map(|o| o.count)
            .sum()
    };
    let number = |is: &dyn Fn(&Operation) -> bool| -> i64 {
        i64::try_from(operations.iter().filter(|o| is(o)).count()).unwrap()
    };
    let reason = |reason: &str| format!("session_events WHERE reason = '{reason}'");
    compare(
        "P11 cleaned",
        Kind::Cleanup,
        sum(Kind::Cleanup),
        "session_events WHERE kind = 'session_expired' AND actor = 'system'",
    );
    compare(
        "logout",
        Kind::Logout,
        sum(Kind::Logout),
        &reason("user_logout"),
    );
    compare(
        "logout_all",
        Kind::LogoutAll,
        sum(Kind::LogoutAll),
        &reason("logout_all"),
    );
    compare(
        "logout_others",
        Kind::LogoutOthers,
        sum(Kind::LogoutOthers),
        &reason("logout_others"),
    );
    compare(
        "device_revoked",
        Kind::EndSession,
        sum(Kind::EndSession),
        &reason("device_revoked"),
    );
    let logins = number(&|o| o.kind == Kind::Login && o.outcome == Outcome::Accepted);
    let changes = number(&|o| o.kind == Kind::ChangePassword && o.outcome == Outcome::Accepted);
    if !is_lost(Kind::ChangePassword) {
        compare(
            "begun",
            Kind::Login,
            logins + changes,
            "session_events WHERE kind = 'session_created'",
        );
    }
    let refused = |o: &Operation| {
        matches!(o.outcome, Outcome::Refused(401, _)) && o.kind == Kind::Login
            || matches!(o.outcome, Outcome::Refused(403, _))
    };
    if !is_lost(Kind::ChangePassword) && !is_lost(Kind::Reauthenticate) {
        compare(
            "failed log-ins",
            Kind::Login,
            number(&refused),
            "session_events WHERE kind = 'login_failed'",
        );
    }
    found
}

/// Once an ending was answered the row says so, though it may have been past its deadline before.
fn unended(db: &TestDatabase, operations: &[Operation], tokens: &[Token]) -> Vec<String> {
    let began = lines(
        db,
        "SELECT (extract(epoch FROM began) * 1000000)::bigint::text FROM history_began",
    );
    let began: i64 = began[0].parse().unwrap();
    let ended = pairs(
        db,
        "SELECT id || ':' || (extract(epoch FROM revoked_at) * 1000000)::bigint FROM sessions WHERE revoked_at IS NOT NULL",
    );
    // Rotated tokens reach no row any more.
    let rotated: std::collections::HashSet<usize> = operations
        .iter()
        .filter(|o| {
            matches!(o.kind, Kind::Rotate | Kind::Reauthenticate)
                && !matches!(o.outcome, Outcome::Refused(..))
        })
        .filter_map(|o| o.token)
        .collect();
    operations
        .iter()
        .filter(|o| o.outcome == Outcome::Accepted)
        .filter_map(|o| {
            let session = match o.kind {
                Kind::Logout if !rotated.contains(&o.token?) => tokens[o.token?].session.clone(),
                Kind::EndSession => o.target.clone()?,
                _ => return None,
            };
            let answered = began + i64::try_from(o.end).unwrap();
            let is_ended = ended.get(&session).is_some_and(|at| *at <= answered);
            (!is_ended).then(|| {
                format!(
                    "{:?} was answered and session {session} had not ended",
                    o.kind
                )
            })
        })
        .collect()
}
