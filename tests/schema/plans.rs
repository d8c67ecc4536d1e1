//! Every query of the repositories reads `sessions` and `session_events` by an index, whether the
//! tables have been analysed or not. Counted by PostgreSQL itself while the query really runs, in a
//! transaction of its own.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use diesel::connection::{Connection as _, InstrumentationEvent, SimpleConnection as _};
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use sekisho::domain::event::{Actor, EventKind};
use sekisho::domain::search::SessionFilter;
use sekisho::domain::session::{AuthLevel, Lifetime, Reason};
use sekisho::domain::token::SessionToken;
use sekisho::repositories::session_events::{self, Subject};
use sekisho::repositories::sessions::{self, NewSession};
use sekisho::repositories::users;
use std::sync::{Arc, Mutex};
use uuid::Uuid;

use crate::support::TestDatabase;

/// 20,000 sessions and as many events of 400 users; of each kind of work of the cleanup a little
/// is due, as in a service that cleans up every hour; most events have lost their address.
const POPULATE: &str = "
    INSERT INTO users (id, email) SELECT n, 'user' || n || '@example.com' FROM generate_series(1, 400) n;
    INSERT INTO sessions (id, user_id, session_hash, device_label, ip_address, created_at, last_seen_at, expires_at,
                          revoked_at, revoked_reason, absolute_expires_at, idle_timeout)
    SELECT gen_random_uuid(), 1 + n * 7919 % 400, encode(sha256(n::text::bytea), 'hex'), 'Chrome on macOS',
           CASE WHEN n % 200 <> 2 THEN inet '192.0.2.0/24' END,
           now() - CASE WHEN n % 200 IN (1, 2) THEN interval '40 days' ELSE random() * interval '20 days' END,
           now() - random() * interval '1 hour',
           now() + CASE n % 200 WHEN 1 THEN interval '-35 days' WHEN 3 THEN interval '-1 minute' ELSE random() * interval '9 days' END,
           CASE WHEN n % 200 = 1 THEN now() - interval '35 days' WHEN n % 2 = 0 THEN now() - random() * interval '20 days' END,
           CASE WHEN n % 200 = 1 OR n % 2 = 0 THEN 'user_logout' END,
           now() + interval '10 days', interval '1800 seconds'
    FROM generate_series(1, 20000) n;
    INSERT INTO session_events (occurred_at, kind, session_id, user_id, actor, ip_address, device_label)
    SELECT now() - CASE WHEN n % 200 = 1 THEN interval '400 days' WHEN n % 200 = 2 THEN interval '40 days'
                   WHEN n % 4 = 0 THEN random() * interval '20 days' ELSE interval '50 days' + random() * interval '300 days' END,
           'session_created', gen_random_uuid(), 1 + n * 7919 % 400, 'user',
           CASE WHEN n % 200 = 2 OR n % 4 = 0 THEN inet '192.0.2.0/24' END, 'Chrome on macOS'
    FROM generate_series(1, 20000) n;";

/// What the queries are asked for.
struct Sample {
    ids: Vec<Uuid>,
    ended: Vec<Uuid>,
    user: i64,
    new: NewSession,
    actor: Actor,
}

type Query = fn(&mut PgConnection, &Sample) -> QueryResult<usize>;

const MONTH: TimeDelta = TimeDelta::days(30);
const YEAR: TimeDelta = TimeDelta::days(365);
const LIFETIME: Lifetime = Lifetime {
    idle: TimeDelta::minutes(30),
    absolute: TimeDelta::hours(12),
};

fn count(count: i64) -> usize {
    usize::try_from(count).unwrap()
}

