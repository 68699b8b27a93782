//! `vedette maintenance`: times in which problems of sites are expected.

mod calendar;
mod wrapped;

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::{Args, Subcommand};
use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde_json::{Map, Value};
use vedette_domain::id::{TeamId, WindowId};
use vedette_domain::maintenance::{NewWindow, Recurrence};
use vedette_domain::time_zone::NamedZone;

use crate::api::{Api, Call};
use crate::given::{Given, Offer};
use crate::output::{Output, Record, Records, instant_at, text_at};
use crate::site::{NamedSite, site};
use crate::{Failure, args};

pub(crate) use wrapped::{OpensApi, run_in_window};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List a team's maintenance windows
    List {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
    /// Add a window that starts later, once or repeatedly
    Add(Add),
    /// Start a window now, for a given time or for as long as a command runs
    ///
    /// With a command, the window ends when the command does, whether it succeeds or not, and the exit code is the
    /// command's. If this program is killed, the window ends when its time has passed.
    Start(Start),
    /// End a window that is active
    End {
        #[command(flatten)]
        which: Which,
    },
    /// Delete a window with all its instances
    #[command(alias = "remove")]
    Delete {
        #[command(flatten)]
        which: Which,
    },
    /// Show, create or revoke the secret address of a team's calendar feed
    #[command(subcommand)]
    Calendar(calendar::Command),
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The team
    #[arg(value_parser = args::team_id)]
    team: TeamId,
    /// The window
    #[arg(value_parser = WindowId::RULE.parse)]
    window: WindowId,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The team
    #[arg(value_parser = args::team_id)]
    team: TeamId,
    #[command(flatten)]
    window: Given<NewWindow>,
    /// A site that it is for, by its UUID or URL; without --site and --selector, all sites of the team
    #[arg(long = "site", value_name = "SITE")]
    sites: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The sites that it is for, by their UUIDs or URLs
    #[arg(value_name = "SITE", required_unless_present = "team")]
    sites: Vec<String>,
    /// All sites of this team, or those that --selector matches
    #[arg(long, value_parser = args::team_id, conflicts_with = "sites")]
    team: Option<TeamId>,
    #[command(flatten)]
    window: Given<StartingNow>,
    /// A command to run in the window
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A window that starts now, once.
#[derive(Debug)]
pub(crate) struct StartingNow;

impl Offer for StartingNow {
    type Input = NewWindow;
    const NAMES: &'static [&'static str] = &["name", "duration_minutes", "selector"];
}

impl Command {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        match self {
            Self::List { team } => {
                let list = Call::to("maintenance-windows.list").of("team", team);
                let windows = api.list(&list).await?;
                let listed = &["window", "name", "sites", "when", "duration", "recurs"];
                let shown = windows.into_iter().map(shown);
                Ok(out.show(&Records::new("There are no maintenance windows.\n", listed, shown))?)
            }
            Self::Add(new) => Ok(out.show(&shown(new.run(api).await?))?),
            Self::Start(start) => match start.command() {
                Some(_) => run_in_window(start, api).await,
                None => Ok(out.show(&shown(start.begin(api).await?.window))?),
            },
            Self::End { which } => api.call(&which.call("maintenance-windows.end")).await.map(drop),
            Self::Delete { which } => {
                api.call(&which.call("maintenance-windows.delete")).await.map(drop)
            }
            Self::Calendar(command) => command.run(api, out).await,
        }
    }

    /// A window that is to be started with a command in it.
    pub(crate) fn as_wrapper(&self) -> Option<&Start> {
        match self {
            Self::Start(start) if start.command().is_some() => Some(start),
            _ => None,
        }
    }
}

impl Which {
    fn call(&self, route: &'static str) -> Call {
        Call::to(route).of("team", self.team).of("window", self.window)
    }
}

impl Add {
    async fn run(&self, api: &Api<'_>) -> Result<Value, Failure> {
        let sites = named(api, &self.sites, Some(self.team)).await?;
        save(api, self.team, self.window.body(of_sites(&sites))?).await
    }
}

