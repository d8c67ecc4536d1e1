//! One try of a unit of work, and what its failure says.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::pg::PgConnection;
use diesel::result::{DatabaseErrorKind, Error, QueryResult};

/// How one try ended.
pub(super) enum Attempt<T> {
    Done(T),
    /// Failed, and nothing was changed.
    Undone(Error),
    /// Failed while committing.
    Uncertain(Error),
}

impl<T> From<QueryResult<T>> for Attempt<T> {
    fn from(result: QueryResult<T>) -> Self {
        match result {
            Ok(value) => Self::Done(value),
            Err(error) => Self::Undone(error),
        }
    }
}

/// Whether the connection is to be given up. So it is after what Diesel cannot name, too: after a
/// change of a column's type PostgreSQL refuses the statements that a connection prepared before,
/// for as long as that connection lives.
pub(super) fn is_of_connection(error: &Error) -> bool {
    matches!(
        error,
        Error::DatabaseError(
            DatabaseErrorKind::ClosedConnection
                | DatabaseErrorKind::UnableToSendCommand
                | DatabaseErrorKind::Unknown,
            _
        ) | Error::BrokenTransactionManager
            | Error::RollbackErrorOnCommit { .. }
    )
}

/// What keeps a transaction from outliving its caller.
pub(super) struct Bounds {
    /// When it must be ready to commit.
    pub(super) deadline: Instant,
    /// What the server is told of time-outs, where the session has not been told once for all.
    pub(super) server_timeout: Option<Duration>,
}

/// Runs `work` in a transaction.
pub(super) fn transaction<T>(
    connection: &mut PgConnection,
    bounds: Option<&Bounds>,
    work: impl Fn(&mut PgConnection) -> QueryResult<T>,
) -> Attempt<T> {
    let mut is_committing = false;
    let result = connection
        .build_transaction()
        .read_committed()
        .run(|connection| {
            if let Some(timeout) = bounds.and_then(|bounds| bounds.server_timeout) {
                let timeout = timeout.as_millis();
                connection.batch_execute(&format!(
                    "SET LOCAL statement_timeout = '{timeout}ms'; SET LOCAL lock_timeout = '{timeout}ms'"
                ))?;
            }
            let value = work(connection)?;
            // Its caller has been told that it failed: it must not happen after all.
            if bounds.is_some_and(|bounds| Instant::now() >= bounds.deadline) {
                return Err(Error::RollbackTransaction);
            }
            is_committing = true;
            Ok(value)
        });
    match result {
        Ok(value) => Attempt::Done(value),
        Err(error) if is_committing => Attempt::Uncertain(error),
        Err(error) => Attempt::Undone(error),
    }
}

/// Runs a transaction on a connection of the caller's, without a deadline.
///
/// # Errors
/// Those of `work`, and of committing.
pub fn transact<T>(
    connection: &mut PgConnection,
    work: impl Fn(&mut PgConnection) -> QueryResult<T>,
) -> QueryResult<T> {
    match transaction(connection, None, work) {
        Attempt::Done(value) => Ok(value),
        Attempt::Undone(error) | Attempt::Uncertain(error) => Err(error),
    }
}
