//! Cookies, ids, numbers and forwarded addresses that make no sense.

use reqwest::Method;
use serde_json::json;

use crate::support::{PASSWORD, Reply, TestApp};

#[tokio::test]
async fn a_malformed_cookie_is_401_without_a_query_and_a_foreign_one_does_no_harm() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login_browser("ada@example.com").await;
    let get =
        |cookie: Vec<u8>| Reply::of(app.auth(Method::GET, "session").header("Cookie", cookie));
    let ours = |value: &[u8]| [b"__Host-session_id=", value].concat();
    let malformed = [
        b"%00".to_vec(),
        b"\"\"".to_vec(),
        format!("\"{token}\"").into_bytes(),
        vec![0xff; 43],
        vec![b'a'; 5 * 1024],
        Vec::new(),
        format!("{token}=").into_bytes(),
        token.as_bytes()[..42].to_vec(),
        format!("{}%41", &token[..40]).into_bytes(),
        "é".repeat(21).into_bytes(),
    ];
    for value in &malformed {
        let reply = get(ours(value)).await;
        assert_eq!(
            reply.refusal(),
            (401, "session_unknown".to_owned()),
            "{value:?}"
        );
    }
    // Others' cookies, and several headers of them, beside a good one of ours.
    let good = ours(token.as_bytes());
    for foreign in [
        &b"evil=\xff\xfe"[..],
        b"=; ;;=;",
        b"a",
        b"__Host-session_id_2=x",
        b"x=\"a;b\"",
    ] {
        for cookie in [
            [foreign, b"; ", &good].concat(),
            [&good[..], b"; ", foreign].concat(),
        ] {
            assert_eq!(get(cookie.clone()).await.status, 200, "{cookie:?}");
        }
    }
    let two = app
        .auth(Method::GET, "session")
        .header("Cookie", &b"evil=\xff"[..])
        .header("Cookie", good.clone());
    assert_eq!(Reply::of(two).await.status, 200);
    // Bearers likewise.
    for value in malformed {
        let bearer = [b"Bearer ", &value[..]].concat();
        let reply = Reply::of(
            app.auth(Method::GET, "session")
                .header("Authorization", bearer),
        )
        .await;
        assert_eq!(reply.status, 401, "{value:?}");
    }
    // Nothing of this is a question to the database: it is not asked even where it cannot answer.
    app.db.execute("ALTER TABLE sessions RENAME TO elsewhere");
    assert_eq!(get(ours(b"%00")).await.status, 401);
    assert_eq!(get(good.clone()).await.status, 503);
    app.db.execute("ALTER TABLE elsewhere RENAME TO sessions");
    assert_eq!(get(good).await.status, 200);
}

