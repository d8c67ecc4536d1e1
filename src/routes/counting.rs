//! Counting requests by the route that took them.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServiceResponse;
use actix_web::web::Data;

use crate::context::Context;
use crate::metrics::Route;

/// What requests without a route are counted under.
const NO_ROUTE: &str = "-";

/// Part of every resource: where its requests are counted. Filled at the first request, which is
/// the first to know the whole pattern; after that no text is made and nothing looked up.
#[derive(Default)]
pub(super) struct Slot(OnceCell<Arc<Route>>);

/// Counts a request that has been answered.
pub(super) fn count(response: &ServiceResponse, duration: Duration) {
    let request = response.request();
    let Some(context) = request.app_data::<Data<Context>>() else {
        return;
    };
    let (method, status) = (request.method().as_str(), response.status().as_u16());
    match request.app_data::<Slot>() {
        Some(Slot(slot)) => slot
            .get_or_init(|| {
                let pattern = request.match_pattern();
                context
                    .metrics
                    .http
                    .route(pattern.as_deref().unwrap_or(NO_ROUTE))
            })
            .count(method, status, duration),
        None => context
            .metrics
            .http
            .route(NO_ROUTE)
            .count(method, status, duration),
    }
}

/// Counts a request whose handler panicked; it took the request with it.
pub(super) fn count_panic(context: &Context, method: &str, duration: Duration) {
    context
        .metrics
        .http
        .route(NO_ROUTE)
        .count(method, 500, duration);
}
