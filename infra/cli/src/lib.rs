//! The commands for a team, which call the API, and those of the operator, which work on the table.
//!
//! A command for a team works on a table, with the handlers of the API in this process, or over HTTP on any service. The
//! operator's commands work on a process on this machine and on a deployment alike. If a change requires further work,
//! the reconciler finds it in the table.
//!
//! Each group of commands has one file with its arguments, code, output and tests. `run` executes a command line with
//! an [`App`] and an output that the caller passes in.

mod agent;
mod any_request;
mod api;
mod args;
mod aws;
mod backup;
#[cfg(feature = "browser")]
mod browser;
mod channel;
mod configuration;
mod copy;
mod dlq;
mod doctor;
mod expectations;
mod failure;
mod given;
mod health;
mod heartbeat;
mod https;
mod issue;
mod maintenance;
mod member;
mod metrics;
mod output;
mod plan;
mod probe;
mod reconcile;
mod remote;
mod sign_in;
mod site;
mod status_page;
mod target;
mod team;
#[cfg(test)]
mod testing;
mod token;
mod user;
mod wrapped;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::runtime::Builder;
use vedette_runtime::config::environment;
use vedette_runtime::health::Notice;
use vedette_runtime::{App, Clock, telemetry};

pub use failure::Failure;
pub use remote::OVER_HTTP;

use crate::any_request::AnyRequest;
use crate::api::Api;
use crate::aws::Account;
use crate::doctor::Doctor;
use crate::maintenance::{OpensApi, run_in_window};
use crate::output::{Output, printable};
use crate::remote::{ApiCommand, Login, Logout, Remote};
use crate::target::{Deployed, Target, open_deployment};

/// The heading for the options that every command has.
const GLOBAL: &str = "Global options";

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  refused or failed: not found, in conflict, not allowed in this state
  2  wrong usage: arguments, configuration, or a command that does not apply to this table
  3  the table does not answer
  4  the service on this machine runs, but does not answer in time; for `apply --dry-run --exit-code`, something would
     change

VEDETTE_LOG=debug sends logs to standard error. Logs contain no secrets.";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "vedette", version, about = "Monitors websites, and alerts you when something is wrong", after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    target: Target,
    /// Print one JSON document instead of tables for people
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

/// Commands that call the API: on a table with the rights of the operator, or over HTTP with a token.
#[derive(Debug, Subcommand)]
enum TeamCommand {
    /// Teams, the owners of sites
    Team(ApiCommand<team::Command>),
    /// Who belongs to a team, and who is invited
    Member(ApiCommand<member::Command>),
    /// Access tokens for the API
    Token(ApiCommand<token::Command>),
    /// Sites, and their tags
    Site(ApiCommand<site::Command>),
    /// Issues, and decisions about them
    Issue(ApiCommand<issue::Command>),
    /// Channels: where a team's alerts go
    Channel(ApiCommand<channel::Command>),
    /// Maintenance windows, in which problems with sites are expected
    Maintenance(ApiCommand<maintenance::Command>),
    /// Heartbeats: jobs that must report
    Heartbeat(ApiCommand<heartbeat::Command>),
    /// What people outside a team see of its sites and jobs
    StatusPage(ApiCommand<status_page::Command>),
    /// What the status checks of a site expect
    Expectations(ApiCommand<expectations::Command>),
    /// Make a team match a document
    ///
    /// Creates and updates sites, channels, groups, maintenance windows, status pages and settings to match the document.
    /// Other objects stay as they are, unless --prune deletes them.
    Apply(configuration::Apply),
    /// Print a team as a document
    Export(configuration::Export),
    /// Send any request to the API, and print its answer as JSON
    ///
    /// For everything that has no command of its own: checks, reports, settings. The reference of the API lists the paths.
    Api(AnyRequest),
}