/// Each query with something to find or change.
const QUERIES: &[(&str, Query)] = &[
    ("sessions::find_by_hashes", |conn, sample| {
        let hashes = vec![sample.new.hash; 64];
        sessions::find_by_hashes(conn, &hashes, TimeDelta::minutes(5)).map(|rows| rows.len() + 1)
    }),
    ("sessions::owners_after", |conn, _| {
        sessions::owners_after(conn, 0, 10).map(|ids| ids.len())
    }),
    ("sessions::list_active_of_user", |conn, sample| {
        sessions::list_active_of_user(conn, sample.user).map(|rows| rows.len())
    }),
    ("sessions::least_recently_seen_beyond", |conn, sample| {
        sessions::least_recently_seen_beyond(conn, sample.user, 3).map(|rows| rows.len())
    }),
    ("sessions::lock_active", |conn, sample| {
        let session = sessions::insert(conn, Uuid::now_v7(), &sample.new)?;
        sessions::lock_active(conn, session.id, &sample.new.hash).map(usize::from)
    }),
    ("sessions::exists_for_user", |conn, sample| {
        sessions::exists_for_user(conn, sample.ids[0], sample.user).map(usize::from)
    }),
    ("sessions::find", |conn, sample| {
        sessions::find(conn, sample.ids[0]).map(|row| usize::from(row.is_some()))
    }),
    ("sessions::insert", |conn, sample| {
        sessions::insert(conn, Uuid::now_v7(), &sample.new).map(|_| 1)
    }),
    ("sessions::replace_hash", |conn, sample| {
        let session = sessions::insert(conn, Uuid::now_v7(), &sample.new)?;
        let new = SessionToken::generate().unwrap().hash();
        sessions::replace_hash(conn, session.id, &sample.new.hash, &new)
            .map(|row| usize::from(row.is_some()))
    }),
    ("sessions::reauthenticate", |conn, sample| {
        let session = sessions::insert(conn, Uuid::now_v7(), &sample.new)?;
        let new = SessionToken::generate().unwrap().hash();
        sessions::reauthenticate(conn, session.id, &sample.new.hash, &new, (LIFETIME, false))
            .map(|row| usize::from(row.is_some()))
    }),
    ("sessions::rename", |conn, sample| {
        sessions::rename(conn, sample.ids[0], sample.user, "Kitchen")
            .map(|row| usize::from(row.is_some()))
    }),
    ("sessions::end_by_hash", |conn, sample| {
        sessions::insert(conn, Uuid::now_v7(), &sample.new)?;
        sessions::end_by_hash(conn, &sample.new.hash, Reason::UserLogout, None)
            .map(|row| usize::from(row.is_some()))
    }),
    ("sessions::end_one_of_user", |conn, sample| {
        sessions::end_one_of_user(conn, sample.ids[0], sample.user, Reason::DeviceRevoked)
            .map(|row| usize::from(row.is_some()))
    }),
    ("sessions::end_many", |conn, sample| {
        sessions::end_many(conn, &sample.ids, Reason::SessionLimit).map(|rows| rows.len())
    }),
    ("sessions::end_all_of_user", |conn, sample| {
        sessions::end_all_of_user(conn, sample.user, Reason::LogoutAll, None).map(|rows| rows.len())
    }),
    ("sessions::delete_all_of_user", |conn, sample| {
        sessions::delete_all_of_user(conn, sample.user)
    }),
    ("sessions::expire_batch", |conn, _| {
        sessions::expire_batch(conn, 1000).map(|rows| rows.len())
    }),
    ("sessions::purge_batch", |conn, _| {
        sessions::purge_batch(conn, MONTH, 1000)
    }),
    ("sessions::scrub_addresses_batch", |conn, _| {
        sessions::scrub_addresses_batch(conn, MONTH, 1000)
    }),
    ("sessions::count_expirable", |conn, _| {
        sessions::count_expirable(conn).map(count)
    }),
    ("sessions::count_expired_before", |conn, _| {
        sessions::count_expired_before(conn, TimeDelta::seconds(30)).map(count)
    }),
    ("sessions::count_purgeable", |conn, _| {
        sessions::count_purgeable(conn, MONTH).map(count)
    }),
    ("sessions::count_scrubbable", |conn, _| {
        sessions::count_scrubbable(conn, MONTH, YEAR).map(count)
    }),
    ("sessions::touch", |conn, sample| {
        sessions::touch(
            conn,
            &sample.ids,
            TimeDelta::seconds(1),
            TimeDelta::seconds(2),
        )
    }),
    ("sessions::endable_of_user", |conn, sample| {
        let filter = SessionFilter::default();
        sessions::endable_of_user(conn, &filter, sample.user, Uuid::nil()).map(|ids| ids.len())
    }),
    ("sessions::oldest_ended", |conn, _| {
        sessions::oldest_ended(conn).map(|time| usize::from(time.is_some()))
    }),
    ("sessions::oldest_expired_age", |conn, _| {
        sessions::oldest_expired_age(conn).map(|age| usize::from(age.is_some()))
    }),
    ("session_events::oldest_age", |conn, _| {
        session_events::oldest_age(conn).map(|age| usize::from(age.is_some()))
    }),
    ("session_events::record", |conn, sample| {
        let subject = Subject::default();
        session_events::record(conn, EventKind::LoginFailed, sample.actor, &subject).map(|()| 1)
    }),
    ("session_events::record_ended", |conn, sample| {
        session_events::record_ended(conn, &sample.ended, sample.actor, None)
    }),
    ("session_events::list_of_user", |conn, sample| {
        session_events::list_of_user(conn, sample.user, None, 51).map(|rows| rows.len())
    }),
    ("session_events::scrub_user", |conn, sample| {
        session_events::scrub_user(conn, sample.user)
    }),
    ("session_events::scrub_actor", |conn, sample| {
        let subject = Subject {
            user_id: Some(sample.user + 1),
            ..Subject::default()
        };
        let address = "192.0.2.0/24".parse().ok();
        let actor = Actor::admin(sample.user, address);
        session_events::record(conn, EventKind::AccessDenied, actor, &subject)?;
        session_events::scrub_actor(conn, sample.user)
    }),
    ("session_events::scrub_addresses_batch", |conn, _| {
        session_events::scrub_addresses_batch(conn, MONTH, 1000)
    }),
    ("session_events::purge_batch", |conn, _| {
        session_events::purge_batch(conn, YEAR, 1000)
    }),
    ("session_events::count_scrubbable", |conn, _| {
        session_events::count_scrubbable(conn, MONTH).map(count)
    }),
    ("session_events::count_purgeable", |conn, _| {
        session_events::count_purgeable(conn, YEAR).map(count)
    }),
    // Checks that no session refers to the row.
    ("users::delete", |conn, sample| {
        sessions::delete_all_of_user(conn, sample.user)?;
        users::delete(conn, sample.user)
    }),
];

