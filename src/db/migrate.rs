//! The embedded migrations.

use diesel::connection::SimpleConnection as _;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::pool;
use crate::config::DatabaseConfig;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();

/// Key of the advisory lock under which migrations run; any constant would do.
const MIGRATION_LOCK: i64 = 7_165_120_000_000_001;

diesel::define_sql_function! {
    /// Takes a lock that lasts as long as the connection.
    fn pg_advisory_lock(key: BigInt) -> Bool;
}

diesel::table! {
    /// Where Diesel keeps which migrations were applied.
    __diesel_schema_migrations (version) {
        /// The migration.
        version -> Text,
        /// When.
        run_on -> Timestamp,
    }
}

/// Why migrating failed.
#[derive(Debug)]
pub struct MigrationError(String);

impl std::fmt::Display for MigrationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.trim())
    }
}

impl std::error::Error for MigrationError {}

fn failed(error: impl std::fmt::Display) -> MigrationError {
    MigrationError(error.to_string())
}

/// Applies what is pending and returns the names. Several instances may do so at once: Diesel takes
/// no lock, so this does, on a connection of its own that ends with it.
///
/// # Errors
/// When the database cannot be reached or a migration fails; that migration is then undone.
pub fn apply_pending(config: &DatabaseConfig) -> Result<Vec<String>, MigrationError> {
    let mut connection = pool::dedicated(config, config.migration_url.expose()).map_err(failed)?;
    // A role's own time-outs are meant for requests.
    connection
        .batch_execute("SET statement_timeout = 0; SET lock_timeout = 0")
        .map_err(failed)?;
    diesel::select(pg_advisory_lock(MIGRATION_LOCK))
        .execute(&mut connection)
        .map_err(failed)?;
    let applied = connection
        .run_pending_migrations(MIGRATIONS)
        .map_err(failed)?;
    Ok(applied.iter().map(ToString::to_string).collect())
}

/// How many migrations are missing, for a role that may not apply them.
///
/// # Errors
/// When the database cannot be reached or the table of migrations not be read.
pub fn count_pending(config: &DatabaseConfig) -> Result<usize, MigrationError> {
    let mut connection: PgConnection =
        pool::dedicated(config, config.url.expose()).map_err(failed)?;
    let known = diesel_migrations_names()?;
    let is_there =
        diesel::dsl::sql::<Bool>("to_regclass('__diesel_schema_migrations') IS NOT NULL");
    if !diesel::select(is_there)
        .get_result::<bool>(&mut connection)
        .map_err(failed)?
    {
        return Ok(known.len());
    }
    // Not by the harness, which would make the table first, and this role may not.
    let applied: Vec<String> = __diesel_schema_migrations::table
        .select(__diesel_schema_migrations::version)
        .load(&mut connection)
        .map_err(failed)?;
    Ok(known.iter().filter(|name| !applied.contains(name)).count())
}

fn diesel_migrations_names() -> Result<Vec<String>, MigrationError> {
    use diesel::migration::MigrationSource;
    let migrations = MigrationSource::<diesel::pg::Pg>::migrations(&MIGRATIONS).map_err(failed)?;
    Ok(migrations
        .iter()
        .map(|m| m.name().version().to_string())
        .collect())
}
