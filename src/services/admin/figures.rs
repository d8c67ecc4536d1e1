//! What is going on, at a glance.

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

use super::search;
use crate::context::Context;
use crate::domain::search::DailyCount;
use crate::repositories::{events_search, sessions};
use crate::services::{Refusal, Result};

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

/// How long after a day's end entries may still come: of transactions that began before midnight,
/// and these take seconds at most.
const SETTLING: TimeDelta = TimeDelta::minutes(5);

/// Counts.
///
/// # Errors
/// `Unavailable`, also where there is too much to count at once: what was counted of the past days
/// is kept, so that a later try gets further.
pub async fn statistics(context: &Context) -> Result<Statistics> {
    let past_days = context.past_days.clone();
    let found = search(context, move |conn| {
        let as_of = events_search::clock(conn)?;
        let today = as_of.duration_trunc(TimeDelta::days(1)).unwrap_or(as_of);
        let first = today - TimeDelta::days(i64::from(DAYS) - 1);
        past_days.forget_before(first);
        let mut daily = Vec::new();
        for ago in 0..i64::from(DAYS) {
            let day = today - TimeDelta::days(ago);
            let counted = match past_days.get(day) {
                Some(counted) => counted,
                None => {
                    let counted = events_search::count_day(conn, day)?;
                    if as_of - day > TimeDelta::days(1) + SETTLING {
                        past_days.keep(day, &counted);
                    }
                    counted
                }
            };
            daily.extend(counted);
        }
        Ok(Statistics {
            active: sessions::count_active(conn)?,
            daily,
            oldest_ended: sessions::oldest_ended(conn)?,
            as_of,
        })
    });
    found.await.map_err(|refusal| match refusal {
        Refusal::FilterTooBroad => Refusal::Unavailable("counting goes on".to_owned()),
        other => other,
    })
}
