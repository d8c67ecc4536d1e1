//! What every answer has in common: the error envelope, and the headers.

use reqwest::Method;
use serde_json::json;

use crate::support::{CLEANUP_KEY, Reply, TestApp};

/// Every path of the API with the methods that it takes.
pub const PATHS: [(&str, &[&str]); 17] = [
    ("/api/v1/auth/sign_up", &["POST"]),
    ("/api/v1/auth/login", &["POST"]),
    ("/api/v1/auth/logout", &["POST"]),
    ("/api/v1/auth/logout_all", &["POST"]),
    ("/api/v1/auth/logout_others", &["POST"]),
    ("/api/v1/auth/session", &["GET", "HEAD"]),
    ("/api/v1/auth/sessions", &["GET", "HEAD"]),
    (
        "/api/v1/auth/sessions/018f0000-0000-7000-8000-000000000000",
        &["PATCH", "DELETE"],
    ),
    ("/api/v1/auth/session_events", &["GET", "HEAD"]),
    ("/api/v1/auth/change_password", &["POST"]),
    ("/api/v1/auth/reauthenticate", &["POST"]),
    ("/api/v1/auth/rotate_session", &["POST"]),
    ("/api/v1/auth/user", &["DELETE"]),
    ("/api/v1/auth/cleanup_sessions", &["POST"]),
    ("/health/live", &["GET", "HEAD"]),
    ("/health/ready", &["GET", "HEAD"]),
    ("/api/v1/auth/verify", &[]),
];

/// Checks the headers that every answer carries.
pub fn assert_common(reply: &Reply) {
    assert_eq!(reply.header("cache-control"), Some("no-store"), "{reply:?}");
    assert_eq!(
        reply.header("x-content-type-options"),
        Some("nosniff"),
        "{reply:?}"
    );
    assert!(
        reply
            .header("x-request-id")
            .is_some_and(|id| !id.is_empty()),
        "{reply:?}"
    );
    if reply.status >= 400 {
        assert_eq!(
            reply.header("content-type"),
            Some("application/json"),
            "{reply:?}"
        );
        reply.code();
    }
    assert_eq!(
        reply.status == 401,
        reply.header("www-authenticate").is_some(),
        "{reply:?}"
    );
}

#[tokio::test]
async fn a_method_that_a_path_does_not_take_is_405_and_says_which_it_does() {
    let app = TestApp::start().await;
    for (path, allowed) in PATHS.into_iter().filter(|(_, allowed)| !allowed.is_empty()) {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
            if allowed.contains(&method) {
                continue;
            }
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let reply = Reply::of(app.request(method, path)).await;
            assert_eq!(
                reply.refusal(),
                (405, "method_not_allowed".to_owned()),
                "{path}"
            );
            assert_eq!(
                reply.header("allow"),
                Some(allowed.join(", ").as_str()),
                "{path}"
            );
            assert_common(&reply);
            assert!(reply.cookies().is_empty());
        }
    }
}

#[tokio::test]
async fn a_path_that_does_not_exist_is_404() {
    let app = TestApp::start().await;
    for path in [
        "/",
        "/api",
        "/api/v1/auth",
        "/api/v1/auth/",
        "/api/v1/auth/nothing",
        "/api/v2/auth/session",
        "/api/v1/auth/sessions/a/b",
        "/api/v1/auth/session/",
        "/%ff",
        "/health",
    ] {
        for method in [Method::GET, Method::POST] {
            let reply = Reply::of(app.request(method, path)).await;
            assert_eq!(reply.refusal(), (404, "not_found".to_owned()), "{path}");
            assert_common(&reply);
        }
    }
}

