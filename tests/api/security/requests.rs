//! Arbitrary requests to a running service: never a 500, a panic or an answer out of form.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::{CLEANUP_KEY, PASSWORD, Process, TestDatabase};

/// How many cases: few while developing, more where everything is tested.
pub fn cases(all: u32) -> u32 {
    match std::env::var_os("SEKISHO_TEST_ALL") {
        Some(_) => all,
        None => all / 10,
    }
}

#[derive(Debug, Clone)]
struct Request {
    method: String,
    path: Vec<u8>,
    headers: Vec<(String, Vec<u8>)>,
    body: Option<Vec<u8>>,
}

const PATHS: [&str; 24] = [
    "session",
    "sessions",
    "sessions/{id}",
    "session_events",
    "sign_up",
    "login",
    "logout",
    "logout_all",
    "logout_others",
    "change_password",
    "reauthenticate",
    "rotate_session",
    "user",
    "cleanup_sessions",
    "verify",
    "verify/a/b",
    "introspect",
    "revoke",
    "issue",
    "users/1/revoke_sessions",
    "users/1/password",
    "../admin/sessions",
    "../admin/session_events",
    "../../../health/ready",
];
const METHODS: [&str; 9] = [
    "GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "PUT", "TRACE", "PROPFIND",
];
const FIELDS: [&str; 16] = [
    "email",
    "password",
    "remember_me",
    "delivery",
    "device_label",
    "current_password",
    "new_password",
    "user_id",
    "auth_level",
    "ip_address",
    "user_agent",
    "note",
    "token",
    "token_type_hint",
    "client_id",
    "unknown",
];
const HEADERS: [&str; 16] = [
    "Cookie",
    "Authorization",
    "X-API-Key",
    "X-Forwarded-For",
    "User-Agent",
    "X-Request-Id",
    "Content-Type",
    "Origin",
    "Sec-Fetch-Site",
    "Accept",
    "Range",
    "Expect",
    "Forwarded",
    "X-Forwarded-Host",
    "Access-Control-Request-Method",
    "Connection",
];
/// Stand for what is known only when the request is sent.
const TOKEN: &str = "{token}";
const EMAIL: &str = "{email}";

fn header_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(prop_oneof![0x20u8..0x7f, 0x80u8..=0xff, Just(b'\t')], 0..80),
        select(vec![
            "__Host-session_id={token}",
            "__Host-session_id={token}; __Host-session_id={token}x",
            "Bearer {token}",
            "bearer  {token}",
            "Bearer",
            "Basic e3Rva2VufTp4",
            "application/json",
            "application/x-www-form-urlencoded",
            "203.0.113.9, 127.0.0.1",
            "[::1]:80",
            "fe80::1%25eth0",
            "same-origin",
            "cross-site",
            "null",
            "100-continue",
            "bytes=0-1048575",
            "__Host-session_id=%00; a=\"",
            CLEANUP_KEY,
            "*",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        select(vec![
            "0",
            "-1",
            "1",
            "201",
            "65536",
            "9223372036854775807",
            "9223372036854775808",
            "1e3",
            "0x1",
            "",
            "%00",
            "٣"
        ])
        .prop_map(str::to_owned),
    ]
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![
        Just("{id}".to_owned()),
        number(),
        "[0-9a-f-]{1,40}",
        "[!-~]{0,20}"
    ];
    let known = (select(&PATHS[..]), id).prop_map(|(path, id)| {
        format!(
            "/api/v1/auth/{}",
            path.replace("{id}", &id.replace([' ', '#'], ""))
        )
    });
    let query = vec(
        (
            select(vec![
                "cursor",
                "limit",
                "max_age",
                "auth_level",
                "touch",
                "session_id",
                "user_id",
                "state",
                "%ff",
            ]),
            prop_oneof![number(), "[!-~]{0,20}"],
        ),
        0..3,
    );
    let known = (known, query).prop_map(|(path, query)| {
        let query: Vec<String> = query
            .into_iter()
            .map(|(name, value)| format!("{name}={}", value.replace([' ', '#'], "")))
            .collect();
        let path = if query.is_empty() {
            path
        } else {
            format!("{path}?{}", query.join("&"))
        };
        path.into_bytes()
    });
    let wild = vec(prop_oneof![0x21u8..0x7f, 0x80u8..=0xff], 0..60)
        .prop_map(|tail| [b"/", &tail[..]].concat());
    prop_oneof![8 => known, 2 => wild]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(PASSWORD)),
        Just(json!(EMAIL)),
        Just(json!(TOKEN)),
        Just(json!("token")),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        "\\PC{0,80}@example\\.com".prop_map(Value::from),
        Just(json!("\0")),
        Just(json!("x".repeat(300))),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![vec(inner.clone(), 0..3).prop_map(Value::from), inner]
    })
}

