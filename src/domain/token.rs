//! The opaque session token and its hash.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// Characters in a token: 32 bytes in base64url without padding.
pub const TOKEN_LENGTH: usize = 43;

/// A raw session token, as a client presents it.
///
/// It can be neither printed nor serialised by accident; only its hash goes to the database.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionToken(String);

impl SessionToken {
    /// A new token from the operating system's randomness.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// A presented token, if it has the form of one. Nothing is decoded: the hash is taken over
    /// the characters, so that two spellings of the same bytes are two tokens.
    pub fn parse(text: &str) -> Option<Self> {
        let of_alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        (text.len() == TOKEN_LENGTH && text.bytes().all(of_alphabet)).then(|| Self(text.to_owned()))
    }

    /// The hash under which the session is stored.
    pub fn hash(&self) -> SessionHash {
        SessionHash(hex_sha256(self.0.as_bytes()))
    }

    /// The raw token, to be handed to its owner and to nobody else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionToken(…)")
    }
}

/// Lower-case hex SHA-256 of a token: the key of its session.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionHash([u8; 64]);

impl SessionHash {
    /// The 64 hex digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The hash of no token (SHA-256 gives it of none that anybody will ever find).
    pub fn of_nobody() -> Self {
        Self([b'0'; 64])
    }

    /// A stored hash; `None` where the text has another length.
    pub fn from_stored(text: &str) -> Option<Self> {
        text.as_bytes().try_into().ok().map(Self)
    }
}

impl std::fmt::Debug for SessionHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionHash(…)")
    }
}

/// Lower-case hex SHA-256 of any bytes.
pub fn hex_sha256(bytes: &[u8]) -> [u8; 64] {
    let mut hex = [0u8; 64];
    // The buffer has exactly the size of the output, so this cannot fail.
    let _ = base16ct::lower::encode(&Sha256::digest(bytes), &mut hex);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_distinct_and_well_formed() {
        let tokens: std::collections::HashSet<String> = (0..10_000)
            .map(|_| SessionToken::generate().unwrap().expose().to_owned())
            .collect();
        assert_eq!(tokens.len(), 10_000);
        assert!(tokens.iter().all(|t| SessionToken::parse(t).is_some()));
    }

    #[test]
    fn the_hash_is_over_the_characters() {
        let token = SessionToken::parse(&"A".repeat(43)).unwrap();
        // printf 'A%.0s' $(seq 43) | sha256sum
        assert_eq!(
            token.hash().as_str(),
            "0f007385b6f9d4b7eeb2748605afe1a984a0a3bfa3f014d09e2a784ce9e5cd1a"
        );
        // In the last character only four bits count when decoded; the hash sees all six.
        let mut other = "A".repeat(42);
        other.push('B');
        assert_ne!(SessionToken::parse(&other).unwrap().hash(), token.hash());
    }

    #[test]
    fn other_forms_are_no_tokens() {
        let too_short = "A".repeat(42);
        let too_long = "A".repeat(44);
        let padded = format!("{}=", "A".repeat(42));
        let standard_alphabet = format!("{}+", "A".repeat(42));
        let wide = "é".repeat(43);
        for bad in [
            "",
            &too_short,
            &too_long,
            &padded,
            &standard_alphabet,
            &wide,
        ] {
            assert!(SessionToken::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn debug_shows_nothing() {
        let token = SessionToken::generate().unwrap();
        assert!(!format!("{token:?} {:?}", token.hash()).contains(&token.expose()[..6]));
    }
}
