//! What is going on, at a glance.

use chrono::{DateTime, Utc};

use super::search;
use crate::context::Context;
use crate::domain::search::DailyCount;
use crate::repositories::{events_search, sessions};
use crate::services::Result;

/// Days that the figures go back, today included.
pub const DAYS: i32 = 14;

/// Figures of now and of the last days.
#[derive(Debug, Clone)]
pub struct Statistics {
    /// Sessions that are valid now.
    pub active: i64,
    /// What happened on which day how often; days without anything are missing.
    pub daily: Vec<DailyCount>,
    /// When the longest-ended session that is still kept ended.
    pub oldest_ended: Option<DateTime<Utc>>,
    /// The database's clock.
    pub as_of: DateTime<Utc>,
}

/// Counts.
///
/// # Errors
/// `FilterTooBroad` where there is too much to count, `Unavailable`.
pub async fn statistics(context: &Context) -> Result<Statistics> {
    search(context, |conn| {
        Ok(Statistics {
            active: sessions::count_active(conn)?,
            daily: events_search::count_daily(conn, DAYS)?,
            oldest_ended: sessions::oldest_ended(conn)?,
            as_of: events_search::clock(conn)?,
        })
    })
    .await
}
