//! Hashing and checking passwords: off the pool, bounded, and at one cost whatever the outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::hashing::Hashing;
use super::{Refusal, Result};
use crate::config::PasswordConfig;
use crate::db::run::blocking;
use crate::domain::credentials::Password;

/// How long a password waits for its turn before the request is refused.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Argon2id with the configured parameters, a bounded number at once.
#[derive(Clone)]
pub struct Hasher {
    argon2: Arc<Hashing>,
    slots: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    longest_queue: usize,
    /// The hash of no password, checked in vain where there is none to check.
    dummy: Arc<str>,
}

/// The right to hash, held from before the throttle is asked until the outcome is recorded: before
/// delays begin, parallel guesses outrun the count by no more than the number of slots. From then
/// on they do not outrun it at all (see `Attempt::begin`).
pub struct Slot(#[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

/// What checking a password found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// It is right.
    Right {
        /// A new hash, where the stored one is weaker than configured.
        upgraded: Option<String>,
    },
    /// It is wrong, or there is nothing that it could be right for.
    Wrong,
}

impl Hasher {
    /// Prepares the dummy hash.
    ///
    /// # Errors
    /// When the parameters are not allowed.
    pub fn new(config: &PasswordConfig) -> std::result::Result<Self, String> {
        let params = Params::new(
            config.argon2_memory,
            config.argon2_iterations,
            config.argon2_parallelism,
            None,
        )
        .map_err(|error| error.to_string())?;
        let argon2 = Hashing::new(Argon2::new(Algorithm::Argon2id, Version::V0x13, params));
        let mut secret = [0u8; 32];
        getrandom::fill(&mut secret).map_err(|error| error.to_string())?;
        let dummy = argon2
            .hash_password(&secret)
            .map_err(|error| error.to_string())?
            .to_string();
        Ok(Self {
            argon2: Arc::new(argon2),
            slots: Arc::new(Semaphore::new(config.hash_slots)),
            waiting: Arc::new(AtomicUsize::new(0)),
            longest_queue: config.hash_queue_length,
            dummy: dummy.into(),
        })
    }

    /// Passwords that wait for their turn.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for the right to hash.
    ///
    /// # Errors
    /// `Unavailable` where too many wait already, or for too long.
    pub async fn slot(&self) -> Result<Slot> {
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        if let Ok(permit) = self.slots.clone().try_acquire_owned() {
            return Ok(Slot(permit));
        }
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _counted = Waiting(&self.waiting);
        if waiting >= self.longest_queue {
            return Err(Refusal::Unavailable(
                "too many passwords wait to be hashed".to_owned(),
            ));
        }
        match timeout(LONGEST_WAIT, self.slots.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Slot(permit)),
            Ok(Err(closed)) => Err(Refusal::Internal(closed.to_string())),
            Err(_elapsed) => Err(Refusal::Unavailable(
                "passwords were not hashed in time".to_owned(),
            )),
        }
    }

    /// Hashes a new password.
    ///
    /// # Errors
    /// `Internal` where hashing fails.
    pub async fn hash(&self, slot: Slot, password: Password) -> Result<(String, Slot)> {
        let argon2 = self.argon2.clone();
        let hashed = blocking(None, move || {
            (
                argon2
                    .hash_password(password.as_bytes())
                    .map(|hash| hash.to_string()),
                slot,
            )
        });
        let (hash, slot) = hashed.await?;
        Ok((
            hash.map_err(|error| Refusal::Internal(error.to_string()))?,
            slot,
        ))
    }

    /// Checks a password against a stored hash, or against the dummy where there is none.
    ///
    /// # Errors
    /// `Internal` where the work fails.
    pub async fn check(
        &self,
        slot: Slot,
        password: Password,
        stored: Option<String>,
    ) -> Result<(Check, Slot)> {
        let (argon2, dummy) = (self.argon2.clone(), self.dummy.clone());
        let checked = blocking(None, move || {
            let check = check_against(&argon2, &password, stored.as_deref(), &dummy);
            (check, slot)
        });
        let (check, slot) = checked.await?;
        Ok((check?, slot))
    }
}

