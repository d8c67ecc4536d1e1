//! What the service writes, and what it never writes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Process, Reply, TestDatabase};

const PASSWORD: &str = "canary-password-7f3a battery";
const NEW_PASSWORD: &str = "canary-password-9c1d battery";
const EMAIL: &str = "canary-mail@example.com";
const KEY: &str = "canary-api-key-canary-api-key-canary";
const ADDRESS: &str = "203.0.113.77";

/// Does everything that deals with secrets, well and badly; returns every token that there was.
async fn traffic(base: &str) -> Vec<String> {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let send = |method: Method, path: &str, token: &str, body: Option<Value>| {
        let request = client
            .request(method, format!("{base}/api/v1/auth/{path}"))
            .header("X-Forwarded-For", ADDRESS)
            .header(
                "User-Agent",
                "canary-agent \t\u{1b}[31m".replace('\u{1b}', "\u{9b}"),
            )
            .header("X-Request-Id", "forged request_id=1 level=ERROR");
        let request = if token.is_empty() {
            request
        } else {
            request.bearer_auth(token)
        };
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        Reply::of(request)
    };
    let login = || json!({"email": EMAIL, "password": PASSWORD, "delivery": "token"});
    let token_of = |reply: Reply| reply.json()["session_token"].as_str().unwrap().to_owned();
    let credentials = json!({"email": EMAIL, "password": PASSWORD});
    assert_eq!(
        send(Method::POST, "sign_up", "", Some(credentials.clone()))
            .await
            .status,
        201
    );
    assert_eq!(
        send(Method::POST, "sign_up", "", Some(credentials))
            .await
            .status,
        409
    );
    let one = token_of(send(Method::POST, "login", "", Some(login())).await);
    let wrong = json!({"email": EMAIL, "password": format!("{PASSWORD}x")});
    for _ in 0..7 {
        send(Method::POST, "login", "", Some(wrong.clone())).await;
    }
    for body in [
        json!({"email": EMAIL, "password": PASSWORD, PASSWORD: PASSWORD}),
        json!({"email": EMAIL, "password": [PASSWORD]}),
        json!({"email": format!("{EMAIL} <>"), "password": PASSWORD}),
    ] {
        assert!(send(Method::POST, "login", &one, Some(body)).await.status >= 400);
    }
    for path in [
        "session",
        "sessions",
        "session_events",
        "verify",
        "verify/original/path",
    ] {
        assert_eq!(send(Method::GET, path, &one, None).await.status, 200);
    }
    let query = format!("session_events?session_id={one}&limit={one}");
    assert_eq!(send(Method::GET, &query, &one, None).await.status, 400);
    assert_eq!(
        send(Method::GET, &format!("{one}/{PASSWORD}"), &one, None)
            .await
            .status,
        404
    );
    assert_eq!(
        send(Method::DELETE, &format!("sessions/{one}"), &one, None)
            .await
            .status,
        404
    );
    let two = token_of(send(Method::POST, "rotate_session", &one, None).await);
    let three = token_of(
        send(
            Method::POST,
            "reauthenticate",
            &two,
            Some(json!({"password": PASSWORD})),
        )
        .await,
    );
    let change = json!({"current_password": PASSWORD, "new_password": NEW_PASSWORD});
    let four = token_of(send(Method::POST, "change_password", &three, Some(change)).await);
    send(Method::POST, "logout", &four, None).await;
    for key in [KEY, "canary-api-key-that-is-wrong-canary"] {
        let url = format!("{base}/api/v1/auth/cleanup_sessions");
        Reply::of(client.post(url).header("X-API-Key", key)).await;
    }
    vec![one, two, three, four]
}

