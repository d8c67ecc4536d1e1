//! docs/gateways/Caddyfile

use std::process::Command;

use super::Setup;
use crate::support::tools;

#[tokio::test]
async fn caddy_asks_and_keeps_its_promises() {
    let Some(caddy) = tools::system_program("caddy") else {
        return;
    };
    let setup = Setup::start(
        include_str!("../../../docs/gateways/Caddyfile"),
        |files, adapted| {
            let main = format!("{{\n\tadmin off\n\tauto_https off\n}}\n{adapted}");
            std::fs::write(files.join("Caddyfile"), main).unwrap();
            let mut command = Command::new(&caddy);
            command
                .env("HOME", files)
                .env("XDG_DATA_HOME", files)
                .env("XDG_CONFIG_HOME", files)
                .args(["run", "--adapter", "caddyfile", "--config"])
                .arg(files.join("Caddyfile"));
            command
        },
    );
    setup.await.check().await;
}
