//! The ledger, cleanups, and figures.

use std::collections::BTreeMap;

use actix_web::web::Query;
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::super::super::error::ApiError;
use super::super::super::extractors::{Admin, Behind, RequestId};
use super::super::super::filters::{EventQuery, PageQuery};
use super::body::{CleanupRunBody, EventBody, page};
use crate::domain::cleanup::Trigger;
use crate::domain::event::EventKind;
use crate::services::admin::{self, Statistics};
use crate::services::cleanup;
use crate::telemetry::SECURITY;

/// GET session_events
#[utoipa::path(
    get,
    path = "/api/v1/admin/session_events",
    tag = "administrators",
    summary = "The ledger, newest first",
    params(EventQuery),
    responses((status = 200, description = "The ledger, newest first", body = Vec<EventBody>, headers(("Link" = Option<String>, description = "The next page, rel=next")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["malformed_request", "invalid_field", "filter_too_broad", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn events(
    Behind(signed_in, query): Behind<Admin, Query<EventQuery>>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let (filter, cursor, limit) = (query.filter()?, query.cursor()?, query.limit()?);
    let found = admin::find_events(&signed_in.context, filter, cursor, limit).await?;
    let next = found.next.map(|next| query.at(Some(next.to_string())));
    let bodies = found.items.into_iter().map(EventBody::from).collect();
    Ok(page(&request, bodies, next))
}

/// GET cleanup_runs
#[utoipa::path(
    get,
    path = "/api/v1/admin/cleanup_runs",
    tag = "administrators",
    summary = "Runs of the cleanup, newest first",
    params(PageQuery),
    responses((status = 200, description = "Runs of the cleanup, newest first", body = Vec<CleanupRunBody>, headers(("Link" = Option<String>, description = "The next page, rel=next")))),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["malformed_request", "invalid_field", "reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn cleanup_runs(
    Behind(signed_in, query): Behind<Admin, Query<PageQuery>>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let (cursor, limit) = (query.cursor()?, query.limit()?);
    let found = admin::cleanup_runs(&signed_in.context, cursor, limit).await?;
    let next = found.next.map(|next| query.at(Some(next.to_string())));
    let bodies = found.items.into_iter().map(CleanupRunBody::from).collect();
    Ok(page(&request, bodies, next))
}

#[derive(Serialize, utoipa::ToSchema)]
struct ReportBody {
    message: &'static str,
    expired: i64,
    purged: i64,
    ip_scrubbed: i64,
    events_purged: i64,
    complete: bool,
}

/// POST cleanup_runs: one more, now.
#[utoipa::path(
    post,
    path = "/api/v1/admin/cleanup_runs",
    tag = "administrators",
    summary = "Clean up now",
    responses((status = 200, description = "Clean up now", body = ReportBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn clean_up(
    signed_in: Admin,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Admin { context, admin } = signed_in;
    let report = cleanup::run(&context, Trigger::Http).await?;
    log::info!(
        target: SECURITY, request_id = RequestId::of(&request), admin = admin.user.id;
        "cleanup run by an administrator"
    );
    Ok(HttpResponse::Ok().json(ReportBody {
        message: "Session cleanup completed",
        expired: report.expired,
        purged: report.purged,
        ip_scrubbed: report.ip_scrubbed,
        events_purged: report.events_purged,
        complete: report.complete,
    }))
}

#[derive(Serialize, utoipa::ToSchema)]
struct StatisticsBody {
    active_sessions: i64,
    oldest_ended: Option<DateTime<Utc>>,
    as_of: DateTime<Utc>,
    days: Vec<DayBody>,
}

#[derive(Serialize, utoipa::ToSchema)]
struct DayBody {
    date: String,
    logins: i64,
    failures: i64,
    endings: BTreeMap<&'static str, i64>,
}

/// GET statistics
#[utoipa::path(
    get,
    path = "/api/v1/admin/statistics",
    tag = "administrators",
    summary = "Active sessions; log-ins, failures and endings by day",
    responses((status = 200, description = "Active sessions; log-ins, failures and endings by day", body = StatisticsBody)),
    security(("bearer" = []), ("cookie" = [])),
    extensions(("x-errors" = json!(["reauthentication_required", "forbidden", "unavailable", "internal_error"]))),
)]
pub(in crate::routes) async fn statistics(signed_in: Admin) -> Result<HttpResponse, ApiError> {
    let Statistics {
        active,
        daily,
        oldest_ended,
        as_of,
    } = admin::statistics(&signed_in.context).await?;
    let mut days = BTreeMap::new();
    for count in daily {
        let day = days.entry(count.day).or_insert_with(|| DayBody {
            date: count.day.format("%Y-%m-%d").to_string(),
            logins: 0,
            failures: 0,
            endings: BTreeMap::new(),
        });
        match (count.kind, count.reason) {
            (EventKind::SessionCreated, _) => day.logins += count.count,
            (EventKind::LoginFailed, _) => day.failures += count.count,
            (EventKind::SessionRevoked | EventKind::SessionExpired, Some(reason)) => {
                *day.endings.entry(reason.as_str()).or_default() += count.count;
            }
            _ => {}
        }
    }
    Ok(HttpResponse::Ok().json(StatisticsBody {
        active_sessions: active,
        oldest_ended,
        as_of,
        days: days.into_values().collect(),
    }))
}
