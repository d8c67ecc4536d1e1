//! What the tests share: throw-away databases, the service in this process or as a program of its
//! own, and a client.

#![allow(
    dead_code,
    unused_imports,
    reason = "several test binaries use parts of this"
)]

pub mod app;
pub mod client;
pub mod cluster;
pub mod database;
pub mod process;
pub mod tools;

pub use app::{Instance, TestApp};
pub use client::{Reply, cookie_value};
pub use cluster::Cluster;
pub use database::TestDatabase;
pub use process::Process;

/// A password that every policy takes.
pub const PASSWORD: &str = "correct horse battery";

/// Keys that the tests configure.
pub const CLEANUP_KEY: &str = "cleanup-key-cleanup-key-cleanup-key-1";
pub const SERVICE_KEY: &str = "service-key-service-key-service-key-1";

/// User-Agents of two devices.
pub const CHROME_ON_MACOS: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36";
pub const SAFARI_ON_IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 Mobile/15E148 Safari/604.1";
