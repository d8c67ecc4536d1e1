//! The words of the pages.

mod catalogue;
mod problems;

pub use catalogue::Messages;

use catalogue::{EN, JA};

use crate::domain::cleanup::Trigger;
use crate::domain::event::{ActorKind, EventKind};
use crate::domain::search::State;
use crate::domain::session::{AuthLevel, Reason};

impl Messages {
    /// The language that a browser prefers, of those there are; English where it says nothing.
    pub fn preferred(accept_language: &str) -> &'static Self {
        let mut best: (&'static Self, f32) = (&EN, 0.0);
        for item in accept_language.split(',') {
            let mut parts = item.split(';').map(str::trim);
            let tag = parts.next().unwrap_or_default().to_ascii_lowercase();
            let quality = parts
                .find_map(|part| part.strip_prefix("q="))
                .map_or(1.0, |q| q.parse().unwrap_or(0.0));
            let language = match tag.split('-').next() {
                Some("ja") => &JA,
                Some("en" | "*") => &EN,
                _ => continue,
            };
            if quality > best.1 {
                best = (language, quality);
            }
        }
        best.0
    }

    /// A reason for an ending.
    pub fn reason(&self, reason: Reason) -> &'static str {
        match reason {
            Reason::UserLogout => self.r_user_logout,
            Reason::LogoutAll => self.r_logout_all,
            Reason::LogoutOthers => self.r_logout_others,
            Reason::DeviceRevoked => self.r_device_revoked,
            Reason::PasswordChanged => self.r_password_changed,
            Reason::Expired => self.r_expired,
            Reason::Superseded => self.r_superseded,
            Reason::SessionLimit => self.r_session_limit,
            Reason::AdminRevoked => self.r_admin_revoked,
            Reason::UserDisabled => self.r_user_disabled,
            Reason::UserDeleted => self.r_user_deleted,
            Reason::ServiceRevoked => self.r_service_revoked,
        }
    }

    /// What happened.
    pub fn kind(&self, kind: EventKind) -> &'static str {
        match kind {
            EventKind::SessionCreated => self.k_session_created,
            EventKind::SessionRevoked => self.k_session_revoked,
            EventKind::SessionExpired => self.k_session_expired,
            EventKind::SessionRotated => self.k_session_rotated,
            EventKind::Reauthenticated => self.k_reauthenticated,
            EventKind::LoginFailed => self.k_login_failed,
            EventKind::UserCreated => self.k_user_created,
            EventKind::PasswordChanged => self.k_password_changed,
            EventKind::UserDisabled => self.k_user_disabled,
            EventKind::UserEnabled => self.k_user_enabled,
            EventKind::UserDeleted => self.k_user_deleted,
            EventKind::AccessDenied => self.k_access_denied,
        }
    }

    /// Who did it.
    pub fn actor(&self, actor: ActorKind) -> &'static str {
        match actor {
            ActorKind::User => self.actor_user,
            ActorKind::Admin => self.actor_admin,
            ActorKind::Service => self.actor_service,
            ActorKind::System => self.actor_system,
        }
    }

    /// A session's state.
    pub fn state(&self, state: State) -> &'static str {
        match state {
            State::Active => self.active,
            State::Expired => self.expired,
            State::Revoked => self.revoked,
        }
    }

    /// What started a cleanup.
    pub fn trigger(&self, trigger: Trigger) -> &'static str {
        match trigger {
            Trigger::Http => self.trigger_http,
            Trigger::Schedule => self.trigger_schedule,
            Trigger::Cli => self.trigger_cli,
        }
    }

    /// A strength of authentication.
    pub fn level(&self, level: AuthLevel) -> &'static str {
        match level {
            AuthLevel::Password => self.auth_password,
            AuthLevel::Mfa => self.auth_mfa,
        }
    }

    /// How a session's end is told to whom it belonged.
    pub fn ended(&self, reason: Reason) -> String {
        match reason {
            Reason::Expired => self.sess_expired.to_owned(),
            Reason::UserDisabled => self.sess_disabled.to_owned(),
            Reason::UserDeleted => self.sess_deleted.to_owned(),
            other => fill(self.sess_ended, self.reason(other)),
        }
    }
}

/// A text with its first `{}` filled in.
pub fn fill(text: &str, value: impl std::fmt::Display) -> String {
    text.replacen("{}", &value.to_string(), 1)
}

/// A text about a number of things, with that number in it.
pub fn counted(text: &str, count: i64) -> String {
    let text = match text.split_once('|') {
        Some((one, _)) if count == 1 => one,
        Some((_, several)) => several,
        None => text,
    };
    fill(text, grouped(count))
}

/// A number with its thousands apart, as both languages write it. Not for ids.
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_language_is_the_one_with_the_greatest_quality() {
        for (header, lang) in [
            ("", "en"),
            ("ja", "ja"),
            ("ja-JP,ja;q=0.9,en;q=0.8", "ja"),
            ("en-US,en;q=0.9,ja;q=0.8", "en"),
            ("fr-FR,ja;q=0.4,en;q=0.3", "ja"),
            ("fr", "en"),
            ("ja;q=0,en;q=0", "en"),
            ("ja;q=x;;,,=", "en"),
        ] {
            assert_eq!(Messages::preferred(header).lang, lang, "{header}");
        }
    }

    #[test]
    fn numbers_are_grouped_and_one_is_told_in_its_own_words() {
        let numbers = [0, 7, 999, 1000, 12_345, 1_234_567, -1000].map(grouped);
        let told = ["0", "7", "999", "1,000", "12,345", "1,234,567", "-1,000"];
        assert_eq!(numbers, told);
        let told = [0, 1, 2000].map(|count| counted("one thing|{} things", count));
        assert_eq!(told, ["0 things", "one thing", "2,000 things"]);
    }
}
