//! actix-session with Redis, set up as its documentation shows: the private cookie, a Redis
//! connection that is shared, a lookup per request.
//!
//! `actix_redis serve ADDRESS REDIS_URL` or `actix_redis seed COUNT SAMPLE REDIS_URL`, which makes
//! COUNT sessions and prints SAMPLE cookies.

use std::collections::HashMap;

use actix_session::storage::{RedisSessionStore, SessionStore};
use actix_session::{Session, SessionMiddleware};
use actix_web::cookie::{Cookie, CookieJar, Key, time::Duration};
use actix_web::{App, HttpResponse, HttpServer, web};
use futures_util::stream::{self, StreamExt};

/// Seeding and serving must agree on it.
fn key() -> Key {
    Key::from(&[7; 64])
}

async fn verify(session: Session) -> HttpResponse {
    match session.get::<i64>("user_id") {
        Ok(Some(id)) => HttpResponse::Ok().insert_header(("X-Auth-User-Id", id)).finish(),
        Ok(None) => HttpResponse::Unauthorized().finish(),
        Err(_) => HttpResponse::ServiceUnavailable().finish(),
    }
}

async fn seed(store: &RedisSessionStore, count: usize, sample: usize) {
    let save = |i: usize| async move {
        let state = HashMap::from([("user_id".to_owned(), (i / 10 + 1).to_string())]);
        (i, store.save(state, &Duration::days(1)).await.expect("saved"))
    };
    let mut saved = stream::iter(0..count).map(save).buffer_unordered(256);
    while let Some((i, session_key)) = saved.next().await {
        if i % (count / sample).max(1) == 0 {
            let mut jar = CookieJar::new();
            jar.private_mut(&key()).add(Cookie::new("id", session_key.as_ref().to_owned()));
            println!("{}", jar.get("id").expect("just added").stripped());
        }
    }
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let redis_url = arguments.last().expect("REDIS_URL");
    let store = RedisSessionStore::new(redis_url).await.expect("Redis");
    if arguments[0] == "seed" {
        let number = |i: usize| arguments[i].parse().expect("a number");
        seed(&store, number(1), number(2)).await;
        return Ok(());
    }
    HttpServer::new(move || {
        App::new()
            .wrap(SessionMiddleware::new(store.clone(), key()))
            .route("/verify", web::get().to(verify))
    })
    .bind(&arguments[1])?
    .run()
    .await
}
