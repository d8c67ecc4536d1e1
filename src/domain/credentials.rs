//! E-mails and passwords as people send them.

use super::common_passwords;
use super::problem::Problem;
use super::text::is_unprintable;

/// Characters that an e-mail may have (RFC 5321 path, less the angle brackets).
pub const MAX_EMAIL_CHARS: usize = 254;

/// A well-formed e-mail in lower case.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Email(String);

impl Email {
    /// Parses and normalises.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let text = text.trim();
        // Two accounts must not look the same.
        if text.chars().any(is_unprintable) {
            return Err(Problem::Unprintable);
        }
        if text.chars().count() > MAX_EMAIL_CHARS {
            return Err(Problem::TooLong(MAX_EMAIL_CHARS));
        }
        let options = email_address::Options::default()
            .without_display_text()
            .without_domain_literal();
        match email_address::EmailAddress::parse_with_options(text, options) {
            // Letter by letter: the final sigma depends on what stands around it.
            Ok(_) => Ok(Self(text.chars().flat_map(char::to_lowercase).collect())),
            Err(_not_an_address) => Err(Problem::NotAnEmail),
        }
    }

    /// The address in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Email {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Email(…)")
    }
}

/// A password in clear, as it was sent: never trimmed, printed or stored.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// Takes the password verbatim.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The bytes to hash.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(…)")
    }
}

/// What a new password must be.
#[derive(Debug, Clone)]
pub struct PasswordPolicy {
    /// Least number of code points.
    pub min_length: usize,
    /// Greatest number of code points.
    pub max_length: usize,
    /// Words that say where the password is used, in lower case.
    pub context_words: Vec<String>,
}

/// Why a new password was refused, in a form that a sign-up page can show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordRejection {
    /// Fewer code points than this.
    TooShort(usize),
    /// More code points than this.
    TooLong(usize),
    /// Holds NUL.
    Nul,
    /// On the list of common passwords.
    Common,
    /// Little more than the service's name or the e-mail.
    Context,
}

impl PasswordRejection {
    /// Stable word for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooShort(_) => "too_short",
            Self::TooLong(_) => "too_long",
            Self::Nul => "not_permitted",
            Self::Common => "common",
            Self::Context => "guessable",
        }
    }

    /// Sentence for people.
    pub fn message(&self) -> String {
        match self {
            Self::TooShort(min) => format!("The password must have at least {min} characters."),
            Self::TooLong(max) => format!("The password must have at most {max} characters."),
            Self::Nul => "The password must not hold the NUL character.".to_owned(),
            Self::Common => {
                "This password is on lists of common passwords. Choose another.".to_owned()
            }
            Self::Context => {
                "The password is too close to the e-mail or the service's name. Choose another."
                    .to_owned()
            }
        }
    }
}

impl PasswordPolicy {
    /// Judges a new password. There are no composition rules: length and rarity are what counts
    /// (NIST SP 800-63B-4, 3.1.1.2).
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check(
        &self,
        password: &Password,
        email: Option<&Email>,
    ) -> Result<(), PasswordRejection> {
        let text = password.0.as_str();
        let length = text.chars().count();
        if text.contains('\0') {
            return Err(PasswordRejection::Nul);
        }
        if length < self.min_length {
            return Err(PasswordRejection::TooShort(self.min_length));
        }
        if length > self.max_length {
            return Err(PasswordRejection::TooLong(self.max_length));
        }
        if common_passwords::is_common(text) {
            return Err(PasswordRejection::Common);
        }
        if self.is_context(text, email) {
            return Err(PasswordRejection::Context);
        }
        Ok(())
    }

    /// Whether little is left of the password without the context words and the parts of the e-mail.
    fn is_context(&self, text: &str, email: Option<&Email>) -> bool {
        let email = email.map(Email::as_str).unwrap_or_default();
        let of_email = email.split(['@', '.', '+', '-', '_']).chain([email]);
        let mut words: Vec<&str> = self
            .context_words
            .iter()
            .map(String::as_str)
            .chain(of_email)
            .filter(|word| word.chars().count() >= MIN_WORD)
            .collect();
        // Longest first: a part must not spoil the whole.
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let text = text.to_lowercase();
        let rest = words
            .iter()
            .fold(text.clone(), |rest, word| rest.replace(word, ""));
        rest != text && rest.chars().count() <= MAX_REST
    }
}

/// Least length of a word that counts: shorter ones are parts of many others.
const MIN_WORD: usize = 3;
/// What may be added to such words and still be guessed, such as a year.
const MAX_REST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(password: &str) -> Result<(), PasswordRejection> {
        let policy = PasswordPolicy {
            min_length: 8,
            max_length: 128,
            context_words: vec!["sekisho".to_owned()],
        };
        policy.check(
            &Password::new(password.to_owned()),
            Email::parse("Mallory.Example@mail.test").ok().as_ref(),
        )
    }

    #[test]
    fn length_counts_code_points() {
        assert_eq!(check("séveñ-7"), Err(PasswordRejection::TooShort(8)));
        assert_eq!(check("関所手形を見せよ"), Ok(()));
        assert_eq!(check(&"aé".repeat(64)), Ok(()));
        assert_eq!(
            check(&format!("{}x", "aé".repeat(64))),
            Err(PasswordRejection::TooLong(128))
        );
    }

    #[test]
    fn guessable_passwords_are_refused_with_the_reason() {
        assert_eq!(check("password1"), Err(PasswordRejection::Common));
        assert_eq!(check("Sekisho123"), Err(PasswordRejection::Context));
        assert_eq!(
            check("mallory.example@mail.test"),
            Err(PasswordRejection::Context)
        );
        assert_eq!(check("mallory-77"), Err(PasswordRejection::Context));
        for bare in [
            "sekishosekisho",
            "SEKISHO2026",
            "mail.test",
            "mallory@example",
            "exampleexample",
            "mallory-mallory!",
        ] {
            assert_eq!(check(bare), Err(PasswordRejection::Context), "{bare}");
        }
        assert_eq!(check("sekisho at the mountain pass"), Ok(()));
        assert_eq!(check("mallory rides a green bicycle"), Ok(()));
        assert_eq!(check("  spaces count  "), Ok(()));
        assert_eq!(check("nul\0nul\0nul"), Err(PasswordRejection::Nul));
    }

    #[test]
    fn emails_are_normalised_and_checked() {
        assert_eq!(
            Email::parse(" Alice@Example.COM ").unwrap().as_str(),
            "alice@example.com"
        );
        let long = format!("{}@example.com", "a".repeat(250));
        for bad in [
            "",
            "alice",
            "alice@",
            "@example.com",
            "a b@example.com",
            "Alice <a@example.com>",
            "a\0@example.com",
            "a\r\n@example.com",
            "\"a\u{1b}\"@example.com",
            "a\u{200b}@example.com",
            "a\u{202e}@example.com",
            &long,
        ] {
            assert!(Email::parse(bad).is_err(), "{bad:?}");
        }
    }
}
