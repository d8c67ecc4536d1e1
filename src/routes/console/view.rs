//! Rows of the pages, as text that is ready to be shown.

use chrono::{DateTime, Utc};

use super::messages::{Messages, fill};
use crate::domain::event::{Event, EventKind};
use crate::domain::search::State;
use crate::domain::session::{Reason, Session, Verdict};
use crate::domain::user::{Role, User};

/// A time: how long ago, with the exact one beside it.
pub struct When {
    /// For the element's attribute.
    pub iso: String,
    /// For its title.
    pub exact: String,
    /// What is read.
    pub relative: String,
}

impl When {
    /// Of a time, as seen at `now`.
    pub fn new(m: &Messages, time: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self {
            iso: time.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            exact: time.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
            relative: relative(m, (now - time).num_seconds()),
        }
    }
}

fn relative(m: &Messages, seconds_ago: i64) -> String {
    let (minute, hour, day) = (60, 3600, 86_400);
    let (texts, seconds) = if seconds_ago >= 0 {
        let texts = [m.ago_now, m.ago_minutes, m.ago_hours, m.ago_days];
        (texts, seconds_ago)
    } else {
        let texts = [m.in_moments, m.in_minutes, m.in_hours, m.in_days];
        (texts, -seconds_ago)
    };
    let [now, minutes, hours, days] = texts;
    match seconds {
        s if s < minute => now.to_owned(),
        s if s < 2 * hour => fill(minutes, s / minute),
        s if s < 2 * day => fill(hours, s / hour),
        s => fill(days, s / day),
    }
}

/// A session.
pub struct SessionRow {
    pub id: String,
    pub user_id: i64,
    pub owner: String,
    pub label: String,
    /// As given, if any.
    pub name: String,
    pub address: String,
    /// `active`, `expired` or `revoked`.
    pub state: &'static str,
    pub state_text: &'static str,
    pub reason: Option<&'static str>,
    pub auth_level: &'static str,
    pub remembered: bool,
    pub created: When,
    pub seen: When,
    pub authenticated: When,
    pub expires: When,
    pub capped: When,
    pub ended: Option<When>,
    pub is_current: bool,
    pub is_active: bool,
}

impl SessionRow {
    /// Of a session; `is_current` where it is the viewer's own.
    pub fn new(m: &Messages, session: &Session, email: Option<&str>, is_current: bool) -> Self {
        let when = |time| When::new(m, time, session.as_of);
        let state = match session.verdict() {
            Verdict::Active => State::Active,
            Verdict::Expired => State::Expired,
            Verdict::Revoked(_) => State::Revoked,
        };
        let id = || format!("#{}", session.user_id);
        Self {
            id: session.id.to_string(),
            user_id: session.user_id,
            owner: email.map_or_else(id, str::to_owned),
            name: session.device_label.clone().unwrap_or_default(),
            label: session
                .device_label
                .clone()
                .unwrap_or_else(|| m.unknown_device.to_owned()),
            address: session
                .ip_address
                .map_or_else(|| m.no_address.to_owned(), |address| address.to_string()),
            state: state.as_str(),
            state_text: m.state(state),
            reason: session.revoked_reason.map(|reason| m.reason(reason)),
            auth_level: m.level(session.auth_level),
            remembered: session.remember_me,
            created: when(session.created_at),
            seen: when(session.last_seen_at),
            authenticated: when(session.authenticated_at),
            expires: when(session.expires_at),
            capped: when(session.absolute_expires_at),
            ended: session.revoked_at.map(when),
            is_current,
            is_active: session.is_active,
        }
    }
}

/// An event.
pub struct EventRow {
    pub when: When,
    pub kind: &'static str,
    /// `good`, `bad` or `plain`.
    pub tone: &'static str,
    pub reason: Option<&'static str>,
    pub session_id: Option<String>,
    pub user_id: Option<i64>,
    pub actor: String,
    pub address: String,
    pub label: String,
    pub note: String,
}

impl EventRow {
    /// Of an event, as seen at `now` by a user, where it is to be said that it was that one.
    pub fn new(m: &Messages, event: Event, now: DateTime<Utc>, viewer: Option<i64>) -> Self {
        let actor = m.actor(event.actor);
        Self {
            when: When::new(m, event.occurred_at, now),
            kind: m.kind(event.kind),
            tone: match event.kind {
                EventKind::SessionCreated | EventKind::UserCreated | EventKind::UserEnabled => {
                    "good"
                }
                EventKind::LoginFailed | EventKind::AccessDenied | EventKind::UserDisabled => "bad",
                _ => "plain",
            },
            // Where the kind says it already, once is enough.
            reason: event
                .reason
                .filter(|reason| *reason != Reason::Expired)
                .map(|reason| m.reason(reason)),
            session_id: event.session_id.map(|id| id.to_string()),
            user_id: event.user_id,
            actor: match event.actor_id {
                Some(_) if event.actor_id == viewer => m.you.to_owned(),
                Some(id) => format!("{actor} #{id}"),
                None => actor.to_owned(),
            },
            address: event
                .ip_address
                .map(|address| address.to_string())
                .unwrap_or_default(),
            label: event.device_label.unwrap_or_default(),
            note: event.note.unwrap_or_default(),
        }
    }
}

/// A user.
pub struct UserRow {
    pub id: i64,
    pub name: String,
    pub role: &'static str,
    pub is_admin: bool,
    pub is_disabled: bool,
    pub created: When,
    pub disabled: Option<When>,
}

impl UserRow {
    /// Of a user, as seen at `now`.
    pub fn new(m: &Messages, user: &User, now: DateTime<Utc>) -> Self {
        let when = |time| When::new(m, time, now);
        let id = || format!("#{}", user.id);
        Self {
            id: user.id,
            name: user.email.clone().unwrap_or_else(id),
            role: match user.role {
                Role::Admin => m.role_admin,
                Role::User => m.role_user,
            },
            is_admin: user.role == Role::Admin,
            is_disabled: user.disabled_at.is_some(),
            created: when(user.created_at),
            disabled: user.disabled_at.map(when),
        }
    }
}

/// A choice of a form.
pub struct Choice {
    pub value: &'static str,
    pub text: &'static str,
    pub is_chosen: bool,
}

/// The choices of an enumeration.
pub fn choices<T: Copy>(
    all: &[T],
    value: impl Fn(T) -> &'static str,
    text: impl Fn(T) -> &'static str,
    chosen: &Option<String>,
) -> Vec<Choice> {
    let choice = |item: &T| Choice {
        value: value(*item),
        text: text(*item),
        is_chosen: chosen.as_deref() == Some(value(*item)),
    };
    all.iter().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_relative_to_the_databases_clock() {
        let m = Messages::preferred("en");
        let told = [
            0, 59, 60, 7199, 7200, 172_799, 172_800, -59, -3600, -900_000,
        ];
        assert_eq!(
            told.map(|seconds| relative(m, seconds)),
            [
                "just now",
                "just now",
                "1 min ago",
                "119 min ago",
                "2 h ago",
                "47 h ago",
                "2 d ago",
                "in a moment",
                "in 60 min",
                "in 10 d"
            ]
        );
    }
}
