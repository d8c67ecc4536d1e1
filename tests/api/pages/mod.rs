//! The console and the account pages, as a program sees them.

use reqwest::Method;
mod account;
mod again;
mod refusals;
mod safety;

use crate::admin::administrator;
use crate::support::{Instance, PASSWORD, Reply, TestApp, cookie_value};

const ROOT: &str = "root@example.com";

/// A browser without a screen: keeps its cookie, follows nothing.
pub struct Visitor<'a> {
    app: &'a Instance,
    http: reqwest::Client,
    cookie: Option<String>,
    languages: &'static str,
}

impl<'a> Visitor<'a> {
    pub fn new(app: &'a Instance) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("client");
        Self {
            app,
            http,
            cookie: None,
            languages: "en",
        }
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self
            .http
            .request(method, self.app.url(path))
            .header("Accept-Language", self.languages)
            .header("Sec-Fetch-Site", "same-origin");
        match &self.cookie {
            Some(token) => request.header("Cookie", format!("__Host-session_id={token}")),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Reply {
        Reply::of(self.request(Method::GET, path)).await
    }

    /// Sends a form with the token that the page at `from` has.
    pub async fn submit(&self, from: &str, to: &str, fields: &[(&str, &str)]) -> Reply {
        let page = self.get(from).await;
        let token = between(&page.body, "name=\"token\" value=\"", "\"").expect("a token");
        let mut fields = fields.to_vec();
        fields.push(("token", token));
        self.post(to, &fields).await
    }

    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        Reply::of(self.request(Method::POST, path).form(fields)).await
    }

    pub async fn sign_in(&mut self, base: &str, email: &str) -> Reply {
        let fields = [("email", email), ("password", PASSWORD)];
        let reply = self.post(&format!("{base}/sign_in"), &fields).await;
        if let Some(token) = cookie_value(&reply) {
            self.cookie = Some(token);
        }
        reply
    }

    /// Follows the redirect that a form was answered with.
    pub async fn follow(&self, reply: &Reply) -> Reply {
        assert_eq!(reply.status, 303, "{reply:?}");
        self.get(reply.header("location").expect("a location"))
            .await
    }
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

#[tokio::test]
async fn every_page_is_html_without_script_under_a_strict_policy() {
    let app = TestApp::start().await;
    let (id, _) = administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    let session = app
        .db
        .text("SELECT id::text AS value FROM sessions ORDER BY id DESC LIMIT 1")
        .expect("id");
    let pages = [
        "/admin",
        "/admin/sign_in",
        "/admin/sessions",
        "/admin/sessions/end?state=active",
        &format!("/admin/sessions/{session}"),
        "/admin/users",
        &format!("/admin/users/{id}"),
        "/admin/events",
        "/admin/cleanup",
        "/account",
        "/account/sign_in",
        "/account/sign_up",
        "/account/password",
        "/account/history",
    ];
    for path in pages {
        let page = root.get(path).await;
        assert_eq!(page.status, 200, "{path}: {page:?}");
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        let policy = page.header("content-security-policy").expect("a policy");
        for part in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"));
        for forbidden in [
            "<script",
            "<style",
            " style=",
            " onclick=",
            "javascript:",
            "http",
        ] {
            // datetime attributes and the like hold none of these.
            let body = page.body.replace("http-equiv", "");
            assert!(!body.contains(forbidden), "{path} holds {forbidden}");
        }
    }
    for missing in ["/admin/nothing", "/account/nothing", "/admin/users/999"] {
        let page = root.get(missing).await;
        assert_eq!(page.status, 404, "{missing}");
        assert!(page.body.starts_with("<!doctype html>"), "{missing}");
    }
}

#[tokio::test]
async fn confirmations_cannot_be_made_up() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    for claim in ["sessions_ended.99.0", "sessions_ended.99.", "x", "a.b.c.d"] {
        let page = root.get(&format!("/admin/cleanup?done={claim}")).await;
        assert!(!page.body.contains("role=\"status\""), "{claim}");
    }
    let done = root.submit("/admin/cleanup", "/admin/cleanup", &[]).await;
    let page = root.follow(&done).await;
    assert!(page.body.contains("role=\"status\""), "{page:?}");
}

#[tokio::test]
async fn users_do_not_get_into_the_console() {
    let app = TestApp::start().await;
    app.sign_up("ada@example.com").await;
    let mut ada = Visitor::new(&app);
    let refused = ada.sign_in("/admin", "ada@example.com").await;
    assert_eq!(refused.status, 403);
    assert!(refused.cookies().is_empty());
    assert_eq!(app.db.count("sessions WHERE revoked_at IS NULL"), 0);
    ada.sign_in("/account", "ada@example.com").await;
    for path in ["/admin", "/admin/sessions", "/admin/cleanup"] {
        assert_eq!(ada.get(path).await.status, 403, "{path}");
    }
    assert_eq!(
        app.db.count("session_events WHERE kind = 'access_denied'"),
        4
    );
    let nobody = Visitor::new(&app);
    let led = nobody.get("/admin/users").await;
    assert_eq!(
        (led.status, led.header("location")),
        (303, Some("/admin/sign_in"))
    );
}

#[tokio::test]
async fn everything_that_a_filter_matches_ends_after_a_preview() {
    let app = TestApp::start().await;
    administrator(&app).await;
    let mut root = Visitor::new(&app);
    root.sign_in("/admin", ROOT).await;
    app.sign_up("ada@example.com").await;
    app.sign_up("eve@example.com").await;
    let (ada, eve) = (
        app.login("ada@example.com").await,
        app.login("eve@example.com").await,
    );
    let path = "/admin/sessions/end?email=eve%40example.com&state=active";
    let preview = root.get(path).await;
    assert!(preview.body.contains("id=\"matching\">1<"), "{preview:?}");
    let as_of = between(&preview.body, "name=\"as_of\" value=\"", "\"")
        .expect("a time")
        .replace("&#43;", "+");
    let fields = [("sessions", "1"), ("as_of", as_of.as_str()), ("note", "")];
    let ended = root.submit(path, path, &fields).await;
    let page = root.follow(&ended).await;
    assert!(page.body.contains("Sessions ended: 1."), "{page:?}");
    assert!(app.is_alive(&ada).await && !app.is_alive(&eve).await);
}

#[tokio::test]
async fn pages_speak_japanese_to_those_who_prefer_it() {
    let app = TestApp::start().await;
    let mut visitor = Visitor::new(&app);
    visitor.languages = "ja-JP,ja;q=0.9,en;q=0.5";
    let page = visitor.get("/account/sign_in").await;
    assert!(page.body.contains("<html lang=\"ja\">"));
    assert!(page.body.contains("サインイン") && !page.body.contains("Sign in"));
    let fields = [("email", "x"), ("password", "short")];
    let refused = visitor.post("/account/sign_up", &fields).await;
    assert!(refused.body.contains("メールアドレス: "), "{refused:?}");
    let fields = [("email", "ada@example.com"), ("password", "short")];
    let refused = visitor.post("/account/sign_up", &fields).await;
    assert!(
        refused
            .body
            .contains("別のパスワードを選んでください。8 文字以上"),
        "{refused:?}"
    );
    assert!(!refused.body.contains("must") && !refused.body.contains("characters"));
}

#[tokio::test]
async fn operators_switch_pages_off_and_give_them_a_name_and_colours() {
    let css = tempfile::NamedTempFile::new().expect("file");
    std::fs::write(css.path(), ":root { --accent: rebeccapurple; }").expect("written");
    let path = css.path().to_str().expect("path");
    let app = TestApp::start_with(&[
        ("ADMIN_PAGES_ENABLED", "false"),
        ("PAGES_PRODUCT_NAME", "Acme <Inc>"),
        ("PAGES_STYLESHEET", path),
    ])
    .await;
    let visitor = Visitor::new(&app);
    assert_eq!(visitor.get("/admin").await.refusal().0, 404);
    let page = visitor.get("/account/sign_in").await;
    assert!(page.body.contains("Acme &#60;Inc&#62;"));
    let link = between(&page.body, "rel=\"stylesheet\" href=\"", "\"").expect("a stylesheet");
    let sheet = visitor.get(link).await;
    assert_eq!(
        sheet.header("content-type"),
        Some("text/css; charset=utf-8")
    );
    assert!(sheet.body.ends_with("rebeccapurple; }"));

    let app = TestApp::start_with(&[("ACCOUNT_PAGES_ENABLED", "false")]).await;
    assert_eq!(Visitor::new(&app).get("/account").await.refusal().0, 404);
}
