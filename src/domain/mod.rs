//! Types and pure rules of the domain; no I/O.

pub mod address;
pub mod cleanup;
pub mod client;
pub mod common_passwords;
pub mod credentials;
pub mod device;
pub mod event;
pub mod problem;
pub mod search;
pub mod session;
pub mod text;
pub mod text_enum;
pub mod token;
pub mod user;
