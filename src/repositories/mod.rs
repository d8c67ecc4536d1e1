//! One function is one SQL statement, named for its intent.

pub mod cleanup_runs;
pub mod events_search;
pub mod login_throttle;
pub mod session_events;
pub mod sessions;
pub mod sql;
pub mod users;