/// Bytes that no client library sends.
fn raw(base: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(base.trim_start_matches("http://")).unwrap();
    stream
        .set_read_timeout(Some(std::time::Duration::from_secs(20)))
        .unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    let _closed = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

async fn written(format: &str) -> (String, Vec<String>) {
    let database = TestDatabase::new();
    let settings = [
        ("LOG_LEVEL", "trace"),
        ("LOG_FORMAT", format),
        ("SESSION_CLEANUP_API_KEY", KEY),
        ("TRUSTED_PROXIES", "127.0.0.0/8"),
        // Every failure is checked, none is held up.
        ("LOGIN_THROTTLE_FAILURES", "100"),
    ];
    let service = Process::serve(&database.url, &settings);
    service.wait_for("the database is ready");
    let address = service.wait_for("listening");
    let port = address.split("127.0.0.1:").nth(1).unwrap();
    let port: String = port.chars().take_while(char::is_ascii_digit).collect();
    let base = format!("http://127.0.0.1:{port}");
    let tokens = traffic(&base).await;
    for header in [
        "User-Agent: a\x1b[31m\x07b",
        "X-Request-Id: a\x1b[31m",
        "X-Forwarded-For: \x1b\x00",
        "Cookie: a\rb",
    ] {
        let request = format!(
            "GET /api/v1/auth/session HTTP/1.1\r\nHost: x\r\n{header}\r\nConnection: close\r\n\r\n"
        );
        let answer = raw(&base, request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 4"), "{header:?}: {answer}");
    }
    let answer = raw(
        &base,
        b"POST /api/v1/auth/logout HTTP/1.1\r\nHost: x\r\nContent-Length: canary-length\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    // A failure of ours, logged with what the client is not told.
    database.execute("ALTER TABLE sessions RENAME TO hidden");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let session = client
        .get(format!("{base}/api/v1/auth/session"))
        .bearer_auth(&tokens[0]);
    assert_eq!(Reply::of(session).await.status, 503);
    service.wait_for("unavailable");
    database.execute("ALTER TABLE hidden RENAME TO sessions");
    (service.output(), tokens)
}

fn assert_no_secret(output: &str, tokens: &[String]) {
    let secrets = [
        "canary-password",
        "canary-mail",
        "canary-api-key",
        "canary-agent",
        "original/path",
        ADDRESS,
        "argon2id$",
        "forged",
        "postgres://",
    ];
    for secret in secrets.into_iter().chain(tokens.iter().map(String::as_str)) {
        let line = output.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{secret} in {line:?}");
    }
    for token in tokens {
        let hash = sekisho::domain::token::hex_sha256(token.as_bytes());
        assert!(!output.contains(std::str::from_utf8(&hash).unwrap()));
    }
    // Coarse addresses are there, so that the check above has seen the lines that it is about.
    assert!(
        output.contains("203.0.113.0/24") && output.contains("password changed"),
        "{output}"
    );
    assert!(output.contains("sekisho::security"));
    // What is no HTTP is no error of ours.
    assert!(!output.contains("actix_http"), "{output}");
    let unprintable = |c: char| c != '\n' && (c.is_control() || c == '\u{9b}');
    assert!(!output.contains(unprintable), "{output:?}");
}

#[tokio::test]
async fn no_secret_is_ever_written_and_a_line_stays_a_line() {
    let (output, tokens) = written("text").await;
    assert_no_secret(&output, &tokens);
    for line in output.lines() {
        let mut words = line.split_whitespace();
        let time = words.next().unwrap();
        assert!(
            time.len() >= 20 && time.starts_with("20") && time.ends_with('Z'),
            "{line}"
        );
        let level = words.next().unwrap();
        assert!(
            ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&level),
            "{line}"
        );
    }
}

#[tokio::test]
async fn the_same_holds_of_json() {
    let (output, tokens) = written("json").await;
    assert_no_secret(&output, &tokens);
    for line in output.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for field in ["time", "level", "target", "message"] {
            assert!(line[field].is_string(), "{line}");
        }
    }
    let failures = output
        .lines()
        .filter(|line| line.contains("invalid_credentials"));
    assert_eq!(failures.count(), 7, "one line a fact: {output}");
}

#[tokio::test]
async fn a_proxy_that_is_not_named_is_warned_about_once() {
    let warning = "TRUSTED_PROXIES does not name";
    for (trusted, warnings) in [("", 1), ("192.0.2.0/24", 1), ("127.0.0.0/8", 0)] {
        let database = TestDatabase::new();
        let service = Process::serve(&database.url, &[("TRUSTED_PROXIES", trusted)]);
        service.wait_for("the database is ready");
        let url = format!("{}/api/v1/auth/logout", service.base_url());
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        for _ in 0..3 {
            let request = client.post(&url).header("X-Forwarded-For", ADDRESS);
            assert_eq!(Reply::of(request).await.status, 200);
        }
        let output = service.output();
        assert_eq!(
            output.matches(warning).count(),
            warnings,
            "{trusted}: {output}"
        );
        assert!(!output.contains(ADDRESS), "{output}");
    }
}
