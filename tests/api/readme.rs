//! The README's first session, run as it stands there; and that its tables are whole.

use std::process::Command;

use crate::envelope::PATHS;
use crate::support::{CLEANUP_KEY, TestApp};

const README: &str = include_str!("../../README.md");

/// The text of a section, by its heading.
fn section(heading: &str) -> &'static str {
    let (_, rest) = README
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("the README has no section {heading}"));
    rest.split("\n## ").next().unwrap()
}

/// Its commands.
fn commands(section: &str) -> String {
    let blocks: Vec<&str> = section
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() >= 4);
    blocks.join("\n")
}

#[tokio::test]
async fn the_first_session_of_the_readme_works_as_it_stands_there() {
    // As script/run serves: over plain HTTP.
    let app = TestApp::start_with(&[
        ("SESSION_COOKIE_NAME", "session_id"),
        ("SESSION_COOKIE_SECURE", "false"),
    ])
    .await;
    let directory = tempfile::tempdir().unwrap();
    let private = directory.path().join(".private");
    std::fs::create_dir(&private).unwrap();
    let keys = format!("SESSION_CLEANUP_API_KEY={CLEANUP_KEY}\n");
    std::fs::write(private.join("dev.env"), keys).unwrap();
    let there = "http://127.0.0.1:8080";
    let commands = commands(section("First session"));
    assert!(commands.contains(there));
    let commands = commands.replace(there, &app.url(""));
    // Each answer on a line, and its status on the next.
    let script = format!(
        "set -euo pipefail\ncurl() {{ command curl -sS --noproxy '*' -w '\\n%{{http_code}}\\n' \"$@\"; }}\n{commands}"
    );
    let run = move || {
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(directory.path());
        bash.output().expect("bash")
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let (said, complained) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{said}{complained}: script/test installs curl where it is missing"
    );
    let answers: Vec<(&str, &str)> = said
        .lines()
        .collect::<Vec<_>>()
        .chunks(2)
        .map(|pair| (pair[1], pair[0]))
        .collect();
    let expected = [
        ("201", r#""email":"ada@example.com""#),
        ("200", r#""current":true"#),
        ("200", r#""remember_me":false"#),
        ("200", r#""device_label":"My phone""#),
        ("200", r#"},{"#),
        ("200", r#""revoked_count":1"#),
        ("401", r#""reason":"device_revoked""#),
        ("200", r#""revoked_count":1"#),
        ("401", r#""reason":"logout_all""#),
        ("200", r#""current":true"#),
        ("200", r#""kind":"session_revoked""#),
        ("200", r#""revoked_count":1"#),
        ("200", r#""cleaned_count":0"#),
    ];
    assert_eq!(answers.len(), expected.len(), "{said}");
    for ((status, body), (right, holds)) in answers.iter().zip(expected) {
        assert!(*status == right && body.contains(holds), "{status} {body}");
    }
    assert_eq!(app.db.count("sessions"), 3);
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 0);
}

/// What script/run prints to try next is a part of it.
#[test]
fn script_run_says_the_same() {
    let script = include_str!("../../script/run");
    let printed: Vec<String> = script
        .lines()
        .filter_map(|line| line.strip_prefix("  curl "))
        .map(|rest| {
            rest.replace("$api/", "$API/")
                .replace("'Content-Type: application/json'", "\"$JSON\"")
        })
        .map(|rest| rest.replace("$key", "$KEY"))
        .collect();
    assert!(printed.len() >= 4, "{printed:?}");
    for command in printed {
        let line = format!("\ncurl {command}\n");
        assert!(section("First session").contains(&line), "{line}");
    }
}

#[test]
fn every_path_is_in_the_readme() {
    for (path, methods) in PATHS {
        let name = path.trim_start_matches("/api/v1/auth/");
        let name = match name.split_once('/') {
            Some(("sessions", _)) => "sessions/{id}",
            _ => name,
        };
        for method in methods.iter().filter(|method| **method != "HEAD") {
            assert!(
                section("API").contains(&format!("`{method} {name}`")),
                "{method} {name}"
            );
        }
    }
}

#[test]
fn every_error_code_is_in_the_readme_and_in_the_description() {
    let source = include_str!("../../src/routes/error.rs");
    let codes: Vec<&str> = source
        .split("(StatusCode::")
        .skip(1)
        .filter_map(|rest| rest.split_once(')')?.0.split('"').nth(1))
        .collect();
    assert!(codes.len() > 20, "{codes:?}");
    for code in codes {
        assert!(
            section("Errors").contains(&format!("| `{code}` |")),
            "{code}"
        );
        let described = include_str!("../../src/routes/openapi.rs");
        assert!(described.contains(&format!("(\"{code}\", ")), "{code}");
    }
}
