//! Who is at the other end.

use std::future::{Ready, ready};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest};
use ipnetwork::IpNetwork;

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
        if !forwarded.is_empty()
            && let Some(peer) = peer
        {
            warn_of_unnamed_proxy(peer, trusted);
        }
        Client {
            address: address::client(peer, forwarded.into_iter(), trusted),
            user_agent: request
                .headers()
                .get(header::USER_AGENT)
                .map(|value| value.as_bytes().to_vec()),
        }
    }
}

/// Says once that a proxy of the operator's own seems to be in front, though none is named.
fn warn_of_unnamed_proxy(peer: IpAddr, trusted: &[IpNetwork]) {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    let is_trusted = |peer| trusted.iter().any(|network| network.contains(peer));
    // Anybody may send the header; an address of the operator's own network is a proxy's.
    if address::is_private(peer)
        && !is_trusted(address::unmapped(peer))
        && !IS_SAID.swap(true, Ordering::Relaxed)
    {
        let network = address::coarse(peer);
        log::warn!(
            network:%; "X-Forwarded-For came from a proxy that TRUSTED_PROXIES does not name: \
            all clients behind it count as one, also where guessing is slowed down"
        );
    }
}

impl FromRequest for ClientInfo {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(Self::of(request))))
    }
}
