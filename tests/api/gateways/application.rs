//! An application behind a gateway: answers every request with what it was sent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::dev::ServerHandle;
use actix_web::web::{self, Bytes, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use serde_json::{Value, json};

use crate::support::Reply;

/// A running one.
pub struct Application {
    pub address: SocketAddr,
    hits: Arc<AtomicUsize>,
    handle: ServerHandle,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Application {
    pub fn start() -> Self {
        let hits = Arc::new(AtomicUsize::new(0));
        let counted = Data::from(hits.clone());
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let server = HttpServer::new(move || {
                    App::new()
                        .app_data(counted.clone())
                        .app_data(web::PayloadConfig::new(1 << 24))
                        .default_service(web::to(echo))
                })
                .workers(1)
                .disable_signals()
                .bind("127.0.0.1:0")
                .expect("a port");
                let address = server.addrs()[0];
                let server = server.run();
                sender
                    .send((address, server.handle()))
                    .expect("the test waits");
                server.await.expect("server");
            });
        });
        let (address, handle) = receiver.recv().expect("started");
        Self {
            address,
            hits,
            handle,
            thread: Some(thread),
        }
    }

    /// Requests that have come through.
    pub fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn echo(request: HttpRequest, body: Bytes, hits: Data<AtomicUsize>) -> HttpResponse {
    hits.fetch_add(1, Ordering::SeqCst);
    let headers: Vec<(String, String)> = request
        .headers()
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        })
        .collect();
    HttpResponse::Ok().json(json!({
        "method": request.method().as_str(),
        "path": request.uri().to_string(),
        "headers": headers,
        "body_length": body.len(),
    }))
}

/// What the application was sent.
pub struct Seen {
    pub method: String,
    pub path: String,
    pub body_length: usize,
    headers: Vec<(String, String)>,
}

impl Seen {
    pub fn of(reply: &Reply) -> Self {
        assert_eq!(reply.status, 200, "{reply:?}");
        let body = reply.json();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let pair = |pair: &Value| {
            let text = |at: usize| pair[at].as_str().unwrap_or_default().to_owned();
            (text(0), text(1))
        };
        Self {
            method: text("method"),
            path: text("path"),
            body_length: usize::try_from(body["body_length"].as_u64().unwrap()).unwrap(),
            headers: body["headers"]
                .as_array()
                .unwrap()
                .iter()
                .map(pair)
                .collect(),
        }
    }

    /// The value of a header that must be there exactly once.
    pub fn one(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let first = values
            .next()
            .unwrap_or_else(|| panic!("no {name}: {:?}", self.headers));
        assert!(values.next().is_none(), "{name} twice: {:?}", self.headers);
        &first.1
    }
}
