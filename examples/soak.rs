//! Mixed traffic from many connections against a running service, each client checking every
//! answer against what it knows of its own sessions, with the database restarted in the middle.
//! Run by bench/soak.
//!
//!     soak BASE_URL PROCESS_ID SECONDS CLIENTS CLEANUP_KEY RESTART_COMMAND…

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use reqwest::{Client, Method};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PASSWORD: &str = "correct horse battery";
/// Sessions that a client keeps, and dead tokens that it tries again.
const MOST_SESSIONS: usize = 8;
const MOST_DEAD: usize = 8;
/// What a busy client machine may add to a time-out of the service.
const SLACK: Duration = Duration::from_secs(1);

/// The longest that a call may take: the sum of the service's own time-outs on its way.
fn limit(call: &str) -> Duration {
    Duration::from_millis(match call {
        "verify" => 1_000,
        "session" => 2_000,
        "login" => 16_000,
        "cleanup" => 4_250,
        _ => 3_000,
    })
}

/// What all clients report to.
#[derive(Default)]
struct Report {
    calls: BTreeMap<&'static str, Vec<Duration>>,
    wrong: Vec<String>,
    late: Vec<String>,
    unanswered: Vec<String>,
    /// Answers with 503, by the time since the start.
    unavailable: Vec<Duration>,
    statuses: BTreeMap<(&'static str, u16), usize>,
}

struct Shared {
    base: String,
    /// From when until when; set once everything is prepared.
    clock: OnceLock<(Instant, Instant)>,
    report: Mutex<Report>,
}

impl Shared {
    /// The time since the start.
    fn now(&self) -> Duration {
        self.clock
            .get()
            .map_or(Duration::ZERO, |(started, _)| started.elapsed())
    }

    fn is_over(&self) -> bool {
        self.clock
            .get()
            .is_some_and(|(_, until)| Instant::now() >= *until)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Report) -> T) -> T {
        work(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One call; `None` where there is no answer, or 503.
    async fn call(
        &self,
        call: &'static str,
        request: reqwest::RequestBuilder,
    ) -> Option<(u16, Option<usize>, Value)> {
        let begun = Instant::now();
        let answer = async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            let total = response.headers().get("x-total-count");
            let total = total.and_then(|total| total.to_str().ok()?.parse().ok());
            Ok::<_, reqwest::Error>((status, total, response.text().await?))
        };
        let answer = answer.await;
        let took = begun.elapsed();
        self.with(|report| {
            report.calls.entry(call).or_default().push(took);
            if took > limit(call) + SLACK {
                report.late.push(format!("{call} took {took:?}"));
            }
            match answer {
                Ok((status, total, body)) => {
                    *report.statuses.entry((call, status)).or_default() += 1;
                    match status {
                        503 => {
                            report.unavailable.push(self.now());
                            None
                        }
                        // Of the cleanup an outage is 500 by contract.
                        500 if call == "cleanup" => None,
                        _ => Some((
                            status,
                            total,
                            serde_json::from_str(&body).unwrap_or(Value::Null),
                        )),
                    }
                }
                Err(error) => {
                    report.unanswered.push(format!("{call}: {error}"));
                    None
                }
            }
        })
    }

    fn wrong(&self, what: String) {
        let at = self.now();
        self.with(|report| report.wrong.push(format!("{what}, after {at:.1?}")));
    }
}

/// Small numbers without any claim to be random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn index(&mut self, length: usize) -> usize {
        let sides = u64::try_from(length).unwrap_or(1).max(1);
        usize::try_from(self.below(sides)).unwrap_or(0)
    }
}

/// One user and what is certain of its sessions.
struct User {
    shared: Arc<Shared>,
    http: Client,
    email: String,
    dice: Dice,
    live: Vec<String>,
    dead: Vec<String>,
    /// Sessions that may be alive: what ended or began them was not answered.
    maybe: usize,
}

