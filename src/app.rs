//! The application: assembled in one place, for `main` and for tests.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_cors::Cors;
use actix_web::dev::{Server, ServerHandle};
use actix_web::middleware::{Condition, from_fn};
use actix_web::web::{self, Data};
use actix_web::{App, HttpServer};
use tokio::sync::Notify;

use crate::config::{Config, HttpConfig};
use crate::context::Context;
use crate::db::migrate;
use crate::routes;
use crate::services::schedule;

/// Between two attempts to reach the database at the start.
const RETRY_START: Duration = Duration::from_millis(500);
/// How long the last touches may take at the stop.
const FLUSH_TOUCHES: Duration = Duration::from_secs(1);

/// A service that listens and is ready to run.
pub struct Application {
    server: Server,
    address: SocketAddr,
    context: Arc<Context>,
    abort: Arc<Notify>,
}

impl Application {
    /// Assembles everything and begins to listen; the database need not be there yet.
    ///
    /// # Errors
    /// When the address is taken, or the configuration cannot be used.
    pub fn build(config: Config) -> std::io::Result<Self> {
        let http = config.http.clone();
        let context = Arc::new(Context::new(config).map_err(std::io::Error::other)?);
        let listener = TcpListener::bind(http.listen).map_err(|error| {
            std::io::Error::new(
                error.kind(),
                format!("LISTEN_ADDRESS is {}: {error}", http.listen),
            )
        })?;
        let address = listener.local_addr()?;
        Ok(Self {
            server: server(&context, &http, listener)?,
            address,
            context,
            abort: Arc::new(Notify::new()),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the services share.
    pub fn context(&self) -> Arc<Context> {
        self.context.clone()
    }

    /// Stops the server from elsewhere.
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }

    /// Serves until it is stopped; migrates and cleans up beside.
    ///
    /// # Errors
    /// When the server fails.
    pub async fn run(self) -> std::io::Result<()> {
        let Self {
            server,
            context,
            abort,
            ..
        } = self;
        let start = actix_web::rt::spawn(start_database(context.clone()));
        let schedule = context
            .config
            .cleanup
            .interval
            .map(|interval| actix_web::rt::spawn(schedule::run(context.clone(), interval)));
        let result = tokio::select! {
            result = server => result,
            () = abort.notified() => {
                log::warn!("stopping at once");
                return Ok(());
            }
        };
        start.abort();
        if let Some(schedule) = schedule {
            schedule.abort();
        }
        flush_touches(&context).await;
        result
    }

    /// Stops in order at SIGTERM or Ctrl-C: not ready first, then no new connections, then the end
    /// of the requests under way. A second signal stops at once.
    pub fn stop_on_signals(&self) {
        let (handle, context, abort) = (self.handle(), self.context.clone(), self.abort.clone());
        actix_web::rt::spawn(async move {
            signal().await;
            log::info!("stopping");
            context.start_draining();
            let in_order = async {
                tokio::time::sleep(context.config.http.shutdown_drain).await;
                handle.stop(true).await;
            };
            tokio::select! {
                () = in_order => {}
                // The server hears nothing more while it waits for requests under way.
                () = signal() => abort.notify_one(),
            }
        });
    }
}

async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        },
        Err(error) => {
            log::warn!(error:%; "SIGTERM cannot be heard");
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

fn server(
    context: &Arc<Context>,
    http: &HttpConfig,
    listener: TcpListener,
) -> std::io::Result<Server> {
    let data = Data::from(context.clone());
    let origins = http.trusted_origins.clone();
    let server = HttpServer::new(move || {
        App::new()
            .app_data(data.clone())
            .app_data(
                web::QueryConfig::default()
                    .error_handler(|_error, _request| routes::malformed_query().into()),
            )
            .app_data(
                web::PathConfig::default()
                    .error_handler(|_error, _request| routes::no_such_path().into()),
            )
            .configure(|app| routes::configure(app, &data.config))
            .wrap(Condition::new(!origins.is_empty(), cors(&origins)))
            .wrap(from_fn(routes::boundary))
            .wrap(routes::default_headers(&data.config))
    });
    Ok(server
        .workers(http.workers)
        // A worker's share would do on average; the semaphores bound what all of them do together.
        .worker_max_blocking_threads(context.blocking_threads())
        .max_connections(http.max_connections)
        .keep_alive(http.keep_alive)
        .client_request_timeout(http.header_timeout)
        .shutdown_timeout(http.shutdown_timeout.as_secs())
        .disable_signals()
        .listen(listener)?
        .run())
}

fn cors(origins: &[String]) -> Cors {
    let cors = Cors::default()
        .allowed_methods(["GET", "POST", "PATCH", "DELETE"])
        .allowed_headers(["Authorization", "Content-Type", "X-Request-Id"])
        .expose_headers(["Link", "X-Total-Count", "Retry-After", "X-Request-Id"])
        .supports_credentials()
        .max_age(600);
    origins
        .iter()
        .fold(cors, |cors, origin| cors.allowed_origin(origin))
}

/// Migrates, or sees that somebody else has, as soon as the database can be reached.
async fn start_database(context: Arc<Context>) {
    let mut is_first = true;
    loop {
        let config = context.config.database.clone();
        let attempt = web::block(move || match config.auto_migrate {
            true => migrate::apply_pending(&config).map(|applied| (applied, 0)),
            false => migrate::count_pending(&config).map(|pending| (Vec::new(), pending)),
        });
        match attempt.await {
            Ok(Ok((applied, 0))) => {
                for name in applied {
                    log::info!(name; "migration applied");
                }
                context.database.set_migrated();
                log::info!("the database is ready");
                return;
            }
            Ok(Ok((_, pending))) if is_first => {
                log::error!(pending; "migrations are missing; run: sekisho migrate");
            }
            Ok(Err(error)) if is_first => {
                log::error!(error:% = error.to_string().replace('\n', " "); "the database cannot be used yet; trying on");
            }
            Err(error) if is_first => log::error!(error:%; "migrating failed"),
            _ => {}
        }
        is_first = false;
        tokio::time::sleep(RETRY_START).await;
    }
}

async fn flush_touches(context: &Context) {
    let flushed = async {
        while !context.touches.is_idle() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    if tokio::time::timeout(FLUSH_TOUCHES, flushed).await.is_err() {
        log::warn!("the last touches were not written");
    }
}
