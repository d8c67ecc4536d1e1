//! The tables: as the migrations say, there and back, documented, named, and read by their indexes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests"
)]

#[path = "../api/support/mod.rs"]
mod support;

mod catalogue;
mod plans;
