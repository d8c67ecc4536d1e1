//! The least that an Actix server does. `hello ADDRESS`

use actix_web::{App, HttpResponse, HttpServer, web};

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).expect("hello ADDRESS");
    HttpServer::new(|| App::new().route("/", web::get().to(HttpResponse::Ok)))
        .bind(address)?
        .run()
        .await
}
