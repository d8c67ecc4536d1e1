//! Endings are counted when they are committed. A transaction runs on one thread from beginning to
//! end, so what it ends is noted there, and counted or forgotten when its outcome is known.

use std::cell::RefCell;

use super::Metrics;
use crate::domain::session::Reason;

thread_local! {
    static NOTED: RefCell<Vec<Reason>> = const { RefCell::new(Vec::new()) };
}

/// Notes an ending that the current transaction has just made.
pub fn note(reason: Reason) {
    NOTED.with_borrow_mut(|noted| noted.push(reason));
}

/// Forgets what was noted.
pub fn forget() {
    NOTED.with_borrow_mut(Vec::clear);
}

/// Counts what was noted.
pub fn count(metrics: &Metrics) {
    for reason in NOTED.take() {
        metrics.endings.count(reason);
    }
}
