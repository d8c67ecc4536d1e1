//! SQL functions that Diesel does not know, and the fragments that more than one query shares.

use chrono::TimeDelta;
use diesel::dsl::auto_type;
use diesel::pg::data_types::PgInterval;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Double, Interval, Nullable, SingleValue, Text, Timestamptz};

use crate::schema::sessions;

diesel::define_sql_function! {
    /// The clock at the start of the current statement. `now()` is as old as BEGIN: after a wait
    /// for a lock it would write times from before what it waited for.
    fn statement_timestamp() -> Timestamptz;
}

diesel::define_sql_function! {
    /// Lower case, as the unique index on e-mails has it.
    fn lower(text: Nullable<Text>) -> Nullable<Text>;
}

diesel::define_sql_function! {
    /// The operator `interval * double precision`.
    fn interval_mul(interval: Interval, factor: Double) -> Interval;
}

diesel::define_sql_function! {
    /// The operator `timestamptz + interval`.
    fn timestamptz_pl_interval(time: Timestamptz, interval: Interval) -> Timestamptz;
}

diesel::define_sql_function! {
    /// The operator `timestamptz - interval`.
    fn timestamptz_mi_interval(time: Timestamptz, interval: Interval) -> Timestamptz;
}

diesel::define_sql_function! {
    /// The operator `timestamptz - timestamptz`.
    fn timestamptz_mi(end: Timestamptz, start: Timestamptz) -> Interval;
}

diesel::define_sql_function! {
    /// The lesser of two values; of a NULL and a value, the value.
    #[sql_name = "least"]
    fn least<T: diesel::sql_types::SqlType + SingleValue>(left: T, right: T) -> T;
}

diesel::define_sql_function! {
    /// The lesser of a deadline and an ending that may be missing.
    #[sql_name = "least"]
    fn ended_at(expires_at: Timestamptz, revoked_at: Nullable<Timestamptz>) -> Timestamptz;
}

diesel::define_sql_function! {
    /// The greater of two values.
    #[sql_name = "greatest"]
    fn greatest<T: diesel::sql_types::SqlType + SingleValue>(left: T, right: T) -> T;
}

diesel::define_sql_function! {
    /// Sets a run-time parameter, for the transaction alone where `local`.
    fn set_config(name: Text, value: Text, local: Bool) -> Text;
}

diesel::define_sql_function! {
    /// Takes a lock that the end of the transaction releases.
    fn pg_advisory_xact_lock(key: diesel::sql_types::BigInt) -> diesel::sql_types::Bool;
}

/// A length of time as seconds alone. Left to itself Diesel writes whole days, and where the server's
/// time zone changes its clock a day has 23 or 25 hours.
pub(crate) fn exactly(length: TimeDelta) -> PgInterval {
    PgInterval::from_microseconds(length.num_microseconds().unwrap_or(i64::MAX))
}

/// The one definition of a valid session.
#[auto_type]
pub(crate) fn is_active() -> _ {
    sessions::revoked_at
        .is_null()
        .and(sessions::expires_at.gt(statement_timestamp()))
}
