//! docs/gateways/nginx.conf

use std::process::Command;

use super::Setup;
use crate::support::tools;

#[tokio::test]
async fn nginx_asks_and_keeps_its_promises() {
    let Some(nginx) = tools::system_program("nginx") else {
        return;
    };
    let setup = Setup::start(
        include_str!("../../../docs/gateways/nginx.conf"),
        |files, adapted| {
            let folder = files.display();
            std::fs::write(files.join("sekisho.conf"), adapted).unwrap();
            let main = format!(
            "daemon off; master_process off; pid {folder}/pid; error_log stderr;
             events {{ worker_connections 256; }}
             http {{
                 access_log off;
                 client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
                 fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
                 include {folder}/sekisho.conf;
             }}"
        );
            std::fs::write(files.join("nginx.conf"), main).unwrap();
            let mut command = Command::new(&nginx);
            command
                .arg("-p")
                .arg(files)
                .arg("-c")
                .arg(files.join("nginx.conf"));
            command
        },
    );
    setup.await.check().await;
}
