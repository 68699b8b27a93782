//! `vedette maintenance calendar`: the address by which calendar programs read a team's maintenance windows.

use clap::{Args, Subcommand};
use vedette_actions::{share_calendar, unshare_calendar};
use vedette_domain::accounts::audit::By;
use vedette_domain::alerts::link;
use vedette_domain::id::TeamId;
use vedette_runtime::App;

use crate::output::{Output, Record};
use crate::sign_in::pages_base;
use crate::{Failure, args, team};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the address
    Show(Feed),
    /// Create an address; the previous one stops working
    Create(Feed),
    /// Revoke the address
    Revoke {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Feed {
    /// The team
    #[arg(value_parser = args::team_id)]
    team: TeamId,
    /// Address of the dashboard; by default that of VEDETTE_BASE_URL, or of the running service
    #[arg(long, value_name = "URL", value_parser = args::pages_base)]
    url: Option<String>,
}

impl Command {
    pub(super) async fn run(
        &self,
        app: &App,
        is_deployed: bool,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let now = app.clock.now();
        let (feed, team) = match self {
            Self::Show(feed) => (feed, team::find(app, feed.team).await?.team),
            Self::Create(feed) => {
                let team = team::find(app, feed.team).await?.team;
                (feed, share_calendar(app, team, By::operator(now)).await?)
            }
            Self::Revoke { team } => {
                let team = team::find(app, *team).await?.team;
                return Ok(unshare_calendar(app, &team, By::operator(now)).await?);
            }
        };
        let base = pages_base(app, feed.url.as_deref(), is_deployed)?;
        let url = team.calendar.map(|key| link::calendar(base, team.id, &key));
        let text = url.clone().unwrap_or_else(|| "The calendar feed has no address.".to_owned());
        Ok(out.show(&Record::default().with("url", "", url).saying(text))?)
    }
}
