//! Behind PgBouncer in transaction mode, where no two transactions need have the same server
//! connection.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;

use super::rig::{
    Held, IN_TIME, LONG, assert_unavailable, is_left_out, is_root, number, skip, until,
};
use crate::support::app::Instance;
use crate::support::database::connect;
use crate::support::{Cluster, Reply};

struct Pooler {
    child: Child,
    url: String,
    _directory: tempfile::TempDir,
}

impl Pooler {
    /// In front of a cluster; `None` without the program.
    fn start(cluster: &Cluster) -> Option<Self> {
        let program = [
            "/usr/sbin/pgbouncer",
            "/usr/bin/pgbouncer",
            "/usr/local/bin/pgbouncer",
        ]
        .into_iter()
        .find(|program| std::path::Path::new(program).exists())?;
        let directory = tempfile::TempDir::new().expect("directory");
        // Nobody else has it now; that is as good as it gets.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|l| l.local_addr())
            .expect("port")
            .port();
        let file = directory.path().join("pgbouncer.ini");
        let settings = format!(
            "[databases]\n\
             postgres = host={}/s port=5432 dbname=postgres user=dev\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 6\nmax_client_conn = 200\n\
             server_login_retry = 1\nserver_reset_query =\n",
            cluster.directory()
        );
        std::fs::write(&file, settings).expect("settings");
        let mut command = Command::new(program);
        if is_root() {
            // It refuses to run as root.
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(directory.path(), open).expect("permissions");
            command.args(["-u", "postgres"]);
        }
        let child = command
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("pgbouncer starts");
        Some(Self {
            child,
            url: format!("postgres://dev@127.0.0.1:{port}/postgres"),
            _directory: directory,
        })
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn behind_pgbouncer_in_transaction_mode_everything_works() {
    let test = "behind_pgbouncer_in_transaction_mode_everything_works";
    if is_left_out(test) {
        return;
    }
    let cluster = Cluster::create(&["-c", "synchronous_commit=on"]);
    let Some(pooler) = Pooler::start(&cluster) else {
        return skip(test, "needs PgBouncer (Debian: apt-get install pgbouncer)");
    };
    let settings = [
        ("DATABASE_TRANSACTION_POOLING", "true"),
        ("MIGRATION_DATABASE_URL", cluster.url.as_str()),
        ("SESSION_TOUCH_INTERVAL", "1s"),
    ];
    // Two, so that more connections than the pooler has take turns on its own.
    let instances = [
        Instance::start(&pooler.url, &settings),
        Instance::start(&pooler.url, &settings),
    ];
    for app in &instances {
        let ready = || Reply::of(app.request(Method::GET, "/health/ready"));
        until("it is ready", LONG, async || ready().await.status == 200).await;
    }
    let [one, two] = &instances;
    one.sign_up("ada@example.com").await;
    let mut tokens = Vec::new();
    for _ in 0..20 {
        tokens.push(two.login("ada@example.com").await);
    }
    let mut direct = connect(&cluster.url);
    for _ in 0..5 {
        let calls = tokens.iter().flat_map(|token| {
            instances.iter().flat_map(move |app| {
                ["verify", "session", "sessions", "session_events"].map(|path| app.get(path, token))
            })
        });
        for reply in join_all(calls).await {
            assert_eq!(reply.status, 200, "{reply:?}");
        }
    }
    assert_eq!(one.cleanup().await.json()["cleaned_count"], 0);
    assert_eq!(
        one.post("logout", &tokens[0]).await.json()["revoked_count"],
        1
    );
    assert!(!two.is_alive(&tokens[0]).await);
    // No time-out of a session's own holds here, so each transaction brings its own.
    let held = Held::open(&cluster.url, "SELECT 1 FROM users FOR UPDATE");
    let begin = Instant::now();
    assert_unavailable(&one.post("logout_all", &tokens[1]).await);
    assert!(begin.elapsed() < IN_TIME);
    let waiting = "SELECT count(*) AS value FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    until("the statement is cut off", IN_TIME, async || {
        number(&mut direct, waiting) == 0
    })
    .await;
    held.release();
    assert!(one.is_alive(&tokens[1]).await);
    // Restarted behind the pooler, and the pooler's own connections cut.
    cluster.control("restart");
    let restarted = Instant::now();
    for app in &instances {
        until("service is back", IN_TIME, async || {
            app.get("session", &tokens[1]).await.status == 200
        })
        .await;
    }
    assert!(restarted.elapsed() < IN_TIME, "{:?}", restarted.elapsed());
    // Frozen, as without a pooler.
    cluster.control("freeze");
    let begin = Instant::now();
    let (verified, ended) = tokio::join!(
        one.get("verify", &tokens[1]),
        two.post("logout", &tokens[1])
    );
    assert_unavailable(&verified);
    assert_unavailable(&ended);
    assert!(begin.elapsed() < IN_TIME, "{:?}", begin.elapsed());
    cluster.control("thaw");
    until("service is back", IN_TIME, async || {
        two.get("session", &tokens[1]).await.status == 200
    })
    .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(
        one.is_alive(&tokens[1]).await,
        "a log-out happened after its 503"
    );
    let reply = two.post("logout_all", &tokens[1]).await;
    assert_eq!(reply.json()["revoked_count"], 19, "{reply:?}");
    let mut direct = connect(&cluster.url);
    until("all is at rest", LONG, async || {
        number(
            &mut direct,
            "SELECT count(*) AS value FROM pg_stat_activity WHERE state LIKE 'idle in%'",
        ) == 0
    })
    .await;
    assert_eq!(
        number(
            &mut direct,
            "SELECT count(*) AS value FROM sessions WHERE revoked_at IS NULL"
        ),
        0
    );
}
