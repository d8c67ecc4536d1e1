//! Administrators.

use actix_web::dev::Payload;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;

use super::super::error::ApiError;
use super::{ClientInfo, SignedIn};
use crate::context::Context;
use crate::services::admin::{self, Administrator};

/// A caller whose session is valid and whose user is an administrator. Others get 403, and the
/// ledger an event.
pub struct Admin {
    /// The application's shared state.
    pub context: Data<Context>,
    /// Who.
    pub admin: Administrator,
}

impl FromRequest for Admin {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let signed_in = SignedIn::from_request(request, payload);
        let client = ClientInfo::of(request);
        let route = request.match_pattern().unwrap_or_default();
        let what = format!("{} {route}", request.method());
        Box::pin(async move {
            let SignedIn {
                context, caller, ..
            } = signed_in.await?;
            let admin = admin::authorise(&context, caller, client, what).await?;
            Ok(Self { context, admin })
        })
    }
}
