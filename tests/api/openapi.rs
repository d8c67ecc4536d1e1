//! The description of the API, and the pages to read it.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use crate::admin::administrator;
use crate::support::{CLEANUP_KEY, Reply, SERVICE_KEY, TestApp, process, tools};

async fn description(app: &TestApp) -> Value {
    let reply = Reply::of(app.request(Method::GET, "/api/v1/openapi.json")).await;
    assert_eq!(reply.status, 200);
    reply.json()
}

/// Paths with their methods, as the page of routes has them.
fn routed() -> BTreeSet<String> {
    let source = concat!(
        include_str!("../../src/routes/mod.rs"),
        include_str!("../../src/routes/v1/admin/mod.rs")
    );
    let mut scope = "";
    let mut found = BTreeSet::new();
    for line in source.lines() {
        if let Some((_, rest)) = line.split_once("web::scope(\"") {
            scope = rest.split('"').next().unwrap();
        }
        let Some((_, rest)) = line.split_once("at(\"") else {
            continue;
        };
        let quoted: Vec<&str> = rest.split('"').step_by(2).collect();
        for method in quoted[1].split(", ") {
            found.insert(format!("{method} {scope}{}", quoted[0]));
        }
    }
    found
}

#[tokio::test]
async fn every_route_is_described_and_nothing_else() {
    let app = TestApp::start().await;
    let mut described: BTreeSet<String> = description(&app).await["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(path, _)| !path.ends_with("/verify"))
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    // The description does not describe itself.
    let mut routed = routed();
    routed.retain(|route| !route.contains("/docs") && !route.contains("/openapi.json"));
    // HEAD is answered wherever GET is.
    let is_head = |route: &String| route.starts_with("HEAD ");
    routed.retain(|route| !is_head(route));
    described.retain(|route| !is_head(route));
    assert!(routed.len() > 20, "{routed:?}");
    assert_eq!(
        described, routed,
        "annotate the handler, and list it in src/routes/openapi.rs"
    );
}

#[tokio::test]
async fn the_program_prints_what_the_service_serves_without_any_setting() {
    let app = TestApp::start().await;
    let printed = process::run_bare(&[], &["openapi"]);
    assert!(printed.status.success());
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(printed, description(&app).await);
    assert!(printed["openapi"].as_str().unwrap().starts_with("3.1."));
    let schemes = printed["components"]["securitySchemes"]
        .as_object()
        .unwrap();
    for (path, item) in printed["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let place = format!("{method} {path}");
            let responses = operation["responses"].as_object().unwrap();
            assert!(
                responses.keys().any(|status| status.starts_with('2')),
                "{place}"
            );
            assert!(
                responses.contains_key("500") || path.starts_with("/health/live"),
                "{place}"
            );
            for response in responses.values() {
                assert!(response["headers"]["X-Request-Id"].is_object(), "{place}");
            }
            for alternative in operation["security"].as_array().into_iter().flatten() {
                for scheme in alternative.as_object().unwrap().keys() {
                    assert!(schemes.contains_key(scheme), "{place}: {scheme}");
                }
            }
        }
    }
}

#[tokio::test]
async fn the_cookie_has_its_configured_name() {
    let app = TestApp::start_with(&[("SESSION_COOKIE_NAME", "__Host-gate")]).await;
    let cookie = &description(&app).await["components"]["securitySchemes"]["cookie"];
    assert_eq!(cookie["name"], "__Host-gate");
}

