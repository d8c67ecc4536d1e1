//! The built-in schedule: a forgotten cron job must not fill the disk.

use std::sync::Arc;
use std::time::Duration;

use super::{Refusal, cleanup};
use crate::context::Context;

/// Cleans up once an interval, the first time after one. Never returns.
pub async fn run(context: Arc<Context>, interval: Duration) {
    loop {
        tokio::time::sleep(interval + jitter(interval)).await;
        match cleanup::run_scheduled(&context, interval).await {
            Ok(Some(report)) => log::info!(
                expired = report.expired, purged = report.purged, ip_scrubbed = report.ip_scrubbed,
                events_purged = report.events_purged, complete = report.complete;
                "scheduled cleanup done"
            ),
            Ok(None) => log::debug!("scheduled cleanup left to another instance"),
            Err(Refusal::Unavailable(error)) => log::warn!(error:%; "scheduled cleanup failed"),
            Err(refusal) => log::error!(error:? = refusal; "scheduled cleanup failed"),
        }
    }
}

/// Up to a tenth of the interval, so that many instances do not wake at once.
fn jitter(interval: Duration) -> Duration {
    let mut byte = [0u8; 1];
    // Without randomness there is no jitter, which does no harm.
    let _ = getrandom::fill(&mut byte);
    interval.mul_f32(f32::from(byte[0]) / 2550.0)
}
