//! What can be wrong with a field that somebody sent.

use std::fmt;

/// What is wrong. Its text is the English part of a sentence for the API: «must …»; pages have
/// texts of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Nothing where something is needed.
    Empty,
    /// More characters than this.
    TooLong(usize),
    /// Control characters, or such as cannot be seen.
    Unprintable,
    /// Holds NUL.
    Nul,
    /// Not an e-mail.
    NotAnEmail,
    /// Not a number.
    NotANumber,
    /// Not a number from 1 to this.
    NotBetween(u16),
    /// Less than this.
    TooSmall(i64),
    /// Not a time or a date.
    NotATime,
    /// None of these.
    NotOneOf(Vec<&'static str>),
    /// Not an address or a network.
    NotANetwork,
    /// Not an address.
    NotAnAddress,
    /// Not a session's id.
    NotASessionId,
    /// Neither true nor false.
    NotABoolean,
    /// Not from a `Link` header.
    NotACursor,
    /// Of all accounts, the caller's own.
    OwnAccount,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "must not be empty",
            Self::TooLong(most) => return write!(f, "must have at most {most} characters"),
            Self::Unprintable => "must not hold control or invisible characters",
            Self::Nul => "must not hold NUL",
            Self::NotAnEmail => "must be an e-mail address",
            Self::NotANumber => "must be a whole number",
            Self::NotBetween(most) => return write!(f, "must be a whole number from 1 to {most}"),
            Self::TooSmall(least) => return write!(f, "must be {least} or greater"),
            Self::NotATime => "must be a time such as 2026-11-30T09:00:00Z, or a date",
            Self::NotOneOf(texts) => return write!(f, "must be one of {}", texts.join(", ")),
            Self::NotANetwork => "must be an address or a network, such as 203.0.113.0/24",
            Self::NotAnAddress => "must be an IP address",
            Self::NotASessionId => "must be a session's id",
            Self::NotABoolean => "must be true or false",
            Self::NotACursor => "must be a cursor of a Link header",
            Self::OwnAccount => "must not be your own account",
        })
    }
}
