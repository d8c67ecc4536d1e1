//! tower-sessions with its PostgreSQL store, set up as its documentation shows.
//!
//! `tower_postgres serve ADDRESS DATABASE_URL`, or `tower_postgres seed COUNT SAMPLE DATABASE_URL`,
//! which makes COUNT sessions and prints SAMPLE cookies.

use std::collections::HashMap;
use std::net::SocketAddr;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::get};
use tower_sessions::session::{Id, Record};
use tower_sessions::{Expiry, Session, SessionManagerLayer};
use tower_sessions_sqlx_store::PostgresStore;
use tower_sessions_sqlx_store::sqlx::{self, PgPool};

async fn verify(session: Session) -> Response {
    match session.get::<i64>("user_id").await {
        Ok(Some(id)) => [("X-Auth-User-Id", id.to_string())].into_response(),
        Ok(None) => StatusCode::UNAUTHORIZED.into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Rows as the store itself writes them, many at a time.
async fn seed(pool: &PgPool, count: usize, sample: usize) {
    let expiry_date = time::OffsetDateTime::now_utc() + time::Duration::days(14);
    for first in (0..count).step_by(10_000) {
        let (mut ids, mut data) = (Vec::new(), Vec::new());
        for i in first..count.min(first + 10_000) {
            let record = Record {
                id: Id::default(),
                data: HashMap::from([("user_id".to_owned(), (i / 10 + 1).into())]),
                expiry_date,
            };
            if i % (count / sample).max(1) == 0 {
                println!("id={}", record.id);
            }
            ids.push(record.id.to_string());
            data.push(rmp_serde::to_vec(&record).expect("encoded"));
        }
        sqlx::query("insert into tower_sessions.session select id, data, $3 from unnest($1::text[], $2::bytea[]) as t(id, data)")
            .bind(ids)
            .bind(data)
            .bind(expiry_date)
            .execute(pool)
            .await
            .expect("inserted");
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pool = PgPool::connect(arguments.last().expect("DATABASE_URL")).await.expect("PostgreSQL");
    let store = PostgresStore::new(pool.clone());
    store.migrate().await.expect("migrated");
    if arguments[0] == "seed" {
        let number = |i: usize| arguments[i].parse().expect("a number");
        seed(&pool, number(1), number(2)).await;
        return;
    }
    let layer = SessionManagerLayer::new(store)
        .with_secure(false)
        .with_expiry(Expiry::OnInactivity(time::Duration::days(14)));
    let app = Router::new().route("/verify", get(verify)).layer(layer);
    let address: SocketAddr = arguments[1].parse().expect("an address");
    let listener = tokio::net::TcpListener::bind(address).await.expect("bound");
    axum::serve(listener, app).await.expect("served");
}
