//! What the services share, made once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::config::{Config, RESERVED_CONNECTIONS};
use crate::db::Database;
use crate::db::coalescer::{Coalescer, Limits};
use crate::domain::search::PastDays;
use crate::domain::token::SessionHash;
use crate::domain::user::User;
use crate::metrics::Metrics;
use crate::repositories::sessions::Found;
use crate::repositories::{sessions, users};
use crate::services::passwords::Hasher;

/// Cleanups that one instance runs at once; each has its own connection.
pub const CLEANUP_SLOTS: usize = 4;

/// Drainers of the coalescers. With as many written off, they take the connections of
/// [`RESERVED_CONNECTIONS`].
const LOOKUP_DRAINERS: usize = 2;
const OTHER_DRAINERS: usize = 1;
const LOOKUP_QUEUE: usize = 8192;
const _: () =
    assert!(RESERVED_CONNECTIONS == 2 * (LOOKUP_DRAINERS + OTHER_DRAINERS + OTHER_DRAINERS));

/// See the module's description.
pub struct Context {
    /// The configuration.
    pub config: Config,
    /// The database.
    pub database: Database,
    /// Sessions by the hash of their token.
    pub lookups: Coalescer<SessionHash, Found>,
    /// Users by id.
    pub users: Coalescer<i64, User>,
    /// Writing of `last_seen_at`.
    pub touches: Coalescer<Uuid, ()>,
    /// Password hashing.
    pub hasher: Hasher,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Held while the age of what cleanup is due is read.
    pub reading_overdue: tokio::sync::Mutex<()>,
    /// What happened on the days before today.
    pub past_days: PastDays,
    /// Bounds cleanups under way.
    pub cleanup_slots: Arc<Semaphore>,
    is_draining: AtomicBool,
}

impl Context {
    /// Prepares everything; connects nothing.
    ///
    /// # Errors
    /// When passwords cannot be hashed with the configured parameters.
    pub fn new(config: Config) -> Result<Self, String> {
        let metrics = Arc::new(Metrics::new());
        let database = Database::new(&config.database, metrics.clone());
        let limits = |drainers| Limits {
            drainers,
            queue: LOOKUP_QUEUE,
            timeout: config.database.lookup_timeout,
        };
        let touch_interval = config.session.touch_interval;
        let margin = TimeDelta::from_std(config.database.timeout).unwrap_or(TimeDelta::MAX);
        Ok(Self {
            lookups: Coalescer::new(
                database.clone(),
                limits(LOOKUP_DRAINERS),
                move |conn, hashes: &[SessionHash]| {
                    let found = sessions::find_by_hashes(conn, hashes, touch_interval)?;
                    let by_hash = |found: Found| {
                        Some((SessionHash::from_stored(&found.session_hash)?, found))
                    };
                    Ok(found.into_iter().filter_map(by_hash).collect())
                },
            ),
            users: Coalescer::new(
                database.clone(),
                limits(OTHER_DRAINERS),
                |conn, ids: &[i64]| {
                    Ok(users::find_many(conn, ids)?
                        .into_iter()
                        .map(|user| (user.id, user))
                        .collect())
                },
            ),
            touches: Coalescer::new(
                database.clone(),
                limits(OTHER_DRAINERS),
                move |conn, ids: &[Uuid]| {
                    sessions::touch(conn, ids, touch_interval, margin)?;
                    Ok(HashMap::new())
                },
            ),
            hasher: Hasher::new(&config.password)?,
            metrics,
            reading_overdue: tokio::sync::Mutex::new(()),
            past_days: PastDays::default(),
            cleanup_slots: Arc::new(Semaphore::new(CLEANUP_SLOTS)),
            is_draining: AtomicBool::new(false),
            database,
            config,
        })
    }

    /// Blocking threads that may be busy at once in the whole process.
    pub fn blocking_threads(&self) -> usize {
        self.config.database.pool_size + self.config.password.hash_slots + CLEANUP_SLOTS
    }

    /// Whether the service is about to stop.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Makes readiness say no.
    pub fn start_draining(&self) {
        self.is_draining.store(true, Ordering::Release);
    }
}
