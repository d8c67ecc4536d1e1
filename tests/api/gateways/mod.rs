//! The configurations of docs/gateways, each with the real program between a client and an
//! application that tells what it was sent.

mod application;
mod caddy;
mod envoy;
mod nginx;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use application::Application;
use reqwest::{Method, RequestBuilder};

use crate::support::app::Instance;
use crate::support::{Cluster, Reply, TestDatabase};

/// What one test has between its client and its database. Dropped from the top: the service does
/// not stop while its database is frozen.
struct Setup {
    gateway: Gateway,
    application: Application,
    cluster: Cluster,
    app: Instance,
    db: TestDatabase,
    http: reqwest::Client,
}

/// A running gateway.
struct Gateway {
    child: Child,
    port: u16,
    files: tempfile::TempDir,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("address").port()
}

impl Setup {
    /// `configure` turns the adapted configuration in a folder of its own into a command.
    async fn start(
        documented: &str,
        configure: impl Fn(&std::path::Path, &str) -> Command,
    ) -> Self {
        let cluster = Cluster::create(&[]);
        let db = TestDatabase::empty(&cluster.url);
        let app = Instance::start(&db.url, &[("TRUSTED_PROXIES", "127.0.0.0/8")]);
        app.ready().await;
        let application = Application::start();
        let port = free_port();
        let adapted = documented
            .replace("127.0.0.1:8080", &app.address.to_string())
            .replace("127.0.0.1:3000", &application.address.to_string())
            .replace(
                "port_value: 8080",
                &format!("port_value: {}", app.address.port()),
            )
            .replace(
                "port_value: 3000",
                &format!("port_value: {}", application.address.port()),
            )
            .replace("0.0.0.0", "127.0.0.1")
            .replace("port_value: 8000", &format!("port_value: {port}"))
            .replace("listen 8000", &format!("listen 127.0.0.1:{port}"))
            .replace("\n:8000", &format!("\nhttp://127.0.0.1:{port}"));
        let files = tempfile::tempdir().expect("folder");
        let child = configure(files.path(), &adapted)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(files.path().join("log")).expect("log"))
            .spawn()
            .expect("the gateway starts");
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("client");
        let gateway = Gateway { child, port, files };
        let setup = Self {
            gateway,
            application,
            app,
            db,
            cluster,
            http,
        };
        setup.until_it_listens().await;
        setup
    }

    async fn until_it_listens(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            let probe = self.ask(Method::GET, "/public/probe").send().await;
            if probe.is_ok_and(|reply| reply.status() == 200) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{}", self.log());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.gateway.files.path().join("log")).unwrap_or_default()
    }

    fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(
            method,
            format!("http://127.0.0.1:{}{path}", self.gateway.port),
        )
    }

    async fn reply(&self, request: RequestBuilder) -> Reply {
        Reply::try_of(request)
            .await
            .unwrap_or_else(|error| panic!("{error:?}\n{}", self.log()))
    }

    /// Everything that the documentation promises of a gateway.
    async fn check(self) {
        let id = self.app.sign_up("ada@example.com").await;
        let token = self.log_in_through_the_gateway().await;
        self.check_who_may_pass(id, &token).await;
        self.check_spoofing(id, &token).await;
        self.check_bodies_and_preflights(&token).await;
        self.check_touching(&token).await;
        self.check_machines_endpoints(&token).await;
        self.check_endings(&token).await;
        self.check_outage().await;
    }

    async fn log_in_through_the_gateway(&self) -> String {
        let body = serde_json::json!({
            "email": "ada@example.com", "password": crate::support::PASSWORD, "delivery": "token",
        });
        let login = self.ask(Method::POST, "/api/v1/auth/login").json(&body);
        let reply = self.reply(login).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["session_token"].as_str().unwrap().to_owned()
    }

    async fn check_who_may_pass(&self, id: i64, token: &str) {
        let cookie = format!("other=1; __Host-session_id={token}");
        let as_browser = self.ask(Method::GET, "/page?a=b").header("Cookie", cookie);
        let as_app = self.ask(Method::GET, "/page?a=b").bearer_auth(token);
        for request in [as_browser, as_app] {
            let reply = self.reply(request).await;
            assert_eq!(reply.status, 200, "{reply:?}\n{}", self.log());
            let seen = application::Seen::of(&reply);
            assert_eq!(seen.path, "/page?a=b");
            assert_eq!(seen.one("x-auth-user-id"), id.to_string());
            assert_eq!(seen.one("x-auth-level"), "password");
            assert_eq!(seen.one("x-auth-session-id").len(), 36);
            assert!(seen.one("x-auth-authenticated-at").ends_with('Z'));
        }
        // What looks like a demand in the application's own query is none.
        let own = "/page?max_age=0&auth_level=mfa&touch=x&Max-Age=0";
        let reply = self
            .reply(self.ask(Method::GET, own).bearer_auth(token))
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(application::Seen::of(&reply).path, own);
        let before = self.application.hits();
        for request in [
            self.ask(Method::GET, "/page"),
            self.ask(Method::POST, "/page").body("x"),
            self.ask(Method::DELETE, "/images/a.png"),
            self.ask(Method::GET, "/page").bearer_auth("A".repeat(43)),
            self.ask(Method::OPTIONS, "/page"),
        ] {
            let reply = self.reply(request).await;
            assert_eq!(reply.status, 401, "{reply:?}");
            let challenge = reply.header("www-authenticate").unwrap();
            assert!(
                challenge.starts_with("Bearer realm=\"sekisho\""),
                "{challenge}"
            );
        }
        assert_eq!(self.application.hits(), before);
    }

    async fn check_spoofing(&self, id: i64, token: &str) {
        let spoof = |request: RequestBuilder| {
            let names = [
                "X-Auth-User-Id",
                "x-auth-session-id",
                "X-AUTH-LEVEL",
                "X-Auth-Authenticated-At",
                "X_Auth_User_Id",
                "X_AUTH_LEVEL",
            ];
            let twice = names.into_iter().chain(names);
            twice.fold(request, |request, name| request.header(name, "spoofed"))
        };
        let signed_in = spoof(self.ask(Method::GET, "/page").bearer_auth(token));
        let reply = self.reply(signed_in).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let seen = application::Seen::of(&reply);
        assert_eq!(seen.one("x-auth-user-id"), id.to_string());
        assert!(!reply.body.contains("spoofed"), "{}", reply.body);
        let preflight = spoof(self.ask(Method::OPTIONS, "/page"))
            .header("Origin", "https://elsewhere.example")
            .header("Access-Control-Request-Method", "PUT");
        for request in [
            spoof(self.ask(Method::GET, "/public/page")),
            spoof(self.ask(Method::GET, "/images/a.png").bearer_auth(token)),
            preflight,
        ] {
            let reply = self.reply(request).await;
            assert_eq!(reply.status, 200, "{reply:?}");
            assert!(!reply.body.contains("spoofed"), "{}", reply.body);
        }
        assert_eq!(
            self.reply(spoof(self.ask(Method::GET, "/page")))
                .await
                .status,
            401
        );
    }

    async fn check_bodies_and_preflights(&self, token: &str) {
        let body = "a body that is long enough to come in pieces ".repeat(4000);
        for method in [Method::POST, Method::PUT, Method::PATCH] {
            let request = self
                .ask(method.clone(), "/form")
                .bearer_auth(token)
                .body(body.clone());
            let seen = application::Seen::of(&self.reply(request).await);
            assert_eq!(
                (seen.method.as_str(), seen.body_length),
                (method.as_str(), body.len())
            );
        }
        let preflight = self
            .ask(Method::OPTIONS, "/form")
            .header("Origin", "https://elsewhere.example")
            .header("Access-Control-Request-Method", "PUT");
        let reply = self.reply(preflight).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(application::Seen::of(&reply).method, "OPTIONS");
    }

    async fn check_touching(&self, token: &str) {
        let age = "UPDATE sessions SET last_seen_at = now() - interval '20 minutes'";
        let seen = "SELECT count(*) AS value FROM sessions \
                    WHERE last_seen_at > now() - interval '15 minutes'";
        self.db.execute(age);
        for _ in 0..3 {
            let image = self.ask(Method::GET, "/images/a.png").bearer_auth(token);
            assert_eq!(self.reply(image).await.status, 200);
        }
        while !self.app.context.touches.is_idle() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(self.db.number(seen), 0);
        self.reply(self.ask(Method::GET, "/page").bearer_auth(token))
            .await;
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.db.number(seen) == 0 {
            assert!(
                Instant::now() < deadline,
                "the page was no use of the session"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn check_machines_endpoints(&self, token: &str) {
        for path in [
            "cleanup_sessions",
            "introspect",
            "revoke",
            "issue",
            "users/1/password",
            "verify",
        ] {
            let request = self.ask(Method::POST, &format!("/api/v1/auth/{path}"));
            let key = request.header("X-API-Key", crate::support::SERVICE_KEY);
            assert_eq!(self.reply(key).await.status, 404, "{path}");
        }
        // The figures and the administrators' API are not sekisho's here, but the application's.
        for path in ["/metrics", "/api/v1/admin/statistics", "/health/ready"] {
            let reply = self.reply(self.ask(Method::GET, path)).await;
            assert_eq!(reply.status, 401, "{path}");
            let request = self.ask(Method::GET, path).bearer_auth(token);
            let seen = application::Seen::of(&self.reply(request).await);
            assert_eq!(seen.path, path);
        }
        let own = self
            .ask(Method::GET, "/api/v1/auth/session")
            .bearer_auth(token);
        assert_eq!(self.reply(own).await.status, 200);
    }

    async fn check_endings(&self, token: &str) {
        let page = || self.ask(Method::GET, "/page").bearer_auth(token);
        assert_eq!(self.reply(page()).await.status, 200);
        self.db
            .execute("UPDATE sessions SET expires_at = now() - interval '1 second'");
        assert_eq!(self.reply(page()).await.status, 401);
        let other = self.log_in_through_the_gateway().await;
        let page = || self.ask(Method::GET, "/page").bearer_auth(&other);
        assert_eq!(self.reply(page()).await.status, 200);
        let logout = self
            .ask(Method::POST, "/api/v1/auth/logout")
            .bearer_auth(&other);
        assert_eq!(self.reply(logout).await.json()["revoked_count"], 1);
        assert_eq!(self.reply(page()).await.status, 401);
    }

    /// An outage is a 503 that passes nothing on; afterwards everything is as before.
    async fn check_outage(&self) {
        let token = self.log_in_through_the_gateway().await;
        let page = || self.ask(Method::GET, "/page").bearer_auth(&token);
        let before = self.application.hits();
        for action in ["freeze", "thaw", "stop"] {
            self.cluster.control(action);
            if action == "thaw" {
                self.until_it_passes(page).await;
                continue;
            }
            let passed = self.application.hits();
            let reply = self.reply(page()).await;
            assert_eq!(reply.status, 503, "{action}: {reply:?}");
            assert_eq!(reply.header("retry-after"), Some("1"), "{reply:?}");
            assert_eq!(self.application.hits(), passed);
            // Open pages need no database.
            assert_eq!(
                self.reply(self.ask(Method::GET, "/public/page"))
                    .await
                    .status,
                200
            );
        }
        self.cluster.control("start");
        self.until_it_passes(page).await;
        assert!(self.application.hits() > before);
    }

    async fn until_it_passes(&self, request: impl Fn() -> RequestBuilder) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let reply = self.reply(request()).await;
            match reply.status {
                200 => return,
                status => assert_eq!(status, 503, "{reply:?}"),
            }
            assert!(Instant::now() < deadline, "no recovery");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
