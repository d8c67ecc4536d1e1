//! Units of work: the one place where a request leaves its thread for a blocking one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use actix_web::web;
use diesel::pg::PgConnection;
use diesel::result::QueryResult;
use diesel::{IntoSql as _, RunQueryDsl as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;

pub use super::attempt::transact;
use super::attempt::{Attempt, Bounds, is_of_connection, transaction};
use super::failure::Failure;
use super::pool::{self, Connection, Manager};
use crate::config::{DatabaseConfig, RESERVED_CONNECTIONS};
use crate::metrics::{Metrics, tally};

/// The part of a unit's time that is kept for its COMMIT.
const COMMIT_SHARE: u32 = 8;

/// Moves work to a blocking thread. A permit that bounds such work goes along, so that it is given
/// back when the work ends and not when its caller stops waiting.
///
/// # Errors
/// When the work panicked.
pub async fn blocking<T: Send + 'static>(
    permit: Option<OwnedSemaphorePermit>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let done = web::block(move || {
        let _permit = permit;
        work()
    });
    done.await
        .map_err(|_panicked| Failure::Internal("the work panicked".to_owned()))
}

/// Starts work on a blocking thread that nobody waits for.
pub(super) fn detach(work: impl FnOnce() + Send + 'static) {
    drop(web::block(work));
}

/// The database as the services see it.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    config: DatabaseConfig,
    pool: r2d2::Pool<Manager>,
    epoch: Arc<AtomicU64>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    is_migrated: AtomicBool,
    metrics: Arc<Metrics>,
}

