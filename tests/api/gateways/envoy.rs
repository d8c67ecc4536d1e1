//! docs/gateways/envoy.yaml

use std::process::Command;

use super::Setup;
use crate::support::tools;

#[tokio::test]
async fn envoy_asks_and_keeps_its_promises() {
    let Some(envoy) = tools::python_program("envoy") else {
        return;
    };
    let setup = Setup::start(
        include_str!("../../../docs/gateways/envoy.yaml"),
        |files, adapted| {
            std::fs::write(files.join("envoy.yaml"), adapted).unwrap();
            let mut command = Command::new(&envoy);
            command
                .args([
                    "--concurrency",
                    "1",
                    "--log-level",
                    "warn",
                    "--use-dynamic-base-id",
                    "-c",
                ])
                .arg(files.join("envoy.yaml"));
            command
        },
    );
    setup.await.check().await;
}
