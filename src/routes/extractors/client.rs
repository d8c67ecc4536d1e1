//! Who is at the other end.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest};

use super::super::error::ApiError;
use super::context;
use crate::domain::address;
use crate::domain::client::Client;

/// The request's id, as the middleware gave it.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

impl RequestId {
    /// The id of this request.
    pub fn of(request: &HttpRequest) -> String {
        request
            .extensions()
            .get::<Self>()
            .map(|id| id.0.clone())
            .unwrap_or_default()
    }
}

/// Address and User-Agent of the client.
#[derive(Debug, Clone)]
pub struct ClientInfo(pub Client);

impl ClientInfo {
    /// Reads them. Never fails: what is not known is left out.
    pub fn of(request: &HttpRequest) -> Client {
        let trusted = context(request)
            .map(|context| context.config.http.trusted_proxies.as_slice())
            .unwrap_or_default();
        let peer = request.peer_addr().map(|peer| peer.ip());
        let forwarded: Vec<&[u8]> = request
            .headers()
            .get_all("x-forwarded-for")
            .map(header::HeaderValue::as_bytes)
            .collect();
        Client {
            address: address::client(peer, forwarded.into_iter(), trusted),
            user_agent: request
                .headers()
                .get(header::USER_AGENT)
                .map(|value| value.as_bytes().to_vec()),
        }
    }
}

impl FromRequest for ClientInfo {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(Self::of(request))))
    }
}
