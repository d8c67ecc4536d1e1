//! Health, for load balancers and orchestrators.

use actix_web::web::{Data, Json};
use actix_web::{HttpResponse, Responder};
use serde::Serialize;

use super::error::ApiError;
use crate::context::Context;
use crate::metrics::CONTENT_TYPE;
use crate::services::{Refusal, monitoring, verification};

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

/// Whether the process answers at all; says nothing of the database.
pub(super) async fn live() -> impl Responder {
    Json(Health { status: "live" })
}

/// Whether requests can be served now: the database answers, and no stop is under way.
pub(super) async fn ready(context: Data<Context>) -> Result<HttpResponse, ApiError> {
    if context.is_draining() {
        return Err(Refusal::Unavailable("the service is stopping".to_owned()).into());
    }
    verification::is_answering(&context).await?;
    Ok(HttpResponse::Ok().json(Health { status: "ready" }))
}

/// Everything for Prometheus.
pub(super) async fn metrics(context: Data<Context>) -> Result<HttpResponse, ApiError> {
    let text = monitoring::metrics(&context).await?;
    Ok(HttpResponse::Ok().content_type(CONTENT_TYPE).body(text))
}
