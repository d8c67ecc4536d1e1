//! Sessions: what is known of one, its lifetimes, and why it ended.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::Queryable;
use ipnetwork::IpNetwork;
use uuid::Uuid;

use super::text_enum::text_enum;

text_enum! {
    /// Why a session ended.
    Reason {
        /// Logged out on the device itself.
        UserLogout => "user_logout",
        /// Ended together with all of the user's sessions.
        LogoutAll => "logout_all",
        /// Ended from another device that stayed signed in.
        LogoutOthers => "logout_others",
        /// Ended from the list of devices.
        DeviceRevoked => "device_revoked",
        /// The user's password was changed.
        PasswordChanged => "password_changed",
        /// Its deadline passed.
        Expired => "expired",
        /// The same browser or app logged in anew.
        Superseded => "superseded",
        /// Too many sessions of one user; this one was the least recently seen.
        SessionLimit => "session_limit",
        /// Ended by an administrator or an operator.
        AdminRevoked => "admin_revoked",
        /// The account was disabled.
        UserDisabled => "user_disabled",
        /// The account was deleted.
        UserDeleted => "user_deleted",
        /// Ended by a backend with the service key.
        ServiceRevoked => "service_revoked",
    }
}

text_enum! {
    /// How strongly the user was authenticated.
    AuthLevel {
        /// With a password, or by an identity provider that says no more.
        Password => "password",
        /// With a second factor.
        Mfa => "mfa",
    }
}

/// A session as its owner and administrators may see it; never a token or a hash.
#[derive(Debug, Clone, PartialEq, Queryable)]
pub struct Session {
    /// Public id.
    pub id: Uuid,
    /// Whose it is.
    pub user_id: i64,
    /// Label for display.
    pub device_label: Option<String>,
    /// Coarse address of the log-in.
    pub ip_address: Option<IpNetwork>,
    /// Strength of the authentication.
    pub auth_level: AuthLevel,
    /// Whether the cookie outlives the browser.
    pub remember_me: bool,
    /// When the user logged in.
    pub created_at: DateTime<Utc>,
    /// When it was last used, to within the touch interval.
    pub last_seen_at: DateTime<Utc>,
    /// When the user last proved the credential.
    pub authenticated_at: DateTime<Utc>,
    /// The deadline that decides validity.
    pub expires_at: DateTime<Utc>,
    /// The cap that the deadline never passes.
    pub absolute_expires_at: DateTime<Utc>,
    /// When it ended.
    pub revoked_at: Option<DateTime<Utc>>,
    /// Why it ended.
    pub revoked_reason: Option<Reason>,
    /// Whether it was valid, by the database's word, when it was read.
    pub is_active: bool,
    /// The database's clock when it was read.
    pub as_of: DateTime<Utc>,
}

impl Session {
    /// Seconds until the deadline, for clients whose clock is wrong; never negative.
    pub fn expires_in(&self) -> i64 {
        (self.expires_at - self.as_of).num_seconds().max(0)
    }

    /// Seconds until the cap; never negative.
    pub fn absolute_expires_in(&self) -> i64 {
        (self.absolute_expires_at - self.as_of).num_seconds().max(0)
    }

    /// How long ago the user last proved the credential.
    pub fn authentication_age(&self) -> TimeDelta {
        self.as_of - self.authenticated_at
    }

    /// What a holder of the token is to be told.
    pub fn verdict(&self) -> Verdict {
        match self.revoked_reason {
            _ if self.is_active => Verdict::Active,
            Some(Reason::Expired) | None => Verdict::Expired,
            Some(reason) => Verdict::Revoked(reason),
        }
    }
}

/// Whether a session is valid, and if not why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Valid.
    Active,
    /// Past its deadline.
    Expired,
    /// Ended before its deadline.
    Revoked(Reason),
}

/// How long a session may live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Without use.
    pub idle: TimeDelta,
    /// In all.
    pub absolute: TimeDelta,
}

/// A session that an UPDATE has just ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable)]
pub struct Ended {
    /// The session.
    pub id: Uuid,
    /// Whose it was.
    pub user_id: i64,
    /// The reason as written: `Expired` where it was already past its deadline.
    pub reason: Option<Reason>,
}

impl Ended {
    /// Whether it was still valid until now.
    pub fn was_active(&self) -> bool {
        self.reason != Some(Reason::Expired)
    }
}
