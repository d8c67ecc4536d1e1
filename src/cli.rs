//! The command line.

use std::io::BufRead as _;
use std::sync::Arc;

use clap::{Arg, ArgMatches, Command};

use crate::app::Application;
use crate::config::{Config, Source, source};
use crate::context::Context;
use crate::db::migrate;
use crate::domain::cleanup::{Report, Trigger};
use crate::domain::credentials::{Email, Password};
use crate::domain::event::Actor;
use crate::domain::session::Reason;
use crate::routes::openapi;
use crate::services::{Refusal, cleanup, users};
use crate::telemetry;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The command with all of its subcommands and flags.
pub fn command() -> Command {
    let email = || {
        Arg::new("email")
            .long("email")
            .required(true)
            .help("The account's e-mail")
    };
    let note = || Arg::new("note").long("note").help("Remark for the ledger");
    Command::new("sekisho")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Login sessions on PostgreSQL")
        .args(source::flags())
        .after_help(source::secrets_help())
        .subcommand(Command::new("serve").about("Serve HTTP (the default)"))
        .subcommand(
            Command::new("openapi").about("Print the description of the API (OpenAPI 3.1) and end"),
        )
        .subcommand(Command::new("migrate").about("Apply pending migrations and end"))
        .subcommand(
            Command::new("cleanup")
                .about("Expire, purge and forget what is due, and end")
                .arg(
                    Arg::new("dry_run")
                        .long("dry-run")
                        .action(clap::ArgAction::SetTrue)
                        .help("Only count, class by class"),
                ),
        )
        .subcommand(
            Command::new("create_admin")
                .about("Make an administrator; the password is read from standard input")
                .arg(email()),
        )
        .subcommand(
            Command::new("set_password")
                .about("Set a password, read from standard input; every session of the user ends")
                .arg(email()),
        )
        .subcommand(
            Command::new("delete_user")
                .about("Delete an account and forget the person")
                .arg(email()),
        )
        .subcommand(
            Command::new("disable_user")
                .about("Disable an account; every session of it ends")
                .arg(email())
                .arg(note()),
        )
        .subcommand(
            Command::new("enable_user")
                .about("Let a disabled account log in again")
                .arg(email())
                .arg(note()),
        )
        .subcommand(
            Command::new("revoke")
                .about("End every session of a user, or of everybody")
                .arg(
                    Arg::new("user")
                        .long("user")
                        .value_name("ID")
                        .value_parser(clap::value_parser!(i64)),
                )
                .arg(Arg::new("all").long("all").action(clap::ArgAction::SetTrue))
                .arg(note())
                .group(
                    clap::ArgGroup::new("whose")
                        .args(["user", "all"])
                        .required(true),
                ),
        )
}

/// Runs the command line; the exit code is 0, 1 where something failed, or 2 for wrong usage.
pub async fn run() -> u8 {
    let matches = command().get_matches();
    // Asks for no setting.
    if matches.subcommand_name() == Some("openapi") {
        println!("{:#}", openapi::description(openapi::DEFAULT_COOKIE));
        return 0;
    }
    let config = Source::from_matches(&matches).and_then(|source| Config::new(&source));
    let started = config
        .and_then(|config| telemetry::init(&config.log_level, config.log_format).map(|()| config));
    let config = match started {
        Ok(config) => config,
        Err(error) => {
            eprintln!("sekisho: {error}");
            return 2;
        }
    };
    match dispatch(config, &matches).await {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("sekisho: {error}");
            1
        }
    }
}

async fn dispatch(config: Config, matches: &ArgMatches) -> Outcome {
    match matches.subcommand() {
        None | Some(("serve", _)) => serve(config).await,
        Some(("migrate", _)) => {
            let applied = migrate::apply_pending(&config.database)?;
            println!("{} migrations applied", applied.len());
            Ok(())
        }
        Some((name, arguments)) => {
            // The subcommands work on a database that is there, or say that it is not.
            if config.database.auto_migrate {
                migrate::apply_pending(&config.database)?;
            }
            let context = Arc::new(Context::new(config)?);
            context.database.set_migrated();
            operate(&context, name, arguments)
                .await
                .map_err(|refusal| explain(&refusal).into())
        }
    }
}

