//! Slowing down whoever guesses passwords. Failures are counted in the database, so that all
//! instances agree, for the submitted e-mail together with the coarse address: nobody can lock
//! somebody else out, except from within the same network. A second, larger count an address
//! covers sign-ups and the trying of many e-mails. The delay never grows beyond its limit.

use chrono::TimeDelta;
use diesel::pg::PgConnection;
use diesel::result::QueryResult;
use ipnetwork::IpNetwork;

use crate::config::ThrottleConfig;
use crate::domain::token::hex_sha256;
use crate::repositories::login_throttle;

/// Failures of an e-mail are remembered for so long after the last.
const MEMORY: TimeDelta = TimeDelta::days(1);
/// Failures of an address: shorter, because many people share one.
const ADDRESS_MEMORY: TimeDelta = TimeDelta::minutes(30);

/// What the failures of one attempt count against.
#[derive(Debug, Clone)]
pub struct Attempt {
    config: ThrottleConfig,
    pair: Option<String>,
    address: String,
}

impl Attempt {
    /// An attempt to prove the password of `account`: the submitted e-mail, or whatever else
    /// stands for the account. `None` where no account is concerned, as at a sign-up.
    pub fn new(config: &ThrottleConfig, account: Option<&str>, address: Option<IpNetwork>) -> Self {
        let address = address
            .map(|network| network.to_string())
            .unwrap_or_default();
        // The keys are hashes so that the table is no list of e-mails.
        let key = |kind: &str, text: &str| {
            String::from_utf8_lossy(&hex_sha256(format!("{kind}\n{text}\n{address}").as_bytes()))
                .into_owned()
        };
        Self {
            config: config.clone(),
            pair: account.map(|account| key("account", account)),
            address: key("address", ""),
        }
    }

    /// How long this attempt has to wait; `None` when it need not.
    pub fn delay(&self, conn: &mut PgConnection) -> QueryResult<Option<TimeDelta>> {
        let mut keys: Vec<&str> = Vec::with_capacity(2);
        if self.config.failures > 0 {
            keys.extend(self.pair.as_deref());
        }
        if self.config.address_failures > 0 {
            keys.push(&self.address);
        }
        login_throttle::longest_block(conn, &keys)
    }

    /// Like [`Attempt::delay`], for an attempt that is about to be made. Once delays have begun, an
    /// attempt imposes beforehand the delay that its failure would: of any number of guesses made at
    /// once, on any number of instances, one goes ahead.
    pub fn begin(&self, conn: &mut PgConnection) -> QueryResult<Option<TimeDelta>> {
        let delay = self.delay(conn)?;
        let (None, Some(pair)) = (delay, &self.pair) else {
            return Ok(delay);
        };
        let failures = login_throttle::failures(conn, pair, MEMORY)?;
        let next = failures.saturating_add(1);
        match delay_after(next, self.config.failures, self.config.max_delay) {
            Some(delay) if failures > 0 && self.config.failures > 0 => {
                let is_first = login_throttle::claim(conn, pair, delay)?;
                Ok((!is_first).then_some(delay))
            }
            _ => Ok(None),
        }
    }

    /// Counts a failure.
    pub fn failed(&self, conn: &mut PgConnection) -> QueryResult<()> {
        if let Some(pair) = &self.pair {
            self.count(conn, pair, MEMORY, self.config.failures)?;
        }
        self.count(
            conn,
            &self.address,
            ADDRESS_MEMORY,
            self.config.address_failures,
        )
    }

    /// Forgets the failures of the account from this address. Those of the address alone stay:
    /// otherwise one right password would pay for guessing many others.
    pub fn succeeded(&self, conn: &mut PgConnection) -> QueryResult<()> {
        match &self.pair {
            Some(pair) => login_throttle::clear(conn, pair).map(|_| ()),
            None => Ok(()),
        }
    }

    fn count(
        &self,
        conn: &mut PgConnection,
        key: &str,
        memory: TimeDelta,
        threshold: u32,
    ) -> QueryResult<()> {
        if threshold == 0 {
            return Ok(());
        }
        let failures = login_throttle::count_failure(conn, key, memory)?;
        match delay_after(failures, threshold, self.config.max_delay) {
            Some(delay) => login_throttle::block(conn, key, delay).map(|_| ()),
            None => Ok(()),
        }
    }
}

/// Nothing before the threshold, one second at it, then doubling up to the limit.
fn delay_after(failures: i32, threshold: u32, max: TimeDelta) -> Option<TimeDelta> {
    let beyond = i64::from(failures) - i64::from(threshold);
    let doublings = u32::try_from(beyond).ok()?;
    let seconds = 1_i64.checked_shl(doublings.min(40)).unwrap_or(i64::MAX);
    Some(TimeDelta::seconds(seconds.min(max.num_seconds())))
}

/// Forgets counters that no longer matter.
pub fn purge(conn: &mut PgConnection) -> QueryResult<usize> {
    login_throttle::purge(conn, MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_limit() {
        let delay =
            |failures| delay_after(failures, 5, TimeDelta::minutes(15)).map(|d| d.num_seconds());
        assert_eq!(
            [4, 5, 6, 7, 14].map(delay),
            [None, Some(1), Some(2), Some(4), Some(512)]
        );
        assert_eq!([15, 100, i32::MAX].map(delay), [Some(900); 3]);
    }
}
