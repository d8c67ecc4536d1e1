//! The ledger and the record of cleanups.

use super::{Page, search};
use crate::context::Context;
use crate::domain::event::Event;
use crate::domain::search::EventFilter;
use crate::repositories::{cleanup_runs, events_search, sessions};
use crate::services::Result;

pub use crate::repositories::cleanup_runs::CleanupRun;

/// A page of events, newest first.
///
/// # Errors
/// `FilterTooBroad`, `Unavailable`.
pub async fn find_events(
    context: &Context,
    filter: EventFilter,
    before: Option<i64>,
    limit: u16,
) -> Result<Page<Event, i64>> {
    let rows = i64::from(limit) + 1;
    let found = search(context, move |conn| {
        let mut filter = filter.clone();
        // Events are found by their user's index; as long as the session is there it knows whose.
        if let (Some(session_id), None) = (filter.session_id, filter.user_id) {
            filter.user_id = sessions::find(conn, session_id)?.map(|session| session.user_id);
        }
        events_search::search(conn, &filter, before, rows)
    });
    Ok(Page::new(found.await?, limit, |event| event.id))
}

/// A page of cleanup runs, newest first.
///
/// # Errors
/// `Unavailable`.
pub async fn cleanup_runs(
    context: &Context,
    before: Option<i64>,
    limit: u16,
) -> Result<Page<CleanupRun, i64>> {
    let rows = i64::from(limit) + 1;
    let found = context
        .database
        .read(move |conn| cleanup_runs::list(conn, before, rows));
    Ok(Page::new(found.await?, limit, |run| run.id))
}
