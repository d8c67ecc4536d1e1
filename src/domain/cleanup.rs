//! What a cleanup did.

use super::text_enum::text_enum;

text_enum! {
    /// What started a run.
    Trigger {
        /// A call of the endpoint.
        Http => "http",
        /// The built-in schedule.
        Schedule => "schedule",
        /// The subcommand.
        Cli => "cli",
    }
}

/// Counts of one run, or of what one would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Sessions marked as expired.
    pub expired: i64,
    /// Ended sessions deleted.
    pub purged: i64,
    /// Addresses forgotten, in sessions and in the ledger.
    pub ip_scrubbed: i64,
    /// Events deleted from the ledger.
    pub events_purged: i64,
    /// Whether nothing was left to do.
    pub complete: bool,
}