fn body() -> impl Strategy<Value = Option<Vec<u8>>> {
    let object = vec((select(&FIELDS[..]), value()), 0..6).prop_map(|fields| {
        Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    });
    let json =
        (object, any::<prop::sample::Index>(), any::<bool>()).prop_map(|(object, cut, is_cut)| {
            let mut bytes = object.to_string().into_bytes();
            if is_cut && cut.index(4) == 0 {
                bytes.truncate(cut.index(bytes.len()));
            }
            bytes
        });
    let form = "([a-z_]{1,12}=[!-~]{0,20}&){0,3}token=\\{token\\}".prop_map(String::into_bytes);
    let deep = (1usize..12_000).prop_map(|depth| b"[".repeat(depth));
    prop_oneof![
        2 => Just(None),
        6 => json.prop_map(Some),
        1 => form.prop_map(Some),
        1 => vec(any::<u8>(), 0..200).prop_map(Some),
        1 => deep.prop_map(Some),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    let method = prop_oneof![9 => select(&METHODS[..]).prop_map(str::to_owned), 1 => "[A-Za-z!#$%&'*+.^_`|~-]{1,12}"];
    let headers = vec(
        (select(&HEADERS[..]).prop_map(str::to_owned), header_bytes()),
        0..5,
    );
    let as_json = prop::bool::weighted(0.7);
    let signed_in = prop::bool::weighted(0.5);
    (method, path(), headers, body(), as_json, signed_in).prop_map(
        |(method, path, mut headers, body, as_json, signed_in)| {
            if as_json {
                headers.insert(0, ("Content-Type".to_owned(), b"application/json".to_vec()));
            }
            if signed_in {
                headers.insert(0, ("Authorization".to_owned(), b"Bearer {token}".to_vec()));
            }
            Request {
                method,
                path,
                headers,
                body,
            }
        },
    )
}

/// A service that is asked over plain sockets, so that nothing corrects what is sent.
struct Target {
    service: Process,
    address: String,
    _database: TestDatabase,
    users: std::cell::Cell<u32>,
}

impl Target {
    fn start() -> Self {
        let database = TestDatabase::new();
        let settings = [
            ("LOGIN_THROTTLE_FAILURES", "0"),
            ("LOGIN_THROTTLE_ADDRESS_FAILURES", "0"),
            ("TRUSTED_PROXIES", "127.0.0.1"),
            ("TRUSTED_ORIGINS", "https://app.example.com"),
            ("DATABASE_TIMEOUT", "30s"),
            ("DATABASE_LOOKUP_TIMEOUT", "30s"),
        ];
        let service = Process::serve(&database.url, &settings);
        service.wait_for("the database is ready");
        let address = service.base_url().trim_start_matches("http://").to_owned();
        Self {
            service,
            address,
            _database: database,
            users: std::cell::Cell::new(0),
        }
    }

    fn exchange(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        // It may answer and close before it has read everything.
        let _refused = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _closed = stream.read_to_end(&mut answer);
        answer
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let request = format!(
            "POST /api/v1/auth/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = String::from_utf8(self.exchange(request.as_bytes())).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// A new account and its token: requests may end both.
    fn account(&self) -> (String, String) {
        let number = self.users.get();
        self.users.set(number + 1);
        let email = format!("user{number}@example.com");
        self.post("sign_up", &json!({"email": email, "password": PASSWORD}));
        let login = self.post(
            "login",
            &json!({"email": email, "password": PASSWORD, "delivery": "token"}),
        );
        (email, login["session_token"].as_str().unwrap().to_owned())
    }

    fn send(&self, request: &Request) -> Result<(), TestCaseError> {
        let (email, token) = self.account();
        let fill = |bytes: &[u8]| {
            let mut filled = Vec::with_capacity(bytes.len());
            let mut rest = bytes;
            while let Some(first) = rest.first() {
                let found = [(TOKEN, &token), (EMAIL, &email)]
                    .into_iter()
                    .find(|(name, _)| rest.starts_with(name.as_bytes()));
                match found {
                    Some((name, value)) => {
                        filled.extend(value.as_bytes());
                        rest = &rest[name.len()..];
                    }
                    None => {
                        filled.push(*first);
                        rest = &rest[1..];
                    }
                }
            }
            filled
        };
        let mut bytes = format!("{} ", request.method).into_bytes();
        bytes.extend(&request.path);
        bytes.extend(b" HTTP/1.1\r\nHost: x\r\n");
        for (name, value) in &request.headers {
            bytes.extend(format!("{name}: ").as_bytes());
            bytes.extend(fill(value));
            bytes.extend(b"\r\n");
        }
        let body = request.body.as_deref().map(fill);
        if let Some(body) = &body {
            bytes.extend(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend(b"Connection: close\r\n\r\n");
        bytes.extend(body.unwrap_or_default());
        self.judge(request, &self.exchange(&bytes))
    }

    fn judge(&self, request: &Request, answer: &[u8]) -> Result<(), TestCaseError> {
        let answer = String::from_utf8_lossy(answer);
        let last = answer
            .rsplit("HTTP/1.1 100 Continue\r\n\r\n")
            .next()
            .unwrap();
        prop_assert!(last.starts_with("HTTP/1.1 "), "{request:?}: {answer}");
        let (head, body) = last.split_once("\r\n\r\n").unwrap();
        let status: u16 = head[9..12].parse().unwrap();
        prop_assert!(status < 500, "{request:?}: {answer}");
        let head = head.to_lowercase();
        if head.contains("x-request-id: ") {
            prop_assert!(
                head.contains("cache-control: no-store") && head.contains("nosniff"),
                "{answer}"
            );
            prop_assert!(
                status != 401 || head.contains("www-authenticate: "),
                "{answer}"
            );
            if status >= 400 && request.method != "HEAD" {
                let envelope: Value = serde_json::from_str(body).unwrap_or_default();
                prop_assert!(
                    envelope["code"].is_string() && envelope["message"].is_string(),
                    "{request:?}: {answer}"
                );
            }
        } else {
            // Refused by the parser, before there was a request.
            prop_assert!(
                [400, 408, 431].contains(&status) && body.is_empty(),
                "{request:?}: {answer}"
            );
        }
        Ok(())
    }

    fn finish(&self) {
        let output = self.service.output();
        for word in ["panicked", "ERROR"] {
            let line = output.lines().find(|line| line.contains(word));
            assert!(line.is_none(), "{line:?}");
        }
    }
}

#[test]
fn no_request_makes_an_error_of_ours() {
    let target = Target::start();
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases(4_000))
    };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&request(), |request| target.send(&request));
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    target.finish();
}

#[test]
fn no_bytes_make_an_error_of_ours() {
    let target = Target::start();
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases(1_000))
    };
    let mut runner = TestRunner::new(config);
    let piece = prop_oneof![
        select(vec![
            "GET / HTTP/1.1\r\n",
            "POST /api/v1/auth/login HTTP/1.1\r\n",
            "Host: x\r\n",
            "Content-Length: 5\r\n",
            "\r\n",
            "{}",
            "Transfer-Encoding: chunked\r\n",
            "5\r\nhello\r\n",
            "0\r\n\r\n",
            "HTTP/1.0\r\n",
            "\n",
            "\r",
            ":",
            " ",
            "Upgrade: h2c\r\n",
            "Connection: upgrade\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        vec(any::<u8>(), 0..40),
    ];
    let outcome = runner.run(&vec(piece, 0..8), |pieces| {
        let mut stream = TcpStream::connect(&target.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let _refused = stream.write_all(&pieces.concat());
        let _closed = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _closed = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        prop_assert!(!answer.contains("HTTP/1.1 5"), "{pieces:?}: {answer}");
        Ok(())
    });
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    assert!(!target.account().1.is_empty());
    target.finish();
}
