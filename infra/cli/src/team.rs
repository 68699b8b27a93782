//! `vedette team`: manages teams.

use clap::Subcommand;
use serde_json::{Value, json};
use vedette_api::Operator;
use vedette_domain::accounts::account::{Membership, Role};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::TeamId;
use vedette_domain::sites::settings::Settings;
use vedette_domain::time_zone::NamedZone;
use vedette_runtime::App;
use vedette_store::TeamWithSettings;

use crate::api::{Api, Call};
use crate::output::{Output, Record, Records, text_at, yes_no};
use crate::{Failure, args};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a team
    Create {
        /// Display name
        #[arg(long, value_parser = args::name)]
        name: String,
        /// Email address of the user who owns it. With --url, it is the owner of the token
        #[arg(long, value_name = "EMAIL", value_parser = args::email)]
        owner: Option<String>,
        /// Its plan, which only the operator chooses
        #[arg(long, default_value = Team::PLAN.as_str(), value_parser = args::plan())]
        plan: Plan,
    },
    /// List all teams; with --url, those of the token's owner
    List,
    /// Show a team and its usage
    Show {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
    /// Give a team another name
    Rename {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
        /// Display name
        #[arg(value_parser = args::name)]
        name: String,
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
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let team = match self {
            Self::Create { name, owner, plan } => {
                create(api, name, owner.as_deref(), *plan).await?
            }
            Self::List => return list(api, out).await,
            Self::Show { team } => *team,
            Self::Rename { team, name } => {
                let rename = Call::to("teams.update").of("team", team);
                api.call(&rename.sending(json!({ "name": name }))).await?;
                *team
            }
            Self::TimeZone { team, zone } => {
                let change = Call::to("time-zone.update").of("team", team);
                api.call(&change.sending(json!({ "time_zone": zone.name() }))).await?;
                *team
            }
        };
        match api {
            Api::Here(app, _) => show(app, team, out).await,
            Api::There(..) => {
                let team = api.call(&Call::to("teams.get").of("team", team)).await?;
                Ok(out.show(&resource(team))?)
            }
        }
    }
}

/// Creates a team: the operator for any user and with any plan, others for themselves.
async fn create(
    api: &Api<'_>,
    name: &str,
    owner: Option<&str>,
    plan: Plan,
) -> Result<TeamId, Failure> {
    let Api::Here(app, Operator { user: Some(user) }) = api.acting_as("--owner", owner).await?
    else {
        if plan != Team::PLAN {
            return Err(Failure::Usage("only the operator chooses a plan; omit --plan".to_owned()));
        }
        let team = api.call(&Call::to("teams.create").sending(json!({ "name": name }))).await?;
        let id = team["uuid"].as_str().and_then(TeamId::parse);
        return id.ok_or_else(|| Failure::refused("the service did not answer with a team"));
    };
    let id = app.entropy.team_id().map_err(Failure::because)?;
    let team = Team::new(id, name, plan, app.clock.now());
    let owner = Membership { team: team.id, user, role: Role::Owner };
    app.store.create_team(&team, &Settings::defaults(plan), &owner).await?;
    Ok(team.id)
}

const NONE: &str = "There are no teams.\n";
const LISTED: &[&str] = &["team", "name", "plan", "sites", "seats"];

/// All teams for the operator, or those of the token's owner.
async fn list(api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
    let Api::Here(app, _) = api else {
        let teams = api.list(&Call::to("teams.list")).await?.into_iter().map(resource);
        return Ok(out.show(&Records::new(NONE, LISTED, teams))?);
    };
    let teams = app.store.teams(app.store.all_teams().await?, app.clock.now()).await?;
    let mut teams: Vec<_> = teams.values().collect();
    teams.sort_by_key(|found| (found.team.created_at, found.team.id));
    Ok(out.show(&Records::new(NONE, LISTED, teams.into_iter().map(shown)))?)
}

/// Shows the operator the current state of a team.
pub(crate) async fn show(app: &App, team: TeamId, out: &mut Output<'_>) -> Result<(), Failure> {
    Ok(out.show(&shown(&find(app, team).await?))?)
}

/// The team with this id.
pub(crate) async fn find(app: &App, team: TeamId) -> Result<TeamWithSettings, Failure> {
    let found = app.store.team(team, app.clock.now()).await?;
    found.ok_or_else(|| Failure::refused(format!("there is no team {team}")))
}

/// A team as the API shows it.
fn resource(team: Value) -> Record<Value> {
    let of = |what: &str| {
        let used = text_at(&team, &format!("/limits/{what}/used"));
        match text_at(&team, &format!("/limits/{what}/limit")) {
            limit if limit == "-" => used,
            limit => format!("{used} of {limit}"),
        }
    };
    let (sites, seats) = (of("sites"), of("seats"));
    let checks = format!("{} this month", of("manual_checks"));
    Record::of(team)
        .field("team", "/uuid")
        .field("name", "/name")
        .field("plan", "/limits/plan")
        .labeled("sites", sites)
        .labeled("seats", seats)
        .labeled("manual checks", checks)
        .instant("created", "/created_at")
        .instant("updated", "/updated_at")
}

/// A team as the operator sees it, even if its plan is inactive.
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
