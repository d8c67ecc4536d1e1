//! What can go wrong on the way to the database, sorted by what it means to the caller.

use diesel::result::{DatabaseErrorKind, Error};

/// Why a unit of work gave no result.
#[derive(Debug)]
pub enum Failure {
    /// The database is down, frozen, read-only, full or too busy: the same request may succeed later.
    Unavailable(String),
    /// A fault of the service itself.
    Internal(String),
    /// A named constraint refused the write.
    Constraint(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unavailable(why) => write!(f, "the database is unavailable: {why}"),
            Self::Internal(why) => write!(f, "internal error: {why}"),
            Self::Constraint(name) => write!(f, "refused by constraint {name}"),
        }
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// Whether a later try may succeed.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

impl From<Error> for Failure {
    /// Sorts an error of Diesel. Diesel does not tell the SQLSTATE, so whatever PostgreSQL reports
    /// beyond constraints (time-outs, a full disk, a shutdown, a missing table) counts as the
    /// database's state, not as the caller's fault.
    fn from(error: Error) -> Self {
        match error {
            Error::DatabaseError(kind, info) => match kind {
                DatabaseErrorKind::UniqueViolation
                | DatabaseErrorKind::ForeignKeyViolation
                | DatabaseErrorKind::CheckViolation
                | DatabaseErrorKind::NotNullViolation
                | DatabaseErrorKind::ExclusionViolation
                | DatabaseErrorKind::RestrictViolation => match info.constraint_name() {
                    Some(name) => Self::Constraint(name.to_owned()),
                    None => Self::Internal(info.message().to_owned()),
                },
                _ => Self::Unavailable(info.message().trim_end().to_owned()),
            },
            Error::BrokenTransactionManager
            | Error::RollbackTransaction
            | Error::RollbackErrorOnCommit { .. } => Self::Unavailable(error.to_string()),
            other => Self::Internal(other.to_string()),
        }
    }
}
