//! What administrators see and do, behind the JSON API and the console alike.

mod access;
mod accounts;
mod figures;
mod ledger;
mod sessions;

pub use access::*;
pub use accounts::*;
pub use figures::*;
pub use ledger::*;
pub use sessions::*;

use std::time::Instant;

use diesel::RunQueryDsl as _;
use diesel::pg::PgConnection;
use diesel::result::QueryResult;

use super::{Refusal, Result};
use crate::context::Context;
use crate::repositories::sql;

/// A page of a list, and where the next one begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, C> {
    /// The rows.
    pub items: Vec<T>,
    /// The last row's key, if there are more.
    pub next: Option<C>,
}

impl<T, C> Page<T, C> {
    /// Of rows that were asked for with one more than the page takes.
    fn new(mut items: Vec<T>, limit: u16, key: impl Fn(&T) -> C) -> Self {
        let has_more = items.len() > usize::from(limit);
        items.truncate(usize::from(limit));
        let next = items.last().filter(|_| has_more).map(key);
        Self { items, next }
    }
}

/// Runs a free-form query, which may have to read whole tables, under a time limit of its own:
/// three quarters of a unit of work's, so that the answer says what was wrong.
async fn search<T: Send + 'static>(
    context: &Context,
    query: impl Fn(&mut PgConnection) -> QueryResult<T> + Send + 'static,
) -> Result<T> {
    let deadline = Instant::now() + context.config.database.timeout.mul_f32(0.75);
    let found = context.database.write(move |conn| {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.as_millis() == 0 {
            // The second try of what ran into the limit at the first.
            return Ok(None);
        }
        let left = format!("{}ms", left.as_millis());
        diesel::select(sql::set_config("statement_timeout", left, true)).execute(conn)?;
        query(conn).map(Some)
    });
    found.await?.ok_or(Refusal::FilterTooBroad)
}
