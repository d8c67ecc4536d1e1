//! Passwords that everyone who guesses tries first.
//!
//! `data/common_passwords.txt` is made from Django's list of the most frequent leaked passwords
//! (the one in Django 5.2; see `NOTICE`): lower-cased, entries of fewer than 8 characters left out
//! because a password must have 8 anyway, mis-encoded and HTML-escaped ones left out, sorted by
//! byte.

use std::sync::LazyLock;

static LISTED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    include_str!("../../data/common_passwords.txt")
        .lines()
        .collect()
});

/// The shortest entry of the list, in characters.
const SHORTEST: usize = 8;

/// How many digits and marks at the end are looked through: `password` stays common as
/// `password2027!`. More than these could be a long random number, which is no common password.
const LONGEST_SUFFIX: usize = 6;

/// What runs under the fingers. Runs go round: `90123456` is one.
const ROWS: [&str; 5] = [
    "0123456789",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
];

/// Whether the password is among the first that a guesser tries, in any case (`PassWord` is
/// `password`):
///
/// - it is on the list;
/// - it repeats one character (`aaaaaaaa`) or runs along the digits, the alphabet or a row of keys,
///   forwards or backwards (`23456789`, `hgfedcba`, `qwertyuiop`);
/// - one of these with up to six ASCII digits and punctuation marks after it, where at least 8
///   characters remain (`sunshine1!`).
#[must_use]
pub fn is_common(password: &str) -> bool {
    let password = password.to_lowercase();
    let mut candidate = password.as_str();
    for _ in 0..=LONGEST_SUFFIX {
        if candidate.chars().count() < SHORTEST {
            return false;
        }
        if LISTED.binary_search(&candidate).is_ok() || is_repetition(candidate) || is_run(candidate)
        {
            return true;
        }
        match candidate
            .strip_suffix(|last: char| last.is_ascii_digit() || last.is_ascii_punctuation())
        {
            Some(rest) => candidate = rest,
            None => return false,
        }
    }
    false
}

fn is_repetition(password: &str) -> bool {
    let mut characters = password.chars();
    let first = characters.next();
    characters.all(|character| Some(character) == first)
}

fn is_run(password: &str) -> bool {
    ROWS.iter()
        .any(|row| runs_along(row, password.chars()) || runs_along(row, password.chars().rev()))
}

fn runs_along(row: &str, characters: impl Iterator<Item = char>) -> bool {
    let mut expected = None;
    for character in characters {
        let Some(place) = row.find(character) else {
            return false;
        };
        if expected.is_some_and(|expected| expected != place) {
            return false;
        }
        expected = Some((place + 1) % row.len());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_lower_case_and_long_enough() {
        assert!(LISTED.len() > 8_000, "{} entries", LISTED.len());
        assert!(LISTED.is_sorted(), "binary search needs a sorted list");
        for entry in LISTED.iter() {
            assert_eq!(entry.to_lowercase(), **entry);
            assert_eq!(entry.trim(), *entry);
            assert!(entry.chars().count() >= SHORTEST, "{entry}");
        }
    }

    #[test]
    fn every_entry_is_common_in_any_case_and_with_a_suffix() {
        for entry in LISTED.iter() {
            assert!(is_common(entry), "{entry}");
            assert!(is_common(&entry.to_uppercase()), "{entry}");
            assert!(is_common(&format!("{entry}2027!")), "{entry}");
        }
    }

    #[test]
    fn common() {
        for password in [
            "password",
            "PassWord",
            "password1",
            "Password2027!",
            "sunshine1!",
            "trustno1!!",
            "qwertyuiop",
            "12345678910",
            "aaaaaaaa",
            "AAAAAAAAAAAAAAAAAAAAAA",
            "ああああああああ",
            "!!!!!!!!!!!!!!!!!!",
            "23456789",
            "90123456",
            "9876543210",
            "01234567890123456789",
            "abcdefghij",
            "zyxwvuts",
            "hgfedcba99",
            "lkjhgfdsa",
            "zxcvbnmzxcvbnm",
            "aaaaaaaaa123!",
        ] {
            assert!(is_common(password), "{password}");
        }
    }

    #[test]
    fn not_common() {
        for password in [
            "",
            "aaaa",
            "correct horse battery staple",
            "kafeteria-mond-83",
            "パスワードではない言葉",
            // More digits than a suffix has: a number of its own.
            "password8472910384",
            // Nothing common is left when the suffix is gone.
            "a7294815",
            "abc48201",
            // Common only in front of something else.
            "password for the cellar",
            "aaaaaaab",
            "abcdefgi",
        ] {
            assert!(!is_common(password), "{password}");
        }
    }
}
