//! The administrators' endpoints.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Instance, Reply, TestApp};

const ROOT: &str = "root@example.com";

/// Makes an administrator and logs in; returns id and token.
pub async fn administrator(app: &TestApp) -> (i64, String) {
    let id = app.sign_up(ROOT).await;
    app.db
        .execute(&format!("UPDATE users SET role = 'admin' WHERE id = {id}"));
    (id, app.login(ROOT).await)
}

async fn send(app: &Instance, method: Method, path: &str, token: &str) -> Reply {
    let path = format!("/api/v1/admin/{path}");
    Reply::of(app.request(method, &path).bearer_auth(token)).await
}

async fn get(app: &Instance, path: &str, token: &str) -> Reply {
    send(app, Method::GET, path, token).await
}

async fn post(app: &Instance, path: &str, token: &str, body: Value) -> Reply {
    let path = format!("/api/v1/admin/{path}");
    Reply::of(
        app.request(Method::POST, &path)
            .bearer_auth(token)
            .json(&body),
    )
    .await
}

fn ids(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.status, 200, "{reply:?}");
    let rows = reply.json();
    let id = |row: &Value| match &row["id"] {
        Value::String(id) => id.clone(),
        other => other.to_string(),
    };
    rows.as_array().expect("an array").iter().map(id).collect()
}

/// The path of the next page, below /api/v1/admin/.
fn next(reply: &Reply) -> Option<String> {
    let link = reply.header("link")?;
    let path = link.strip_prefix("</api/v1/admin/").expect("a path");
    Some(path.split('>').next().expect("an end").to_owned())
}

#[tokio::test]
async fn others_get_403_and_the_ledger_an_event() {
    let app = TestApp::start().await;
    let user = app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let id = uuid::Uuid::now_v7();
    let calls = [
        (Method::GET, "sessions".to_owned()),
        (Method::GET, "sessions/count".to_owned()),
        (Method::POST, "sessions/revoke".to_owned()),
        (Method::GET, format!("sessions/{id}")),
        (Method::DELETE, format!("sessions/{id}")),
        (Method::GET, "users".to_owned()),
        (Method::GET, format!("users/{user}")),
        (Method::POST, format!("users/{user}/revoke_sessions")),
        (Method::POST, format!("users/{user}/disable")),
        (Method::POST, format!("users/{user}/enable")),
        (Method::GET, "session_events".to_owned()),
        (Method::GET, "cleanup_runs".to_owned()),
        (Method::POST, "cleanup_runs".to_owned()),
        (Method::GET, "statistics".to_owned()),
    ];
    let denied = "session_events WHERE kind = 'access_denied'";
    for (number, (method, path)) in (1..).zip(calls) {
        let refused = match path.as_str() {
            "sessions/revoke" => {
                let body = json!({"sessions": 1, "as_of": "2026-01-01T00:00:00Z"});
                post(&app, &path, &token, body).await
            }
            _ => send(&app, method.clone(), &path, &token).await,
        };
        assert_eq!(refused.refusal(), (403, "forbidden".to_owned()), "{path}");
        assert_eq!(
            app.db.count(&format!("{denied} AND user_id = {user}")),
            number
        );
        let path = format!("/api/v1/admin/{path}");
        let nobody = Reply::of(app.request(method, &path).json(&json!({}))).await;
        assert_eq!(nobody.refusal(), (401, "credentials_missing".to_owned()));
    }
    let note = format!("SELECT note AS value FROM {denied} ORDER BY id LIMIT 1");
    assert_eq!(
        app.db.text(&note).as_deref(),
        Some("GET /api/v1/admin/sessions")
    );
    assert!(app.is_alive(&token).await);
}

#[tokio::test]
async fn a_role_that_was_taken_away_counts_at_once() {
    let app = TestApp::start().await;
    let (id, token) = administrator(&app).await;
    assert_eq!(get(&app, "sessions", &token).await.status, 200);
    app.db
        .execute(&format!("UPDATE users SET role = 'user' WHERE id = {id}"));
    assert_eq!(get(&app, "sessions", &token).await.status, 403);
}

