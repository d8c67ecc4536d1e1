//! Login sessions on PostgreSQL: one row is one signed-in device, every request is checked against
//! the row, and every ending says why.
//!
//! Layers: [`routes`] turn HTTP into commands and back; [`services`] own policy, transactions and
//! events; a function in [`repositories`] is one SQL statement; [`domain`] holds types and pure rules.

pub mod app;
pub mod cli;
pub mod config;
pub mod context;
pub mod db;
pub mod domain;
pub mod metrics;
pub mod repositories;
pub mod routes;
#[expect(missing_docs, reason = "generated; documented by COMMENT ON")]
pub mod schema;
pub mod services;
pub mod telemetry;
