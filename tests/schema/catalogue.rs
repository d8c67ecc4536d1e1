//! What the database says of its tables.

use std::collections::BTreeSet;
use std::process::Command;

use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use sekisho::domain::cleanup::Trigger;
use sekisho::domain::event::{ActorKind, EventKind};
use sekisho::domain::session::{AuthLevel, Reason};
use sekisho::domain::user::Role;

use crate::support::TestDatabase;
use crate::support::cluster::{program, shared_url};

/// Tables that the migrations make.
const OWN: &str = "c.relnamespace = 'public'::regnamespace AND c.relname NOT LIKE '\\_\\_diesel%'";

fn migrations() -> FileBasedMigrations {
    FileBasedMigrations::from_path(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap()
}

/// Everything but the data, comments included.
fn dump(database: &TestDatabase) -> String {
    let output = Command::new(program("pg_dump"))
        .args(["--schema-only", &database.url])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // `\restrict` and `\unrestrict` carry a random word.
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('\\'));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn down_undoes_all_of_up_and_up_works_again() {
    let db = TestDatabase::empty(shared_url());
    let mut conn = db.connect();
    conn.run_pending_migrations(migrations()).unwrap();
    let before = dump(&db);
    for thing in [
        "CREATE TABLE public.sessions",
        "CREATE TRIGGER sessions_ending_is_final",
        "COMMENT ON COLUMN public.session_events.note",
    ] {
        assert!(before.contains(thing), "{thing}");
    }
    let reverted = conn.revert_all_migrations(migrations()).unwrap().len();
    assert_eq!(reverted, std::fs::read_dir("migrations").unwrap().count());
    let left = db.count(&format!(
        "(SELECT oid FROM pg_class c WHERE {OWN} \
         UNION ALL SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace) AS things"
    ));
    assert_eq!(left, 0);
    conn.run_pending_migrations(migrations()).unwrap();
    assert_eq!(dump(&db), before);
    // One at a time as well: each down alone, and its up after it.
    for _ in 0..reverted {
        conn.revert_last_migration(migrations()).unwrap();
    }
    conn.run_pending_migrations(migrations()).unwrap();
    assert_eq!(dump(&db), before);
}

/// The texts in quotes of a CHECK constraint.
fn values_of(db: &TestDatabase, constraint: &str) -> BTreeSet<String> {
    let definition = db.text(&format!(
        "SELECT pg_get_constraintdef(oid) AS value FROM pg_constraint WHERE conname = '{constraint}'"
    ));
    let definition = definition.unwrap();
    definition
        .split('\'')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn enumerations_and_check_constraints_have_the_same_values() {
    fn texts<T: Copy>(all: &[T], text: fn(T) -> &'static str) -> BTreeSet<String> {
        all.iter().map(|value| text(*value).to_owned()).collect()
    }
    let db = TestDatabase::new();
    for (constraint, values) in [
        (
            "sessions_revoked_reason_known",
            texts(Reason::ALL, Reason::as_str),
        ),
        (
            "sessions_auth_level_known",
            texts(AuthLevel::ALL, AuthLevel::as_str),
        ),
        (
            "session_events_kind_known",
            texts(EventKind::ALL, EventKind::as_str),
        ),
        (
            "session_events_actor_known",
            texts(ActorKind::ALL, ActorKind::as_str),
        ),
        ("users_role_known", texts(Role::ALL, Role::as_str)),
        (
            "cleanup_runs_trigger_known",
            texts(Trigger::ALL, Trigger::as_str),
        ),
    ] {
        assert_eq!(values_of(&db, constraint), values, "{constraint}");
    }
}

#[test]
fn every_check_of_values_has_its_enumeration() {
    let db = TestDatabase::new();
    let known = db.count("pg_constraint WHERE contype = 'c' AND conname LIKE '%\\_known'");
    assert_eq!(known, 6, "compare the new one's values as well");
}

#[test]
fn every_table_and_column_has_a_comment() {
    let db = TestDatabase::new();
    let silent = db.texts(&format!(
        "SELECT c.relname || coalesce('.' || a.attname, '') AS value FROM pg_class c \
         LEFT JOIN LATERAL (SELECT NULL::name AS attname, 0 AS attnum UNION ALL \
             SELECT attname, attnum FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) a ON true \
         WHERE {OWN} AND c.relkind = 'r' \
           AND coalesce(trim(CASE a.attnum WHEN 0 THEN obj_description(c.oid, 'pg_class') \
               ELSE col_description(c.oid, a.attnum) END), '') = ''"
    ));
    assert!(silent.is_empty(), "{silent:?}");
    assert!(db.count(&format!("pg_class c WHERE {OWN} AND relkind = 'r'")) >= 5);
}

/// A name that PostgreSQL made up could change; constraints are mapped by theirs.
#[test]
fn every_constraint_index_and_trigger_is_named_in_the_migrations() {
    let db = TestDatabase::new();
    let mut text = String::new();
    for folder in std::fs::read_dir("migrations").unwrap() {
        text += &std::fs::read_to_string(folder.unwrap().path().join("up.sql")).unwrap();
    }
    let words: BTreeSet<&str> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .collect();
    let names = db.texts(&format!(
        "SELECT conname::text AS value FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid \
             WHERE {OWN} AND contype <> 'n' \
         UNION SELECT c.relname::text FROM pg_class c WHERE {OWN} AND c.relkind = 'i' \
         UNION SELECT tgname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid \
             WHERE {OWN} AND NOT tgisinternal"
    ));
    assert!(names.len() > 20, "{names:?}");
    let unnamed: Vec<_> = names
        .iter()
        .flatten()
        .filter(|name| !words.contains(name.as_str()))
        .collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
}
