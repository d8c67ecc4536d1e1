//! Users as the service knows them.

use chrono::{DateTime, Utc};
use diesel::Queryable;

use super::text_enum::text_enum;

text_enum! {
    /// What a user may do.
    Role {
        /// Manage the own sessions.
        User => "user",
        /// See and end everybody's.
        Admin => "admin",
    }
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct User {
    /// Id.
    pub id: i64,
    /// E-mail; `None` for users that authenticate elsewhere.
    pub email: Option<String>,
    /// Role.
    pub role: Role,
    /// When the account was made.
    pub created_at: DateTime<Utc>,
    /// Set while the account may not sign in.
    pub disabled_at: Option<DateTime<Utc>>,
}

/// What checking a password needs to know of a user.
#[derive(Clone, Queryable)]
pub struct UserCredentials {
    /// The account.
    pub id: i64,
    /// Argon2id hash in PHC form; `None` for users that authenticate elsewhere.
    pub password_hash: Option<String>,
    /// When the password last changed: read again under the lock to notice a change meanwhile.
    pub password_changed_at: DateTime<Utc>,
    /// Set while the account may not sign in.
    pub disabled_at: Option<DateTime<Utc>>,
}