impl TeamCommand {
    const fn remote(&self) -> &Remote {
        match self {
            Self::Team(ApiCommand { remote, .. })
            | Self::Member(ApiCommand { remote, .. })
            | Self::Token(ApiCommand { remote, .. })
            | Self::Site(ApiCommand { remote, .. })
            | Self::Channel(ApiCommand { remote, .. })
            | Self::Issue(ApiCommand { remote, .. })
            | Self::Maintenance(ApiCommand { remote, .. })
            | Self::Heartbeat(ApiCommand { remote, .. })
            | Self::StatusPage(ApiCommand { remote, .. })
            | Self::Expectations(ApiCommand { remote, .. })
            | Self::Apply(configuration::Apply { remote, .. })
            | Self::Export(configuration::Export { remote, .. })
            | Self::Api(AnyRequest { remote, .. }) => remote,
        }
    }

    async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        match self {
            Self::Team(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::Member(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::Token(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::Site(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::Channel(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::Issue(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::Maintenance(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::Heartbeat(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::StatusPage(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::Expectations(ApiCommand { command, .. }) => command.run(api, out).await,
            Self::Apply(apply) => apply.run(api, out).await,
            Self::Export(export) => export.run(api, out).await,
            Self::Api(send) => send.run(api, out).await,
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// People who use the API
    #[command(subcommand)]
    User(user::Command),
    #[command(flatten)]
    Team(TeamCommand),
    /// Validate a document that describes a team
    ///
    /// Needs no service. Does not check what depends on the team: its plan and its existing sites.
    Validate(configuration::Validate),
    /// Create a one-time link that signs a user in
    SignIn(sign_in::SignIn),
    /// What a team may use
    #[command(subcommand)]
    Plan(plan::Command),
    /// Sign in to a service, for commands with --url
    ///
    /// Asks for a token, and keeps it in a file that only you can read. Create the token on the dashboard, under Tokens,
    /// with the scopes that the commands need.
    Login(Login),
    /// Forget the token of a service
    Logout(Logout),
    /// Confirm outages from another location
    ///
    /// With --url and --token-file, this process is an agent: it checks sites that the service suspects to be down, and
    /// makes outgoing requests only. The subcommands manage the agents of the service on this machine.
    Agent(agent::AgentCommand),
    /// Rebuild the schedules of a deployment from the table
    ///
    /// Creates missing schedules, updates the others, and removes those that should not exist. On
    /// one machine, `vedette serve` rebuilds its schedules whenever it starts.
    Reconcile,
    /// Install the browser that performance checks need
    #[cfg(feature = "browser")]
    #[command(subcommand)]
    Browser(browser::Command),
    /// Report whether the service on this machine runs and works
    ///
    /// For process supervisors and containers. Exits with 0; with 1 and a description of what is wrong; with 3 if no
    /// service is running on the data folder; or with 4 if it runs but does not answer in time. `doctor` examines more,
    /// and takes longer.
    Health,
    /// Print the metrics of the service on this machine
    ///
    /// In Prometheus's text format: lag and length of the queues, checks, deliveries and responses. `serve --metrics` also
    /// serves them over HTTP.
    Metrics,
    /// Show problems with the service, and what to do about them
    ///
    /// Examines the structure of the table's file, and looks for overdue work. With --aws, examines the whole
    /// deployment: credentials, stack, table, queues, dead letters, event sources, concurrency,
    /// schedules.
    Doctor(Doctor),
    /// Dead letters: messages that a deployment has given up on
    #[command(subcommand)]
    Dlq(dlq::Command),
    /// Back up the data of the service on this machine to a file, even while it runs
    ///
    /// The backup contains everything that was saved before it began. Until it is complete, the file's name ends in
    /// .vedette.partial. FILE.sha256 contains its checksum.
    Backup(backup::Backup),
    /// Restore a backup into an empty data folder
    ///
    /// Replaces nothing: it refuses a folder that is not empty or that a service uses, and a backup that is damaged or
    /// was made by a newer version.
    Restore(backup::Restore),
    /// Copy teams with their history between data folders and deployments
    ///
    /// First stop the service of the source folder, or pause the teams with `plan deactivate`. At the end, the command
    /// compares all items of both tables. The copied channels are disabled. A team, user or address that already exists
    /// in the destination is never overwritten. If a copy is interrupted, run it again to finish it.
    Copy(copy::Copy),
    /// Run one tool on a URL
    ///
    /// Needs no table and saves nothing. Connects to addresses that are not public only if
    /// VEDETTE_ALLOW_TARGETS allows it.
    Probe(probe::Probe),
}

/// Executes a command line, and writes its output. `deployed` is the deployment that the app belongs to, if there is
/// one. `notices` are the problems that the service on this machine reports about itself.
async fn run(
    cli: &Cli,
    app: &App,
    notices: &[Notice],
    deployed: Option<&Deployed>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut out = Output::new(out, cli.json);
    let done = match &cli.command {
        Command::Team(command) => command.run(&Api::here(app), &mut out).await,
        Command::Validate(validate) => validate.run(&mut out),
        Command::Login(login) => login.run(&mut out).await,
        Command::Logout(logout) => logout.run(&mut out),
        Command::User(command) => command.run(app, &mut out).await,
        Command::SignIn(sign_in) => sign_in.run(app, deployed.is_some(), &mut out).await,
        Command::Plan(command) => command.run(app, &mut out).await,
        Command::Agent(_) if deployed.is_some() => {
            Err(Failure::Usage("agents work with a service on one machine only".to_owned()))
        }
        Command::Agent(command) => command.run(app, &mut out).await,
        Command::Reconcile => reconcile::run(app, &mut out).await,
        Command::Doctor(doctor) => {
            let data = deployed.is_none().then(|| cli.target.data());
            doctor.run(app, notices, data, &mut out).await
        }
        Command::Dlq(command) => command.run(deployed, &mut out).await,
        #[cfg(feature = "browser")]
        Command::Browser(command) => command.run(cli.target.data(), &mut out).await,
        Command::Health => health::tell(notices, &mut out),
        Command::Metrics => metrics::show(&cli.target, &mut out).await,
        Command::Backup(backup) => backup.run(cli.target.data(), &app.clock, &mut out).await,
        Command::Restore(restore) => restore.run(cli.target.data(), &mut out).await,
        Command::Copy(copy) => copy.run(None, &mut out).await,
        Command::Probe(probe) => probe.run(&app.clock, &mut out).await,
    };
    done.map_err(|failure| cli.target.explain(failure))
}

impl Cli {
    /// [Executes](Self::execute) the command line, and prints why if that fails. Returns the exit code of the process.
    #[must_use]
    pub fn run_and_report(&self) -> ExitCode {
        let runtime = Builder::new_current_thread().enable_all().build();
        finish(
            runtime.map_err(Failure::because).and_then(|runtime| runtime.block_on(self.execute())),
        )
    }

    /// Runs the command on the table that its options name, and writes to standard output.
    ///
    /// # Errors
    ///
    /// Why the command has failed.
    pub async fn execute(&self) -> Result<(), Failure> {
        // A command prints its result, not a log.
        if environment("VEDETTE_LOG").is_some() {
            telemetry::init();
        }
        let mut out = io::stdout().lock();
        let mut shown = Output::new(&mut out, self.json);
        let is_aws = self.target.is_aws()?;
        match &self.command {
            Command::Probe(probe) => return probe.run(&Clock::system(), &mut shown).await,
            Command::Validate(validate) => return validate.run(&mut shown),
            Command::Login(login) => return login.run(&mut shown).await,
            Command::Logout(logout) => return logout.run(&mut shown),
            Command::Copy(copy) => return copy.run(None, &mut shown).await,
            Command::Backup(_) | Command::Restore(_) if is_aws => {
                return Err(Failure::Usage(BACKED_UP_BY_AWS.to_owned()));
            }
            Command::Metrics if is_aws => {
                return Err(Failure::Usage("a deployment's metrics are in CloudWatch".to_owned()));
            }
            Command::Metrics => return metrics::show(&self.target, &mut shown).await,
            // These work on files, and not through the service.
            Command::Backup(backup) => {
                return backup.run(self.target.data(), &Clock::system(), &mut shown).await;
            }
            Command::Restore(restore) => return restore.run(self.target.data(), &mut shown).await,
            #[cfg(feature = "browser")]
            Command::Browser(command) => {
                return command.run(self.target.data(), &mut shown).await;
            }
            _ => {}
        }
        if matches!(self.command, Command::Health) {
            return match self.target.health().await {
                Err(Failure::OutOfReach(why)) => Err(Failure::refused(why)),
                health => health::tell(&health?, &mut shown),
            };
        }
        if let Command::Agent(command) = &self.command
            && let Some(run) = command.as_run()
        {
            if environment("VEDETTE_LOG").is_none() {
                telemetry::init();
            }
            return run.serve().await;
        }
        if let Command::Team(command) = &self.command {
            if let TeamCommand::Heartbeat(ApiCommand { command, .. }) = command
                && let Some(run) = command.as_wrapper()
            {
                return run.run().await;
            }
            if let Some(api) = command.remote().api()? {
                return command.run(&api, &mut shown).await;
            }
            if let TeamCommand::Maintenance(ApiCommand { command, .. }) = command
                && let Some(start) = command.as_wrapper()
            {
                return run_in_window(start, self).await;
            }
        }
        if is_aws {
            return execute_on_aws(self, Account::load().await?, &mut out).await;
        }
        let opened = match (self.target.open().await, &self.command) {
            (Err(failure @ (Failure::Silent(_) | Failure::OutOfReach(_))), Command::Doctor(_)) => {
                let data = self.target.data();
                return Doctor::run_without_service(
                    failure,
                    data,
                    &mut Output::new(&mut out, self.json),
                )
                .await;
            }
            (opened, _) => opened?,
        };
        let done = run(self, &opened.app, &opened.notices, None, &mut out).await;
        opened.close().await;
        done
    }
}

impl OpensApi for Cli {
    async fn with_api<T>(
        &self,
        work: impl AsyncFnOnce(&Api<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let done = if self.target.is_aws()? {
            let (app, _) = open_deployment(Account::load().await?, self.target.stack()).await?;
            work(&Api::here(&app)).await
        } else {
            let opened = self.target.open().await?;
            let done = work(&Api::here(&opened.app)).await;
            opened.close().await;
            done
        };
        done.map_err(|failure| self.target.explain(failure))
    }
}

const BACKED_UP_BY_AWS: &str = "a deployment's table is backed up by DynamoDB (point-in-time recovery); \
    `vedette copy` copies its teams into a folder on this machine";

/// Runs the command on a deployment in an AWS account.
async fn execute_on_aws(cli: &Cli, account: Account, out: &mut dyn Write) -> Result<(), Failure> {
    let stack = cli.target.stack();
    if let Command::Doctor(doctor) = &cli.command {
        return doctor.run_aws(&account, stack, &mut Output::new(out, cli.json)).await;
    }
    let (app, deployed) = open_deployment(account, stack).await?;
    run(cli, &app, &[], Some(&deployed), out).await
}

/// Returns the exit code of the process, and prints an error to standard error.
#[must_use]
pub fn finish(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The command has printed the reason itself.
        Err(Failure::Command(code)) => ExitCode::from(code),
        Err(failure) => {
            // If even standard error is closed, only the exit code reports the error.
            let text = failure.to_string();
            let lines: Vec<_> = text.lines().map(printable).collect();
            let _ = writeln!(io::stderr(), "vedette: {}", lines.join("\n"));
            ExitCode::from(failure.exit_code())
        }
    }
}
