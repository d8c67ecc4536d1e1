//! The `sekisho` program.

#[actix_web::main]
async fn main() {
    let code = sekisho::cli::run().await;
    // Returning would wait for every blocking thread, and one of them may wait for a frozen database.
    std::process::exit(code.into())
}
