//! What administrators look for, and what they find.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use ipnetwork::IpNetwork;
use uuid::Uuid;

use super::event::{ActorKind, EventKind};
use super::session::{AuthLevel, Reason};
use super::text_enum::text_enum;

text_enum! {
    /// What a session is now, as a filter has it.
    State {
        /// Valid.
        Active => "active",
        /// Past its deadline, marked as such or not yet.
        Expired => "expired",
        /// Ended before its deadline.
        Revoked => "revoked",
    }
}

/// From when to when; either end may be open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Not before.
    pub from: Option<DateTime<Utc>>,
    /// Before, exclusively.
    pub until: Option<DateTime<Utc>>,
}

/// Which sessions; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Of this user.
    pub user_id: Option<i64>,
    /// In this state.
    pub state: Option<State>,
    /// Ended for this reason.
    pub reason: Option<Reason>,
    /// From within this network.
    pub network: Option<IpNetwork>,
    /// Authenticated so strongly.
    pub auth_level: Option<AuthLevel>,
    /// Begun then.
    pub created: Window,
    /// Last seen then.
    pub seen: Window,
}

/// Which events; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// About this user.
    pub user_id: Option<i64>,
    /// About this session.
    pub session_id: Option<Uuid>,
    /// Of this kind.
    pub kind: Option<EventKind>,
    /// With this reason.
    pub reason: Option<Reason>,
    /// Caused in this capacity.
    pub actor: Option<ActorKind>,
    /// From within this network.
    pub network: Option<IpNetwork>,
    /// Then.
    pub occurred: Window,
}

/// Which users; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// Part of the e-mail, in any case.
    pub email_part: Option<String>,
    /// This one.
    pub id: Option<i64>,
    /// Disabled, or not.
    pub disabled: Option<bool>,
}

/// How many sessions a filter matches that could be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, diesel::Queryable)]
pub struct Match {
    /// Sessions.
    pub sessions: i64,
    /// Users that they belong to.
    pub users: i64,
    /// The database's clock when they were counted.
    pub as_of: DateTime<Utc>,
}

/// How often something happened on a day.
#[derive(Debug, Clone, PartialEq, Eq, diesel::Queryable)]
pub struct DailyCount {
    /// The day's beginning, UTC.
    pub day: DateTime<Utc>,
    /// What.
    pub kind: EventKind,
    /// Why, for endings.
    pub reason: Option<Reason>,
    /// How often.
    pub count: i64,
}

/// Counts of days that are over. The ledger of such a day changes no more, so it is counted once.
#[derive(Debug, Clone, Default)]
pub struct PastDays(Arc<Mutex<BTreeMap<DateTime<Utc>, Vec<DailyCount>>>>);

impl PastDays {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<DateTime<Utc>, Vec<DailyCount>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts of a day, if they are known.
    pub fn get(&self, day: DateTime<Utc>) -> Option<Vec<DailyCount>> {
        self.lock().get(&day).cloned()
    }

    /// Keeps the counts of a day.
    pub fn keep(&self, day: DateTime<Utc>, counts: &[DailyCount]) {
        self.lock().insert(day, counts.to_vec());
    }

    /// Forgets the days before one.
    pub fn forget_before(&self, first: DateTime<Utc>) {
        self.lock().retain(|day, _| *day >= first);
    }
}
