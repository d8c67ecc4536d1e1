//! The `sekisho` program.

use std::process::ExitCode;

#[actix_web::main]
async fn main() -> ExitCode {
    sekisho::cli::run().await
}
