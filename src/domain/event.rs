//! The ledger's events and who caused them.

use chrono::{DateTime, Utc};
use diesel::Queryable;
use ipnetwork::IpNetwork;
use uuid::Uuid;

use super::session::Reason;
use super::text_enum::text_enum;

text_enum! {
    /// What happened.
    EventKind {
        /// A user logged in.
        SessionCreated => "session_created",
        /// A session was ended before its deadline.
        SessionRevoked => "session_revoked",
        /// A session was found past its deadline.
        SessionExpired => "session_expired",
        /// A session got a new token.
        SessionRotated => "session_rotated",
        /// The user proved the password again.
        Reauthenticated => "reauthenticated",
        /// A password was wrong, or its user is unknown, disabled or has none.
        LoginFailed => "login_failed",
        /// An account was made.
        UserCreated => "user_created",
        /// A password was changed.
        PasswordChanged => "password_changed",
        /// An account was disabled.
        UserDisabled => "user_disabled",
        /// An account was enabled again.
        UserEnabled => "user_enabled",
        /// An account was deleted.
        UserDeleted => "user_deleted",
        /// Somebody asked for what only administrators may see.
        AccessDenied => "access_denied",
    }
}

text_enum! {
    /// In what capacity somebody acted.
    ActorKind {
        /// The user.
        User => "user",
        /// An administrator.
        Admin => "admin",
        /// A backend with an API key.
        Service => "service",
        /// The service itself or its operator at the command line.
        System => "system",
    }
}

/// Who caused an event, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    /// In what capacity.
    pub kind: ActorKind,
    /// The acting user, for users and administrators.
    pub id: Option<i64>,
    /// Coarse address of the request.
    pub address: Option<IpNetwork>,
}

impl Actor {
    /// The user, from a coarse address.
    pub fn user(id: i64, address: Option<IpNetwork>) -> Self {
        Self {
            kind: ActorKind::User,
            id: Some(id),
            address,
        }
    }

    /// An administrator, from a coarse address.
    pub fn admin(id: i64, address: Option<IpNetwork>) -> Self {
        Self {
            kind: ActorKind::Admin,
            id: Some(id),
            address,
        }
    }

    /// A backend, from a coarse address.
    pub fn service(address: Option<IpNetwork>) -> Self {
        Self {
            kind: ActorKind::Service,
            id: None,
            address,
        }
    }

    /// The service itself.
    pub fn system() -> Self {
        Self {
            kind: ActorKind::System,
            id: None,
            address: None,
        }
    }
}

/// One entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Event {
    /// Order of writing.
    pub id: i64,
    /// When, by the database's clock.
    pub occurred_at: DateTime<Utc>,
    /// What.
    pub kind: EventKind,
    /// Which session.
    pub session_id: Option<Uuid>,
    /// Whose.
    pub user_id: Option<i64>,
    /// Why.
    pub reason: Option<Reason>,
    /// By whom.
    pub actor: ActorKind,
    /// By which user.
    pub actor_id: Option<i64>,
    /// From where, coarse.
    pub ip_address: Option<IpNetwork>,
    /// The device's label at that time.
    pub device_label: Option<String>,
    /// An operator's or a backend's remark.
    pub note: Option<String>,
}
