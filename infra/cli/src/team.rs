//! `vedette team`: manages teams.

use clap::Subcommand;
use serde_json::json;
use vedette_actions::change_time_zone;
use vedette_domain::accounts::account::{Membership, Role};
use vedette_domain::accounts::audit::By;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::TeamId;
use vedette_domain::sites::settings::Settings;
use vedette_domain::time_zone::NamedZone;
use vedette_runtime::App;
use vedette_store::TeamWithSettings;

use crate::output::{Output, Record, Records, yes_no};
use crate::{Failure, args, user};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a team
    Create {
        /// Display name
        #[arg(long, value_parser = args::name)]
        name: String,
        /// Email address of the user who owns it
        #[arg(long, value_name = "EMAIL", value_parser = args::email)]
        owner: String,
        /// Its plan
        #[arg(long, default_value = Team::PLAN.as_str(), value_parser = args::plan())]
        plan: Plan,
    },
    /// List all teams
    List,
    /// Show a team and its usage
    Show {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
    /// Choose the time zone of a team's quiet time and alerts
    TimeZone {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
        /// An IANA time zone name, such as Europe/Berlin, or UTC
        #[arg(value_parser = NamedZone::RULE.parse)]
        zone: NamedZone,
    },
}

impl Command {
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        match self {
            Self::Create { name, owner, plan } => {
                let team = create(app, name, owner, *plan).await?;
                show(app, team, out).await
            }
            Self::List => list(app, out).await,
            Self::Show { team } => show(app, *team, out).await,
            Self::TimeZone { team, zone } => {
                let found = find(app, *team).await?;
                let now = app.clock.now();
                change_time_zone(app, found.team, zone.clone(), By::operator(now)).await?;
                show(app, *team, out).await
            }
        }
    }
}

async fn create(app: &App, name: &str, owner: &str, plan: Plan) -> Result<TeamId, Failure> {
    let owner = user::by_email(app, owner).await?;
    let now = app.clock.now();
    let id = app.entropy.team_id().map_err(Failure::because)?;
    let team = Team::new(id, name, plan, now);
    let owner = Membership { team: team.id, user: owner.id, role: Role::Owner };
    app.store.create_team(&team, &Settings::defaults(plan), &owner).await?;
    Ok(team.id)
}

async fn list(app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
    let ids = app.store.all_teams().await?;
    let teams = app.store.teams(ids, app.clock.now()).await?;
    let mut teams: Vec<_> = teams.values().collect();
    teams.sort_by_key(|found| (found.team.created_at, found.team.id));
    let listed = &["team", "name", "plan", "sites", "seats"];
    Ok(out.show(&Records::new("There are no teams.\n", listed, teams.into_iter().map(shown)))?)
}

/// Shows the current state of a team.
pub(crate) async fn show(app: &App, team: TeamId, out: &mut Output<'_>) -> Result<(), Failure> {
    Ok(out.show(&shown(&find(app, team).await?))?)
}

/// The team with this id.
pub(crate) async fn find(app: &App, team: TeamId) -> Result<TeamWithSettings, Failure> {
    let found = app.store.team(team, app.clock.now()).await?;
    found.ok_or_else(|| Failure::refused(format!("there is no team {team}")))
}

fn shown(found: &TeamWithSettings) -> Record {
    let team = &found.team;
    let limits = team.plan.limits();
    let state = if team.plan_active { "" } else { ", inactive" };
    let of = |used: u32, limit: Option<u32>| match limit {
        Some(limit) => format!("{used} of {limit}"),
        None => used.to_string(),
    };
    let value = |used: u32, limit: Option<u32>| json!({ "used": used, "limit": limit });
    let (seats, manual_checks) = (team.seats_taken(), found.manual_checks);
    let manual_limit = Some(limits.manual_checks_per_month);
    let of_month = format!("{} this month", of(manual_checks, manual_limit));
    let synced = team.synced == team.cfg;
    Record::default()
        .with("uuid", "team", team.id.to_string())
        .with("name", "name", team.name.as_str())
        .worded("plan", "plan", team.plan.as_str(), format!("{}{state}", team.plan))
        .with("plan_active", "", team.plan_active)
        .with("time_zone", "time zone", team.zone.name())
        .worded("sites", "sites", value(team.sites, limits.sites), of(team.sites, limits.sites))
        .worded("seats", "seats", value(seats, limits.seats), of(seats, limits.seats))
        .worded("manual_checks", "manual checks", value(manual_checks, manual_limit), of_month)
        .worded("schedules_synced", "schedules synced", synced, yes_no(synced))
        .at("created_at", "created", team.created_at)
        .at("updated_at", "updated", team.updated_at)
}

#[cfg(test)]
mod tests {
    use crate::testing::Bench;

    #[tokio::test]
    async fn teams_are_created_shown_and_listed() {
        let bench = Bench::new().await;
        assert_eq!(bench.run("team list").await.out, "There are no teams.\n");
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        let shown = bench.json(&format!("team show {team}")).await;
        insta::assert_json_snapshot!(shown, @r#"
        {
          "created_at": "2026-11-20T09:54:00+00:00",
          "manual_checks": {
            "limit": 50,
            "used": 0
          },
          "name": "Shop",
          "plan": "starter",
          "plan_active": true,
          "schedules_synced": true,
          "seats": {
            "limit": 3,
            "used": 1
          },
          "sites": {
            "limit": 5,
            "used": 0
          },
          "time_zone": "UTC",
          "updated_at": "2026-11-20T09:54:00+00:00",
          "uuid": "02020202-0202-4202-8202-020202020202"
        }
        "#);
        bench.pass(60);
        bench.team("ada", "agency").await;
        insta::assert_snapshot!(bench.run("team list").await.out, @r"
        TEAM                                  NAME  PLAN     SITES   SEATS
        02020202-0202-4202-8202-020202020202  Shop  starter  0 of 5  1 of 3
        03030303-0303-4303-8303-030303030303  Shop  agency   0       1
        ");
        insta::assert_snapshot!(bench.run(&format!("team show {team}")).await.out, @r"
        team              02020202-0202-4202-8202-020202020202
        name              Shop
        plan              starter
        time zone         UTC
        sites             0 of 5
        seats             1 of 3
        manual checks     0 of 50 this month
        schedules synced  yes
        created           2026-11-20 09:54:00 UTC
        updated           2026-11-20 09:54:00 UTC
        ");
    }

    #[tokio::test]
    async fn a_team_has_the_time_zone_that_is_chosen() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        let chosen = bench.json(&format!("team time-zone {team} europe/berlin")).await;
        assert_eq!(chosen["time_zone"], "Europe/Berlin");
        assert_eq!(bench.json(&format!("team show {team}")).await["time_zone"], "Europe/Berlin");
        let again = bench.json(&format!("team time-zone {team} UTC")).await;
        assert_eq!(again["time_zone"], "UTC");
        let ran = bench.run(&format!("team time-zone {team} Europe/Atlantis")).await;
        assert_eq!(ran.code, 2);
    }

    #[tokio::test]
    async fn a_team_needs_an_owner_and_a_known_plan() {
        let bench = Bench::new().await;
        let said = bench.refused("team create --name Shop --owner eve@example.com").await;
        assert_eq!(said, "no user has the address eve@example.com");
        let unknown = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";
        let said = bench.refused(&format!("team show {unknown}")).await;
        assert_eq!(said, format!("there is no team {unknown}"));
        let ran = bench.run("team create --name Shop --owner ada@example.com --plan free").await;
        assert_eq!(ran.code, 2);
        assert_eq!(bench.run("team show shop").await.code, 2);
    }
}
