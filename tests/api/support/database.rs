//! A database of each test's own, copied from a migrated template and dropped at the end.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use sekisho::config::{Config, Source};
use sekisho::db::migrate;
use sekisho::domain::token::hex_sha256;

use super::cluster::{shared_url, with_database};

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    value: i64,
}

#[derive(QueryableByName)]
struct Word {
    #[diesel(sql_type = Nullable<Text>)]
    value: Option<String>,
}

/// Connects, waiting a little where the server has too many connections at the moment.
pub fn connect(url: &str) -> PgConnection {
    for _ in 0..50 {
        match PgConnection::establish(url) {
            Ok(connection) => return connection,
            Err(error) if error.to_string().contains("too many clients") => {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            Err(error) => panic!("{url}: {error}"),
        }
    }
    panic!("{url}: too many clients");
}

/// The template's name says which migrations it has.
fn template(server: &str) -> String {
    let mut files: Vec<_> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"))
        .expect("migrations")
        .flat_map(|folder| [folder.as_ref().expect("folder").path().join("up.sql")])
        .collect();
    files.sort();
    let text: Vec<u8> = files
        .iter()
        .flat_map(|file| std::fs::read(file).expect("up.sql"))
        .collect();
    let hash = String::from_utf8_lossy(&hex_sha256(&text)[..16]).into_owned();
    let name = format!("sekisho_template_{hash}");
    let mut maintenance = connect(server);
    // Two test programs may start at once.
    maintenance
        .batch_execute("SELECT pg_advisory_lock(7165120000000077)")
        .expect("lock");
    sweep(&mut maintenance, &name);
    let exists = format!(
        "SELECT count(*) AS value FROM pg_database WHERE datname = '{name}' AND datistemplate"
    );
    if number(&mut maintenance, &exists) == 0 {
        maintenance
            .batch_execute(&format!("DROP DATABASE IF EXISTS {name}"))
            .expect("drop");
        maintenance
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("create");
        let url = with_database(server, &name);
        let config = Config::new(&Source::from_pairs([("DATABASE_URL", url)])).expect("config");
        migrate::apply_pending(&config.database).expect("migrations");
        maintenance
            .batch_execute(&format!(
                "ALTER DATABASE {name} IS_TEMPLATE true ALLOW_CONNECTIONS false"
            ))
            .expect("template");
    }
    name
}

/// Drops what killed test programs and older migrations left behind.
fn sweep(maintenance: &mut PgConnection, template: &str) {
    let names: Vec<Word> = diesel::sql_query(
        "SELECT datname::text AS value FROM pg_database WHERE datname ~ '^sekisho_(test|template)_'",
    )
    .load(maintenance)
    .expect("names");
    for name in names.into_iter().filter_map(|word| word.value) {
        let owner = name
            .strip_prefix("sekisho_test_")
            .and_then(|rest| rest.split('_').next()?.parse::<u32>().ok());
        let is_left = match owner {
            Some(pid) => !std::path::Path::new(&format!("/proc/{pid}")).exists(),
            None => name.starts_with("sekisho_template_") && name != template,
        };
        if is_left {
            let _ = maintenance.batch_execute(&format!("ALTER DATABASE {name} IS_TEMPLATE false"));
            let _ =
                maintenance.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

fn number(connection: &mut PgConnection, sql: &str) -> i64 {
    diesel::sql_query(sql)
        .get_result::<Number>(connection)
        .unwrap_or_else(|e| panic!("{sql}: {e}"))
        .value
}

/// See the module's description.
pub struct TestDatabase {
    name: String,
    server: String,
    /// URL for the service.
    pub url: String,
}

impl TestDatabase {
    /// A migrated database on the shared server.
    pub fn new() -> Self {
        static TEMPLATE: OnceLock<String> = OnceLock::new();
        let server = shared_url();
        let template = TEMPLATE.get_or_init(|| template(server));
        Self::create(server, Some(template))
    }

    /// An empty database on any server.
    pub fn empty(server: &str) -> Self {
        Self::create(server, None)
    }

    fn create(server: &str, template: Option<&str>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "sekisho_test_{}_{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let template = template
            .map(|template| format!(" TEMPLATE {template}"))
            .unwrap_or_default();
        connect(server)
            .batch_execute(&format!("CREATE DATABASE {name}{template}"))
            .expect("create database");
        Self {
            url: with_database(server, &name),
            name,
            server: server.to_owned(),
        }
    }

    /// A connection to it.
    pub fn connect(&self) -> PgConnection {
        connect(&self.url)
    }

    /// Runs statements.
    pub fn execute(&self, sql: &str) {
        self.connect()
            .batch_execute(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs statements that must fail, and returns why.
    pub fn refusal(&self, sql: &str) -> String {
        self.connect()
            .batch_execute(sql)
            .expect_err(sql)
            .to_string()
    }

    /// The number that a query `SELECT … AS value` gives.
    pub fn number(&self, sql: &str) -> i64 {
        number(&mut self.connect(), sql)
    }

    /// How many rows `FROM …` has.
    pub fn count(&self, from: &str) -> i64 {
        self.number(&format!("SELECT count(*) AS value FROM {from}"))
    }

    /// The texts that a query `SELECT …::text AS value` gives.
    pub fn texts(&self, sql: &str) -> Vec<Option<String>> {
        let words: Vec<Word> = diesel::sql_query(sql)
            .load(&mut self.connect())
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        words.into_iter().map(|word| word.value).collect()
    }

    /// The one text that a query gives.
    pub fn text(&self, sql: &str) -> Option<String> {
        let mut texts = self.texts(sql);
        assert_eq!(texts.len(), 1, "{sql}");
        texts.remove(0)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // The server may be a stopped one of the test's own.
        if let Ok(mut connection) = PgConnection::establish(&self.server) {
            let _ = connection.batch_execute(&format!(
                "DROP DATABASE IF EXISTS {} WITH (FORCE)",
                self.name
            ));
        }
    }
}