#[tokio::test]
async fn the_pages_need_nothing_from_elsewhere() {
    let app = TestApp::start().await;
    let get = |path: String| Reply::of(app.request(Method::GET, &path));
    // Followed to where the pages are.
    let index = get("/api/v1/docs".to_owned()).await;
    assert_eq!(index.status, 200);
    let policy = index.header("content-security-policy").unwrap();
    assert!(
        policy.contains("default-src 'none';") && policy.contains("script-src 'self';"),
        "{policy}"
    );
    let mut files: Vec<&str> = Vec::new();
    for attribute in ["src=\"", "href=\""] {
        files.extend(
            index
                .body
                .split(attribute)
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap()),
        );
    }
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        assert!(!file.contains("//"), "{file}");
        let reply = get(format!("/api/v1/docs/{}", file.trim_start_matches("./"))).await;
        assert_eq!(reply.status, 200, "{file}");
    }
    // The policy permits no script in the page itself.
    assert!(!index.body.contains("<script>"), "{}", index.body);
    let initializer = get("/api/v1/docs/swagger-initializer.js".to_owned())
        .await
        .body;
    assert!(
        initializer.contains("\"/api/v1/openapi.json\""),
        "{initializer}"
    );
    for unknown in ["nothing.js", "../../etc/passwd", "%2e%2e/Cargo.toml"] {
        let reply = get(format!("/api/v1/docs/{unknown}")).await;
        assert_eq!(reply.refusal(), (404, "not_found".to_owned()), "{unknown}");
    }
    let api = get("/api/v1/auth/session".to_owned()).await;
    let policy = api.header("content-security-policy").unwrap();
    assert!(!policy.contains("'self'"), "{policy}");
}

/// Generated requests: no failure, no status, header or body that is not described. What a schema
/// cannot say (a common password, a label of control characters) is refused with 422 all the same,
/// so the demand that whatever fits the schema be accepted is left out.
#[tokio::test]
async fn schemathesis_finds_nothing_undescribed() {
    let Some(schemathesis) = tools::python_program("schemathesis") else {
        return;
    };
    let unthrottled = [
        ("LOGIN_THROTTLE_FAILURES", "0"),
        ("LOGIN_THROTTLE_ADDRESS_FAILURES", "0"),
    ];
    let app = TestApp::start_with(&unthrottled).await;
    let (ada, bob) = (
        app.sign_up("ada@example.com").await,
        app.sign_up("bob@example.com").await,
    );
    assert!(ada < bob);
    let session = format!(
        "Authorization: Bearer {}",
        app.login("bob@example.com").await
    );
    let (service, cleanup) = (
        format!("X-API-Key: {SERVICE_KEY}"),
        format!("X-API-Key: {CLEANUP_KEY}"),
    );
    let root = administrator(&app).await.1;
    let root = format!("Authorization: Bearer {root}");
    // What ends the session would leave the others nothing but 401s to try.
    let runs = [
        (Some(&root), "/api/v1/admin/"),
        (Some(&session), "/session$|/sessions$|session_events|verify"),
        (Some(&cleanup), "cleanup_sessions"),
        (Some(&service), "introspect|revoke$|issue$|/users/"),
        (None, "."),
    ];
    let directory = tempfile::tempdir().unwrap();
    for (header, paths) in runs {
        let mut command = tokio::process::Command::new(&schemathesis);
        command
            .current_dir(directory.path())
            .args(["run", &app.url("/api/v1/openapi.json")])
            .args([
                "--checks",
                "all",
                "--exclude-checks",
                "positive_data_acceptance",
            ])
            .args(["--max-examples", "25", "--seed", "1", "--no-color"])
            .args(["--include-path-regex", paths]);
        if let Some(header) = header {
            command.args(["--header", header]);
        }
        let output = command.output().await.unwrap();
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{paths}\n{report}");
        println!(
            "schemathesis, {paths}: {}",
            report.lines().rev().nth(4).unwrap_or_default()
        );
    }
    assert_eq!(
        app.get("session", session.split(' ').nth(2).unwrap())
            .await
            .status,
        200
    );
}

/// Adds what a part of the description refers to.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.push(reference);
            }
            fields.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[tokio::test]
async fn whatever_the_description_refers_to_is_in_it() {
    let app = TestApp::start().await;
    let description = description(&app).await;
    let mut found = Vec::new();
    references(&description, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for reference in found {
        let place = reference.strip_prefix('#').expect("a place in it");
        assert!(description.pointer(place).is_some(), "{reference}");
    }
    let users = &description["paths"]["/api/v1/admin/users"]["get"]["parameters"];
    for parameter in users.as_array().unwrap() {
        assert_eq!(parameter["required"], false, "{parameter}");
        let kinds = parameter["schema"]["type"].to_string();
        assert!(kinds.contains("\"string\""), "{parameter}");
    }
}