fn check_against(
    argon2: &Hashing,
    password: &Password,
    stored: Option<&str>,
    dummy: &str,
) -> Result<Check> {
    let Some(parsed) = stored.and_then(readable) else {
        // As long as it takes where there is something to check.
        let parsed = PasswordHash::new(dummy)
            .map_err(|error| Refusal::Internal(format!("the dummy hash: {error}")))?;
        let _in_vain = argon2.verify_password(password.as_bytes(), &parsed);
        return Ok(Check::Wrong);
    };
    // The verifier takes its parameters from the hash.
    if argon2
        .verify_password(password.as_bytes(), &parsed)
        .is_err()
    {
        return Ok(Check::Wrong);
    }
    let upgraded = match is_weaker(&parsed, argon2.params()) {
        true => argon2
            .hash_password(password.as_bytes())
            .ok()
            .map(|hash| hash.to_string()),
        false => None,
    };
    Ok(Check::Right { upgraded })
}

/// A stored hash that can be checked against. One that cannot (of another system's making, say)
/// fits no password; it must be neither an error nor quicker than others, which would tell.
fn readable(stored: &str) -> Option<PasswordHash> {
    let parsed = PasswordHash::new(stored).ok().filter(|hash| {
        hash.salt.is_some()
            && hash.hash.is_some()
            && Algorithm::try_from(hash.algorithm.as_str()).is_ok()
            && Params::try_from(hash).is_ok()
    });
    if parsed.is_none() {
        log::error!("a stored password hash is not one of Argon2: its user cannot log in");
    }
    parsed
}

fn is_weaker(stored: &PasswordHash, wanted: &Params) -> bool {
    let Ok(params) = Params::try_from(stored) else {
        return true;
    };
    stored.algorithm.as_str() != Algorithm::Argon2id.as_str()
        || stored.version != Some(Version::V0x13.into())
        || params.m_cost() < wanted.m_cost()
        || params.t_cost() < wanted.t_cost()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argon2(memory: u32) -> Argon2<'static> {
        let params = Params::new(memory, 1, 1, None).unwrap();
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
    }

    fn check(stored: &str) -> Check {
        let argon2 = Hashing::new(argon2(64));
        let dummy = argon2.hash_password(b"dummy").unwrap().to_string();
        let password = Password::new("right".to_owned());
        check_against(&argon2, &password, Some(stored), &dummy).unwrap()
    }

    #[test]
    fn what_is_no_hash_of_argon2_fits_nothing_and_is_no_error() {
        for stored in [
            "",
            "right",
            "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
            "$pbkdf2-sha256$i=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
            "$argon2id$v=19$m=64,t=1,p=1",
            "$argon2id$v=19$m=1,t=0,p=0$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
        ] {
            assert_eq!(check(stored), Check::Wrong, "{stored}");
        }
    }

    #[test]
    fn weaker_hashes_are_upgraded_and_others_are_not() {
        let upgraded = |argon2: Argon2<'_>| {
            let stored = argon2.hash_password(b"right").unwrap().to_string();
            match check(&stored) {
                Check::Right { upgraded } => upgraded,
                Check::Wrong => panic!("{stored}"),
            }
        };
        assert_eq!(upgraded(argon2(64)), None);
        assert_eq!(upgraded(argon2(128)), None);
        assert!(upgraded(argon2(32)).unwrap().contains("m=64,"));
        let params = || Params::new(64, 1, 1, None).unwrap();
        let old = Argon2::new(Algorithm::Argon2id, Version::V0x10, params());
        assert!(upgraded(old).unwrap().contains("v=19"));
        let other = Argon2::new(Algorithm::Argon2i, Version::V0x13, params());
        assert!(upgraded(other).unwrap().contains("$argon2id$"));
    }
}
