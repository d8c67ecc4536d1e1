//! What arrives is no proper HTTP, or not in time.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use reqwest::Method;

use super::rig::{RawReply, raw};
use crate::support::{PASSWORD, Reply, TestApp};

const PATIENCE: Duration = Duration::from_secs(30);
const NEXT: &str = "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n";

#[tokio::test]
async fn ambiguous_framing_is_400_and_the_connection_closes() {
    let app = TestApp::start().await;
    let post = "POST /api/v1/auth/logout HTTP/1.1\r\nHost: x\r\n";
    let requests = [
        // The classic ways of smuggling a request past a proxy.
        format!("{post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{NEXT}"),
        format!("{post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{NEXT}"),
        format!("{post}Content-Length: 0\r\nContent-Length: 4\r\n\r\n{NEXT}"),
        format!("{post}Content-Length: 0, 4\r\n\r\n{NEXT}"),
        format!("{post}Content-Length: +4\r\n\r\nabcd{NEXT}"),
        format!("{post}Content-Length: -1\r\n\r\n{NEXT}"),
        format!("{post}Content-Length: 0x4\r\n\r\nabcd{NEXT}"),
        format!("{post}Transfer-Encoding: chunked, identity\r\n\r\n{NEXT}"),
        format!("{post}Transfer-Encoding: xchunked\r\n\r\n{NEXT}"),
        format!(
            "{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{NEXT}"
        ),
        // Bare CR, space before the colon, folded lines, NUL.
        format!("{post}A: b\rContent-Length: 4\r\n\r\n{NEXT}"),
        format!("POST /api/v1/auth/logout HTTP/1.1\rHost: x\r\n\r\n{NEXT}"),
        format!("{post}Content-Length : 4\r\n\r\nabcd{NEXT}"),
        format!("{post}A: b\r\n c\r\n\r\n{NEXT}"),
        format!("{post}A: b\0c\r\n\r\n{NEXT}"),
        format!("\0\0\0\0\r\n\r\n{NEXT}"),
    ];
    for request in requests {
        let reply = raw(app.address, request.as_bytes(), PATIENCE);
        assert_eq!(reply.statuses(), [400], "{request:?}: {reply:?}");
        assert!(reply.is_closed, "{request:?}: {reply:?}");
    }
    // A chunk whose size is no number ends the connection too, whatever was answered before it.
    let request = format!("{post}Transfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n{NEXT}");
    let reply = raw(app.address, request.as_bytes(), PATIENCE);
    assert!(reply.is_closed && reply.statuses().len() <= 1, "{reply:?}");
    assert_eq!(
        Reply::of(app.request(Method::GET, "/health/live"))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_huge_header_closes_the_connection_and_a_long_user_agent_is_welcome() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let huge = format!(
        "GET /health/live HTTP/1.1\r\nHost: x\r\nX-A: {}\r\n\r\n{NEXT}",
        "a".repeat(1 << 20)
    );
    let many = format!(
        "GET /health/live HTTP/1.1\r\nHost: x\r\n{}\r\n{NEXT}",
        "X-A: b\r\n".repeat(5_000)
    );
    let path = format!(
        "GET /{} HTTP/1.1\r\nHost: x\r\n\r\n{NEXT}",
        "a".repeat(1 << 20)
    );
    for request in [huge, many, path] {
        let reply = raw(app.address, request.as_bytes(), PATIENCE);
        // The answer may be lost where the server closes while the client still sends.
        assert!(
            matches!(reply.statuses()[..], [] | [400 | 414 | 431]),
            "{reply:?}"
        );
        assert!(reply.is_closed, "{reply:?}");
    }
    let long = format!("Mozilla/5.0 {}", "é(x) ".repeat(17_000));
    let body =
        serde_json::json!({"email": "ada@example.com", "password": PASSWORD, "delivery": "token"});
    let login = app
        .auth(Method::POST, "login")
        .header("User-Agent", long.as_bytes())
        .json(&body);
    let reply = Reply::of(login).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let short =
        "sessions WHERE length(user_agent_hash) = 64 AND coalesce(length(device_label), 0) <= 64";
    assert_eq!(app.db.count(short), 1);
    let broken = app
        .auth(Method::POST, "login")
        .header("User-Agent", &b"\xff\xfe\x80"[..])
        .json(&body);
    assert_eq!(Reply::of(broken).await.status, 200);
}

#[tokio::test]
async fn slow_headers_are_408_and_an_idle_connection_is_no_burden() {
    let app = TestApp::start_with(&[("HTTP_HEADER_TIMEOUT", "1s")]).await;
    let begin = Instant::now();
    let mut slow = TcpStream::connect(app.address).expect("connect");
    slow.set_read_timeout(Some(PATIENCE)).expect("time-out");
    slow.write_all(b"GET /health/live HTTP/1.1\r\nHost: x\r\n")
        .expect("write");
    assert_eq!(
        Reply::of(app.request(Method::GET, "/health/live"))
            .await
            .status,
        200
    );
    // A header now and then does not help.
    std::thread::sleep(Duration::from_millis(500));
    slow.write_all(b"X-A: b\r\n").expect("write");
    let reply = RawReply::read(slow, begin);
    assert_eq!(reply.statuses(), [408], "{reply:?}");
    assert!(
        reply.is_closed && reply.took < Duration::from_secs(10),
        "{reply:?}"
    );
    // One that says nothing at all is closed as well.
    let begin = Instant::now();
    let silent = TcpStream::connect(app.address).expect("connect");
    silent.set_read_timeout(Some(PATIENCE)).expect("time-out");
    let reply = RawReply::read(silent, begin);
    assert!(reply.is_closed, "{reply:?}");
}

#[tokio::test]
async fn the_time_outs_are_as_stated_by_default() {
    let app = TestApp::start().await;
    let http = &app.context.config.http;
    assert_eq!(http.header_timeout, Duration::from_secs(5));
    assert_eq!(http.body_timeout, Duration::from_secs(10));
    let database = &app.context.config.database;
    assert_eq!(database.timeout, Duration::from_secs(2));
    assert_eq!(database.lookup_timeout, Duration::from_secs(1));
    // Whatever may be under way at once has a thread; what has none is refused.
    let (slots, pool) = (app.context.config.password.hash_slots, database.pool_size);
    assert_eq!(
        app.context.blocking_threads(),
        pool + slots + sekisho::context::CLEANUP_SLOTS
    );
}
