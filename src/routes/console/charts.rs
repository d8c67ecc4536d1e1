//! Charts, drawn here as SVG: they need no script, and print.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::messages::{Messages, grouped};
use crate::domain::event::EventKind;
use crate::domain::search::DailyCount;
use crate::services::admin::DAYS;

/// Height of the tallest column; the template's view box has it as well.
const HEIGHT: i64 = 120;
/// Between two days.
const STEP: i64 = 40;

/// A day's two columns.
pub struct Column {
    pub x: i64,
    pub x_failures: i64,
    pub x_text: i64,
    pub y: i64,
    pub height: i64,
    pub y_failures: i64,
    pub height_failures: i64,
    pub day: String,
    pub logins: i64,
    pub failures: i64,
}

/// A reason's bar.
pub struct Bar {
    pub reason: &'static str,
    pub count: i64,
    /// Of 100.
    pub width: i64,
}

/// Figures of the last days.
pub struct Charts {
    pub columns: Vec<Column>,
    pub most: i64,
    /// Left of the columns, for that number.
    pub margin: i64,
    pub bars: Vec<Bar>,
    pub logins_today: i64,
    pub failures_today: i64,
    pub endings_today: i64,
    /// Beside those that were ended.
    pub expired_today: i64,
}

impl Charts {
    /// Of the columns' view box.
    pub fn width(&self) -> i64 {
        566 + self.margin
    }

    /// Of counts, as of a time.
    pub fn new(m: &Messages, daily: &[DailyCount], as_of: DateTime<Utc>) -> Self {
        let today = as_of.date_naive();
        let of_day = |kind: EventKind, day: chrono::NaiveDate| -> i64 {
            let is_it = |c: &&DailyCount| c.kind == kind && c.day.date_naive() == day;
            daily.iter().filter(is_it).map(|c| c.count).sum()
        };
        let days = (0..i64::from(DAYS))
            .rev()
            .map(|age| today - TimeDelta::days(age));
        let counts: Vec<_> = days
            .map(|day| {
                let logins = of_day(EventKind::SessionCreated, day);
                (day, logins, of_day(EventKind::LoginFailed, day))
            })
            .collect();
        let most = counts.iter().map(|(_, l, f)| *l.max(f)).max();
        let most = most.unwrap_or_default().max(1);
        let column = |(index, (day, logins, failures)): (i64, (chrono::NaiveDate, i64, i64))| {
            let (height, height_failures) = (scale(logins, most), scale(failures, most));
            Column {
                x: index * STEP + 6,
                x_failures: index * STEP + 21,
                x_text: index * STEP + 20,
                y: HEIGHT - height,
                height,
                y_failures: HEIGHT - height_failures,
                height_failures,
                day: day.format("%m-%d").to_string(),
                logins,
                failures,
            }
        };
        let mut reasons = BTreeMap::new();
        for count in daily {
            if let Some(reason) = count.reason {
                *reasons.entry(reason).or_insert(0) += count.count;
            }
        }
        let greatest = reasons.values().copied().max().unwrap_or(1);
        let mut bars: Vec<Bar> = reasons
            .into_iter()
            .map(|(reason, count)| Bar {
                reason: m.reason(reason),
                count,
                width: (count * 100 / greatest).max(1),
            })
            .collect();
        bars.sort_by_key(|bar| -bar.count);
        Self {
            most,
            margin: i64::try_from(grouped(most).len()).map_or(100, |digits| 12 + 9 * digits),
            logins_today: of_day(EventKind::SessionCreated, today),
            failures_today: of_day(EventKind::LoginFailed, today),
            endings_today: of_day(EventKind::SessionRevoked, today),
            expired_today: of_day(EventKind::SessionExpired, today),
            columns: (0..).zip(counts).map(column).collect(),
            bars,
        }
    }
}

/// A height that shows at least a trace of what there is.
fn scale(count: i64, most: i64) -> i64 {
    match count {
        0 => 0,
        _ => (count * HEIGHT / most).max(2),
    }
}
