//! Policy, transactions and the events that go with them.

pub mod admin;
pub mod auth;
pub mod backends;
pub mod cleanup;
pub mod endings;
mod hashing;
pub mod monitoring;
pub mod passwords;
pub mod refusal;
pub mod schedule;
pub mod sessions;
pub mod throttle;
pub mod users;
pub mod verification;

pub use refusal::Refusal;

/// What a service answers.
pub type Result<T> = std::result::Result<T, Refusal>;
