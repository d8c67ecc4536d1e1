//! API keys of machines, with what they are for in the type.

use std::future::{Ready, ready};
use std::marker::PhantomData;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use constant_time_eq::constant_time_eq_32;
use sha2::{Digest, Sha256};

use super::super::error::ApiError;
use super::context;
use crate::config::{Config, Secret};

/// What a key is for.
pub trait Scope: 'static {
    /// The keys that open it; none: nobody gets in.
    fn keys(config: &Config) -> &[Secret];
}

/// The cleanup endpoint.
#[derive(Debug)]
pub struct Cleanup;

impl Scope for Cleanup {
    fn keys(config: &Config) -> &[Secret] {
        &config.cleanup_api_keys
    }
}

/// The endpoints for backends.
#[derive(Debug)]
pub struct Service;

impl Scope for Service {
    fn keys(config: &Config) -> &[Secret] {
        &config.service_api_keys
    }
}

/// Proof that a request came with a key of this scope in `X-API-Key`.
#[derive(Debug)]
pub struct ApiKey<S>(PhantomData<S>);

impl<S: Scope> ApiKey<S> {
    /// Checks a key that was presented in another way.
    pub fn check(config: &Config, presented: &[u8]) -> Result<Self, ApiError> {
        match is_any_of(presented, S::keys(config)) {
            true => Ok(Self(PhantomData)),
            false => Err(ApiError::ApiKey),
        }
    }
}

impl<S: Scope> FromRequest for ApiKey<S> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let mut values = request.headers().get_all("x-api-key");
        let (first, second) = (values.next(), values.next());
        let presented = first.map(|value| value.as_bytes()).unwrap_or_default();
        let checked = context(request).and_then(|context| Self::check(&context.config, presented));
        // Two keys are a mistake or a trick.
        ready(if second.is_some() {
            Err(ApiError::ApiKey)
        } else {
            checked
        })
    }
}

/// Compares digests, so that neither content nor length of a key shows in the time; and always
/// against two of them, configured or not.
fn is_any_of(presented: &[u8], keys: &[Secret]) -> bool {
    let digest = |bytes: &[u8]| -> [u8; 32] { Sha256::digest(bytes).into() };
    let presented = digest(presented);
    let mut is_known = false;
    for index in 0..2 {
        let key = keys.get(index);
        let expected = digest(key.map_or("", Secret::expose).as_bytes());
        let is_equal = constant_time_eq_32(&presented, &expected);
        is_known |= is_equal & key.is_some();
    }
    is_known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    fn config(keys: &str) -> Config {
        Config::new(&Source::from_pairs([
            ("DATABASE_URL", "postgres://h/x"),
            ("SESSION_CLEANUP_API_KEY", keys),
        ]))
        .unwrap()
    }

    #[test]
    fn unset_means_nobody() {
        let config = config("");
        for key in ["", "null", &"0".repeat(32), &"0".repeat(64)] {
            assert!(
                ApiKey::<Cleanup>::check(&config, key.as_bytes()).is_err(),
                "{key:?}"
            );
        }
    }

    #[test]
    fn either_of_two_keys_opens() {
        let (one, two) = ("a".repeat(32), "b".repeat(32));
        let config = config(&format!("{one},{two}"));
        for key in [&one, &two] {
            assert!(ApiKey::<Cleanup>::check(&config, key.as_bytes()).is_ok());
            assert!(ApiKey::<Cleanup>::check(&config, &key.as_bytes()[1..]).is_err());
        }
        assert!(ApiKey::<Cleanup>::check(&config, b"").is_err());
    }
}