#[tokio::test]
async fn sessions_are_filtered_by_everything_there_is() {
    let app = TestApp::start().await;
    let (_, root) = administrator(&app).await;
    let ada = app.sign_up("ada@example.com").await;
    let old = app.login("ada@example.com").await;
    app.post("logout", &old).await;
    let live = app.login("ada@example.com").await;
    let stale = app.login("ada@example.com").await;
    let id_of = |token: &str| {
        let hash = sekisho::domain::token::SessionToken::parse(token)
            .expect("token")
            .hash();
        app.db
            .text(&format!(
                "SELECT id::text AS value FROM sessions WHERE session_hash = '{}'",
                hash.as_str()
            ))
            .expect("id")
    };
    let (old, live, stale) = (id_of(&old), id_of(&live), id_of(&stale));
    app.db.execute(&format!(
        "UPDATE sessions SET expires_at = now() - interval '1 hour', last_seen_at = now() - interval '2 hours', \
         ip_address = '2001:db8:7::/48', auth_level = 'mfa', created_at = '2026-01-02T03:04:05Z' WHERE id = '{stale}'"
    ));
    let whose = format!("user_id={ada}");
    let filters = [
        (String::new(), vec![&stale, &live, &old]),
        ("&email=ADA@example.com".into(), vec![&stale, &live, &old]),
        ("&email=nobody@example.com".into(), vec![]),
        ("&email=root@example.com".into(), vec![]),
        ("&state=active".into(), vec![&live]),
        ("&state=expired".into(), vec![&stale]),
        ("&state=revoked".into(), vec![&old]),
        ("&reason=user_logout".into(), vec![&old]),
        ("&reason=admin_revoked".into(), vec![]),
        ("&ip=127.0.0.1".into(), vec![&live, &old]),
        ("&ip=127.0.0.0/8".into(), vec![&live, &old]),
        ("&ip=2001:db8:7::1".into(), vec![&stale]),
        ("&ip=2001:db8::/32".into(), vec![&stale]),
        ("&auth_level=mfa".into(), vec![&stale]),
        ("&created_before=2026-02-01".into(), vec![&stale]),
        (
            "&created_after=2026-01-02T03:04&created_before=2026-01-02T03:05:00Z".into(),
            vec![&stale],
        ),
        ("&created_after=2026-02-01".into(), vec![&live, &old]),
        ("&seen_after=9999-12-31".into(), vec![]),
        (
            "&seen_after=2026-01-01&state=&reason=&email=".into(),
            vec![&stale, &live, &old],
        ),
    ];
    for (filter, expected) in filters {
        let found = get(&app, &format!("sessions?{whose}{filter}"), &root).await;
        assert_eq!(
            ids(&found).iter().collect::<Vec<_>>(),
            expected,
            "{filter:?}"
        );
    }
    let shown = &get(&app, &format!("sessions?{whose}&state=expired"), &root)
        .await
        .json()[0];
    assert_eq!(shown["email"], "ada@example.com");
    assert_eq!(
        (&shown["state"], &shown["current"]),
        (&json!("expired"), &json!(false))
    );
    assert!(!shown.to_string().contains("hash"), "{shown}");
}

#[tokio::test]
async fn wrong_filters_name_the_field() {
    let app = TestApp::start().await;
    let (_, root) = administrator(&app).await;
    let wrong = [
        ("sessions?user_id=x", "user_id"),
        ("sessions?user_id=9223372036854775808", "user_id"),
        ("sessions?email=nonsense", "email"),
        ("sessions?email=a%00@example.com", "email"),
        ("sessions?state=dead", "state"),
        ("sessions?reason=boredom", "reason"),
        ("sessions?ip=example.com", "ip"),
        ("sessions?auth_level=none", "auth_level"),
        ("sessions?created_after=yesterday", "created_after"),
        ("sessions?seen_before=2026-13-01", "seen_before"),
        ("sessions?cursor=1", "cursor"),
        ("sessions?limit=0", "limit"),
        ("sessions?limit=201", "limit"),
        ("session_events?kind=party", "kind"),
        ("session_events?cursor=x", "cursor"),
        ("users?disabled=maybe", "disabled"),
        ("users?query=%00", "query"),
    ];
    for (path, field) in wrong {
        let refused = get(&app, path, &root).await;
        assert_eq!(
            refused.refusal(),
            (422, "invalid_field".to_owned()),
            "{path}"
        );
        assert_eq!(refused.json()["field"], field, "{path}");
    }
    let unknown = get(&app, "sessions?colour=red", &root).await;
    assert_eq!(unknown.refusal(), (400, "malformed_request".to_owned()));
}

