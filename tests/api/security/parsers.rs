//! Whatever comes in, what reads it answers.

use std::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;
use sekisho::domain::credentials::{Email, Password, PasswordPolicy};
use sekisho::domain::text::display_text;
use sekisho::domain::token::SessionToken;
use sekisho::domain::{address, device};

use super::requests::cases;

/// Bytes with the characters that mean something to one of the parsers.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let meaningful = proptest::sample::select(&b" ,;:=%[]()/\"\\.@+-_\t\0\r\n\x1b\x7f\x80\xff"[..]);
    vec(prop_oneof![any::<u8>(), 32u8..127, meaningful], 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(2_000)) })]

    #[test]
    fn user_agents_give_a_printable_short_label_or_none(agent in bytes(), likely in any::<bool>()) {
        let agent = if likely { [b"Mozilla/5.0 (", &agent[..]].concat() } else { agent };
        if let Some(label) = device::label(&agent) {
            prop_assert!((1..=64).contains(&label.chars().count()), "{label:?}");
            prop_assert!(display_text(&label, 64).is_ok(), "{label:?}");
        }
    }

    #[test]
    fn tokens_are_43_characters_of_the_alphabet(text in "\\PC{0,60}|[A-Za-z0-9_-]{40,46}") {
        let is_token = text.len() == 43 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        prop_assert_eq!(SessionToken::parse(&text).is_some(), is_token);
    }

    #[test]
    fn forwarded_headers_give_a_hop_that_is_not_trusted(values in vec(bytes(), 0..4), peer in any::<[u8; 4]>()) {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let peer = IpAddr::from(peer);
        let found = address::client(Some(peer), values.iter().map(Vec::as_slice), &trusted);
        if !trusted[0].contains(peer) {
            prop_assert_eq!(found, Some(peer));
        }
    }

    #[test]
    fn e_mails_are_normalised_for_good(text in "\\PC{0,40}@\\PC{0,40}|[a-zA-Z\"\\.+ \u{130}\u{212A}ßΣ]{1,20}@[a-z.-]{1,20}") {
        if let Ok(email) = Email::parse(&text) {
            let again = Email::parse(email.as_str());
            prop_assert!(again.as_ref().is_ok_and(|again| *again == email), "{text:?} {:?}", email.as_str());
        }
    }

    #[test]
    fn passwords_are_judged(text in "\\PC{0,140}", words in vec("\\PC{0,12}", 0..3)) {
        let policy = PasswordPolicy { min_length: 8, max_length: 128, context_words: words };
        let email = Email::parse("ada@example.com").ok();
        let length = text.chars().count();
        let judged = policy.check(&Password::new(text), email.as_ref());
        prop_assert!(judged.is_err() || (8..=128).contains(&length));
    }
}
