//! What is going on, and the cleanup.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;

use super::super::charts::Charts;
use super::super::done::Done;
use super::super::page::{Frame, redirect, show};
use super::super::view::When;
use super::super::visit::{Nothing, Posted, Visit};
use crate::domain::cleanup::{Report, Trigger};
use crate::services::admin::{self, CleanupRun};
use crate::services::cleanup;

/// Past runs on the page.
const RUNS: u16 = 30;

#[derive(Template)]
#[template(path = "admin/overview.html")]
struct OverviewPage {
    f: Frame,
    active: i64,
    today: String,
    c: Charts,
    last_run: Option<RunRow>,
    oldest: Option<When>,
}

/// A run of the cleanup.
struct RunRow {
    started: When,
    trigger: &'static str,
    run: CleanupRun,
    outcome: &'static str,
    /// `good`, `bad` or `plain`.
    tone: &'static str,
}

impl RunRow {
    fn new(
        f: &Frame,
        run: CleanupRun,
        now: chrono::DateTime<chrono::Utc>,
        budget: Duration,
    ) -> Self {
        let m = f.m;
        // Whoever was killed does not say so.
        let is_overdue = (now - run.started_at).num_seconds() > stale_after(budget);
        let (outcome, tone) = match (&run.error, run.finished_at, run.complete) {
            (Some(_), _, _) => (m.run_failed, "bad"),
            (None, None, _) if is_overdue => (m.run_stopped, "bad"),
            (None, None, _) => (m.run_running, "plain"),
            (None, Some(_), true) => (m.run_complete, "good"),
            (None, Some(_), false) => (m.run_partial, "plain"),
        };
        Self {
            started: When::new(m, run.started_at, now),
            trigger: m.trigger(run.trigger),
            run,
            outcome,
            tone,
        }
    }
}

/// Seconds after which a run that has not said anything has stopped.
fn stale_after(budget: Duration) -> i64 {
    i64::try_from(budget.as_secs().saturating_mul(2)).unwrap_or(i64::MAX)
}

/// The most time that any run gets.
fn longest_budget(visit: &Visit) -> Duration {
    let config = &visit.context.config.cleanup;
    config.budget.max(config.http_budget)
}

/// GET /admin
pub async fn show_overview(visit: Visit) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let found = admin::statistics(&visit.context).await?;
        let runs = admin::cleanup_runs(&visit.context, None, 1).await?;
        let f = visit.frame_of(&admin.user, &admin.caller).at("overview");
        let (now, budget) = (found.as_of, longest_budget(&visit));
        let page = OverviewPage {
            active: found.active,
            today: now.format("%Y-%m-%d").to_string(),
            c: Charts::new(f.m, &found.daily, now),
            last_run: runs
                .items
                .into_iter()
                .next()
                .map(|run| RunRow::new(&f, run, now, budget)),
            oldest: found.oldest_ended.map(|time| When::new(f.m, time, now)),
            f,
        };
        Ok(show(StatusCode::OK, &page))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

#[derive(Template)]
#[template(path = "admin/cleanup.html")]
struct CleanupPage {
    f: Frame,
    due: Report,
    runs: Vec<RunRow>,
}

/// GET cleanup
pub async fn cleanup_page(visit: Visit) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let due = cleanup::dry_run(&visit.context).await?;
        let runs = admin::cleanup_runs(&visit.context, None, RUNS).await?;
        let f = visit.frame_of(&admin.user, &admin.caller).at("cleanup");
        let (now, budget) = (admin.caller.session.as_of, longest_budget(&visit));
        let page = CleanupPage {
            runs: runs
                .items
                .into_iter()
                .map(|run| RunRow::new(&f, run, now, budget))
                .collect(),
            due,
            f,
        };
        Ok(show(StatusCode::OK, &page))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

/// POST cleanup
pub async fn clean_up(visit: Visit, posted: Posted<Nothing>) -> HttpResponse {
    let cleaned = async {
        let admin = visit.administrator().await?;
        posted.0?.fields_of(&admin.caller)?;
        let report = cleanup::run(&visit.context, Trigger::Http).await?;
        let rows = report.expired + report.purged + report.ip_scrubbed + report.events_purged;
        let done = Done::Cleaned(rows).query(&admin.caller.hash);
        Ok(redirect(&format!("/admin/cleanup?{done}")))
    };
    cleaned.await.unwrap_or_else(|error| visit.fail(error))
}
