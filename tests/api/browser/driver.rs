//! One browser with its own driver and profile.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::support::{Instance, PASSWORD, Reply, tools};

/// Whether tests that need further programs are to run.
pub fn wanted() -> bool {
    std::env::var_os("SEKISHO_TEST_ALL").is_some()
}

/// How the browser looks at pages.
pub struct Look {
    pub language: &'static str,
    pub is_phone: bool,
    pub is_dark: bool,
    pub has_script: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            language: "en",
            is_phone: false,
            is_dark: false,
            has_script: true,
        }
    }
}

/// See the module's description.
pub struct Browser {
    pub client: Client,
    driver: Child,
    _profile: tempfile::TempDir,
    url: String,
    is_phone: bool,
}

const PATIENCE: Duration = Duration::from_secs(90);

impl Browser {
    /// Starts one.
    pub async fn start(look: Look) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver; script/test --all installs it");
        let profile = tempfile::tempdir().expect("a profile");
        let mut arguments: Vec<String> = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--no-proxy-server",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ]
        .map(str::to_owned)
        .to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        arguments.push("--window-size=1280,900".to_owned());
        arguments.push(format!("--accept-lang={}", look.language));
        if look.is_dark {
            arguments.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        let options = json!({"args": arguments});
        let capabilities = json!({
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        });
        let Value::Object(capabilities) = capabilities else {
            unreachable!()
        };
        let url = format!("http://127.0.0.1:{port}");
        let deadline = Instant::now() + PATIENCE;
        let client = loop {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            match builder
                .capabilities(capabilities.clone())
                .connect(&url)
                .await
            {
                Ok(client) => break client,
                Err(error) if Instant::now() > deadline => panic!("chromedriver: {error}"),
                Err(_not_yet) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        };
        let browser = Self {
            client,
            driver,
            _profile: profile,
            url,
            is_phone: look.is_phone,
        };
        let is_dark = browser
            .run("return matchMedia('(prefers-color-scheme: dark)').matches")
            .await;
        assert_eq!(is_dark, look.is_dark);
        if look.is_phone {
            // Windows themselves cannot be so narrow.
            let narrow = json!({
                "cmd": "Emulation.setDeviceMetricsOverride",
                "params": {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": false},
            });
            browser.command("goog/cdp/execute", narrow).await;
        }
        if !look.has_script {
            // Pages' scripts; the driver's own go on.
            let off = json!({
                "cmd": "Emulation.setScriptExecutionDisabled",
                "params": {"value": true},
            });
            browser.command("goog/cdp/execute", off).await;
        }
        browser
    }

    pub async fn go(&self, app: &Instance, path: &str) {
        self.client.goto(&app.url(path)).await.expect(path);
    }

    pub async fn sign_in(&self, app: &Instance, base: &str, email: &str) {
        self.go(app, &format!("{base}/sign_in")).await;
        self.type_into("#email", email).await;
        self.type_into("#password", PASSWORD).await;
        self.click("main form button").await;
    }

    pub async fn click(&self, css: &str) {
        let found = self.client.wait().at_most(PATIENCE);
        let element = found.for_element(Locator::Css(css)).await.expect(css);
        element.click().await.expect(css);
    }

    pub async fn click_link(&self, text: &str) {
        let found = self.client.wait().at_most(PATIENCE);
        let link = found
            .for_element(Locator::LinkText(text))
            .await
            .expect(text);
        link.click().await.expect(text);
    }

    pub async fn type_into(&self, css: &str, text: &str) {
        let found = self.client.wait().at_most(PATIENCE);
        let element = found.for_element(Locator::Css(css)).await.expect(css);
        element.send_keys(text).await.expect(css);
    }

    pub async fn count(&self, css: &str) -> usize {
        let found = self.client.find_all(Locator::Css(css)).await;
        found.expect(css).len()
    }

    /// What can be read on the page.
    async fn text(&self) -> String {
        let Ok(body) = self.client.find(Locator::Css("body")).await else {
            return String::new();
        };
        body.text().await.unwrap_or_default()
    }

    /// Waits until the page shows a text.
    pub async fn sees(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.text().await.contains(text) {
            assert!(
                Instant::now() < deadline,
                "no {text:?} in: {}",
                self.text().await
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn run(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.expect("a script")
    }

    /// The page is no wider than the window.
    pub async fn fits(&self, what: &str) {
        let widths = self
            .run("return [document.documentElement.scrollWidth, window.innerWidth]")
            .await;
        assert!(widths[0].as_i64() <= widths[1].as_i64(), "{what}: {widths}");
        if self.is_phone {
            assert_eq!(widths[1], 390);
        }
    }

    /// No serious accessibility fault, says axe-core.
    pub async fn audit(&self, what: &str) {
        self.fits(what).await;
        let Some(folder) = tools::node_folder("axe-core") else {
            return;
        };
        let axe = std::fs::read_to_string(folder.join("node_modules/axe-core/axe.min.js"));
        let axe = axe.expect("axe-core's script");
        self.run(&axe).await;
        let audit = "const done = arguments[arguments.length - 1]; \
            axe.run(document).then(r => done(r.violations.filter(v => v.impact === 'serious' || v.impact === 'critical') \
            .map(v => v.id + ': ' + v.nodes.map(n => n.html + ' ' + n.failureSummary).join('; '))));";
        let faults = self.client.execute_async(audit, vec![]).await;
        let faults = faults.expect("an audit");
        assert_eq!(faults, json!([]), "{what}");
    }

    /// Ends the browser; nothing may have been complained of in its console, such as a breach of
    /// the content security policy.
    pub async fn finish(self) {
        let complaints = self.console().await;
        assert!(complaints.is_empty(), "{complaints:?}");
        self.client.clone().close().await.expect("closed");
    }

    /// A command that is the driver's own.
    async fn command(&self, name: &str, body: Value) -> Value {
        let id = self.client.session_id().await.expect("a session");
        let path = format!("{}/session/{}/{name}", self.url, id.expect("an id"));
        let http = reqwest::Client::builder().no_proxy().build();
        let request = http.expect("client").post(path).json(&body);
        let reply = Reply::of(request).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["value"].clone()
    }

    async fn console(&self) -> Vec<Value> {
        let entries = self.command("se/log", json!({"type": "browser"})).await;
        let is_complaint =
            |entry: &Value| matches!(entry["level"].as_str(), Some("SEVERE" | "WARNING"));
        let entries = entries.as_array().expect("entries").clone();
        entries.into_iter().filter(is_complaint).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
