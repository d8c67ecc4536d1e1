//! PostgreSQL servers: the one that all tests share, and throw-away ones to be stopped and frozen.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

fn script(arguments: &[&str]) -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("script/postgres");
    let output = Command::new(&program)
        .args(arguments)
        .output()
        .expect("script/postgres runs");
    assert!(
        output.status.success(),
        "script/postgres {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .expect("UTF-8")
        .trim()
        .to_owned()
}

/// The path of one of PostgreSQL's programs.
pub fn program(name: &str) -> std::path::PathBuf {
    Path::new(&script(&["bin"])).join(name)
}

/// The server for throw-away databases: TEST_DATABASE_URL, else the private test cluster. Never
/// DATABASE_URL, which may be somebody's.
pub fn shared_url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| match std::env::var("TEST_DATABASE_URL") {
        Ok(url) if !url.is_empty() => url,
        _ => script(&["start", "test"]),
    })
}

/// The same server's URL for another database.
pub fn with_database(url: &str, name: &str) -> String {
    let (base, query) = url
        .split_once('?')
        .map_or((url, ""), |(base, query)| (base, query));
    let scheme_end = base.find("://").expect("a URL") + 3;
    let path = base[scheme_end..]
        .find('/')
        .map_or(base.len(), |slash| scheme_end + slash);
    let query = if query.is_empty() {
        String::new()
    } else {
        format!("?{query}")
    };
    format!("{}/{name}{query}", &base[..path])
}

/// A server of a test's own, which it may stop, kill and freeze.
pub struct Cluster {
    directory: String,
    /// URL of its maintenance database.
    pub url: String,
}

impl Cluster {
    /// Makes and starts one; `settings` such as `-c`, `max_connections=20`.
    pub fn create(settings: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = format!("/tmp/sk-{}-{number}", std::process::id());
        let mut arguments = vec!["create", &directory];
        arguments.extend(settings);
        let url = script(&arguments);
        Self { directory, url }
    }

    /// `start`, `stop`, `kill`, `freeze`, `thaw` or `restart`.
    pub fn control(&self, action: &str) {
        script(&["control", &self.directory, action]);
    }

    /// Where its files are.
    pub fn directory(&self) -> &str {
        &self.directory
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A second panic would hide the first.
            let _ = std::panic::catch_unwind(|| self.control("remove"));
        } else {
            self.control("remove");
        }
    }
}