impl User {
    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method, format!("{}/api/v1/auth/{path}", self.shared.base))
    }

    fn bury(&mut self, tokens: impl IntoIterator<Item = String>) {
        self.dead.extend(tokens);
        let surplus = self.dead.len().saturating_sub(MOST_DEAD);
        self.dead.drain(..surplus);
    }

    async fn sign_up(&self) -> Outcome<()> {
        let body = json!({"email": self.email, "password": PASSWORD});
        let response = self
            .request(Method::POST, "sign_up")
            .json(&body)
            .send()
            .await?;
        match response.status().as_u16() {
            201 => Ok(()),
            status => Err(format!("sign_up: {status}").into()),
        }
    }

    async fn login(&mut self) {
        let body = json!({"email": self.email, "password": PASSWORD, "delivery": "token"});
        let request = self.request(Method::POST, "login").json(&body);
        match self.shared.call("login", request).await {
            None => self.maybe += 1,
            Some((200, _, body)) => match body["session_token"].as_str() {
                Some(token) => self.live.push(token.to_owned()),
                None => self.shared.wrong("a log-in without a token".to_owned()),
            },
            Some((status, ..)) => self.shared.wrong(format!("a right log-in got {status}")),
        }
    }

    /// Asks for one token whether it is alive, of which the answer is known.
    async fn check(&mut self, call: &'static str, token: &str, is_live: bool) {
        let request = self.request(Method::GET, call).bearer_auth(token);
        if let Some((status, _, body)) = self.shared.call(call, request).await {
            let expected = if is_live { 200 } else { 401 };
            if status != expected {
                self.shared
                    .wrong(format!("{call} got {status} for {expected}: {body}"));
            }
        }
    }

    async fn list(&self, token: &str) {
        let request = self.request(Method::GET, "sessions").bearer_auth(token);
        if let Some((status, total, _)) = self.shared.call("sessions", request).await {
            let (least, most) = (self.live.len(), self.live.len() + self.maybe);
            if status != 200 || total.is_none_or(|total| !(least..=most).contains(&total)) {
                self.shared.wrong(format!(
                    "sessions got {status} and {total:?} for {least} to {most}"
                ));
            }
        }
    }

    async fn logout(&mut self, at: usize) {
        let token = self.live.swap_remove(at);
        let request = self.request(Method::POST, "logout").bearer_auth(&token);
        match self.shared.call("logout", request).await {
            None => self.maybe += 1,
            Some((200, _, body)) if body["revoked_count"] == 1 => self.bury([token]),
            Some((status, _, body)) => self.shared.wrong(format!("logout got {status}: {body}")),
        }
    }

    /// Ends all sessions, or all but one.
    async fn logout_many(&mut self, call: &'static str, at: usize) {
        let token = self.live[at].clone();
        let request = self.request(Method::POST, call).bearer_auth(&token);
        let answer = self.shared.call(call, request).await;
        let (kept, ended): (Vec<_>, Vec<_>) = std::mem::take(&mut self.live)
            .into_iter()
            .partition(|live| call == "logout_others" && *live == token);
        self.live = kept;
        match answer {
            None => self.maybe += ended.len(),
            Some((200, _, body)) => {
                let (least, most) = (ended.len(), ended.len() + self.maybe);
                let count = body["revoked_count"]
                    .as_u64()
                    .and_then(|count| usize::try_from(count).ok());
                if count.is_none_or(|count| !(least..=most).contains(&count)) {
                    self.shared
                        .wrong(format!("{call} ended {count:?} for {least} to {most}"));
                }
                self.maybe = 0;
                self.bury(ended);
            }
            Some((status, _, body)) => self.shared.wrong(format!("{call} got {status}: {body}")),
        }
    }

    async fn live(mut self) {
        while !self.shared.is_over() {
            tokio::time::sleep(Duration::from_millis(20 + self.dice.below(160))).await;
            if self.live.is_empty() {
                self.login().await;
                continue;
            }
            let at = self.dice.index(self.live.len());
            let token = self.live[at].clone();
            match self.dice.below(1000) {
                0..10 if self.live.len() < MOST_SESSIONS => self.login().await,
                10..16 => self.logout(at).await,
                16..18 => self.logout_many("logout_all", at).await,
                18..20 => self.logout_many("logout_others", at).await,
                20..70 => self.list(&token).await,
                70..120 => self.check("session", &token, true).await,
                120..220 if !self.dead.is_empty() => {
                    let at = self.dice.index(self.dead.len());
                    let token = self.dead[at].clone();
                    self.check("verify", &token, false).await;
                }
                _ => self.check("verify", &token, true).await,
            }
        }
    }
}

/// Resident memory in KiB, threads and open files of the service.
fn measure(process: u32) -> Outcome<[u64; 3]> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let field = |name: &str| -> Outcome<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let word = line.and_then(|line| line.split_whitespace().next());
        Ok(word.ok_or_else(|| format!("no {name}"))?.parse()?)
    };
    let files = std::fs::read_dir(format!("/proc/{process}/fd"))?.count();
    Ok([field("VmRSS:")?, field("Threads:")?, u64::try_from(files)?])
}

/// The median of what was measured between two shares of the whole time, in percent.
fn median(samples: &[[u64; 3]], which: usize, from: usize, to: usize) -> u64 {
    let mut part: Vec<u64> = samples[samples.len() * from / 100..samples.len() * to / 100]
        .iter()
        .map(|sample| sample[which])
        .collect();
    part.sort_unstable();
    part.get(part.len() / 2).copied().unwrap_or(0)
}