#[tokio::test]
async fn pages_follow_one_another_without_gaps() {
    let app = TestApp::start().await;
    let (_, root) = administrator(&app).await;
    app.sign_up("ada@example.com").await;
    for _ in 0..6 {
        app.login("ada@example.com").await;
    }
    for list in [
        "sessions?email=ada@example.com",
        "session_events?kind=session_created",
    ] {
        let whole = ids(&get(&app, list, &root).await);
        assert!(whole.len() >= 6);
        let (mut path, mut found) = (format!("{list}&limit=2"), Vec::new());
        loop {
            let page = get(&app, &path, &root).await;
            found.extend(ids(&page));
            let Some(more) = next(&page) else { break };
            path = more;
        }
        assert_eq!(found, whole, "{list}");
    }
}

#[tokio::test]
async fn ending_one_says_who_did_it_and_why() {
    let app = TestApp::start().await;
    let (root_id, root) = administrator(&app).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    let id = app.get("session", &token).await.json()["session"]["id"]
        .as_str()
        .expect("id")
        .to_owned();
    let path = format!("/api/v1/admin/sessions/{id}");
    let request = app
        .request(Method::DELETE, &path)
        .bearer_auth(&root)
        .json(&json!({"note": "reported as stolen"}));
    let ended = Reply::of(request).await;
    assert_eq!(
        (ended.status, &ended.json()["revoked_count"]),
        (200, &json!(1))
    );
    assert!(!app.is_alive(&token).await);
    assert_eq!(
        app.get("session", &token).await.json()["reason"],
        "admin_revoked"
    );
    let again = send(&app, Method::DELETE, &format!("sessions/{id}"), &root).await;
    assert_eq!(again.json()["revoked_count"], 0);
    let shown = get(&app, &format!("sessions/{id}"), &root).await.json();
    assert_eq!(shown["session"]["revoked_reason"], "admin_revoked");
    let events = shown["events"].as_array().expect("events");
    let kinds: Vec<_> = events.iter().map(|event| &event["kind"]).collect();
    assert_eq!(kinds, ["session_revoked", "session_created"]);
    assert_eq!(events[0]["actor"], "admin");
    assert_eq!(events[0]["actor_id"], root_id);
    assert_eq!(events[0]["note"], "reported as stolen");
    for unknown in [uuid::Uuid::now_v7().to_string(), "x".to_owned()] {
        let path = format!("sessions/{unknown}");
        for method in [Method::GET, Method::DELETE] {
            let refused = send(&app, method, &path, &root).await;
            assert_eq!(refused.refusal(), (404, "not_found".to_owned()));
        }
    }
}

#[tokio::test]
async fn users_are_found_disabled_and_enabled() {
    let app = TestApp::start().await;
    let (root_id, root) = administrator(&app).await;
    let ada = app.sign_up("ada.l_1@example.com").await;
    let phone = app.login("ada.l_1@example.com").await;
    for (query, expected) in [
        ("users?query=ADA.L", vec![ada]),
        ("users?query=l_1", vec![ada]),
        ("users?query=a%25a", vec![]),
        ("users?disabled=true", vec![]),
        ("users", vec![ada, root_id]),
    ] {
        let expected: Vec<_> = expected.iter().map(i64::to_string).collect();
        assert_eq!(ids(&get(&app, query, &root).await), expected, "{query}");
    }
    let by_id = get(&app, &format!("users?query={ada}"), &root).await;
    assert_eq!(ids(&by_id), [ada.to_string()]);
    let shown = get(&app, &format!("users/{ada}"), &root).await.json();
    assert_eq!(shown["sessions"].as_array().map(Vec::len), Some(1));

    let disabled = post(&app, &format!("users/{ada}/disable"), &root, json!({})).await;
    assert_eq!(disabled.json()["revoked_count"], 1);
    assert!(!app.is_alive(&phone).await);
    assert_eq!(
        ids(&get(&app, "users?disabled=true", &root).await),
        [ada.to_string()]
    );
    let enabled = send(&app, Method::POST, &format!("users/{ada}/enable"), &root).await;
    assert_eq!(enabled.status, 200);
    let phone = app.login("ada.l_1@example.com").await;
    let ended = send(
        &app,
        Method::POST,
        &format!("users/{ada}/revoke_sessions"),
        &root,
    )
    .await;
    assert_eq!(ended.json()["revoked_count"], 1);
    assert!(!app.is_alive(&phone).await && app.is_alive(&root).await);

    let own = post(&app, &format!("users/{root_id}/disable"), &root, json!({})).await;
    assert_eq!(own.refusal(), (422, "invalid_field".to_owned()));
    for path in ["users/999/disable", "users/x/enable"] {
        let unknown = send(&app, Method::POST, path, &root).await;
        assert_eq!(unknown.refusal(), (404, "not_found".to_owned()));
    }
    let bad = json!({"note": "two\nlines"});
    let refused = post(&app, &format!("users/{ada}/disable"), &root, bad).await;
    assert_eq!(refused.refusal(), (422, "invalid_field".to_owned()));
}

