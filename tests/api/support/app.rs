//! The service in this process, on a port and a database of its own.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use actix_web::dev::ServerHandle;
use reqwest::{Method, RequestBuilder};
use sekisho::app::Application;
use sekisho::config::{Config, Source};
use sekisho::context::Context;
use serde_json::{Value, json};

use super::client::{Reply, cookie_value};
use super::database::TestDatabase;
use super::{CLEANUP_KEY, PASSWORD, SERVICE_KEY};

/// Settings of every test: cheap hashes, known keys, no schedule.
pub fn base_settings(database_url: &str) -> Vec<(String, String)> {
    [
        ("DATABASE_URL", database_url),
        ("LISTEN_ADDRESS", "127.0.0.1:0"),
        ("PASSWORD_ARGON2_MEMORY", "64"),
        ("PASSWORD_ARGON2_ITERATIONS", "1"),
        ("SESSION_CLEANUP_API_KEY", CLEANUP_KEY),
        ("SERVICE_API_KEY", SERVICE_KEY),
        ("CLEANUP_INTERVAL", "0"),
        ("DATABASE_POOL_SIZE", "12"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// One running instance.
pub struct Instance {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its inside, for what HTTP does not show.
    pub context: Arc<Context>,
    handle: ServerHandle,
    thread: Option<JoinHandle<()>>,
    http: reqwest::Client,
}

impl Instance {
    /// Starts one on a database; `settings` override the base.
    pub fn start(database_url: &str, settings: &[(&str, &str)]) -> Self {
        let own = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let all: Vec<_> = base_settings(database_url).into_iter().chain(own).collect();
        let config = Config::new(&Source::from_pairs(all)).expect("configuration");
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let application = Application::build(config).expect("application");
                let started = (
                    application.address(),
                    application.handle(),
                    application.context(),
                );
                sender.send(started).expect("the test waits");
                application.run().await.expect("server");
            });
        });
        let (address, handle, context) = receiver.recv().expect("the application started");
        let http = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("client");
        Self {
            address,
            context,
            handle,
            thread: Some(thread),
            http,
        }
    }

    /// Waits until the database is there.
    pub async fn ready(&self) {
        for _ in 0..200 {
            if self.context.database.is_migrated() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("not ready in time");
    }

    /// URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A request to any path.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, self.url(path))
    }

    /// A request to `/api/v1/auth/…`.
    pub fn auth(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, &format!("/api/v1/auth/{path}"))
    }

    /// GET with a bearer.
    pub async fn get(&self, path: &str, token: &str) -> Reply {
        Reply::of(self.auth(Method::GET, path).bearer_auth(token)).await
    }

    /// POST without a body, with a bearer.
    pub async fn post(&self, path: &str, token: &str) -> Reply {
        Reply::of(self.auth(Method::POST, path).bearer_auth(token)).await
    }

    /// POST of JSON, with a bearer.
    pub async fn post_json(&self, path: &str, token: &str, body: Value) -> Reply {
        Reply::of(self.auth(Method::POST, path).bearer_auth(token).json(&body)).await
    }

    /// POST of JSON by nobody.
    pub async fn post_public(&self, path: &str, body: Value) -> Reply {
        Reply::of(self.auth(Method::POST, path).json(&body)).await
    }

    /// Makes an account with [`PASSWORD`]; returns its id.
    pub async fn sign_up(&self, email: &str) -> i64 {
        let reply = self
            .post_public("sign_up", json!({"email": email, "password": PASSWORD}))
            .await;
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()["user"]["id"].as_i64().expect("id")
    }

    /// Logs in as an app; returns the token.
    pub async fn login(&self, email: &str) -> String {
        self.login_with(email, json!({})).await
    }

    /// The same with more fields.
    pub async fn login_with(&self, email: &str, more: Value) -> String {
        let mut body = json!({"email": email, "password": PASSWORD, "delivery": "token"});
        for (name, value) in more.as_object().expect("object") {
            body[name] = value.clone();
        }
        let reply = self.post_public("login", body).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["session_token"]
            .as_str()
            .expect("token")
            .to_owned()
    }

    /// Logs in as a browser; returns the cookie's value.
    pub async fn login_browser(&self, email: &str) -> String {
        let reply = self
            .post_public("login", json!({"email": email, "password": PASSWORD}))
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
        cookie_value(&reply).expect("cookie")
    }

    /// Whether GET session answers 200 for this token, as bearer and as cookie alike.
    pub async fn is_alive(&self, token: &str) -> bool {
        let bearer = self.get("session", token).await;
        let cookie = format!("__Host-session_id={token}");
        let cookie = Reply::of(self.auth(Method::GET, "session").header("Cookie", cookie)).await;
        assert_eq!(bearer.status, cookie.status, "{bearer:?} {cookie:?}");
        assert!(bearer.status == 200 || bearer.status == 401, "{bearer:?}");
        bearer.status == 200
    }

    /// Calls the cleanup endpoint.
    pub async fn cleanup(&self) -> Reply {
        Reply::of(
            self.auth(Method::POST, "cleanup_sessions")
                .header("X-API-Key", CLEANUP_KEY),
        )
        .await
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An instance with a database of its own.
pub struct TestApp {
    // Declared first: it lets go of the database before that is dropped.
    instance: Instance,
    /// Its database.
    pub db: TestDatabase,
}

impl TestApp {
    /// With the base settings.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// With other settings.
    pub async fn start_with(settings: &[(&str, &str)]) -> Self {
        let db = TestDatabase::new();
        let instance = Instance::start(&db.url, settings);
        instance.ready().await;
        Self { instance, db }
    }

    /// A further instance on the same database.
    pub async fn another(&self, settings: &[(&str, &str)]) -> Instance {
        let instance = Instance::start(&self.db.url, settings);
        instance.ready().await;
        instance
    }
}

impl std::ops::Deref for TestApp {
    type Target = Instance;
    fn deref(&self) -> &Instance {
        &self.instance
    }
}
