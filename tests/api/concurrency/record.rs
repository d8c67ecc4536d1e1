//! What was asked and answered, and when.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Microseconds since the run began.
pub type Micros = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Login,
    Get,
    Verify,
    List,
    Logout,
    LogoutAll,
    LogoutOthers,
    ChangePassword,
    Rotate,
    Reauthenticate,
    EndSession,
    Cleanup,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Accepted,
    /// Refused for good, with status and code.
    Refused(u16, String),
    /// 503, or no answer: it may have happened.
    Maybe,
    /// An answer that must not occur.
    Wrong(u16, String),
}

/// One request and its answer. Tokens are indices into [`History::tokens`].
#[derive(Debug, Clone)]
pub struct Operation {
    pub kind: Kind,
    pub user: usize,
    pub instance: usize,
    /// The credential.
    pub token: Option<usize>,
    /// The cookie that came along with a log-in.
    pub superseded: Option<usize>,
    /// The session that was to end.
    pub target: Option<String>,
    /// The token that was handed out.
    pub gives: Option<usize>,
    pub password: Option<String>,
    pub start: Micros,
    pub end: Micros,
    pub outcome: Outcome,
    /// `revoked_count`, `cleaned_count`, or how many sessions were listed.
    pub count: i64,
    /// Owner and session as the answer names them.
    pub seen: Option<(i64, String)>,
    /// Sessions that were listed.
    pub listed: Vec<String>,
}

/// A token that was handed out.
#[derive(Debug, Clone)]
pub struct Token {
    pub text: String,
    pub user: usize,
    pub session: String,
    /// When its holder had it.
    pub issued: Micros,
}

pub struct History {
    began: Instant,
    pub operations: Mutex<Vec<Operation>>,
    pub tokens: Mutex<Vec<Token>>,
}

impl History {
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
            operations: Mutex::default(),
            tokens: Mutex::default(),
        }
    }

    pub fn now(&self) -> Micros {
        u64::try_from(self.began.elapsed().as_micros()).unwrap()
    }

    pub fn push(&self, operation: Operation) {
        self.operations.lock().unwrap().push(operation);
    }

    pub fn add_token(&self, token: Token) -> usize {
        let mut tokens = self.tokens.lock().unwrap();
        tokens.push(token);
        tokens.len() - 1
    }

    pub fn token(&self, index: usize) -> Token {
        self.tokens.lock().unwrap()[index].clone()
    }
}

/// A seeded generator (SplitMix64): choices repeat with the seed, though not how they interleave.
pub struct Random(AtomicU64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    pub fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut x = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// Less than `end`.
    pub fn below(&self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    pub fn percent(&self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn one_of<'a, T>(&self, items: &'a [T]) -> Option<&'a T> {
        match items.len() {
            0 => None,
            length => Some(&items[self.below(length)]),
        }
    }
}
