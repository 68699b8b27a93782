//! `vedette maintenance`: times in which problems of sites are expected.

mod calendar;
mod wrapped;

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use vedette_actions::{WindowError, add_window, delete_window, end_window};
use vedette_domain::accounts::audit::By;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::{SiteId, TeamId, WindowId};
use vedette_domain::maintenance::{MaintenanceWindow, NewWindow, Recurrence, WindowResource};
use vedette_domain::sites::site_url::SiteUrl;
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use crate::given::{Given, Offer};
use crate::output::{Output, Record, Records};
use crate::{Failure, args, team};

pub(crate) use wrapped::{OpensTable, run_in_window};

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
    /// A site that it is for, by its UUID or URL; all sites of the team if omitted
    #[arg(long = "site", value_name = "SITE")]
    sites: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The sites that it is for, by their UUIDs or URLs
    #[arg(value_name = "SITE", required_unless_present = "team")]
    sites: Vec<String>,
    /// All sites of this team
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
    const NAMES: &'static [&'static str] = &["name", "duration_minutes"];
}

impl Command {
    pub(crate) async fn run(
        &self,
        app: &App,
        is_deployed: bool,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let now = app.clock.now();
        match self {
            Self::List { team } => {
                let found = team::find(app, *team).await?.team;
                let windows = found.windows.current_ones(now);
                let shown = windows.iter().map(|window| shown(window, now));
                let listed = &["window", "name", "sites", "when", "duration", "recurs"];
                Ok(out.show(&Records::new("There are no maintenance windows.\n", listed, shown))?)
            }
            Self::Add(new) => Ok(out.show(&shown(&new.run(app).await?, now))?),
            Self::Start(start) => match start.command() {
                Some(_) => run_in_window(start, app).await,
                None => Ok(out.show(&shown(&start.begin(app).await?.window, now))?),
            },
            Self::End { which } => {
                which
                    .change(app, async |team, window| {
                        end_window(app, team, window, By::operator(now)).await.map(drop)
                    })
                    .await
            }
            Self::Delete { which } => {
                which
                    .change(app, async |team, window| {
                        delete_window(app, team, window, By::operator(now)).await
                    })
                    .await
            }
            Self::Calendar(command) => command.run(app, is_deployed, out).await,
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
    /// Changes the window. After a conflict, applies the change to the team's current windows.
    async fn change(
        &self,
        app: &App,
        change: impl AsyncFn(&Team, &MaintenanceWindow) -> Result<(), WindowError>,
    ) -> Result<(), Failure> {
        retry_on_conflict(budget::WRITE, || async {
            let team = team::find(app, self.team).await?.team;
            let id = self.window;
            let window = team.windows.current(id, app.clock.now()).ok_or_else(|| {
                Failure::refused(format!("the team has no maintenance window {id}, or it is over"))
            })?;
            Ok::<_, Failure>(change(&team, window).await?)
        })
        .await
    }
}

impl Add {
    async fn run(&self, app: &App) -> Result<MaintenanceWindow, Failure> {
        let team = self.team;
        let sites = NamedSites(sites(app, &self.sites).await?);
        if let Some(of) = sites.teams().find(|of| *of != team) {
            return Err(Failure::refused(format!("one of the sites belongs to the team {of}")));
        }
        save(app, team, &self.window.read(sites.given())?).await
    }
}

/// A window that was started.
pub(crate) struct Started {
    team: TeamId,
    pub(crate) window: MaintenanceWindow,
    /// When it ends by itself.
    until: Option<Timestamp>,
}

impl Start {
    /// The command to run, with its arguments.
    fn command(&self) -> Option<(&OsString, &[OsString])> {
        self.command.split_first()
    }

    /// Starts the window.
    pub(crate) async fn begin(&self, app: &App) -> Result<Started, Failure> {
        let sites = NamedSites(sites(app, &self.sites).await?);
        let teams: BTreeSet<TeamId> = sites.teams().chain(self.team).collect();
        let team = match teams.iter().collect::<Vec<_>>()[..] {
            [team] => *team,
            _ => return Err(Failure::refused("the sites belong to different teams")),
        };
        let window = save(app, team, &self.window.read(sites.given())?).await?;
        let until = window.active_at(app.clock.now()).map(|active| active.end);
        Ok(Started { team, window, until })
    }
}

impl Started {
    /// Ends the window, unless it is over or somebody has ended it.
    pub(crate) async fn end(&self, app: &App) -> Result<(), Failure> {
        retry_on_conflict(budget::WRITE, || async {
            let now = app.clock.now();
            let team = team::find(app, self.team).await?.team;
            match team.windows.current(self.window.id, now) {
                Some(window) if window.active_at(now).is_some() => {
                    Ok(end_window(app, &team, window, By::operator(now)).await.map(drop)?)
                }
                _ => Ok::<_, Failure>(()),
            }
        })
        .await
    }
}

/// Adds a window. After a conflict, adds it to the team's current windows.
async fn save(app: &App, team: TeamId, new: &NewWindow) -> Result<MaintenanceWindow, Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let (found, now) = (team::find(app, team).await?.team, app.clock.now());
        Ok::<_, Failure>(add_window(app, &found, new.clone(), By::operator(now)).await?)
    })
    .await
}

