//! Concurrent requests for the same kind of thing share a query, and nothing is cached.
//!
//! A request puts its key into a queue and waits. Few *drainers*, each on a blocking thread with a
//! pooled connection, take what has gathered, run one query for all of it, answer, and go on until
//! the queue is empty. There is no added delay: an idle queue is served at once, and batches grow
//! only as load makes them.
//!
//! **Why an answer is never stale.** A batch's query is sent after its keys were taken from the
//! queue, and a key enters the queue when its request has arrived. So whatever was committed before
//! the request arrived, an ending that somebody has been told of above all, was committed before
//! the query's snapshot, and the query sees it.
//!
//! A drainer that is stuck (a frozen server stops every clock but ours) is written off some time
//! after everybody that it works for has gone, so that another may start; when it wakes it answers
//! nobody and ends. Each request waits no longer than its own deadline in any case.

mod drain;

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use diesel::pg::PgConnection;
use diesel::result::QueryResult;
use tokio::sync::oneshot;
use tokio::time::timeout_at;

use super::failure::Failure;
use super::run::{self, Database};
use drain::Drain;

/// How long a drainer may work on after its last request has given up, before it is written off:
/// long enough for the server's own time-out to end a query that is merely slow.
const STUCK_AFTER: Duration = Duration::from_millis(1500);

/// How long a batch may take before another drainer need not wait for it.
const SLOW_AFTER: Duration = Duration::from_millis(20);
/// Most keys in a batch.
const BATCH: usize = 64;

/// How much may be under way.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Drainers at work. As many again may be written off.
    pub drainers: usize,
    /// Requests that may wait.
    pub queue: usize,
    /// How long a request waits.
    pub timeout: Duration,
}

type Query<K, V> = Box<dyn Fn(&mut PgConnection, &[K]) -> QueryResult<HashMap<K, V>> + Send + Sync>;
type Answer<V> = Result<Option<V>, Failure>;

/// See the module's description.
pub struct Coalescer<K, V>(Arc<Shared<K, V>>);

impl<K, V> Clone for Coalescer<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Shared<K, V> {
    database: Database,
    limits: Limits,
    query: Query<K, V>,
    state: Mutex<State<K, V>>,
}

struct State<K, V> {
    queue: VecDeque<Job<K, V>>,
    drainers: Vec<Drainer>,
    written_off: Vec<u64>,
    next_id: u64,
}

struct Drainer {
    id: u64,
    busy_since: Instant,
}

struct Job<K, V> {
    key: K,
    deadline: Instant,
    /// `None` where nobody waits.
    reply: Option<oneshot::Sender<Answer<V>>>,
}

impl<K, V> Coalescer<K, V>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Clone + Send + 'static,
{
    /// `query` answers many keys at once; a key that it leaves out has no value.
    pub fn new(
        database: Database,
        limits: Limits,
        query: impl Fn(&mut PgConnection, &[K]) -> QueryResult<HashMap<K, V>> + Send + Sync + 'static,
    ) -> Self {
        let state = State {
            queue: VecDeque::new(),
            drainers: Vec::new(),
            written_off: Vec::new(),
            next_id: 0,
        };
        Self(Arc::new(Shared {
            database,
            limits,
            query: Box::new(query),
            state: Mutex::new(state),
        }))
    }

    /// The value of a key, read after this call began.
    ///
    /// # Errors
    /// `Unavailable` where the queue is full or the database does not answer in time.
    pub async fn get(&self, key: K) -> Answer<V> {
        self.0.database.check_migrated()?;
        let deadline = Instant::now() + self.0.limits.timeout;
        let (reply, answer) = oneshot::channel();
        self.push(Job {
            key,
            deadline,
            reply: Some(reply),
        })?;
        match timeout_at(deadline.into(), answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_dropped)) => Err(Failure::Unavailable("the lookup was given up".to_owned())),
            Err(_elapsed) => Err(Failure::Unavailable("no answer in time".to_owned())),
        }
    }

    /// Has the query run for a key without waiting for it; dropped silently where the queue is full.
    pub fn submit(&self, key: K) {
        let deadline = Instant::now() + self.0.limits.timeout;
        let _full_is_fine = self.push(Job {
            key,
            deadline,
            reply: None,
        });
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.0.lock().queue.len()
    }

    /// Drainers at work, and those written off that have not come back.
    pub fn drainers(&self) -> (usize, usize) {
        let state = self.0.lock();
        (state.drainers.len(), state.written_off.len())
    }

    /// Whether nothing waits and nobody works.
    pub fn is_idle(&self) -> bool {
        let state = self.0.lock();
        state.queue.is_empty() && state.drainers.is_empty()
    }

    fn push(&self, job: Job<K, V>) -> Result<(), Failure> {
        let now = Instant::now();
        let mut state = self.0.lock();
        if state.queue.len() >= self.0.limits.queue {
            // All wait equally long, so the expired stand in front.
            while state.queue.front().is_some_and(|job| job.deadline <= now) {
                state.queue.pop_front();
            }
            if state.queue.len() >= self.0.limits.queue {
                return Err(Failure::Unavailable("too many lookups wait".to_owned()));
            }
        }
        state.queue.push_back(job);
        if state.drainers.len() >= self.0.limits.drainers {
            state.write_off_stuck(now, &self.0.limits);
        }
        if state.needs_drainer(now, self.0.limits.drainers) {
            let id = state.next_id;
            state.next_id += 1;
            state.drainers.push(Drainer {
                id,
                busy_since: now,
            });
            drop(state);
            let drainer = Drain::new(self.0.clone(), id);
            run::detach(move || drainer.run());
        }
        Ok(())
    }
}

impl<K, V> State<K, V> {
    /// One works alone as long as it keeps up: two would share the same requests in smaller
    /// batches, and a query costs more than the keys in it.
    fn needs_drainer(&self, now: Instant, most: usize) -> bool {
        let is_slow = |drainer: &Drainer| now.duration_since(drainer.busy_since) > SLOW_AFTER;
        self.drainers.len() < most
            && (self.queue.len() >= BATCH || self.drainers.iter().all(is_slow))
    }

    /// Whether another drainer keeps up without this one.
    fn is_dispensable(&self, id: u64, now: Instant) -> bool {
        let keeps_up = |drainer: &Drainer| {
            drainer.id != id && now.duration_since(drainer.busy_since) <= SLOW_AFTER
        };
        self.queue.len() < BATCH / 2 && self.drainers.iter().any(keeps_up)
    }

    fn write_off_stuck(&mut self, now: Instant, limits: &Limits) {
        let Self {
            drainers,
            written_off,
            ..
        } = self;
        drainers.retain(|drainer| {
            let is_stuck = now.duration_since(drainer.busy_since) > limits.timeout + STUCK_AFTER
                && written_off.len() < limits.drainers;
            if is_stuck {
                written_off.push(drainer.id);
            }
            !is_stuck
        });
    }
}

impl<K, V> Shared<K, V> {
    fn lock(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
