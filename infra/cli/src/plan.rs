//! `vedette plan`: changes the plan of a team. The reconciler then updates the schedules.

use clap::Subcommand;
use vedette_actions::change_plan;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::TeamId;
use vedette_runtime::App;

use crate::output::Output;
use crate::{Failure, args, team};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Change a team's plan; an inactive plan stays inactive
    Set {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
        /// Its plan
        #[arg(value_parser = args::plan())]
        plan: Plan,
    },
    /// Deactivate a team's plan: checks stop, and the API answers 402
    Deactivate {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
    /// Activate a team's plan again
    Activate {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
}

impl Command {
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        let (Self::Set { team, .. } | Self::Deactivate { team } | Self::Activate { team }) = self;
        let seen = team::find(app, *team).await?.team;
        let (plan, is_active) = match self {
            Self::Set { plan, .. } => (*plan, seen.plan_active),
            Self::Deactivate { .. } => (seen.plan, false),
            Self::Activate { .. } => (seen.plan, true),
        };
        // Even if nothing changes, so that repeating the command makes the reconciler check the schedules again.
        change_plan(app, *team, plan, is_active).await?;
        team::show(app, *team, out).await
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Bench;
    use vedette_store::keys::Owner;

    #[tokio::test]
    async fn a_plan_changes_and_the_reconciler_finds_it() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        let overdue = async || {
            let found = bench.app.store.overdue(bench.app.clock.now(), 10).await;
            found.expect("an answer").into_iter().map(|work| work.owner).collect::<Vec<_>>()
        };
        assert_eq!(overdue().await, []);
        let set = bench.json(&format!("plan set {team} growth")).await;
        assert_eq!((&set["plan"], &set["plan_active"]), (&"growth".into(), &true.into()));
        assert_eq!(set["schedules_synced"], false);
        assert!(matches!(overdue().await.as_slice(), [Some(Owner::Team(_))]));

        let off = bench.json(&format!("plan deactivate {team}")).await;
        assert_eq!((&off["plan"], &off["plan_active"]), (&"growth".into(), &false.into()));
        let set = bench.json(&format!("plan set {team} agency")).await;
        assert_eq!((&set["plan"], &set["plan_active"]), (&"agency".into(), &false.into()));
        let on = bench.json(&format!("plan activate {team}")).await;
        assert_eq!((&on["plan"], &on["plan_active"]), (&"agency".into(), &true.into()));
    }

    #[tokio::test]
    async fn an_unknown_team_has_no_plan() {
        let bench = Bench::new().await;
        let unknown = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";
        for command in [
            format!("plan set {unknown} growth"),
            format!("plan activate {unknown}"),
            format!("plan deactivate {unknown}"),
        ] {
            assert_eq!(bench.refused(&command).await, format!("there is no team {unknown}"));
        }
    }
}
