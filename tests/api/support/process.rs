//! The service as a program of its own: for signals, logs and the command line.

use std::io::Write as _;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use super::app::base_settings;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sekisho");

fn command(program: &str, settings: &[(String, String)]) -> Command {
    let mut command = Command::new(program);
    // Nothing of the surrounding environment may reach the settings.
    command
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap_or_default());
    command.envs(settings.iter().cloned());
    command
}

fn all_settings(database_url: &str, settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    base_settings(database_url).into_iter().chain(own).collect()
}

/// Runs a subcommand to its end.
pub fn run(
    database_url: &str,
    settings: &[(&str, &str)],
    arguments: &[&str],
    input: &str,
) -> Output {
    let mut child = command(PROGRAM, &all_settings(database_url, settings))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child
        .stdin
        .take()
        .expect("stdin")
        .write_all(input.as_bytes())
        .expect("input");
    child.wait_with_output().expect("output")
}

/// Runs the program with these settings alone; one that goes on for a minute ends with 124.
pub fn run_bare(settings: &[(&str, &str)], arguments: &[&str]) -> Output {
    let settings: Vec<_> = settings
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let mut command = command("timeout", &settings);
    command.args(["60", PROGRAM]).args(arguments);
    command.stdin(Stdio::null()).output().expect("output")
}

/// A running program.
pub struct Process {
    child: Child,
    log: tempfile::NamedTempFile,
}

impl Process {
    /// Starts serving.
    pub fn serve(database_url: &str, settings: &[(&str, &str)]) -> Self {
        let log = tempfile::NamedTempFile::new().expect("log file");
        let out = || Stdio::from(log.reopen().expect("log file"));
        let child = command(PROGRAM, &all_settings(database_url, settings))
            .stdin(Stdio::null())
            .stdout(out())
            .stderr(out())
            .spawn()
            .expect("the program starts");
        Self { child, log }
    }

    /// Everything that it has written.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log.path()).expect("log")).into_owned()
    }

    /// Waits for a text in the output and returns the line that holds it.
    pub fn wait_for(&self, text: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(line) = self.output().lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("no {text:?} in: {}", self.output());
    }

    /// Its base URL, once it listens.
    pub fn base_url(&self) -> String {
        let line = self.wait_for("version");
        // In either form of the log: `address=…` or `"address":"…"`.
        let address = line
            .split("address")
            .nth(1)
            .and_then(|rest| {
                rest.trim_start_matches(['=', '"', ':'])
                    .split([' ', '"'])
                    .next()
            })
            .expect("address");
        format!("http://{address}")
    }

    /// The same, once it can serve.
    pub async fn base_url_when_ready(&self) -> String {
        let url = self.base_url();
        self.wait_for("the database is ready");
        url
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.id().to_string()])
            .status();
        assert!(status.expect("kill").success());
    }

    /// Waits for the end.
    pub fn wait(&mut self, longest: Duration) -> ExitStatus {
        let deadline = Instant::now() + longest;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("status") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("did not end: {}", self.output());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
