//! GET session_events: a user's own history, in pages.

use serde_json::Value;

use crate::envelope::assert_common;
use crate::support::{Reply, TestApp};

/// Where the `Link` header says that the next page is.
fn next(reply: &Reply) -> Option<String> {
    let link = reply.header("link")?;
    let url = link
        .strip_prefix("</api/v1/auth/")
        .and_then(|rest| rest.strip_suffix(">; rel=\"next\""));
    Some(url.unwrap_or_else(|| panic!("{link}")).to_owned())
}

fn events(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_common(reply);
    reply.json().as_array().unwrap().clone()
}

#[tokio::test]
async fn the_history_says_what_happened_when_and_why_newest_first() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    app.sign_up("eve@example.com").await;
    app.login("eve@example.com").await;
    let phone = app.login("ada@example.com").await;
    let laptop = app.login("ada@example.com").await;
    app.post("logout", &phone).await;
    let reply = app.get("session_events", &laptop).await;
    let all = events(&reply);
    assert_eq!(next(&reply), None);
    let kinds: Vec<_> = all.iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "session_revoked",
            "session_created",
            "session_created",
            "user_created"
        ]
    );
    assert_eq!(all[0]["reason"], "user_logout");
    assert_eq!(all[0]["actor"], "user");
    assert_eq!(all[0]["ip_address"], "127.0.0.0/24");
    assert!(all[0]["occurred_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(all[0]["session_id"], all[2]["session_id"]);
    let mut names: Vec<_> = all[0].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(
        names,
        [
            "actor",
            "device_label",
            "id",
            "ip_address",
            "kind",
            "occurred_at",
            "reason",
            "session_id"
        ]
    );
}

#[tokio::test]
async fn pages_follow_the_link_and_miss_nothing() {
    let app = TestApp::start().await;
    let id = app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    app.db.execute(&format!(
        "INSERT INTO session_events (kind, user_id, actor) \
         SELECT 'login_failed', {id}, 'user' FROM generate_series(1, 120)"
    ));
    let everything = events(&app.get("session_events?limit=200", &token).await);
    assert_eq!(everything.len(), 122);
    // Without a limit 50 a page.
    assert_eq!(events(&app.get("session_events", &token).await).len(), 50);
    for limit in [1, 7, 50, 122, 200] {
        let mut path = format!("session_events?limit={limit}");
        let mut collected = Vec::new();
        let mut is_new_event_made = false;
        loop {
            let reply = app.get(&path, &token).await;
            let page = events(&reply);
            assert!(page.len() <= limit);
            collected.extend(page);
            if !is_new_event_made && limit == 7 {
                // What comes meanwhile shifts no page.
                app.login("ada@example.com").await;
                is_new_event_made = true;
            }
            match next(&reply) {
                Some(next) => path = next,
                None => break,
            }
        }
        let seen = &collected[collected.len() - everything.len()..];
        assert_eq!(seen, everything, "limit {limit}");
    }
}

#[tokio::test]
async fn what_is_no_page_is_400() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let token = app.login("ada@example.com").await;
    for query in [
        "limit=0",
        "limit=-1",
        "limit=201",
        "limit=65536",
        "limit=9223372036854775808",
        "limit=x",
        "limit=",
        "cursor=9223372036854775808",
        "cursor=-9223372036854775809",
        "cursor=abc",
        "cursor=1%00",
        "limit=1&limit=2",
        "page=1",
        "user_id=1",
        "cursor=%ff",
    ] {
        let reply = app.get(&format!("session_events?{query}"), &token).await;
        assert_eq!(
            reply.refusal(),
            (400, "malformed_request".to_owned()),
            "{query}"
        );
        assert_common(&reply);
    }
    for (query, count) in [
        ("cursor=-9223372036854775808", 0),
        ("cursor=0", 0),
        ("cursor=9223372036854775807", 2),
        ("", 2),
    ] {
        let reply = app.get(&format!("session_events?{query}"), &token).await;
        assert_eq!(events(&reply).len(), count, "{query}");
    }
}
