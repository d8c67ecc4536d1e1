//! A panic is one answer with 500, and nothing else.

use actix_web::{App, HttpServer, web};
use diesel::result::QueryResult;
use sekisho::config::{Config, Source};
use sekisho::routes;

use super::start;
use crate::support::Reply;

async fn panics() -> &'static str {
    panic!("a secret in a panic's message")
}

#[tokio::test]
async fn a_panicking_handler_is_a_500_in_the_envelope_and_the_next_request_works() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        actix_web::rt::System::new().block_on(async move {
            let server = HttpServer::new(|| {
                let config = Config::new(&Source::from_pairs([(
                    "DATABASE_URL",
                    "postgres://nowhere/",
                )]))
                .unwrap();
                App::new()
                    .route("/panics", web::get().to(panics))
                    .route("/works", web::get().to(async || "works"))
                    .wrap(actix_web::middleware::from_fn(routes::boundary))
                    .wrap(routes::default_headers(&config))
            });
            let server = server
                .workers(1)
                .disable_signals()
                .listen(listener)
                .unwrap()
                .run();
            sender.send(server.handle()).unwrap();
            server.await.unwrap();
        });
    });
    let handle = receiver.recv().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for _ in 0..3 {
        let reply = Reply::of(
            client
                .get(format!("{base}/panics"))
                .header("X-Request-Id", "edge-1"),
        )
        .await;
        assert_eq!(reply.refusal(), (500, "internal_error".to_owned()));
        assert!(!reply.body.contains("secret"));
        assert_eq!(reply.header("x-request-id"), Some("edge-1"));
        for name in [
            "cache-control",
            "content-security-policy",
            "x-content-type-options",
            "referrer-policy",
        ] {
            assert!(reply.header(name).is_some(), "{reply:?}");
        }
        assert_eq!(
            Reply::of(client.get(format!("{base}/works"))).await.body,
            "works"
        );
    }
    drop(handle.stop(false));
    thread.join().unwrap();
}

#[tokio::test]
async fn panics_on_a_connection_lose_neither_it_nor_its_permit() {
    let app = start(&[]).await;
    app.sign_up("ada@example.com").await;
    // More often than there are connections.
    for _ in 0..20 {
        let read = app
            .context
            .database
            .read(|_conn| -> QueryResult<()> { panic!("read") })
            .await;
        let write = app
            .context
            .database
            .write(|_conn| -> QueryResult<()> { panic!("write") })
            .await;
        assert!(read.is_err() && write.is_err());
    }
    let token = app.login("ada@example.com").await;
    assert!(app.is_alive(&token).await);
    assert_eq!(app.post("logout", &token).await.json()["revoked_count"], 1);
}
