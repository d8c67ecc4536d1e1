//! What is going on, and the cleanup.

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
    fn new(f: &Frame, run: CleanupRun, now: chrono::DateTime<chrono::Utc>) -> Self {
        let m = f.m;
        let (outcome, tone) = match (&run.error, run.finished_at, run.complete) {
            (Some(_), _, _) => (m.run_failed, "bad"),
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

/// GET /admin
pub async fn show_overview(visit: Visit) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let found = admin::statistics(&visit.context).await?;
        let runs = admin::cleanup_runs(&visit.context, None, 1).await?;
        let f = visit.frame_of(&admin.user, &admin.caller).at("overview");
        let now = found.as_of;
        let page = OverviewPage {
            active: found.active,
            c: Charts::new(f.m, &found.daily, now),
            last_run: runs
                .items
                .into_iter()
                .next()
                .map(|run| RunRow::new(&f, run, now)),
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
        let now = admin.caller.session.as_of;
        let page = CleanupPage {
            runs: runs
                .items
                .into_iter()
                .map(|run| RunRow::new(&f, run, now))
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