/// What `cleanup --dry-run` counts may be read from the whole table as long as that has never been
/// analysed: PostgreSQL then takes a third of it to be due.
const READ_WHOLE_UNLESS_ANALYSED: [&str; 2] = [
    "session_events::count_scrubbable",
    "session_events::count_purgeable",
];

/// What administrators filter by is theirs to choose; these run under a time limit instead.
const FREE_FORM: [&str; 4] = [
    "sessions::search",
    "sessions::count_endable",
    "sessions::users_with_endable",
    "sessions::count_active",
];

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = BigInt)]
    user_id: i64,
}

fn sample(conn: &mut PgConnection) -> Sample {
    let mut ids = |condition: &str| -> Vec<(Uuid, i64)> {
        let sql =
            format!("SELECT id::text AS id, user_id FROM sessions WHERE {condition} LIMIT 50");
        let found: Vec<Found> = diesel::sql_query(sql).load(conn).unwrap();
        assert_eq!(found.len(), 50);
        found
            .into_iter()
            .map(|f| (f.id.parse().unwrap(), f.user_id))
            .collect()
    };
    let live = ids("revoked_at IS NULL AND expires_at > now() + interval '1 hour'");
    let ended = ids("revoked_at IS NOT NULL");
    let user = live[0].1;
    Sample {
        user,
        actor: Actor::user(user, None),
        ids: live.into_iter().map(|(id, _)| id).collect(),
        ended: ended.into_iter().map(|(id, _)| id).collect(),
        new: NewSession {
            user_id: user,
            hash: SessionToken::generate().unwrap().hash(),
            device_label: None,
            ip_address: None,
            user_agent_hash: None,
            auth_level: AuthLevel::Password,
            remember_me: false,
            lifetime: LIFETIME,
        },
    }
}

/// Sequential scans of the two tables in this transaction so far.
fn scans(conn: &mut PgConnection) -> i64 {
    diesel::dsl::sql::<BigInt>(
        "SELECT coalesce(sum(seq_scan), 0)::bigint FROM pg_stat_xact_user_tables \
         WHERE relname IN ('sessions', 'session_events')",
    )
    .get_result(conn)
    .unwrap()
}

/// Runs a query and takes it back; returns its rows and its sequential scans.
fn measure(
    conn: &mut PgConnection,
    work: impl FnOnce(&mut PgConnection) -> QueryResult<usize>,
) -> (usize, i64) {
    conn.test_transaction(|conn| {
        let before = scans(conn);
        let rows = work(conn)?;
        Ok::<_, diesel::result::Error>((rows, scans(conn) - before))
    })
}