#[tokio::test]
async fn every_endpoint_answers_nobody_with_the_common_headers() {
    let app = TestApp::start().await;
    for (path, allowed) in PATHS {
        for method in allowed.iter().chain(&["GET"][allowed.len().min(1)..]) {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let is_head = method == Method::HEAD;
            let reply = Reply::of(app.request(method, path)).await;
            assert!(reply.status < 500, "{reply:?}");
            if !is_head {
                assert_common(&reply);
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_by_its_type_is_415() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let body = r#"{"email":"ada@example.com","password":"correct horse battery"}"#;
    let endpoints = [
        (Method::POST, "sign_up"),
        (Method::POST, "login"),
        (Method::POST, "change_password"),
        (Method::POST, "reauthenticate"),
        (Method::DELETE, "user"),
        (
            Method::PATCH,
            "sessions/018f0000-0000-7000-8000-000000000000",
        ),
    ];
    for (method, path) in endpoints {
        for content_type in [
            None,
            Some("text/plain"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data; boundary=x"),
            Some("application/jsonp"),
            Some("text/json"),
        ] {
            let mut request = app
                .auth(method.clone(), path)
                .bearer_auth(&token)
                .body(body);
            if let Some(content_type) = content_type {
                request = request.header("Content-Type", content_type);
            }
            let reply = Reply::of(request).await;
            assert_eq!(
                reply.refusal(),
                (415, "unsupported_media_type".to_owned()),
                "{path} {content_type:?}"
            );
            assert_common(&reply);
            assert!(reply.cookies().is_empty());
        }
    }
    assert_eq!(app.db.count("users"), 1);
    assert_eq!(app.db.count("sessions"), 1);
    // Parameters and case do not matter.
    let request = app.auth(Method::POST, "login").body(body);
    let reply = Reply::of(request.header("Content-Type", "Application/JSON; charset=utf-8")).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413() {
    let app = TestApp::start().await;
    let large = json!({"email": "ada@example.com", "password": "x".repeat(40_000)}).to_string();
    let declared = app
        .auth(Method::POST, "login")
        .header("Content-Type", "application/json")
        .body(large);
    let reply = Reply::of(declared).await;
    assert_eq!(reply.refusal(), (413, "body_too_large".to_owned()));
    assert_common(&reply);
    // Nor does it help not to say how large it is.
    let address = app.address;
    let chunked = tokio::task::spawn_blocking(move || send_chunked(address, 40_000));
    let answer = chunked.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains(r#"{"code":"body_too_large","#), "{answer}");
    assert_eq!(app.db.count("session_events"), 0, "nothing was checked");
}

/// Sends a log-in of unknown length and returns the answer.
fn send_chunked(address: std::net::SocketAddr, length: usize) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = "POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let body = format!("{length:x}\r\n{}\r\n", " ".repeat(length));
    stream.write_all(head.as_bytes()).unwrap();
    // It may be refused before all of it is sent.
    let _ = stream.write_all(body.as_bytes());
    let longest = std::time::Duration::from_secs(30);
    stream.set_read_timeout(Some(longest)).unwrap();
    let mut answer = String::new();
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut part) {
        answer += &String::from_utf8_lossy(&part[..count]);
        if answer.ends_with("\"}") {
            break;
        }
    }
    answer
}

#[tokio::test]
async fn a_request_id_is_echoed_when_it_is_harmless() {
    let app = TestApp::start().await;
    let ask = async |id: &str| {
        let request = app.auth(Method::GET, "session").header("X-Request-Id", id);
        let reply = Reply::of(request).await;
        reply.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(ask("a-b_c.1").await, "a-b_c.1");
    let long = "x".repeat(65);
    for bad in ["", "a b", "a\"b", "<script>", long.as_str()] {
        let given = ask(bad).await;
        assert!(given != bad && given.len() == 32, "{given}");
    }
    assert_ne!(ask("").await, ask("").await);
}

#[tokio::test]
async fn health_says_whether_the_process_and_the_database_answer() {
    let app = TestApp::start().await;
    for (path, status) in [("/health/live", "live"), ("/health/ready", "ready")] {
        let reply = Reply::of(app.request(Method::GET, path)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json(), json!({"status": status}));
        assert_common(&reply);
        let head = Reply::of(app.request(Method::HEAD, path)).await;
        assert_eq!((head.status, head.body.as_str()), (200, ""));
    }
}

#[tokio::test]
async fn an_api_key_is_no_session_and_a_session_no_api_key() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let with_key = app
        .auth(Method::GET, "session")
        .header("X-API-Key", CLEANUP_KEY);
    let refused = Reply::of(with_key).await;
    assert_eq!(refused.refusal(), (401, "credentials_missing".to_owned()));
    let bearer = app.auth(Method::GET, "session").bearer_auth(CLEANUP_KEY);
    let refused = Reply::of(bearer).await;
    assert_eq!(refused.refusal(), (401, "session_unknown".to_owned()));
    for request in [
        app.auth(Method::POST, "cleanup_sessions")
            .bearer_auth(&token),
        app.auth(Method::POST, "cleanup_sessions")
            .header("X-API-Key", &token),
    ] {
        let refused = Reply::of(request).await;
        assert_eq!(refused.refusal(), (401, "api_key_invalid".to_owned()));
    }
}