#[tokio::test]
async fn everything_that_matches_ends_after_it_was_counted() {
    let app = TestApp::start().await;
    let (_, root) = administrator(&app).await;
    let mut tokens = Vec::new();
    for name in ["a@example.com", "b@example.com", "c@example.com"] {
        app.sign_up(name).await;
        tokens.push(app.login(name).await);
        tokens.push(app.login(name).await);
    }
    let seen = get(&app, "sessions/count?state=active&ip=127.0.0.1", &root)
        .await
        .json();
    assert_eq!(
        (&seen["sessions"], &seen["users"]),
        (&json!(6), &json!(3)),
        "without one's own"
    );
    let later = app.login("a@example.com").await;
    let fewer = json!({"sessions": 5, "as_of": seen["as_of"]});
    let path = "sessions/revoke?state=active&ip=127.0.0.1";
    let refused = post(&app, path, &root, fewer).await;
    assert_eq!(refused.refusal(), (409, "count_changed".to_owned()));
    assert!(app.is_alive(&tokens[0]).await);
    let body = json!({"sessions": 6, "as_of": seen["as_of"], "note": "the network was sold"});
    let ended = post(&app, path, &root, body).await;
    assert_eq!(ended.status, 200, "{ended:?}");
    let ended = ended.json();
    assert_eq!(
        (&ended["revoked_count"], &ended["users"]),
        (&json!(6), &json!(3))
    );
    assert_eq!(ended["complete"], true);
    for token in &tokens {
        assert!(!app.is_alive(token).await);
    }
    assert!(app.is_alive(&later).await, "it began after the count");
    assert!(app.is_alive(&root).await, "one's own is left");
    assert_eq!(
        app.db.count(
            "session_events WHERE kind = 'session_revoked' AND reason = 'admin_revoked' \
             AND actor = 'admin' AND note = 'the network was sold'"
        ),
        6
    );
}

#[tokio::test]
async fn figures_count_each_day_by_kind_and_reason() {
    let app = TestApp::start().await;
    let (_, root) = administrator(&app).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.post("logout", &token).await;
    let wrong = json!({"email": "ada@example.com", "password": "wrong password"});
    app.post_public("login", wrong).await;
    let figures = get(&app, "statistics", &root).await.json();
    assert_eq!(figures["active_sessions"], 1);
    let days = figures["days"].as_array().expect("days");
    let sum = |name: &str| {
        days.iter()
            .map(|day| day[name].as_i64().unwrap())
            .sum::<i64>()
    };
    assert_eq!((sum("logins"), sum("failures")), (2, 1));
    assert_eq!(days.last().unwrap()["endings"], json!({"user_logout": 1}));
}

#[tokio::test]
async fn cleanups_are_listed_and_run() {
    let app = TestApp::start().await;
    let (_, root) = administrator(&app).await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db.execute("UPDATE sessions SET expires_at = now() - interval '1 s' WHERE user_id = (SELECT max(id) FROM users)");
    let run = send(&app, Method::POST, "cleanup_runs", &root).await;
    assert_eq!(run.json()["expired"], 1, "{run:?}");
    let runs = get(&app, "cleanup_runs", &root).await.json();
    assert_eq!(
        (&runs[0]["expired"], &runs[0]["complete"]),
        (&json!(1), &json!(true))
    );
    assert!(!app.is_alive(&token).await);
}

#[tokio::test]
async fn a_filter_that_takes_too_long_is_refused_as_such() {
    let app = TestApp::start_with(&[("DATABASE_TIMEOUT", "1s")]).await;
    let (_, root) = administrator(&app).await;
    // A table that takes its time for one row.
    app.db.execute(
        "ALTER TABLE users RENAME TO users_; CREATE VIEW users AS SELECT * FROM users_ WHERE email <> 'slow@example.com' OR pg_sleep(30) IS NULL",
    );
    app.db
        .execute("INSERT INTO users_ (email) VALUES ('slow@example.com')");
    let refused = get(&app, "users?query=slow", &root).await;
    assert_eq!(refused.refusal(), (422, "filter_too_broad".to_owned()));
}