async fn serve(config: Config) -> Outcome {
    warn_of_risks(&config);
    let application = Application::build(config)?;
    log::info!(address:% = application.address(), version = env!("CARGO_PKG_VERSION"); "listening");
    application.stop_on_signals();
    application.run().await?;
    log::info!("stopped");
    Ok(())
}

fn warn_of_risks(config: &Config) {
    if config.cleanup_api_keys.is_empty() {
        log::warn!("SESSION_CLEANUP_API_KEY is not set: the cleanup endpoint refuses everybody");
    }
    let is_development = !config.cookie.secure && config.http.listen.ip().is_loopback();
    if !config.service_api_keys.is_empty() && config.sign_up_enabled && !is_development {
        log::warn!(
            "SERVICE_API_KEY is set while SIGN_UP_ENABLED is true: sign-ups take ids that a backend may give to \
             others. If the ids are yours, set SIGN_UP_ENABLED=false"
        );
    }
    if !config.cookie.secure && !config.http.listen.ip().is_loopback() {
        log::warn!(
            "SESSION_COOKIE_SECURE is false while LISTEN_ADDRESS can be reached from elsewhere"
        );
    }
}

async fn operate(context: &Context, name: &str, arguments: &ArgMatches) -> Result<(), Refusal> {
    let text = |id| arguments.get_one::<String>(id).cloned();
    let email = || {
        Email::parse(&text("email").unwrap_or_default()).map_err(|problem| Refusal::InvalidField {
            field: "email",
            problem,
        })
    };
    let note = || {
        arguments
            .try_get_one::<String>("note")
            .ok()
            .flatten()
            .cloned()
    };
    match name {
        "cleanup" if arguments.get_flag("dry_run") => {
            print_report("would be", &cleanup::dry_run(context).await?);
        }
        "cleanup" => print_report("were", &cleanup::run(context, Trigger::Cli).await?),
        "create_admin" => {
            let user = users::create_admin(context, email()?, read_password()?).await?;
            println!("administrator {} made", user.id);
        }
        "set_password" => {
            let user = users::find_by_email(context, email()?).await?;
            let (_role, ended) =
                users::set_password(context, user.id, read_password()?, Actor::system()).await?;
            println!("password set; {ended} sessions ended");
        }
        "delete_user" => {
            let user = users::find_by_email(context, email()?).await?;
            let ended = users::delete(context, user.id, Actor::system()).await?;
            println!("user {} deleted; {ended} sessions ended", user.id);
        }
        "disable_user" => {
            let user = users::find_by_email(context, email()?).await?;
            let ended = users::disable(context, user.id, Actor::system(), note()).await?;
            println!("user {} disabled; {ended} sessions ended", user.id);
        }
        "enable_user" => {
            let user = users::find_by_email(context, email()?).await?;
            users::enable(context, user.id, Actor::system(), note()).await?;
            println!("user {} enabled", user.id);
        }
        "revoke" => {
            let ended = match arguments.get_one::<i64>("user") {
                Some(user) => {
                    users::revoke_sessions(
                        context,
                        *user,
                        Reason::AdminRevoked,
                        Actor::system(),
                        note(),
                    )
                    .await?
                }
                None => users::revoke_everything(context, Actor::system(), note()).await?,
            };
            println!("{ended} sessions ended");
        }
        other => return Err(Refusal::Internal(format!("no subcommand {other}"))),
    }
    Ok(())
}

/// The first line of standard input.
fn read_password() -> Result<Password, Refusal> {
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut text)
        .map_err(|error| Refusal::Internal(error.to_string()))?;
    let line = text.lines().next().unwrap_or_default();
    Ok(Password::new(line.to_owned()))
}

fn print_report(verb: &str, report: &Report) {
    println!("{} sessions {verb} expired", report.expired);
    println!("{} sessions {verb} purged", report.purged);
    println!("{} addresses {verb} forgotten", report.ip_scrubbed);
    println!("{} events {verb} purged", report.events_purged);
    if !report.complete {
        println!("the time did not suffice: run it again for the rest");
    }
}

fn explain(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NotFound => "there is no such account".to_owned(),
        Refusal::EmailTaken => "there is an account with this e-mail already".to_owned(),
        Refusal::PasswordRejected(rejection) => rejection.message(),
        Refusal::InvalidField { field, problem } => format!("{field} {problem}"),
        Refusal::Unavailable(why) | Refusal::Internal(why) => why.clone(),
        other => format!("{other:?}"),
    }
}