/// Counts a unit of work among the waiting for as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Database {
    /// Prepares the pool; connects nothing.
    pub fn new(config: &DatabaseConfig, metrics: Arc<Metrics>) -> Self {
        let epoch = Arc::new(AtomicU64::new(0));
        Self(Arc::new(Inner {
            pool: pool::build(config, epoch.clone()),
            epoch,
            permits: Arc::new(Semaphore::new(config.pool_size - RESERVED_CONNECTIONS)),
            waiting: AtomicUsize::new(0),
            is_migrated: AtomicBool::new(false),
            metrics,
            config: config.clone(),
        }))
    }

    /// The settings that it was made with.
    pub fn config(&self) -> &DatabaseConfig {
        &self.0.config
    }

    /// Connections in the pool and how many of them are idle.
    pub fn connections(&self) -> (u32, u32) {
        let state = self.0.pool.state();
        (state.connections, state.idle_connections)
    }

    /// Units of work that wait for their turn.
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// Whether the tables are there.
    pub fn is_migrated(&self) -> bool {
        self.0.is_migrated.load(Ordering::Acquire)
    }

    /// Opens the gate once the tables are there.
    pub fn set_migrated(&self) {
        self.0.is_migrated.store(true, Ordering::Release);
    }

    /// Runs statements that each stand for themselves.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&mut PgConnection) -> QueryResult<T> + Send + 'static,
    ) -> Result<T, Failure> {
        self.unit(self.0.config.timeout, move |database, deadline| {
            database.attempt(deadline, |connection| Attempt::from(work(connection)))
        })
        .await
    }

    /// Runs a transaction (READ COMMITTED: behind the lock on the user's row every statement must
    /// see what was committed before it). Whatever `work` returns is committed; only a failure of
    /// the database rolls back. A refusal that is to be recorded is therefore a value, not an error.
    ///
    /// # Errors
    /// See [`Failure`]. After `Unavailable` it is unknown whether the last COMMIT arrived, if the
    /// connection broke just then; otherwise nothing was changed.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut PgConnection) -> QueryResult<T> + Send + 'static,
    ) -> Result<T, Failure> {
        self.unit(self.0.config.timeout, move |database, deadline| {
            let bounds = Bounds {
                deadline,
                // A session's own settings are lost behind a pooler.
                server_timeout: database
                    .0
                    .config
                    .transaction_pooling
                    .then_some(database.0.config.timeout),
            };
            database.attempt(deadline, |connection| {
                tally::forget();
                let attempt = transaction(connection, Some(&bounds), &work);
                if matches!(attempt, Attempt::Done(_)) {
                    tally::count(&database.0.metrics);
                }
                attempt
            })
        })
        .await
    }

    /// Asks the database for nothing, to see whether it answers.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn ping(&self) -> Result<(), Failure> {
        self.read(|conn| {
            diesel::select(1.into_sql::<diesel::sql_types::Integer>())
                .execute(conn)
                .map(|_| ())
        })
        .await
    }

    async fn unit<T: Send + 'static>(
        &self,
        timeout: Duration,
        work: impl FnOnce(&Database, Instant) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.check_migrated()?;
        let last_call = Instant::now() + timeout;
        // The rest is for the COMMIT: who is told that nothing happened must be told the truth.
        let deadline = last_call - timeout / COMMIT_SHARE;
        let permit = self.permit(deadline).await?;
        let database = self.clone();
        let result = timeout_at(
            last_call.into(),
            blocking(Some(permit), move || work(&database, deadline)),
        );
        match result.await {
            Ok(done) => done?,
            Err(_elapsed) => Err(Failure::Unavailable("no answer in time".to_owned())),
        }
    }

    /// Refuses work as long as the tables are missing.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn check_migrated(&self) -> Result<(), Failure> {
        if self.is_migrated() {
            Ok(())
        } else {
            Err(Failure::Unavailable(
                "it has not been reached, or not been migrated, since the start".to_owned(),
            ))
        }
    }

    async fn permit(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Failure> {
        if let Ok(permit) = self.0.permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let waiting = self.0.waiting.fetch_add(1, Ordering::Relaxed);
        let _counted = Waiting(&self.0.waiting);
        if waiting >= self.0.config.queue_length {
            return Err(Failure::Unavailable(
                "too many requests wait for a connection".to_owned(),
            ));
        }
        match timeout_at(deadline.into(), self.0.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(closed)) => Err(Failure::Internal(closed.to_string())),
            Err(_elapsed) => Err(Failure::Unavailable(
                "no connection was free in time".to_owned(),
            )),
        }
    }

    /// Takes a connection from the pool.
    pub(super) fn checkout(
        &self,
        deadline: Instant,
    ) -> Result<r2d2::PooledConnection<Manager>, Failure> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failure::Unavailable("no time left".to_owned()));
        }
        let connection = self
            .0
            .pool
            .get_timeout(left)
            .map_err(|error| Failure::Unavailable(error.to_string()))?;
        // The pool may have asked a frozen server whether the connection lives.
        if Instant::now() >= deadline {
            return Err(Failure::Unavailable("no time left".to_owned()));
        }
        Ok(connection)
    }

    /// Makes the pool check every connection before its next use.
    pub(super) fn suspect_connections(&self) {
        self.0.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Tries twice: a connection that died while idle, a deadlock or the like must not fail a
    /// request. What may have been committed is not tried again.
    fn attempt<T>(
        &self,
        deadline: Instant,
        work: impl Fn(&mut Connection) -> Attempt<T>,
    ) -> Result<T, Failure> {
        let mut connection = self.checkout(deadline)?;
        let first = match work(&mut connection) {
            Attempt::Done(value) => return Ok(value),
            Attempt::Uncertain(error) => {
                self.suspect_connections();
                connection.mark_broken();
                return Err(error.into());
            }
            Attempt::Undone(error) => error,
        };
        if is_of_connection(&first) {
            connection.mark_broken();
        }
        let failure = Failure::from(first);
        if !failure.is_unavailable() {
            return Err(failure);
        }
        self.suspect_connections();
        drop(connection);
        if Instant::now() >= deadline {
            return Err(failure);
        }
        let mut connection = self.checkout(deadline)?;
        match work(&mut connection) {
            Attempt::Done(value) => Ok(value),
            Attempt::Undone(error) | Attempt::Uncertain(error) => {
                self.suspect_connections();
                if is_of_connection(&error) {
                    connection.mark_broken();
                }
                Err(error.into())
            }
        }
    }
}
