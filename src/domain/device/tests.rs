use proptest::prelude::*;

use super::*;
use crate::domain::text::{MAX_LABEL_CHARS, display_text};

const TABLE: &str = include_str!("../../../tests/data/user_agents.tsv");

/// Label and header of each line; comments and empty lines are for readers.
fn table() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| match line.split_once('\t') {
            Some((label, user_agent)) if !user_agent.contains('\t') => (label, user_agent),
            _ => panic!("not label<TAB>user agent: {line}"),
        })
}

#[test]
fn the_embedded_patterns_can_be_compiled() {
    prepare();
    assert!(patterns::is_usable());
}

#[test]
fn real_user_agents() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for (expected, user_agent) in table() {
        count += 1;
        let found = label(user_agent.as_bytes());
        if found.as_deref() != Some(expected).filter(|label| *label != "-") {
            wrong.push(format!(
                "expected {expected}, found {found:?}: {user_agent}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(count >= 75, "{count} lines");
}

#[test]
fn labels_have_no_versions() {
    for (_, user_agent) in table() {
        let label = label(user_agent.as_bytes()).unwrap_or_default();
        let has_version = label
            .as_bytes()
            .windows(3)
            .any(|part| part[0].is_ascii_digit() && part[1] == b'.' && part[2].is_ascii_digit());
        assert!(
            !has_version && !label.contains('/'),
            "{label}: {user_agent}"
        );
    }
}

#[test]
fn nothing_to_name() {
    for user_agent in [
        "",
        " ",
        "\t \u{a0}\r\n",
        "-",
        "/",
        "1.0",
        "()",
        "Mozilla",
        "Mozilla/5.0",
        "Mozilla/5.0 ()",
        "%",
        "%20",
        "%2",
    ] {
        assert_eq!(label(user_agent.as_bytes()), None, "{user_agent:?}");
    }
    assert_eq!(label(&[0x80; 5000]), None, "continuation bytes only");
    assert_eq!(label(&[0xff; 5000]), None, "never valid in UTF-8");
    assert_eq!(label(&[0; 5000]), None, "NUL only");
}

#[test]
fn long_headers_are_cut() {
    let mut long =
        b"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:146.0) Gecko/20100101 Firefox/146.0 "
            .to_vec();
    long.resize(100 * 1024, b'a');
    assert_eq!(label(&long).as_deref(), Some("Firefox on Windows"));

    let name = "x".repeat(100 * 1024);
    assert_eq!(label(name.as_bytes()), Some("x".repeat(MAX_NAME_CHARS)));

    // Each of the three offsets at which the limit can fall into a character of three bytes.
    for shift in 0..3 {
        let name = format!("{}{}", "x".repeat(shift), "あ".repeat(2000));
        let decoded = text::decode(name.as_bytes(), MAX_INPUT_BYTES);
        assert!(
            name.starts_with(&*decoded) && decoded.len() > MAX_INPUT_BYTES - 3,
            "{}",
            decoded.len()
        );
    }
}

#[test]
fn invalid_utf8_does_not_matter() {
    assert_eq!(
        label(b"MyApp\xff/1.0 (iPhone; iOS 18.1)").as_deref(),
        Some("MyApp on iPhone")
    );
    assert_eq!(
        label(b"\xc3\x28MyApp/1.0").as_deref(),
        None,
        "a name ends at a parenthesis"
    );
    assert_eq!(
        label("Café\u{301}App/1".as_bytes()).as_deref(),
        Some("Café\u{301}App")
    );
    assert_eq!(
        label(b"Caf%C3%A9%FF/2 CFNetwork/1410.1 Darwin/22.6.0").as_deref(),
        Some("Café")
    );
}

#[test]
fn nothing_invisible_gets_into_a_label() {
    let hostile = "My\u{0}\u{7}A\u{9b}p\u{202e}p\u{200b}\u{2066}\u{feff}\u{e0041}\u{ad}/1.0 (Linux; Android 14)";
    assert_eq!(
        label(hostile.as_bytes()).as_deref(),
        Some("MyApp on Android")
    );
    assert_eq!(
        label(b"My%00App%0D%0A%E2%80%AE/1").as_deref(),
        Some("MyApp")
    );
    assert_eq!(label(b"My\t  App/1").as_deref(), Some("My App"));
}

#[test]
fn versions_end_a_name() {
    for (user_agent, expected) in [
        ("MyApp", "MyApp"),
        ("MyApp/2.1 (iPhone; iOS 18.1)", "MyApp on iPhone"),
        (
            "MyApp/2.1 Mozilla/5.0 (Linux; Android 14)",
            "MyApp on Android",
        ),
        ("MyApp Mozilla/5.0 (Windows NT 10.0)", "MyApp on Windows"),
        ("My App v2 (macOS 15.1)", "My App on macOS"),
        (
            "Microsoft Office/16.0 (Windows NT 10.0)",
            "Microsoft Office on Windows",
        ),
        ("1Password/8.10.50", "1Password"),
        (
            "Mozilla/5.0 (compatible; Some Bot 1.2; +http://example.com)",
            "Some Bot",
        ),
    ] {
        assert_eq!(
            label(user_agent.as_bytes()).as_deref(),
            Some(expected),
            "{user_agent}"
        );
    }
}

#[test]
fn delimiters_end_a_name() {
    assert_eq!(label(b"<script>alert(1)</script>"), None);
    assert_eq!(label(b"App<b>bold</b>/1").as_deref(), Some("App"));
    assert_eq!(
        label(b"%3Cb%3EApp%3C%2Fb%3E/1 CFNetwork/1410.1 Darwin/22.6.0").as_deref(),
        Some("b App b")
    );
    assert_eq!(label(b"\"App\"/1"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_give_a_sound_label(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        check(&bytes)?;
    }

    #[test]
    fn any_text_gives_a_sound_label(text in "\\PC{0,300}|(.|\\n){0,300}") {
        check(text.as_bytes())?;
    }

    /// Parts of real headers in any order, with anything between them: these reach the patterns.
    #[test]
    fn mangled_headers_give_a_sound_label(
        parts in proptest::collection::vec((proptest::sample::select(words()), ".{0,6}"), 0..30),
        start in proptest::sample::select(vec!["", "Mozilla/5.0 ", "Dalvik/2.1.0 "]),
    ) {
        let mut header = start.to_owned();
        for (word, between) in parts {
            header.push_str(word);
            header.push_str(&between);
        }
        check(header.as_bytes())?;
    }
}

fn words() -> Vec<&'static str> {
    table()
        .flat_map(|(_, user_agent)| user_agent.split_inclusive([' ', ';', '/', '(', ')']))
        .collect()
}

fn check(header: &[u8]) -> Result<(), TestCaseError> {
    if let Some(label) = label(header) {
        prop_assert!(label.chars().count() <= 64, "{label:?}");
        prop_assert!(label.contains(char::is_alphabetic), "{label:?}");
        prop_assert!(!label.contains(char::is_control), "{label:?}");
        let bidirectional = ['\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}'];
        prop_assert!(!label.contains(bidirectional), "{label:?}");
        prop_assert!(
            !label.contains(['\u{200b}', '\u{feff}', '\u{fffd}']),
            "{label:?}"
        );
        prop_assert!(!label.contains("  "), "{label:?}");
        // The rule for labels that callers send holds for ours as well.
        prop_assert_eq!(display_text(&label, MAX_LABEL_CHARS), Ok(label.clone()));
    }
    Ok(())
}
