//! The layers: routes → services → repositories, and nothing points upward. Read from the sources'
//! own paths, `use` lines and inline ones alike.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::{Path, PathBuf};

/// What each part of the crate may name of the others. A part may always name itself; `main`,
/// `lib`, `app` and `cli` stand above all.
const MAY_USE: [(&str, &[&str]); 9] = [
    ("domain", &[]),
    ("schema", &[]),
    ("config", &["domain"]),
    ("telemetry", &["config", "domain"]),
    ("metrics", &["config", "domain", "telemetry"]),
    ("db", &["config", "metrics"]),
    ("repositories", &["schema", "domain"]),
    (
        "services",
        &[
            "repositories",
            "domain",
            "db",
            "context",
            "config",
            "telemetry",
            "metrics",
        ],
    ),
    (
        "routes",
        &[
            "services",
            "domain",
            "context",
            "config",
            "telemetry",
            "metrics",
        ],
    ),
];

/// What the shared state is made of. It stands beside the services: it holds the hasher, and the
/// queries that concurrent requests share.
const CONTEXT_MAY_USE: [&str; 6] = [
    "config",
    "db",
    "domain",
    "metrics",
    "repositories",
    "services::passwords",
];

/// Where types of the web framework may be named: a folder, or a file.
const WEB: [&str; 4] = ["routes/", "app.rs", "main.rs", "db/run.rs"];

const ABOVE: [&str; 4] = ["main", "lib", "app", "cli"];

/// Every source file, with its path under `src`.
fn sources() -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, root: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root).unwrap().to_owned(), text));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    collect(&root, &root, &mut found);
    found.sort();
    found
}

/// The modules that a file is in: `services/auth/mod.rs` is `services`, `auth`.
fn module_path(file: &Path) -> Vec<String> {
    let mut names: Vec<String> = file
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

/// The text without its comments.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| match line.find("//") {
        // An address in a text literal is no comment.
        Some(at) if !line[..at].ends_with(':') => &line[..at],
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths of a tree as `use` has them: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim_start();
    if let Some(list) = tree.strip_prefix('{') {
        let (mut depth, mut start) = (0, 0);
        for (at, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    if !list[start..at].trim().is_empty() {
                        expand(prefix, &list[start..at], paths);
                    }
                    if c == '}' {
                        return;
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let name: String = tree
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    if name.is_empty() {
        return;
    }
    let path = match prefix {
        "" => name.clone(),
        _ => format!("{prefix}::{name}"),
    };
    match tree[name.len()..].strip_prefix("::") {
        Some(rest) => expand(&path, rest, paths),
        None => paths.push(path),
    }
}

/// The paths from the crate's root that a file names.
fn paths_from_root(module: &[String], text: &str) -> Vec<String> {
    let text = without_comments(text);
    let mut paths = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let before = text[..at].trim_end();
        // `pub(in crate::…)` names itself.
        if !before.ends_with("(in") {
            expand("", &text[at + "crate::".len()..], &mut paths);
        }
    }
    // Enough `super::` lead to the root as well.
    let root = "super::".repeat(module.len());
    for (at, _) in text.match_indices(&root) {
        if !root.is_empty() && !text[..at].ends_with("super::") {
            let rest = text[at..].trim_start_matches("super::");
            let mut found = Vec::new();
            expand("", rest, &mut found);
            // Deeper inside, in a `mod` of the file's own, it is a name of this layer.
            let is_layer = |path: &String| {
                let first = path.split("::").next().unwrap_or_default();
                first == "context" || MAY_USE.iter().any(|(name, _)| *name == first)
            };
            paths.extend(found.into_iter().filter(is_layer));
        }
    }
    paths
}

/// What a file names though it may not.
fn violations(file: &Path, text: &str) -> Vec<String> {
    let module = module_path(file);
    let own = module[0].as_str();
    let mut found = Vec::new();
    let is_web = WEB
        .iter()
        .any(|place| file.starts_with(place.trim_end_matches('/')));
    let code = without_comments(text);
    if !is_web
        && ["actix_web::", "actix_cors::", "actix_rt::", "actix_http::"]
            .iter()
            .any(|name| code.contains(name))
    {
        found.push(format!("{} names the web framework", file.display()));
    }
    if ABOVE.contains(&own) {
        return found;
    }
    let allowed: &[&str] = match MAY_USE.iter().find(|(name, _)| *name == own) {
        Some((_, allowed)) => allowed,
        None if own == "context" => &CONTEXT_MAY_USE,
        None => {
            found.push(format!("{} is in no known layer", file.display()));
            return found;
        }
    };
    for path in paths_from_root(&module, text) {
        let is_allowed = |name: &&str| {
            path == *name
                || path
                    .strip_prefix(*name)
                    .is_some_and(|rest| rest.starts_with("::"))
        };
        if !is_allowed(&own) && !allowed.iter().any(is_allowed) {
            found.push(format!("{} names {path}", file.display()));
        }
    }
    found
}

#[test]
fn nothing_points_upward() {
    let sources = sources();
    assert!(sources.len() > 50, "the sources were not found");
    let found: Vec<String> = sources
        .iter()
        .flat_map(|(file, text)| violations(file, text))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_test_sees_what_it_is_for() {
    let found = |file: &str, text: &str| violations(Path::new(file), text).len();
    assert_eq!(found("repositories/x.rs", "use crate::services::auth;"), 1);
    assert_eq!(
        found("repositories/x.rs", "use crate::{domain::x, db::run};"),
        1
    );
    assert_eq!(
        found(
            "domain/x/y.rs",
            "use crate::{\n  config::{A, B},\n  domain::x,\n};"
        ),
        2
    );
    assert_eq!(
        found(
            "routes/x.rs",
            "let user = crate::repositories::users::find();"
        ),
        1
    );
    assert_eq!(
        found(
            "routes/v1/x.rs",
            "use super::super::super::repositories::users;"
        ),
        1
    );
    assert_eq!(
        found("routes/v1/x.rs", "use super::super::{error, cookie};"),
        0
    );
    assert_eq!(
        found("services/x.rs", "use crate::routes::error::ApiError;"),
        1
    );
    assert_eq!(found("services/x.rs", "use actix_web::HttpRequest;"), 1);
    assert_eq!(found("db/run.rs", "use actix_web::web;"), 0);
    assert_eq!(found("db/pool.rs", "use actix_web::web;"), 1);
    assert_eq!(found("context.rs", "use crate::services::auth;"), 1);
    assert_eq!(
        found("context.rs", "use crate::services::passwords::Hasher;"),
        0
    );
    assert_eq!(
        found(
            "domain/x.rs",
            "//! See [`crate::services`].\nuse crate::domain::y;"
        ),
        0
    );
    assert_eq!(found("new_thing.rs", ""), 1);
}
