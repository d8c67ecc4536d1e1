//! What handlers ask of a request, in their signatures: a handler without one of these is public.

mod admin;
mod api_key;
mod behind;
mod client;
mod credentials;
mod form;
mod json;
mod origin;

pub use admin::Admin;
pub use api_key::{ApiKey, Cleanup, Service};
pub use behind::Behind;
pub use client::{ClientInfo, RequestId};
pub use credentials::{Form, Presented, SignedIn};
pub use form::ServiceForm;
pub use json::JsonBody;
pub(super) use json::read_body;
pub use origin::SameOrigin;

use actix_web::HttpRequest;
use actix_web::web::Data;

use super::error::ApiError;
use crate::context::Context;
use crate::services::Refusal;

/// The shared state of the application.
pub(super) fn context(request: &HttpRequest) -> Result<&Data<Context>, ApiError> {
    request
        .app_data::<Data<Context>>()
        .ok_or_else(|| ApiError::Refused(Refusal::Internal("no context".to_owned())))
}
