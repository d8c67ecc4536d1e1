//! Health, for load balancers and orchestrators.

use actix_web::web::{Data, Json};
use actix_web::{HttpResponse, Responder};
use serde::Serialize;

use super::error::ApiError;
use crate::context::Context;
use crate::metrics::CONTENT_TYPE;
use crate::services::{Refusal, monitoring, verification};

#[derive(Serialize, utoipa::ToSchema)]
struct Health {
    status: &'static str,
}

/// Whether the process answers at all; says nothing of the database.
#[utoipa::path(
    method(get, head),
    path = "/health/live",
    tag = "operations",
    summary = "Whether the process answers",
    responses((status = 200, description = "Whether the process answers", body = Health)),
    extensions(("x-errors" = json!([]))),
)]
pub(super) async fn live() -> impl Responder {
    Json(Health { status: "live" })
}

/// Whether requests can be served now: the database answers, and no stop is under way.
#[utoipa::path(
    method(get, head),
    path = "/health/ready",
    tag = "operations",
    summary = "Whether requests can be served now",
    responses((status = 200, description = "Whether requests can be served now", body = Health)),
    extensions(("x-errors" = json!(["unavailable", "internal_error"]))),
)]
pub(super) async fn ready(context: Data<Context>) -> Result<HttpResponse, ApiError> {
    if context.is_draining() {
        return Err(Refusal::Unavailable("the service is stopping".to_owned()).into());
    }
    verification::is_answering(&context).await?;
    Ok(HttpResponse::Ok().json(Health { status: "ready" }))
}

/// Everything for Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operations",
    summary = "Everything for Prometheus",
    responses((status = 200, description = "OpenMetrics", body = String, content_type = "application/openmetrics-text")),
    extensions(("x-errors" = json!(["internal_error"]))),
)]
pub(super) async fn metrics(context: Data<Context>) -> Result<HttpResponse, ApiError> {
    let text = monitoring::metrics(&context).await?;
    Ok(HttpResponse::Ok().content_type(CONTENT_TYPE).body(text))
}