async fn clean_up(shared: Arc<Shared>, key: String) {
    let http = Client::new();
    while !shared.is_over() {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let request = http
            .post(format!("{}/api/v1/auth/cleanup_sessions", shared.base))
            .header("X-API-Key", &key);
        match shared.call("cleanup", request).await {
            None | Some((200, ..)) => {}
            Some((status, _, body)) => shared.wrong(format!("cleanup got {status}: {body}")),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base, process, seconds, clients, key, restart @ ..] = arguments.as_slice() else {
        return Err("soak BASE_URL PROCESS_ID SECONDS CLIENTS CLEANUP_KEY RESTART_COMMAND…".into());
    };
    let (process, clients): (u32, u64) = (process.parse()?, clients.parse()?);
    let time = Duration::from_secs(seconds.parse()?);
    let shared = Arc::new(Shared {
        base: base.clone(),
        clock: OnceLock::new(),
        report: Mutex::default(),
    });
    let mut users = Vec::new();
    let begun = Instant::now();
    for n in 0..clients {
        // Shorter than the service keeps a connection, so that the two never cross.
        let http = Client::builder()
            .timeout(Duration::from_secs(60))
            .pool_idle_timeout(Duration::from_secs(3))
            .build()?;
        let mut user = User {
            shared: shared.clone(),
            http,
            email: format!("soak{n}@example.com"),
            dice: Dice(0x9E37_79B9_7F4A_7C15 ^ (n + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9)),
            live: Vec::new(),
            dead: Vec::new(),
            maybe: 0,
        };
        user.sign_up().await?;
        user.login().await;
        users.push(user);
    }
    println!(
        "{clients} accounts made and logged in, in {:.1?}",
        begun.elapsed()
    );
    shared.with(|report| report.calls.clear());
    let started = Instant::now();
    shared.clock.get_or_init(|| (started, started + time));
    let tasks: Vec<_> = users
        .into_iter()
        .map(|user| tokio::spawn(user.live()))
        .collect();
    let cleanup = tokio::spawn(clean_up(shared.clone(), key.clone()));
    let restart = restart.to_vec();
    let restarted = tokio::spawn(async move {
        tokio::time::sleep(time / 2).await;
        let (program, arguments) = restart.split_first()?;
        let begun = Instant::now();
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        let status = tokio::task::spawn_blocking(move || command.status())
            .await
            .ok()?
            .ok()?;
        status.success().then(|| (begun, Instant::now()))
    });
    let mut samples = Vec::new();
    while !shared.is_over() {
        tokio::time::sleep(Duration::from_millis(500)).await;
        samples.push(measure(process)?);
    }
    for task in tasks {
        task.await?;
    }
    cleanup.await?;
    let restarted = restarted.await?.ok_or("the database was not restarted")?;
    print(
        &shared,
        &samples,
        (restarted.0 - started, restarted.1 - started),
        clients,
    )
}

/// The figures; an error where one of them is not as it must be.
fn print(
    shared: &Shared,
    samples: &[[u64; 3]],
    (down, up): (Duration, Duration),
    clients: u64,
) -> Outcome<()> {
    let mut problems = Vec::new();
    shared.with(|report| {
        println!(
            "{:<14}{:>9}{:>10}{:>10}{:>10}{:>10}",
            "call", "number", "p50 ms", "p99 ms", "max ms", "limit ms"
        );
        let mut total = 0;
        for (call, times) in &mut report.calls {
            times.sort_unstable();
            total += times.len();
            let at =
                |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
            let most = limit(call).as_millis();
            println!(
                "{call:<14}{:>9}{:>10.1}{:>10.1}{:>10.1}{most:>10}",
                times.len(),
                at(50),
                at(99),
                at(100)
            );
        }
        println!("{total} requests, from {clients} connections and that of the cleanup");
        for ((call, status), number) in &report.statuses {
            if *status != 200 && !(*status == 401 && *call == "verify") {
                println!("{call}: {status} × {number}");
            }
        }
        let outside = |at: &&Duration| **at < down || **at > up + Duration::from_secs(2);
        let outside = report.unavailable.iter().filter(outside).count();
        let last = report.unavailable.iter().filter(|at| **at >= down).max();
        println!("the database was down from {down:.1?} to {up:.1?}");
        println!(
            "503: {}, the last after {last:.1?}; {outside} of them not within 2 s of the restart",
            report.unavailable.len()
        );
        for (name, which, unit, tolerated) in [
            ("memory", 0, "KiB", 16_384),
            ("threads", 1, "", 16),
            ("open files", 2, "", 16),
        ] {
            let (before, after) = (
                median(samples, which, 30, 48),
                median(samples, which, 80, 100),
            );
            println!("{name}: {before} {unit} after the warm-up, {after} {unit} at the end");
            if after > before + tolerated {
                problems.push(format!("{name} grew from {before} to {after}"));
            }
        }
        for (name, found) in [
            ("wrong answers", &report.wrong),
            ("late answers", &report.late),
            ("unanswered", &report.unanswered),
        ] {
            println!("{name}: {}", found.len());
            for example in found.iter().take(5) {
                println!("  {example}");
            }
            if !found.is_empty() {
                problems.push(format!("{} {name}", found.len()));
            }
        }
        if outside > 0 {
            problems.push(format!("{outside} answers with 503 away from the restart"));
        }
    });
    if problems.is_empty() {
        println!("all is well");
        Ok(())
    } else {
        Err(problems.join("; ").into())
    }
}
