//! The way to the database: connections, units of work, shared lookups, migrations.

mod attempt;
pub mod coalescer;
pub mod failure;
pub mod migrate;
pub mod pool;
pub mod run;

pub use failure::Failure;
pub use run::Database;
