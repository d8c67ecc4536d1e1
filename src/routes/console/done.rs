//! Confirmations: what the page after a form says.

use constant_time_eq::constant_time_eq;

use super::messages::{Messages, counted};
use super::page::bound;
use crate::domain::token::SessionHash;

/// Something done, as the page after a form tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    SessionsEnded(usize),
    PartEnded(usize),
    UserDisabled(usize),
    UserEnabled,
    Cleaned(i64),
    Renamed,
    PasswordChanged(usize),
    Confirmed,
}

impl Done {
    fn parts(self) -> (&'static str, i64) {
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        match self {
            Self::SessionsEnded(n) => ("sessions_ended", count(n)),
            Self::PartEnded(n) => ("part_ended", count(n)),
            Self::UserDisabled(n) => ("user_disabled", count(n)),
            Self::UserEnabled => ("user_enabled", 0),
            Self::Cleaned(n) => ("cleaned", n),
            Self::Renamed => ("renamed", 0),
            Self::PasswordChanged(n) => ("password_changed", count(n)),
            Self::Confirmed => ("confirmed", 0),
        }
    }

    /// For the address of the page that tells it; bound to the session, so that no link from
    /// elsewhere can claim something.
    pub fn query(self, hash: &SessionHash) -> String {
        let (code, count) = self.parts();
        let proof = bound(hash, &format!("done {code} {count}"));
        format!("done={code}.{count}.{proof}")
    }
}

/// What a page's address claims to have been done, if it is true.
pub fn told(m: &Messages, hash: &SessionHash, query: &str) -> Option<String> {
    let claim = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("done="))?;
    let (fact, proof) = claim.rsplit_once('.')?;
    let (code, count) = fact.split_once('.')?;
    let expected = bound(hash, &format!("done {code} {count}"));
    if !constant_time_eq(expected.as_bytes(), proof.as_bytes()) {
        return None;
    }
    let text = match code {
        "sessions_ended" => m.done_session_ended,
        "part_ended" => m.done_part_ended,
        "user_disabled" => m.done_user_disabled,
        "user_enabled" => m.done_user_enabled,
        "cleaned" => m.done_cleaned,
        "renamed" => m.done_renamed,
        "password_changed" => m.done_password_changed,
        "confirmed" => m.done_confirmed,
        _ => return None,
    };
    Some(counted(text, count.parse().ok()?))
}
