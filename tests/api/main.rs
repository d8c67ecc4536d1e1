//! The service as its callers see it: over HTTP, on a real PostgreSQL.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::as_conversions,
    reason = "tests"
)]

mod admin;
mod auth;
mod backends;
mod browser;
mod cleanup;
mod cleanup_endpoint;
mod concurrency;
mod connection_strings;
mod cookie_floods;
mod cookies;
mod devices;
mod envelope;
mod faults;
mod first_refusals;
mod freshness;
mod gateways;
mod history;
mod impersonation;
mod input;
mod introspection;
mod life;
mod login;
mod logout;
mod metrics;
mod oauth_clients;
mod openapi;
mod operator;
mod pages;
mod password;
mod readme;
mod roles;
mod secrecy;
mod security;
mod sharing;
mod sign_up;
mod start;
mod statistics;
mod support;
mod tokens;
