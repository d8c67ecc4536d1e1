//! Argon2 in memory that is kept. Taken anew for each hash, the memory comes from whatever heap the
//! thread has, and each of many threads keeps some: two hashes at a time then held 760 MiB. Kept
//! here, it is as much as hashes were ever under way at once.

use std::sync::{Mutex, PoisonError};

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::password_hash::{self, CustomizedPasswordHasher, PasswordHasher};
use argon2::{Algorithm, Argon2, Block, Params, Version};

/// See the module's description.
pub struct Hashing {
    argon2: Argon2<'static>,
    free: Mutex<Vec<Vec<Block>>>,
}

impl Hashing {
    /// Hashes with these parameters.
    pub fn new(argon2: Argon2<'static>) -> Self {
        Self {
            argon2,
            free: Mutex::new(Vec::new()),
        }
    }

    /// The parameters of new hashes.
    pub fn params(&self) -> &Params {
        self.argon2.params()
    }

    fn hash(
        &self,
        (algorithm, version, params): (Algorithm, Version, Params),
        password: &[u8],
        salt: &[u8],
    ) -> password_hash::Result<PasswordHash> {
        let salt = Salt::new(salt)?;
        let length = params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN);
        let mut buffer = [0u8; Output::MAX_LENGTH];
        let output = buffer
            .get_mut(..length)
            .ok_or(password_hash::Error::OutputSize)?;
        let described = ParamsString::try_from(&params)?;
        let argon2 = Argon2::new(algorithm, version, params);
        self.with_memory(argon2.params().block_count(), |memory| {
            argon2.hash_password_into_with_memory(password, &salt, output, memory)
        })?;
        Ok(PasswordHash {
            algorithm: algorithm.ident(),
            version: Some(version.into()),
            params: described,
            salt: Some(salt),
            hash: Some(Output::new(output)?),
        })
    }

    fn with_memory<T>(&self, blocks: usize, work: impl FnOnce(&mut [Block]) -> T) -> T {
        let own = self.params().block_count();
        if blocks > own {
            // An old hash of dearer parameters must not make it grow.
            return work(&mut vec![Block::new(); blocks]);
        }
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = free().pop();
        let mut memory = kept.unwrap_or_else(|| vec![Block::new(); own]);
        let result = work(&mut memory);
        free().push(memory);
        result
    }
}

impl PasswordHasher<PasswordHash> for Hashing {
    fn hash_password_with_salt(
        &self,
        password: &[u8],
        salt: &[u8],
    ) -> password_hash::Result<PasswordHash> {
        let own = (Algorithm::Argon2id, Version::V0x13, self.params().clone());
        self.hash(own, password, salt)
    }
}

impl CustomizedPasswordHasher<PasswordHash> for Hashing {
    type Params = Params;

    fn hash_password_customized(
        &self,
        password: &[u8],
        salt: &[u8],
        algorithm: Option<&str>,
        version: Option<u32>,
        params: Params,
    ) -> password_hash::Result<PasswordHash> {
        let algorithm = algorithm.map(Algorithm::try_from).transpose()?;
        let version = version.map(Version::try_from).transpose()?;
        let others = (
            algorithm.unwrap_or_default(),
            version.unwrap_or_default(),
            params,
        );
        self.hash(others, password, salt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argon2::password_hash::PasswordVerifier as _;

    #[test]
    fn kept_memory_gives_the_same_hashes() {
        let params = |memory| Params::new(memory, 2, 1, None).unwrap();
        let plain = |memory| Argon2::new(Algorithm::Argon2id, Version::V0x13, params(memory));
        let hashing = Hashing::new(plain(64));
        let salt = b"sixteen bytes it";
        for password in [&b"one"[..], b"two", b"one"] {
            let expected = plain(64).hash_password_with_salt(password, salt).unwrap();
            let kept = hashing.hash_password_with_salt(password, salt).unwrap();
            assert_eq!(expected.to_string(), kept.to_string());
        }
        // Others' parameters, larger and smaller, with the same memory.
        for memory in [32, 64, 256] {
            let foreign = plain(memory)
                .hash_password_with_salt(b"three", salt)
                .unwrap();
            assert!(
                hashing.verify_password(b"three", &foreign).is_ok(),
                "{memory}"
            );
            assert!(
                hashing.verify_password(b"four", &foreign).is_err(),
                "{memory}"
            );
        }
        let kept = hashing.free.lock().unwrap();
        assert_eq!(kept.iter().map(Vec::len).collect::<Vec<_>>(), [64]);
    }
}
