//! Bodies that are too large, too deep, too slow, or no JSON.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use reqwest::Method;

use super::rig::{LONG, RawReply, raw};
use crate::support::{PASSWORD, Reply, TestApp};

const PATIENCE: Duration = LONG;
const HEAD: &str =
    "POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";

/// Hashes so dear that one would be seen.
const DEAR: [(&str, &str); 2] = [
    ("PASSWORD_ARGON2_MEMORY", "262144"),
    ("PASSWORD_ARGON2_ITERATIONS", "10"),
];

#[tokio::test]
async fn an_oversized_body_is_413_declared_or_chunked_and_nothing_is_hashed() {
    let app = TestApp::start_with(&DEAR).await;
    let begin = Instant::now();
    let password = "x".repeat(1 << 20);
    let body = format!(r#"{{"email":"ada@example.com","password":"{password}"}}"#);
    // Refused by what it says of itself, before any of it is sent.
    let declared = format!("{HEAD}Content-Length: {}\r\n\r\n", 1 << 30);
    let reply = raw(app.address, declared.as_bytes(), Duration::from_secs(3));
    assert_eq!(reply.statuses(), [413], "{reply:?}");
    let huge = format!("{HEAD}Content-Length: 99999999999999999999\r\n\r\n");
    let reply = raw(app.address, huge.as_bytes(), PATIENCE);
    assert!(matches!(reply.statuses()[..], [400 | 413]), "{reply:?}");
    let whole = format!("{HEAD}Content-Length: {}\r\n\r\n{body}", body.len());
    let reply = raw(app.address, whole.as_bytes(), Duration::from_secs(3));
    assert!(matches!(reply.statuses()[..], [] | [413]), "{reply:?}");
    let mut chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
    for chunk in body.as_bytes().chunks(4096) {
        let chunk = std::str::from_utf8(chunk).expect("ASCII");
        chunked.push_str(&format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    }
    chunked.push_str("0\r\n\r\n");
    let reply = raw(app.address, chunked.as_bytes(), Duration::from_secs(3));
    assert_eq!(reply.statuses(), [413], "{reply:?}");
    assert!(
        reply.text.contains(r#""code":"body_too_large""#),
        "{reply:?}"
    );
    assert!(begin.elapsed() < LONG);
    assert_eq!(app.context.hasher.waiting(), 0);
    // Just within the limit is read: the answer is about the field.
    let body = format!(
        r#"{{"email":"ada@example.com","password":"{PASSWORD}","x":"{}"}}"#,
        "y".repeat(16_000)
    );
    let reply = Reply::of(
        app.auth(Method::POST, "login")
            .header("Content-Type", "application/json")
            .body(body),
    );
    assert_eq!(reply.await.refusal(), (400, "malformed_request".to_owned()));
}

#[tokio::test]
async fn what_is_no_json_is_400_and_another_type_is_415() {
    let app = TestApp::start().await;
    let send = |content_type: &'static str, body: Vec<u8>| {
        Reply::of(
            app.auth(Method::POST, "login")
                .header("Content-Type", content_type)
                .body(body),
        )
    };
    let deep =
        |open: &str, close: &str, levels| [open.repeat(levels), close.repeat(levels)].concat();
    let in_field = |value: &str| format!(r#"{{"email":"a@example.com","password":{value}}}"#);
    let malformed: Vec<Vec<u8>> = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        r#"{"email":"a@example.com","password":"p"} x"#.to_owned(),
        deep("[", "]", 8_000),
        "[".repeat(10_000),
        deep("{\"a\":", "}", 2_000),
        in_field(&deep("[", "]", 7_000)),
        in_field("1e999"),
        in_field("1"),
        in_field(r#""\ud800""#),
        r#"{"email":"a@example.com","password":"p","password":"q"}"#.to_owned(),
        r#"{"email":"a@example.com","email":"b@example.com","password":"q"}"#.to_owned(),
        r#"{"email":"a@example.com","password":"p","role":"admin"}"#.to_owned(),
        r#"{"email":"a@example.com","password":"p","remember_me":"yes"}"#.to_owned(),
        r#"{"email":"a@example.com","password":"p","delivery":"pigeon"}"#.to_owned(),
        r#"{"email":"a@example.com"}"#.to_owned(),
    ]
    .map(String::into_bytes)
    .into_iter()
    // Not UTF-8.
    .chain([
        b"{\"email\":\"a\xff@example.com\",\"password\":\"p\"}".to_vec(),
        vec![0xff, 0xfe],
    ])
    .collect();
    for body in malformed {
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let reply = send("application/json", body).await;
        assert_eq!(
            reply.refusal(),
            (400, "malformed_request".to_owned()),
            "{shown}"
        );
    }
    let good = format!(r#"{{"email":"a@example.com","password":"{PASSWORD}"}}"#);
    for other in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "multipart/form-data",
        "",
    ] {
        let reply = send(other, good.clone().into_bytes()).await;
        assert_eq!(
            reply.refusal(),
            (415, "unsupported_media_type".to_owned()),
            "{other}"
        );
    }
    let reply = send("application/json; charset=utf-8", good.into_bytes()).await;
    assert_eq!(reply.refusal(), (401, "invalid_credentials".to_owned()));
}

#[tokio::test]
async fn nul_in_any_text_is_422() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let id = app.get("session", &token).await.json()["session"]["id"]
        .as_str()
        .expect("id")
        .to_owned();
    let nul = "\\u0000";
    let cases = [
        (
            Method::POST,
            "login".to_owned(),
            format!(r#"{{"email":"ada{nul}@example.com","password":"p"}}"#),
            "email",
        ),
        (
            Method::POST,
            "login".to_owned(),
            format!(r#"{{"email":"ada@example.com","password":"p{nul}"}}"#),
            "password",
        ),
        (
            Method::POST,
            "login".to_owned(),
            format!(
                r#"{{"email":"ada@example.com","password":"{PASSWORD}","device_label":"a{nul}b"}}"#
            ),
            "device_label",
        ),
        (
            Method::POST,
            "sign_up".to_owned(),
            format!(r#"{{"email":"bob{nul}@example.com","password":"{PASSWORD}"}}"#),
            "email",
        ),
        (
            Method::POST,
            "sign_up".to_owned(),
            format!(r#"{{"email":"bob@example.com","password":"{PASSWORD}{nul}"}}"#),
            "password",
        ),
        (
            Method::POST,
            "change_password".to_owned(),
            format!(
                r#"{{"current_password":"{PASSWORD}","new_password":"another long one{nul}"}}"#
            ),
            "new_password",
        ),
        (
            Method::POST,
            "reauthenticate".to_owned(),
            format!(r#"{{"password":"{nul}"}}"#),
            "password",
        ),
        (
            Method::DELETE,
            "user".to_owned(),
            format!(r#"{{"password":"{nul}"}}"#),
            "password",
        ),
        (
            Method::PATCH,
            format!("sessions/{id}"),
            format!(r#"{{"device_label":"{nul}"}}"#),
            "device_label",
        ),
    ];
    for (method, path, body, field) in cases {
        let request = app
            .auth(method, &path)
            .bearer_auth(&token)
            .header("Content-Type", "application/json");
        let reply = Reply::of(request.body(body.clone())).await;
        assert_eq!(
            reply.refusal(),
            (422, "invalid_field".to_owned()),
            "{path} {body}"
        );
        assert_eq!(reply.json()["field"], field, "{path} {body}");
    }
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn a_slow_body_is_cut_off_and_the_service_answers_others_meanwhile() {
    let app =
        TestApp::start_with(&[("HTTP_BODY_TIMEOUT", "1s"), ("HTTP_HEADER_TIMEOUT", "30s")]).await;
    let begin = Instant::now();
    let mut slow: Vec<TcpStream> = Vec::new();
    for framing in [
        "Content-Length: 1000\r\n\r\n{",
        "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    ] {
        let mut stream = TcpStream::connect(app.address).expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("time-out");
        stream
            .write_all(format!("{HEAD}{framing}").as_bytes())
            .expect("write");
        slow.push(stream);
    }
    assert_eq!(
        Reply::of(app.request(Method::GET, "/health/live"))
            .await
            .status,
        200
    );
    std::thread::sleep(Duration::from_millis(500));
    slow[0].write_all(b" ").expect("write");
    for stream in slow {
        let reply = RawReply::read(stream, begin);
        assert_eq!(reply.statuses(), [408], "{reply:?}");
        assert!(
            reply.text.contains(r#""code":"request_timeout""#),
            "{reply:?}"
        );
        assert!(
            reply.is_closed && reply.took < Duration::from_secs(10),
            "{reply:?}"
        );
        assert!(reply.took >= Duration::from_millis(900), "{reply:?}");
    }
}

#[tokio::test]
async fn a_body_that_nobody_reads_does_not_keep_the_connection() {
    let app = TestApp::start().await;
    // Neither is the body that never comes waited for, nor does it become a request of its own.
    let hidden = "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n";
    let paths = [
        "POST /api/v1/auth/logout",
        "GET /api/v1/auth/verify",
        "GET /health/live",
        "GET /nowhere",
    ];
    let frames = [
        format!("Content-Length: 100000\r\n\r\n{hidden}"),
        chunked(hidden),
    ];
    for (path, frame) in paths
        .iter()
        .flat_map(|path| frames.iter().map(move |frame| (path, frame)))
    {
        let request = format!("{path} HTTP/1.1\r\nHost: x\r\n{frame}");
        let reply = raw(app.address, request.as_bytes(), PATIENCE);
        assert_eq!(reply.statuses().len(), 1, "{path}: {reply:?}");
        assert!(
            reply.is_closed && reply.took < Duration::from_secs(20),
            "{path}: {reply:?}"
        );
    }
    // One that is read to its end leaves the connection open for the next request.
    let body = r#"{"email":"ada@example.com","password":"wrong password"}"#;
    let login = format!("{HEAD}{}0\r\n\r\n{hidden}", chunked(body));
    let reply = raw(app.address, login.as_bytes(), Duration::from_secs(3));
    assert_eq!(reply.statuses(), [401, 200], "{reply:?}");
}

/// The end of a head, and one chunk.
fn chunked(text: &str) -> String {
    format!(
        "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{text}\r\n",
        text.len()
    )
}
