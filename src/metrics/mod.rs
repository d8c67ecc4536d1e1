//! What Prometheus is told. Handles are made at the start, so that counting on the way of a request
//! costs an atomic addition and no look-up by label.

mod http;
pub mod tally;

pub use http::{Http, Route};

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::domain::cleanup::{Report, Trigger};
use crate::domain::session::Reason;
use crate::domain::text_enum::text_enum;

/// The format of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Label = (&'static str, Cow<'static, str>);
type Counters<const N: usize> = Family<[Label; N], Counter>;
type Gauges = Family<[Label; 1], Gauge>;
type Seconds = Gauge<f64, AtomicU64>;

text_enum! {
    /// What checking presented tokens found.
    Verdict {
        /// One valid session.
        Active => "active",
        /// Nothing was presented.
        Missing => "missing",
        /// No such session, or not the form of a token.
        Unknown => "unknown",
        /// Past its deadline.
        Expired => "expired",
        /// Ended before its deadline.
        Revoked => "revoked",
        /// Two valid sessions at once.
        Ambiguous => "ambiguous",
        /// It could not be found out.
        Unavailable => "unavailable",
    }
}

text_enum! {
    /// How an attempt to log in ended.
    LoginOutcome {
        /// With a session.
        Succeeded => "succeeded",
        /// The credentials did not fit.
        Refused => "refused",
        /// Refused unchecked, because of earlier failures.
        Throttled => "throttled",
    }
}

/// One counter for each of a few fixed values.
pub struct ByValue<V: 'static> {
    values: &'static [V],
    counters: Vec<Counter>,
}

impl<V: PartialEq + Copy> ByValue<V> {
    fn register(
        registry: &mut Registry,
        (name, help): (&str, &str),
        label: &'static str,
        values: &'static [V],
        text: fn(V) -> &'static str,
    ) -> Self {
        let family = Counters::<1>::default();
        registry.register(name, help, family.clone());
        let counter = |value: &V| family.get_or_create_owned(&[(label, text(*value).into())]);
        Self {
            values,
            counters: values.iter().map(counter).collect(),
        }
    }

    /// Counts one.
    pub fn count(&self, value: V) {
        self.count_many(value, 1);
    }

    fn count_many(&self, value: V, number: u64) {
        let known = self.values.iter().position(|known| *known == value);
        if let Some(counter) = known.and_then(|index| self.counters.get(index)) {
            counter.inc_by(number);
        }
    }
}

/// What is read when somebody asks, rather than counted as it happens.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Pooled connections in use and idle.
    pub connections: (i64, i64),
    /// What waits, by queue.
    pub waiting: [(&'static str, i64); 4],
    /// For each kind of cleaning up, how long ago the oldest row that is still there became due, in
    /// seconds; 0 where none is. `None` where the database did not say.
    pub overdue: Option<[(&'static str, f64); 3]>,
}

/// Every metric of one instance.
pub struct Metrics {
    registry: Registry,
    /// Requests.
    pub http: Http,
    /// Checks of presented tokens.
    pub verifications: ByValue<Verdict>,
    /// Attempts to log in.
    pub logins: ByValue<LoginOutcome>,
    /// Sessions issued to backends.
    pub issued: Counter,
    /// Endings that were committed.
    pub endings: ByValue<Reason>,
    cleanup_runs: Counters<2>,
    cleanup_rows: Counters<1>,
    connections: Gauges,
    waiting: Gauges,
    overdue: Family<[Label; 1], Seconds>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers everything.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let all = &mut registry;
        let http = Http::register(all);
        let verifications = (
            "sekisho_verifications",
            "Checks of presented tokens, by what they found",
        );
        let logins = ("sekisho_logins", "Attempts to log in, by how they ended");
        let endings = ("sekisho_sessions_ended", "Sessions that ended, by reason");
        let metrics = Self {
            http,
            verifications: ByValue::register(
                all,
                verifications,
                "verdict",
                Verdict::ALL,
                Verdict::as_str,
            ),
            logins: ByValue::register(
                all,
                logins,
                "outcome",
                LoginOutcome::ALL,
                LoginOutcome::as_str,
            ),
            issued: Counter::default(),
            endings: ByValue::register(all, endings, "reason", Reason::ALL, Reason::as_str),
            cleanup_runs: Family::default(),
            cleanup_rows: Family::default(),
            connections: Family::default(),
            waiting: Family::default(),
            overdue: Family::default(),
            registry: Registry::default(),
        };
        metrics.register_families(all);
        Self {
            registry,
            ..metrics
        }
    }

    fn register_families(&self, all: &mut Registry) {
        all.register(
            "sekisho_sessions_issued",
            "Sessions issued to backends",
            self.issued.clone(),
        );
        all.register(
            "sekisho_cleanup_runs",
            "Cleanups that this instance ran, by what started them and how they ended",
            self.cleanup_runs.clone(),
        );
        all.register(
            "sekisho_cleanup_rows",
            "Rows that this instance's cleanups dealt with, by kind",
            self.cleanup_rows.clone(),
        );
        all.register(
            "sekisho_database_connections",
            "Connections of the pool, by state",
            self.connections.clone(),
        );
        all.register(
            "sekisho_waiting",
            "Units of work that wait for their turn, by queue",
            self.waiting.clone(),
        );
        all.register(
            "sekisho_cleanup_overdue_seconds",
            "How long ago the oldest row that waits for a cleanup became due, by kind; absent while the database does not say",
            self.overdue.clone(),
        );
    }

    /// Counts a run of the cleanup, and what it did.
    pub fn cleaned(&self, trigger: Trigger, report: Option<&Report>) {
        let outcome = match report {
            None => "failed",
            Some(report) if report.complete => "complete",
            Some(_) => "out_of_time",
        };
        let labels = [
            ("trigger", trigger.as_str().into()),
            ("outcome", outcome.into()),
        ];
        self.cleanup_runs.get_or_create(&labels).inc();
        let Some(report) = report else { return };
        let classes = [
            ("expired", report.expired),
            ("purged", report.purged),
            ("addresses", report.ip_scrubbed),
            ("events", report.events_purged),
        ];
        for (kind, rows) in classes {
            let counter = self
                .cleanup_rows
                .get_or_create_owned(&[("kind", kind.into())]);
            counter.inc_by(u64::try_from(rows).unwrap_or_default());
        }
        // The run has committed them on a connection of its own.
        let expired = u64::try_from(report.expired).unwrap_or_default();
        self.endings.count_many(Reason::Expired, expired);
    }

    /// Everything as text, in the format of OpenMetrics.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn encode(&self, now: &Snapshot) -> Result<String, fmt::Error> {
        let (busy, idle) = now.connections;
        for (state, number) in [("busy", busy), ("idle", idle)] {
            self.connections
                .get_or_create(&[("state", state.into())])
                .set(number);
        }
        for (queue, number) in now.waiting {
            self.waiting
                .get_or_create(&[("queue", queue.into())])
                .set(number);
        }
        // What is not known is absent, not zero.
        self.overdue.clear();
        for (kind, seconds) in now.overdue.into_iter().flatten() {
            self.overdue
                .get_or_create(&[("kind", kind.into())])
                .set(seconds);
        }
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
