//! `vedette maintenance calendar`: the address by which calendar programs read a team's maintenance windows.

use clap::Subcommand;
use vedette_domain::id::TeamId;

use crate::api::{Api, Call};
use crate::output::{Output, Record, text_at};
use crate::{Failure, args};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the address
    Show {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
    /// Create an address; the previous one stops working
    Create {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
    /// Revoke the address
    Revoke {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
}

impl Command {
    pub(super) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let (route, team) = match self {
            Self::Show { team } => ("maintenance-calendar.get", team),
            Self::Create { team } => ("maintenance-calendar.create", team),
            Self::Revoke { team } => ("maintenance-calendar.delete", team),
        };
        let calendar = api.call(&Call::to(route).of("team", team)).await?;
        if let Self::Revoke { .. } = self {
            return Ok(());
        }
        let text = match calendar["url"].is_string() {
            true => text_at(&calendar, "/url"),
            false => "The calendar feed has no address.".to_owned(),
        };
        Ok(out.show(&Record::of(calendar).saying(text))?)
    }
}
