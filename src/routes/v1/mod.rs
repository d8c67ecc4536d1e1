//! Version 1 of the API.

pub(super) mod admin;
pub(super) mod auth;
pub(super) mod backends;
mod body;
pub(super) mod cleanup;
pub(super) mod gateway;
pub(super) mod proof;
pub(super) mod sessions;
