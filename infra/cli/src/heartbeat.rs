//! `vedette heartbeat`: jobs that must report.

mod run;

use clap::{Args, Subcommand};
use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_domain::heartbeats::input::{HeartbeatEdit, NewHeartbeat};
use vedette_domain::heartbeats::team_key::PingKeyChoice;
use vedette_domain::id::TeamId;
use vedette_domain::time::duration;

use crate::api::{Api, Call};
use crate::given::Given;
use crate::output::{Output, Record, Records, instant_at, moment_or_dash, text_at};
use crate::{Failure, args};

pub(crate) use self::run::Run;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List a team's heartbeats
    List {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
    /// Create a heartbeat, and show the address that its job pings
    Create(Create),
    /// Show a heartbeat
    Show {
        #[command(flatten)]
        which: Which,
    },
    /// Change a heartbeat
    Edit(Edit),
    /// Expect no pings until the heartbeat is resumed or the job pings
    Pause {
        #[command(flatten)]
        which: Which,
    },
    /// Expect pings again
    Resume {
        #[command(flatten)]
        which: Which,
    },
    /// List what a job has reported, newest first
    Runs {
        #[command(flatten)]
        which: Which,
    },
    /// Delete a heartbeat with its runs and issues
    #[command(alias = "remove")]
    Delete {
        #[command(flatten)]
        which: Which,
    },
    /// Show the team's ping key, or replace it
    Key(Key),
    /// Run a command, and ping its start, its exit code and the end of its output
    ///
    /// Needs no service on this machine and no token. The exit code is the command's, whether or not the pings arrive.
    /// Each is tried for a minute.
    Run(Run),
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The team
    #[arg(value_parser = args::team_id)]
    team: TeamId,
    /// The heartbeat, by its slug or UUID
    heartbeat: String,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The team
    #[arg(value_parser = args::team_id)]
    team: TeamId,
    #[command(flatten)]
    heartbeat: Given<NewHeartbeat>,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    edit: Given<HeartbeatEdit>,
}

#[derive(Debug, Args)]
pub(crate) struct Key {
    /// The team
    #[arg(value_parser = args::team_id)]
    team: TeamId,
    /// Give the team another key
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    key: Given<PingKeyChoice>,
}

impl Command {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let heartbeat = match self {
            Self::List { team } => {
                let list = Call::to("heartbeats.list").of("team", team);
                let found = api.list(&list).await?.into_iter().map(shown);
                let listed = &["heartbeat", "name", "state", "last ping", "deadline"];
                return Ok(out.show(&Records::new("There are no heartbeats.\n", listed, found))?);
            }
            Self::Create(new) => {
                let create = Call::to("heartbeats.create").of("team", new.team);
                api.call(&create.sending(new.heartbeat.body([])?)).await?
            }
            Self::Show { which } => which.find(api).await?,
            Self::Edit(edit) => edit.which.change(api, edit.edit.body([])?).await?,
            Self::Pause { which } => which.change(api, json!({ "paused": true })).await?,
            Self::Resume { which } => which.change(api, json!({ "paused": false })).await?,
            Self::Runs { which } => {
                let call = which.call("heartbeats.runs", &which.find(api).await?);
                let runs = api.list(&call).await?.into_iter().map(run_shown);
                let listed = &["time", "outcome", "duration", "exit"];
                return Ok(out.show(&Records::new(
                    "The job has not pinged yet.\n",
                    listed,
                    runs,
                ))?);
            }
            Self::Delete { which } => {
                let found = which.find(api).await?;
                return api.call(&which.call("heartbeats.delete", &found)).await.map(drop);
            }
            Self::Key(key) => return key.run(api, out).await,
            Self::Run(run) => return run.run().await,
        };
        Ok(out.show(&shown(heartbeat))?)
    }

    /// A command that is to be run, for which no service is needed.
    pub(crate) const fn as_wrapper(&self) -> Option<&Run> {
        match self {
            Self::Run(run) => Some(run),
            _ => None,
        }
    }
}

impl Key {
    async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let call = match self.replace {
            true => Call::to("ping-key.update").sending(self.key.body([])?),
            false => Call::to("ping-key.get"),
        };
        let key = api.call(&call.of("team", self.team)).await?;
        let text = match key["ping_url"].is_string() {
            true => format!("{}/SLUG", text_at(&key, "/ping_url")),
            false => "The team has no ping key. --replace creates one.".to_owned(),
        };
        Ok(out.show(&Record::of(key).saying(text))?)
    }
}

/// The heartbeat of a team with this slug or UUID.
pub(crate) async fn heartbeat(api: &Api<'_>, team: TeamId, name: &str) -> Result<Value, Failure> {
    let all = api.list(&Call::to("heartbeats.list").of("team", team)).await?;
    let by_id = all.iter().find(|found| found["uuid"] == *name.to_lowercase());
    // Several heartbeats may have no slug.
    let by_slug = || all.iter().find(|found| found["slug"] == name && !name.is_empty());
    let found = by_id.or_else(by_slug).cloned();
    found.ok_or_else(|| Failure::refused(format!("the team has no heartbeat {name}")))
}

impl Which {
    async fn find(&self, api: &Api<'_>) -> Result<Value, Failure> {
        heartbeat(api, self.team, &self.heartbeat).await
    }

    /// A call of a route below the heartbeat.
    fn call(&self, route: &'static str, found: &Value) -> Call {
        Call::to(route).of("team", self.team).of("heartbeat", text_at(found, "/uuid"))
    }

    async fn change(&self, api: &Api<'_>, edit: impl Into<Value>) -> Result<Value, Failure> {
        let found = self.find(api).await?;
        api.call(&self.call("heartbeats.update", &found).sending(edit)).await
    }
}

/// A heartbeat as the API shows it, and in words for people.
fn shown(heartbeat: Value) -> Record<Value> {
    let at = |name: &str| moment_or_dash(instant_at(&heartbeat, name));
    let (last, deadline) = (at("/last_ping_at"), at("/deadline"));
    Record::of(heartbeat)
        .field("heartbeat", "/uuid")
        .field("name", "/name")
        .field("slug", "/slug")
        .field("state", "/state")
        .labeled("last ping", last)
        .labeled("deadline", deadline)
        .field("address", "/ping_url")
}

/// A run as the API shows it, and in words for people.
fn run_shown(run: Value) -> Record<Value> {
    let lasted = run["duration_seconds"].as_f64().map_or_else(
        || "-".to_owned(),
        |seconds| duration(SignedDuration::from_millis((seconds * 1_000.0) as i64)),
    );
    let exit = run["exit_status"].as_u64().map_or_else(|| "-".to_owned(), |code| code.to_string());
    Record::of(run)
        .instant("time", "/timestamp")
        .field("outcome", "/outcome")
        .labeled("duration", lasted)
        .labeled("exit", exit)
}

#[cfg(test)]
mod tests;
