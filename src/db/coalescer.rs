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
//! A drainer that is stuck (a frozen server stops every clock but ours) is written off after
//! `STUCK_AFTER` so that another may start; when it wakes it answers nobody and ends. Each
//! request waits no longer than its own deadline in any case.

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

/// How long a batch may take before its drainer is written off.
const STUCK_AFTER: Duration = Duration::from_millis(2500);
/// Keys in a batch, and in one of a deep queue.
const BATCH: usize = 16;
const DEEP_BATCH: usize = 64;

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
            state.write_off_stuck(now, self.0.limits.drainers);
        }
        if state.drainers.len() < self.0.limits.drainers {
            let id = state.next_id;
            state.next_id += 1;
            state.drainers.push(Drainer {
                id,
                busy_since: now,
            });
            drop(state);
            let drainer = Drain {
                shared: self.0.clone(),
                id,
            };
            run::detach(move || drainer.run());
        }
        Ok(())
    }
}

impl<K, V> State<K, V> {
    fn write_off_stuck(&mut self, now: Instant, most: usize) {
        let Self {
            drainers,
            written_off,
            ..
        } = self;
        drainers.retain(|drainer| {
            let is_stuck =
                now.duration_since(drainer.busy_since) > STUCK_AFTER && written_off.len() < most;
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

/// A drainer at work. Dropping it, by a panic too, takes it off the books.
struct Drain<K, V> {
    shared: Arc<Shared<K, V>>,
    id: u64,
}

impl<K, V> Drop for Drain<K, V> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.drainers.retain(|drainer| drainer.id != self.id);
        state.written_off.retain(|id| *id != self.id);
    }
}

impl<K, V> Drain<K, V>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Clone + Send + 'static,
{
    fn run(self) {
        let mut connection = None;
        while let Some(batch) = self.next_batch() {
            let mut keys: Vec<K> = Vec::with_capacity(batch.len());
            for job in &batch {
                if !keys.contains(&job.key) {
                    keys.push(job.key.clone());
                }
            }
            let result = self.answer(&mut connection, &keys, &batch);
            if !self.is_on_the_books() {
                // Frozen meanwhile: everybody has gone, and the connection is not to be trusted.
                if let Some(mut connection) = connection {
                    let connection: &mut super::pool::Connection = &mut connection;
                    connection.mark_broken();
                }
                return;
            }
            reply(batch, result);
        }
    }

    /// The next batch; `None` when there is nothing to do, or when this drainer was written off.
    /// Signs off under the same lock under which the queue was seen empty, so that no job is left
    /// behind.
    fn next_batch(&self) -> Option<Vec<Job<K, V>>> {
        // Lets requests that are just arriving join this batch.
        std::thread::yield_now();
        std::thread::yield_now();
        let mut state = self.shared.lock();
        let now = Instant::now();
        let most = if state.queue.len() > DEEP_BATCH {
            DEEP_BATCH
        } else {
            BATCH
        };
        state
            .drainers
            .iter_mut()
            .find(|drainer| drainer.id == self.id)?
            .busy_since = now;
        let mut batch = Vec::with_capacity(most.min(state.queue.len()));
        while batch.len() < most {
            let Some(job) = state.queue.pop_front() else {
                break;
            };
            let is_awaited = job.reply.as_ref().is_none_or(|reply| !reply.is_closed());
            if is_awaited && job.deadline > now {
                batch.push(job);
            }
        }
        if batch.is_empty() {
            state.drainers.retain(|drainer| drainer.id != self.id);
            return None;
        }
        Some(batch)
    }

    fn is_on_the_books(&self) -> bool {
        self.shared
            .lock()
            .drainers
            .iter()
            .any(|drainer| drainer.id == self.id)
    }

    /// Runs the query, once more on a new connection where the first has died.
    fn answer(
        &self,
        connection: &mut Option<r2d2::PooledConnection<super::pool::Manager>>,
        keys: &[K],
        batch: &[Job<K, V>],
    ) -> Result<HashMap<K, V>, Failure> {
        let deadline = batch
            .iter()
            .map(|job| job.deadline)
            .max()
            .unwrap_or_else(Instant::now);
        let mut is_retry = false;
        loop {
            let mut current = match connection.take() {
                Some(current) => current,
                None => self.shared.database.checkout(deadline)?,
            };
            match (self.shared.query)(&mut current, keys) {
                Ok(values) => {
                    *connection = Some(current);
                    return Ok(values);
                }
                Err(error) => {
                    if run::is_of_connection(&error) {
                        let dead: &mut super::pool::Connection = &mut current;
                        dead.mark_broken();
                    }
                    self.shared.database.suspect_connections();
                    let failure = Failure::from(error);
                    if is_retry || !failure.is_unavailable() || Instant::now() >= deadline {
                        return Err(failure);
                    }
                    is_retry = true;
                }
            }
        }
    }
}

fn reply<K: Eq + Hash, V: Clone>(batch: Vec<Job<K, V>>, result: Result<HashMap<K, V>, Failure>) {
    match result {
        Ok(values) => {
            for Job { key, reply, .. } in batch {
                if let Some(reply) = reply {
                    let _gone_is_fine = reply.send(Ok(values.get(&key).cloned()));
                }
            }
        }
        Err(failure) => {
            // Each waiting request is reported at the boundary; this adds why.
            log::debug!(error:% = failure, waiting = batch.len(); "a batch of lookups failed");
            let why = failure.to_string();
            for reply in batch.into_iter().filter_map(|job| job.reply) {
                let _gone_is_fine = reply.send(Err(Failure::Unavailable(why.clone())));
            }
        }
    }
}