#[tokio::test]
async fn ids_and_numbers_out_of_range_are_400_or_404() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let send = |method: Method, path: &str| Reply::of(app.auth(method, path).bearer_auth(&token));
    let numbers = [
        "-1",
        "0",
        "201",
        "65536",
        "9223372036854775808",
        "1e3",
        "0x10",
        "",
        "%00",
        "NaN",
        "１",
    ];
    for number in numbers {
        let reply = send(Method::GET, &format!("session_events?limit={number}")).await;
        assert_eq!(
            reply.refusal(),
            (400, "malformed_request".to_owned()),
            "limit={number}"
        );
    }
    for number in [
        "9223372036854775808",
        "-9223372036854775809",
        "x",
        "",
        "1.5",
        "%00",
    ] {
        let reply = send(Method::GET, &format!("session_events?cursor={number}")).await;
        assert_eq!(
            reply.refusal(),
            (400, "malformed_request".to_owned()),
            "cursor={number}"
        );
    }
    for number in ["-1", "0", "-9223372036854775808"] {
        let reply = send(Method::GET, &format!("session_events?cursor={number}")).await;
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (200, "[]"),
            "cursor={number}"
        );
    }
    let all = send(
        Method::GET,
        "session_events?cursor=9223372036854775807&limit=200",
    )
    .await;
    assert!(!all.json().as_array().expect("array").is_empty());
    assert_eq!(send(Method::GET, "session_events?page=2").await.status, 400);
    let unknown = send(
        Method::DELETE,
        "sessions/018f0000-0000-7000-8000-000000000000",
    )
    .await;
    assert_eq!(unknown.refusal(), (404, "not_found".to_owned()));
    let long = "1".repeat(10_000);
    for id in [
        "-1",
        "0",
        "9223372036854775808",
        "..%2f..",
        "%00",
        "%ff",
        "null",
        "018f0000",
        &long,
        "a%20b",
        "🦀",
    ] {
        for method in [Method::DELETE, Method::PATCH] {
            let request = app
                .auth(method.clone(), &format!("sessions/{id}"))
                .bearer_auth(&token);
            let request = match method == Method::PATCH {
                true => request.json(&json!({"device_label": "x"})),
                false => request,
            };
            let reply = Reply::of(request).await;
            assert_eq!(
                reply.refusal(),
                (404, "not_found".to_owned()),
                "{method} {id}"
            );
        }
    }
    for query in [
        "max_age=-1",
        "max_age=4294967296",
        "max_age=x",
        "auth_level=root",
        "touch=maybe",
        "Max_Age=0",
        "maxage=300",
        "foo=1&authLevel=mfa",
        "Touch=false",
    ] {
        let reply = send(Method::GET, &format!("verify?{query}")).await;
        assert_eq!(
            reply.refusal(),
            (400, "malformed_request".to_owned()),
            "{query}"
        );
    }
    for query in ["max_age=4294967295", "foo=1&foo=2", "maximum_age=1", "=&&"] {
        let reply = send(Method::GET, &format!("verify?{query}")).await;
        assert_eq!(reply.status, 200, "{query}");
    }
}

#[tokio::test]
async fn forwarded_addresses_are_believed_from_trusted_proxies_only_and_junk_never_fails_a_login() {
    let app = TestApp::start_with(&[("TRUSTED_PROXIES", "127.0.0.0/8,10.0.0.0/8")]).await;
    let direct = app.another(&[]).await;
    app.sign_up("ada@example.com").await;
    let body = json!({"email": "ada@example.com", "password": PASSWORD, "delivery": "token"});
    let many = vec!["10.0.0.9"; 1_000].join(",");
    let cases: [(&[u8], Option<&str>); 13] = [
        (b"203.0.113.9", Some("203.0.113.0/24")),
        (b"1.2.3.4, 203.0.113.9", Some("203.0.113.0/24")),
        (b"203.0.113.9:4711, 10.1.2.3", Some("203.0.113.0/24")),
        (b"::ffff:203.0.113.9", Some("203.0.113.0/24")),
        (b"[2001:db8:1:2::3]:443", Some("2001:db8:1::/48")),
        (b"fe80::1%eth0", Some("fe80::/48")),
        (many.as_bytes(), Some("10.0.0.0/24")),
        (b"unknown", None),
        (b"203.0.113.9, _hidden", None),
        (b",,,,", None),
        (b"\xff\xfe", None),
        (b"256.1.1.1", None),
        (b"'; DROP TABLE sessions; --", None),
    ];
    for (forwarded, expected) in cases {
        let request = app
            .auth(Method::POST, "login")
            .header("X-Forwarded-For", forwarded)
            .json(&body);
        let reply = Reply::of(request).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let address = reply.json()["session"]["ip_address"]
            .as_str()
            .map(str::to_owned);
        assert_eq!(
            address.as_deref(),
            expected,
            "{}",
            String::from_utf8_lossy(forwarded)
        );
    }
    let request = direct
        .auth(Method::POST, "login")
        .header("X-Forwarded-For", "203.0.113.9")
        .json(&body);
    assert_eq!(
        Reply::of(request).await.json()["session"]["ip_address"],
        "127.0.0.0/24"
    );
}