/// The sites with these UUIDs or URLs, each with its team.
pub(crate) async fn sites(app: &App, named: &[String]) -> Result<Vec<(SiteId, TeamId)>, Failure> {
    let mut sites = Vec::new();
    for name in named {
        sites.push(match SiteId::parse(name) {
            Some(id) => by_id(app, id).await?,
            None => by_url(app, name).await?,
        });
    }
    Ok(sites)
}

/// The sites that a command names, each with its team. If it names none, the window is for all sites of the team.
struct NamedSites(Vec<(SiteId, TeamId)>);

impl NamedSites {
    fn teams(&self) -> impl Iterator<Item = TeamId> {
        self.0.iter().map(|(_, team)| *team)
    }

    /// The sites of a window, unless it is for all sites.
    fn given(&self) -> Option<(&'static str, Value)> {
        let sites = self.0.iter().map(|(id, _)| id.to_string()).collect();
        (!self.0.is_empty()).then_some(("sites", sites))
    }
}

async fn by_id(app: &App, id: SiteId) -> Result<(SiteId, TeamId), Failure> {
    let found = app.store.site(id.partition()).await?.filter(|found| found.site.id == id);
    let site = found.ok_or_else(|| Failure::refused(format!("there is no site {id}")))?.site;
    Ok((id, site.team))
}

async fn by_url(app: &App, text: &str) -> Result<(SiteId, TeamId), Failure> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let url = SiteUrl::parse(&whole).map_err(|error| Failure::Usage(format!("{text}: {error}")))?;
    let teams = app.store.teams(app.store.all_teams().await?, app.clock.now()).await?;
    let mut found = Vec::new();
    for (id, team) in teams {
        let directory = app.store.directory(id, team.team.sites as usize).await?;
        found.extend(directory.into_iter().filter(|row| row.url == url).map(|row| (row.id, id)));
    }
    match found[..] {
        [site] => Ok(site),
        [] => Err(Failure::refused(format!("no team monitors {url}"))),
        _ => {
            Err(Failure::refused(format!("several teams monitor {url}; give the UUID of the site")))
        }
    }
}

/// A window as the API shows it, and in words for people.
fn shown(window: &MaintenanceWindow, now: Timestamp) -> Record<WindowResource> {
    let resource = WindowResource::new(window, now);
    let MaintenanceWindow { zone, sites, minutes, rule, start, .. } = window;
    let when = match (resource.active_until, resource.next_starts_at) {
        (Some(end), _) => format!("active until {}", zone.minute(end)),
        (None, Some(start)) => format!("from {}", zone.minute(start)),
        (None, None) => "over".to_owned(),
    };
    let words = |rule: &Recurrence| rule.in_words(start.date());
    Record::of(resource)
        .labeled("window", window.id.to_string())
        .labeled("name", window.name.as_str())
        .labeled(
            "sites",
            sites.as_ref().map_or_else(|| "all".to_owned(), |of| of.len().to_string()),
        )
        .labeled("when", when)
        .labeled("duration", format!("{:#}", SignedDuration::from_mins((*minutes).into())))
        .labeled("recurs", rule.as_ref().map_or_else(|| "once".to_owned(), words))
}

#[cfg(test)]
mod tests;
