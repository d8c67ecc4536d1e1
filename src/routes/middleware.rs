//! What every answer has in common.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_cors::CorsError;
use actix_web::HttpMessage as _;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Data;
use futures_util::FutureExt as _;
use uuid::Uuid;

use super::counting;
use super::error::ApiError;
use super::extractors::{ClientInfo, RequestId, context};
use super::unread::Unread;
use crate::context::Context;
use crate::telemetry::SECURITY;

pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest request id that is taken over from the request.
const MAX_REQUEST_ID: usize = 64;

/// The path that is asked whether the database can be used.
const READY: &str = "/health/ready";

/// Gives the request its id, turns a panic into a 500, and logs what is worth it, once.
pub async fn boundary(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let started = Instant::now();
    let id = request_id(&request);
    let counted = request.app_data::<Data<Context>>().cloned();
    let method = request.method().clone();
    request.extensions_mut().insert(RequestId(id.clone()));
    let is_secure = context(request.request()).is_ok_and(|context| context.config.cookie.secure);
    let unread = Unread::hold(&mut request);
    // The request itself cannot be kept: the router needs it for itself.
    let mut response = match AssertUnwindSafe(next.call(request)).catch_unwind().await {
        Ok(response) => in_form(response?.map_into_boxed_body()),
        Err(_panic) => {
            log::error!(request_id = id; "the handler panicked");
            if let Some(context) = counted {
                counting::count_panic(&context, method.as_str(), started.elapsed());
            }
            return Err(ApiError::Panic {
                request_id: id,
                is_secure,
            }
            .into());
        }
    };
    counting::count(&response, started.elapsed());
    report(&response, &id);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    Ok(match unread {
        Some(unread) => unread.until_sent(response),
        None => response,
    })
}

/// Gives the refusals of CORS, which have a form of their own, that of all others.
fn in_form(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let error = response.response().error();
    if error.is_some_and(|error| error.as_error::<CorsError>().is_some()) {
        let (request, _) = response.into_parts();
        ServiceResponse::from_err(ApiError::CrossOrigin, request)
    } else {
        response
    }
}

fn request_id(request: &ServiceRequest) -> String {
    let given = request
        .headers()
        .get(X_REQUEST_ID)
        .and_then(|value| value.to_str().ok());
    let is_well_formed = |id: &&str| {
        (1..=MAX_REQUEST_ID).contains(&id.len())
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    match given.filter(is_well_formed) {
        Some(id) => id.to_owned(),
        None => next_request_id(),
    }
}

/// An id that no other process makes either: a random number of this process, then a count. It is
/// no secret, so it need not cost a system call.
fn next_request_id() -> String {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| Uuid::new_v4().as_u64_pair().0);
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(
        "{:016x}{:016x}",
        *PROCESS,
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Lets a line pass a second and counts the others.
struct Limiter {
    last: Mutex<Option<Instant>>,
    unlogged: AtomicU64,
}

static UNAVAILABLE: Limiter = Limiter {
    last: Mutex::new(None),
    unlogged: AtomicU64::new(0),
};

impl Limiter {
    /// How many were held back since the last line, if this one may pass.
    fn pass(&self) -> Option<u64> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if last.is_some_and(|last| now.duration_since(last) < Duration::from_secs(1)) {
            self.unlogged.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        *last = Some(now);
        Some(self.unlogged.swap(0, Ordering::Relaxed))
    }
}

fn report(response: &ServiceResponse, id: &str) {
    let request = response.request();
    let status = response.status().as_u16();
    // Matches the path once more: only for a line that is written.
    let route = || request.match_pattern().unwrap_or_else(|| "-".to_owned());
    let method = request.method().as_str();
    let error = response
        .response()
        .error()
        .and_then(|error| error.as_error::<ApiError>());
    match error {
        Some(error) if error.detail().is_some() || status >= 500 => {
            let (code, detail) = (
                error.code().1,
                error.detail().unwrap_or("the handler panicked"),
            );
            if route() == READY {
                // Not ready is what it is there to say.
                log::debug!(request_id = id, status, detail; "not ready");
            } else if status == 503 {
                // An outage under load must not fill the disk with as many lines as requests.
                if let Some(unlogged) = UNAVAILABLE.pass() {
                    log::warn!(request_id = id, method, route = route(), status, code, detail, unlogged; "request refused");
                }
            } else {
                log::error!(request_id = id, method, route = route(), status, code, detail; "request failed");
            }
        }
        Some(error) if error.is_security_event() => {
            let client = ClientInfo::of(request)
                .coarse_address()
                .map(|n| n.to_string())
                .unwrap_or_default();
            let code = error.code().1;
            log::warn!(target: SECURITY, request_id = id, method, route = route(), status, code, client; "request refused");
        }
        _ => log::debug!(request_id = id, method, route = route(), status; "request answered"),
    }
}
