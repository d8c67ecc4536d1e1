//! What a scheduler calls.

use actix_web::HttpResponse;
use actix_web::web::Data;
use serde::Serialize;

use super::super::error::ApiError;
use super::super::extractors::{ApiKey, Cleanup};
use crate::context::Context;
use crate::domain::cleanup::Trigger;
use crate::services::cleanup;

#[derive(Serialize, utoipa::ToSchema)]
struct CleanupBody {
    message: &'static str,
    cleaned_count: i64,
}

/// POST cleanup_sessions: any body is ignored, and every failure is 500.
#[utoipa::path(
    post,
    path = "/api/v1/auth/cleanup_sessions",
    tag = "machines",
    summary = "Clean up: expire, purge and forget what is due",
    description = "Any body is ignored. Safe to call at any time and twice at once.",
    responses((status = 200, description = "Clean up: expire, purge and forget what is due", body = CleanupBody, headers(("X-Cleanup-Complete" = Option<String>, description = "false where the time did not suffice; the next call goes on")))),
    security(("cleanup_key" = [])),
    extensions(("x-errors" = json!(["internal_error"]))),
)]
pub(in crate::routes) async fn cleanup_sessions(
    _key: ApiKey<Cleanup>,
    context: Data<Context>,
) -> Result<HttpResponse, ApiError> {
    let report = cleanup::run(&context, Trigger::Http)
        .await
        .map_err(ApiError::Cleanup)?;
    let mut response = HttpResponse::Ok();
    if !report.complete {
        response.insert_header(("X-Cleanup-Complete", "false"));
    }
    Ok(response.json(CleanupBody {
        message: "Session cleanup completed",
        cleaned_count: report.expired,
    }))
}