/// A window that was started.
pub(crate) struct Started {
    team: TeamId,
    window: Value,
}

impl Start {
    /// The command to run, with its arguments.
    fn command(&self) -> Option<(&OsString, &[OsString])> {
        self.command.split_first()
    }

    /// Starts the window.
    pub(crate) async fn begin(&self, api: &Api<'_>) -> Result<Started, Failure> {
        let sites = named(api, &self.sites, None).await?;
        let teams: BTreeSet<TeamId> = sites.iter().map(|site| site.team).chain(self.team).collect();
        let team = match teams.iter().collect::<Vec<_>>()[..] {
            [team] => *team,
            _ => return Err(Failure::refused("the sites belong to different teams")),
        };
        let window = save(api, team, self.window.body(of_sites(&sites))?).await?;
        Ok(Started { team, window })
    }
}

impl Started {
    /// When it ends by itself, for people.
    pub(crate) fn until(&self) -> String {
        minute(&self.window, "/active_until").unwrap_or_default()
    }

    /// Ends the window, unless it is over or somebody has ended it.
    pub(crate) async fn end(&self, api: &Api<'_>) -> Result<(), Failure> {
        let of_window = |route| {
            let window = text_at(&self.window, "/uuid");
            Call::to(route).of("team", self.team).of("window", window)
        };
        match api.call(&of_window("maintenance-windows.get")).await {
            Ok(window) if window["active_until"].is_string() => {
                api.call(&of_window("maintenance-windows.end")).await.map(drop)
            }
            Ok(_) | Err(Failure::Refused(_)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }
}

async fn save(api: &Api<'_>, team: TeamId, new: Map<String, Value>) -> Result<Value, Failure> {
    api.call(&Call::to("maintenance-windows.create").of("team", team).sending(new)).await
}

/// The sites with these UUIDs or URLs.
async fn named(
    api: &Api<'_>,
    named: &[String],
    team: Option<TeamId>,
) -> Result<Vec<NamedSite>, Failure> {
    let mut sites = Vec::new();
    for name in named {
        sites.push(site(api, name, team).await?);
    }
    Ok(sites)
}

/// The sites of a window, unless it is for all sites of the team.
fn of_sites(sites: &[NamedSite]) -> Option<(&'static str, Value)> {
    let uuids = sites.iter().map(|site| site.uuid.clone()).collect();
    (!sites.is_empty()).then_some(("sites", uuids))
}

/// A window as the API shows it, and in words for people.
fn shown(window: Value) -> Record<Value> {
    let when = match (minute(&window, "/active_until"), minute(&window, "/next_starts_at")) {
        (Some(end), _) => format!("active until {end}"),
        (None, Some(start)) => format!("from {start}"),
        (None, None) => "over".to_owned(),
    };
    let sites = match &window["sites"] {
        Value::Array(sites) => sites.len().to_string(),
        _ => window["selector"].as_str().unwrap_or("all").to_owned(),
    };
    let minutes = window["duration_minutes"].as_i64().unwrap_or_default();
    let recurs = recurs(&window).unwrap_or_else(|| "once".to_owned());
    Record::of(window)
        .field("window", "/uuid")
        .field("name", "/name")
        .labeled("sites", sites)
        .labeled("when", when)
        .labeled("duration", format!("{:#}", SignedDuration::from_mins(minutes)))
        .labeled("recurs", recurs)
}

fn zone(window: &Value) -> Option<NamedZone> {
    NamedZone::parse(window["time_zone"].as_str()?)
}

/// An instant in the time zone of a window.
fn minute(window: &Value, pointer: &str) -> Option<String> {
    Some(zone(window)?.minute(instant_at(window, pointer)?))
}

fn recurs(window: &Value) -> Option<String> {
    let rule = Recurrence::parse(window["recurrence"].as_str()?).ok()?;
    let start: DateTime = window["starts_at"].as_str()?.parse().ok()?;
    Some(rule.in_words(start.date()))
}

#[cfg(test)]
mod tests;
