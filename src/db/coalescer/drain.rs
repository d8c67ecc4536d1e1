//! The drainers: what they take, and how they answer.

use std::collections::HashMap;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::super::failure::Failure;
use super::super::{attempt, pool};
use super::{BATCH, Job, Shared};

/// How often a drainer lets others run before it takes a batch, so that requests which are just
/// arriving join it: after a batch that several requests shared, and otherwise.
const YIELDS_SHARED: usize = 8;
const YIELDS: usize = 1;

/// A drainer at work. Dropping it takes it off the books, even if it never got to run.
pub(super) struct Drain<K, V> {
    shared: Arc<Shared<K, V>>,
    id: u64,
    answers: UnboundedSender<Answered<K, V>>,
}

/// A batch and what its query gave.
type Answered<K, V> = (Vec<Job<K, V>>, Result<HashMap<K, V>, Failure>);

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
    /// A drainer that is on the books already. Its answers are handed out by a task: from the
    /// drainer's own thread each of them would wake the HTTP thread, now they do so together.
    pub(super) fn new(shared: Arc<Shared<K, V>>, id: u64) -> Self {
        let (answers, mut batches) = unbounded_channel::<Answered<K, V>>();
        tokio::spawn(async move {
            while let Some((batch, result)) = batches.recv().await {
                reply(batch, result);
            }
        });
        Self {
            shared,
            id,
            answers,
        }
    }

    /// Works until the queue is empty.
    pub(super) fn run(self) {
        let mut connection = None;
        let mut yields = YIELDS;
        while let Some(batch) = self.next_batch(yields) {
            yields = match batch.len() {
                1 => YIELDS,
                _ => YIELDS_SHARED,
            };
            let mut keys: Vec<K> = Vec::with_capacity(batch.len());
            for job in &batch {
                if !keys.contains(&job.key) {
                    keys.push(job.key.clone());
                }
            }
            // A panic must not take the drainer with it: nobody would see to the jobs that wait. The
            // connection of a query that panicked is gone, see `has_broken`.
            let answer = AssertUnwindSafe(|| self.answer(&mut connection, &keys, &batch));
            let result = catch_unwind(answer)
                .unwrap_or_else(|_panic| Err(Failure::Internal("the query panicked".to_owned())));
            if !self.is_on_the_books() {
                // Frozen meanwhile: everybody has gone, and the connection is not to be trusted.
                if let Some(mut connection) = connection {
                    let connection: &mut pool::Connection = &mut connection;
                    connection.mark_broken();
                }
                return;
            }
            let _stopping_is_fine = self.answers.send((batch, result));
        }
    }

    /// The next batch; `None` when there is nothing to do, when another drainer keeps up alone, or
    /// when this one was written off. Signs off under the same lock under which it saw that, so that
    /// no job is left behind.
    fn next_batch(&self, yields: usize) -> Option<Vec<Job<K, V>>> {
        for _ in 0..yields {
            std::thread::yield_now();
        }
        let mut state = self.shared.lock();
        let now = Instant::now();
        if state.is_dispensable(self.id, now) {
            state.drainers.retain(|drainer| drainer.id != self.id);
            return None;
        }
        state
            .drainers
            .iter_mut()
            .find(|drainer| drainer.id == self.id)?
            .busy_since = now;
        let mut batch = Vec::with_capacity(BATCH.min(state.queue.len()));
        while batch.len() < BATCH {
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
        connection: &mut Option<r2d2::PooledConnection<pool::Manager>>,
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
                    if attempt::is_of_connection(&error) {
                        let dead: &mut pool::Connection = &mut current;
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
        Ok(mut values) => {
            // Without duplicates nothing need be copied.
            let is_shared = values.len() < batch.len();
            for Job { key, reply, .. } in batch {
                if let Some(reply) = reply {
                    let value = match is_shared {
                        true => values.get(&key).cloned(),
                        false => values.remove(&key),
                    };
                    let _gone_is_fine = reply.send(Ok(value));
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