/// A database with something in it, which nobody but the test analyses.
fn populated() -> TestDatabase {
    let db = TestDatabase::new();
    db.execute(
        "ALTER TABLE sessions SET (autovacuum_enabled = false); \
         ALTER TABLE session_events SET (autovacuum_enabled = false)",
    );
    db.execute(POPULATE);
    db
}

/// The queries that read a table whole, with their SQL.
fn sequential(conn: &mut PgConnection) -> Vec<(&'static str, String)> {
    let sample = sample(conn);
    let sql = Arc::new(Mutex::new(String::new()));
    let log = sql.clone();
    conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::StartQuery { query, .. } = event {
            let text = query.to_string();
            // Those made by Diesel quote names; the test's own do not.
            if text.contains('"') {
                *log.lock().unwrap() = text.chars().take(1500).collect();
            }
        }
    });
    let mut found = Vec::new();
    for (name, query) in QUERIES {
        let (rows, scans) = measure(conn, |conn| query(conn, &sample));
        assert!(rows > 0, "{name} found nothing to work on");
        if scans > 0 {
            found.push((*name, sql.lock().unwrap().clone()));
        }
    }
    found
}

#[test]
fn every_query_reads_sessions_and_events_by_an_index() {
    let db = populated();
    for is_analysed in [false, true] {
        if is_analysed {
            db.execute("ANALYZE");
        }
        // A prepared statement is planned for its values at first, later perhaps for any.
        for mode in ["force_custom_plan", "force_generic_plan"] {
            let mut conn = db.connect();
            conn.batch_execute(&format!("SET plan_cache_mode = {mode}"))
                .unwrap();
            let mut found = sequential(&mut conn);
            found.retain(|(name, _)| is_analysed || !READ_WHOLE_UNLESS_ANALYSED.contains(name));
            assert!(
                found.is_empty(),
                "{mode}, analysed: {is_analysed}: {found:#?}"
            );
        }
    }
}

/// Every index makes log-ins and endings dearer, so each must serve a query. The names are those of
/// the migrations' comments.
#[test]
fn every_index_serves_a_query() {
    let db = populated();
    db.execute("ANALYZE");
    let indexes = db.texts(
        "SELECT i.indexrelid::regclass::text AS value FROM pg_index i \
         WHERE i.indrelid IN ('sessions'::regclass, 'session_events'::regclass) AND NOT i.indisprimary ORDER BY 1",
    );
    assert!(indexes.len() >= 7, "{indexes:?}");
    for index in indexes.into_iter().flatten() {
        let mut conn = db.connect();
        let found = conn.test_transaction(|conn| {
            conn.batch_execute(&format!("DROP INDEX {index}"))?;
            Ok::<_, diesel::result::Error>(sequential(conn))
        });
        assert!(!found.is_empty(), "nothing needs {index}");
    }
}

#[test]
fn a_sequential_scan_would_be_noticed() {
    let db = TestDatabase::new();
    let mut conn = db.connect();
    for sql in [
        "UPDATE sessions SET device_label = NULL WHERE device_label = 'x'",
        "DELETE FROM session_events WHERE note = 'x'",
    ] {
        let (_, scans) = measure(&mut conn, |conn| diesel::sql_query(sql).execute(conn));
        assert_eq!(scans, 1, "{sql}");
    }
}

/// The names of the public functions in a file that take a connection.
fn functions(file: &std::path::Path, module: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let found = text.split("\npub fn ").skip(1).filter_map(|rest| {
        let signature = rest.split('{').next()?;
        let name = rest.split(['(', '<']).next()?;
        let takes_connection = signature.contains("&mut PgConnection");
        takes_connection.then(|| format!("{module}::{name}"))
    });
    found.collect()
}

#[test]
fn no_query_is_left_out() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/repositories");
    let mut all = functions(&root.join("session_events.rs"), "session_events");
    for file in std::fs::read_dir(root.join("sessions")).unwrap() {
        all.extend(functions(&file.unwrap().path(), "sessions"));
    }
    assert!(all.len() > 25, "{all:?}");
    let tried: BTreeSet<String> = QUERIES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let is_missing = |name: &&String| !FREE_FORM.contains(&name.as_str());
    let missing: Vec<_> = all.difference(&tried).filter(is_missing).collect();
    assert!(missing.is_empty(), "add these to QUERIES: {missing:?}");
}
