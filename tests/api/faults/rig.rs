//! What the fault tests share: a service on a server of its own, raw connections, and load.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use reqwest::Method;

use crate::support::app::Instance;
use crate::support::database::connect;
use crate::support::{Cluster, Reply};

/// «In time», where 2 s are meant: thrice as long, for a busy machine.
pub const IN_TIME: Duration = Duration::from_secs(6);
/// For what is only waited for.
pub const LONG: Duration = Duration::from_secs(30);

/// Slow tests run only where they are asked for.
pub fn is_left_out(test: &str) -> bool {
    let is_wanted = std::env::var("SEKISHO_TEST_ALL").is_ok_and(|all| all == "1");
    if !is_wanted {
        skip(test, "slow; SEKISHO_TEST_ALL=1 runs it");
    }
    !is_wanted
}

/// Says, past the capturing of output, that a test did nothing.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

/// A service on a server of its own, which may be stopped, killed and frozen.
pub struct Rig {
    // Declared first: it lets go of the server before that is removed.
    pub app: Instance,
    pub cluster: Arc<Cluster>,
}

impl Rig {
    /// Starts both.
    pub async fn start(settings: &[(&str, &str)]) -> Self {
        // The throw-away clusters may lose commits when they are killed.
        let cluster = Cluster::create(&["-c", "synchronous_commit=on"]);
        let app = Instance::start(&cluster.url, settings);
        until(
            "the service is ready",
            Duration::from_secs(20),
            async || app.context.database.is_migrated(),
        )
        .await;
        Self {
            app,
            cluster: Arc::new(cluster),
        }
    }

    /// What [`Cluster::control`] does, while the test's other requests go on.
    pub async fn control(&self, action: &'static str) {
        let cluster = self.cluster.clone();
        tokio::task::spawn_blocking(move || cluster.control(action))
            .await
            .expect("control");
    }

    /// Another connection to its database.
    pub fn connect(&self) -> PgConnection {
        connect(&self.cluster.url)
    }

    /// The number that a query `SELECT … AS value` gives.
    pub fn number(&self, sql: &str) -> i64 {
        number(&mut self.connect(), sql)
    }
}

/// The number that a query `SELECT … AS value` gives.
pub fn number(connection: &mut PgConnection, sql: &str) -> i64 {
    #[derive(QueryableByName)]
    struct Number {
        #[diesel(sql_type = BigInt)]
        value: i64,
    }
    diesel::sql_query(sql)
        .get_result::<Number>(connection)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .value
}

/// A transaction that has done `sql` and stays open until this is dropped.
pub struct Held(PgConnection);

impl Held {
    /// Begins it.
    pub fn open(url: &str, sql: &str) -> Self {
        let mut connection = connect(url);
        connection
            .batch_execute(&format!("BEGIN; {sql}"))
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        Self(connection)
    }

    /// Gives up what it holds.
    pub fn release(mut self) {
        self.0.batch_execute("ROLLBACK").expect("rollback");
    }
}

/// Waits until something is so.
pub async fn until(what: &str, longest: Duration, mut is_so: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while !is_so().await {
        assert!(begin.elapsed() < longest, "not within {longest:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until so many backends wait for a lock.
pub async fn until_blocked(connection: &mut PgConnection, count: i64) {
    until(
        "backends wait for a lock",
        Duration::from_secs(10),
        async || {
            number(
                connection,
                "SELECT count(*) AS value FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
            ) >= count
        },
    )
    .await;
}

/// That an answer is an outage's: never 401, and the client is told to come again with what it has.
pub fn assert_unavailable(reply: &Reply) {
    assert_eq!(
        reply.refusal(),
        (503, "unavailable".to_owned()),
        "{reply:?}"
    );
    assert_eq!(reply.header("retry-after"), Some("1"), "{reply:?}");
    assert!(reply.cookies().is_empty(), "{reply:?}");
    assert!(!reply.headers.contains_key("www-authenticate"), "{reply:?}");
}

/// Sends bytes as they are; returns everything up to the end of the connection, or to `patience`.
pub fn raw(address: SocketAddr, bytes: &[u8], patience: Duration) -> RawReply {
    let mut stream = TcpStream::connect(address).expect("connect");
    stream.set_read_timeout(Some(patience)).expect("time-out");
    let begin = Instant::now();
    // The server may close before it has read everything.
    let _ = stream.write_all(bytes);
    RawReply::read(stream, begin)
}

/// What came back on a raw connection.
#[derive(Debug)]
pub struct RawReply {
    pub text: String,
    pub is_closed: bool,
    pub took: Duration,
}

impl RawReply {
    /// Reads to the end.
    pub fn read(mut stream: TcpStream, begin: Instant) -> Self {
        let mut bytes = Vec::new();
        let mut buffer = [0u8; 4096];
        let is_closed = loop {
            match stream.read(&mut buffer) {
                Ok(0) => break true,
                Ok(count) => bytes.extend(&buffer[..count]),
                Err(error) => break error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        };
        Self {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            is_closed,
            took: begin.elapsed(),
        }
    }

    /// The status of each answer.
    pub fn statuses(&self) -> Vec<u16> {
        self.text
            .split("HTTP/1.1 ")
            .skip(1)
            .map(|rest| rest[..3].parse().expect("status"))
            .collect()
    }
}

/// One request of [`Load`].
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    pub begin: Instant,
    pub took: Duration,
    pub status: u16,
}

/// Connections that verify tokens without pause.
pub struct Load {
    stop: Arc<AtomicBool>,
    hits: Arc<Mutex<Vec<Hit>>>,
    clients: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    /// One connection for each token; an answer that is neither `expected` nor 503 fails the test.
    pub fn start(base: &str, tokens: &[(String, u16)]) -> Self {
        let (stop, hits) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Mutex::new(Vec::new())),
        );
        let clients = tokens.iter().map(|(token, expected)| {
            let (stop, hits) = (stop.clone(), hits.clone());
            let (url, token, expected) = (
                format!("{base}/api/v1/auth/verify"),
                token.clone(),
                *expected,
            );
            tokio::spawn(async move {
                let http = reqwest::Client::builder()
                    .no_proxy()
                    .build()
                    .expect("client");
                while !stop.load(Ordering::Relaxed) {
                    let begin = Instant::now();
                    let reply =
                        Reply::of(http.request(Method::GET, &url).bearer_auth(&token)).await;
                    if reply.status != expected {
                        assert_unavailable(&reply);
                    }
                    let (took, status) = (begin.elapsed(), reply.status);
                    hits.lock().expect("lock").push(Hit {
                        begin,
                        took,
                        status,
                    });
                }
            })
        });
        Self {
            clients: clients.collect(),
            stop,
            hits,
        }
    }

    /// Every request so far.
    pub fn hits(&self) -> Vec<Hit> {
        self.hits.lock().expect("lock").clone()
    }

    /// Ends it; every request.
    pub async fn end(self) -> Vec<Hit> {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.expect("no wrong answer");
        }
        self.hits.lock().expect("lock").clone()
    }
}

/// Threads of a process.
pub fn threads(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/task"))
        .expect("a running process")
        .count()
}
