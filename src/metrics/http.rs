//! Requests by route, method and status.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{Counters, Label};

const METHODS: [&str; 5] = ["GET", "POST", "HEAD", "DELETE", "PATCH"];
const STATUSES: [u16; 17] = [
    200, 201, 401, 503, 400, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 204, 431,
];
const SECONDS: [f64; 13] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];

type Histograms = Family<[Label; 1], Histogram, fn() -> Histogram>;

/// Counts requests and measures how long they take.
pub struct Http {
    requests: Counters<3>,
    durations: Histograms,
    routes: Mutex<HashMap<String, Arc<Route>>>,
}

/// What one route counts; shared by all threads that serve it.
pub struct Route {
    pattern: String,
    requests: Counters<3>,
    duration: Histogram,
    /// By method and status; made when first needed, so that what never happens is not told.
    counters: [[OnceLock<Counter>; STATUSES.len()]; METHODS.len()],
}

impl Http {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let requests = Counters::default();
        let durations = Histograms::new_with_constructor(|| Histogram::new(SECONDS));
        registry.register(
            "http_requests",
            "Requests answered, by route, method and status",
            requests.clone(),
        );
        registry.register(
            "http_request_duration_seconds",
            "Time from the request's headers to the answer, by route",
            durations.clone(),
        );
        Self {
            requests,
            durations,
            routes: Mutex::default(),
        }
    }

    /// The counters of a route, by its pattern; to be kept by whoever serves it.
    pub fn route(&self, pattern: &str) -> Arc<Route> {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(route) = routes.get(pattern) {
            return route.clone();
        }
        let labels = [("route", pattern.to_owned().into())];
        let route = Arc::new(Route {
            pattern: pattern.to_owned(),
            requests: self.requests.clone(),
            duration: self.durations.get_or_create_owned(&labels),
            counters: Default::default(),
        });
        routes.insert(pattern.to_owned(), route.clone());
        route
    }
}

impl Route {
    /// Counts a request.
    pub fn count(&self, method: &str, status: u16, duration: Duration) {
        self.duration.observe(duration.as_secs_f64());
        let method_at = METHODS.iter().position(|known| *known == method);
        let status_at = STATUSES.iter().position(|known| *known == status);
        let slot = method_at
            .zip(status_at)
            .and_then(|(method, status)| self.counters.get(method)?.get(status));
        match slot {
            Some(slot) => slot.get_or_init(|| self.counter(method, status)).inc(),
            // A method that somebody made up must not become a label.
            None => self
                .counter(
                    METHODS
                        .get(method_at.unwrap_or(usize::MAX))
                        .unwrap_or(&"other"),
                    status,
                )
                .inc(),
        };
    }

    fn counter(&self, method: &str, status: u16) -> Counter {
        self.requests.get_or_create_owned(&[
            ("route", self.pattern.clone().into()),
            ("method", method.to_owned().into()),
            ("status", status.to_string().into()),
        ])
    }
}
