//! Why a service did not do what was asked.

use chrono::TimeDelta;

use crate::db::Failure;
use crate::domain::credentials::PasswordRejection;
use crate::domain::problem::Problem;
use crate::domain::session::Reason;

/// Every way to say no; routes give each its status and code.
#[derive(Debug)]
pub enum Refusal {
    /// Nothing was presented that could be a session's token.
    CredentialsMissing,
    /// No such session, or not even the form of a token.
    SessionUnknown,
    /// The session's deadline has passed.
    SessionExpired,
    /// The session was ended.
    SessionRevoked(Reason),
    /// Cookies of two live sessions.
    SessionAmbiguous,
    /// The password was proved too long ago; the most seconds allowed.
    ReauthenticationRequired {
        /// Greatest age, for the challenge.
        max_age: TimeDelta,
    },
    /// The session's authentication is weaker than asked for.
    AuthLevelInsufficient,
    /// E-mail and password do not fit, or the account may not log in.
    InvalidCredentials,
    /// A signed-in user mistyped the password.
    PasswordIncorrect,
    /// The account authenticates elsewhere.
    PasswordNotSet,
    /// A new password is not good enough.
    PasswordRejected(PasswordRejection),
    /// Too many failures.
    Throttled {
        /// How long to wait.
        retry_after: TimeDelta,
    },
    /// The e-mail belongs to an account.
    EmailTaken,
    /// A backend's user has the id of an account that was made here under another e-mail.
    EmailConflict,
    /// A backend asked for a session of an account that may not sign in.
    UserDisabled,
    /// Accounts are not made here.
    SignUpDisabled,
    /// Nothing of that id that the caller may see.
    NotFound,
    /// Only administrators may.
    Forbidden,
    /// An administrator's filter takes longer than it may.
    FilterTooBroad,
    /// More sessions match now than the administrator was told.
    CountChanged,
    /// A field's meaning or length is wrong.
    InvalidField {
        /// Which.
        field: &'static str,
        /// In what way.
        problem: Problem,
    },
    /// The database or another resource is not to be had now.
    Unavailable(String),
    /// A fault of ours.
    Internal(String),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unavailable(why) => Self::Unavailable(why),
            Failure::Internal(why) => Self::Internal(why),
            // Constraints that a caller can run into are mapped by name where they can occur.
            Failure::Constraint(name) => Self::Internal(format!("refused by constraint {name}")),
        }
    }
}

/// An invalid field.
pub fn invalid(field: &'static str) -> impl Fn(Problem) -> Refusal {
    move |problem| Refusal::InvalidField { field, problem }
}
