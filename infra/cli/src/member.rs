//! `vedette member`: manages the members of a team.

use clap::{Args, Subcommand};
use vedette_actions::{add_member, change_role, remove_member};
use vedette_domain::accounts::account::{Role, User};
use vedette_domain::accounts::audit::By;
use vedette_domain::id::{TeamId, UserId};
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use crate::output::{Output, Record, Records, printable};
use crate::{Failure, args, team, user};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a user to a team, if its plan has a seat left
    Add {
        #[command(flatten)]
        who: Who,
        /// Their role
        #[arg(long, value_parser = args::new_role())]
        role: Role,
    },
    /// Give a member another role; a team must keep an owner
    Role {
        #[command(flatten)]
        who: Who,
        /// Their new role
        #[arg(long, value_parser = args::role())]
        role: Role,
    },
    /// Remove a member from a team; a team must keep an owner
    Remove {
        #[command(flatten)]
        who: Who,
    },
    /// List a team's members
    List {
        /// The team
        #[arg(long, value_parser = args::team_id)]
        team: TeamId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Who {
    /// The team
    #[arg(long, value_parser = args::team_id)]
    team: TeamId,
    /// The user's address
    #[arg(long, value_parser = args::email)]
    email: String,
}

impl Command {
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        match self {
            Self::Add { who, role } => Ok(out.show(&add(app, who, *role).await?)?),
            Self::Role { who, role } => Ok(out.show(&change(app, who, *role).await?)?),
            Self::Remove { who } => Ok(out.show(&remove(app, who).await?)?),
            Self::List { team } => Ok(out.show(&list(app, *team).await?)?),
        }
    }
}

async fn add(app: &App, who: &Who, role: Role) -> Result<Record, Failure> {
    let user = user::by_email(app, &who.email).await?;
    retry_on_conflict(budget::WRITE, || async {
        let team = team::find(app, who.team).await?;
        Ok::<_, Failure>(add_member(app, &team, &user, role, By::operator(app.clock.now())).await?)
    })
    .await?;
    Ok(shown(who.team, &user, role))
}

async fn change(app: &App, who: &Who, role: Role) -> Result<Record, Failure> {
    team::find(app, who.team).await?;
    let user = user::by_email(app, &who.email).await?;
    // The operator may do what an owner may do.
    change_role(app, who.team, &user, role, Role::Owner, By::operator(app.clock.now())).await?;
    Ok(shown(who.team, &user, role))
}

async fn remove(app: &App, who: &Who) -> Result<Record, Failure> {
    team::find(app, who.team).await?;
    let user = user::by_email(app, &who.email).await?;
    let role =
        remove_member(app, who.team, &user, Role::Owner, By::operator(app.clock.now())).await?;
    let email = printable(&user.email);
    let text = format!("{email} is no longer a member of team {}.\n", who.team);
    Ok(shown(who.team, &user, role).saying(text))
}

async fn list(app: &App, team: TeamId) -> Result<Records, Failure> {
    team::find(app, team).await?;
    let rows = app.store.members(team).await?;
    let mut users = app.store.users(rows.iter().map(|row| row.user)).await?;
    let found = rows.iter().filter_map(|row| users.remove(&row.user).map(|user| (user, row.role)));
    let mut members: Vec<_> = found.collect();
    members.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.email.cmp(&b.email)));
    let shown = members.iter().map(|(user, role)| shown(team, user, *role));
    let listed = &["user", "name", "email", "role"];
    Ok(Records::new("The team has no members.\n", listed, shown))
}

/// The role of a user in a team, if they belong to it.
pub(crate) async fn role_in(
    app: &App,
    team: TeamId,
    user: UserId,
) -> Result<Option<Role>, Failure> {
    let places = user::memberships(app, user).await?;
    Ok(places.into_iter().find(|place| place.team == team).map(|place| place.role))
}

fn shown(team: TeamId, user: &User, role: Role) -> Record {
    Record::default()
        .with("team", "team", team.to_string())
        .with("user", "user", user.id.to_string())
        .with("name", "name", user.name.as_str())
        .with("email", "email", user.email.as_str())
        .with("role", "role", role.as_str())
}

#[cfg(test)]
mod tests {
    use vedette_domain::accounts::account::Membership;
    use vedette_store::Audit;

    use super::*;
    use crate::testing::Bench;

    async fn bench() -> (Bench, String) {
        let bench = Bench::new().await;
        for name in ["ada", "bob", "cleo", "dan"] {
            bench.user(name).await;
        }
        let team = bench.team("ada", "starter").await;
        (bench, team)
    }

    #[tokio::test]
    async fn members_come_change_and_go() {
        let (bench, team) = bench().await;
        let who = |name: &str| format!("--team {team} --email {name}@example.com");
        let added = bench.json(&format!("member add {} --role viewer", who("bob"))).await;
        insta::assert_json_snapshot!(added, @r#"
        {
          "email": "bob@example.com",
          "name": "bob",
          "role": "viewer",
          "team": "05050505-0505-4505-8505-050505050505",
          "user": "02020202-0202-4202-8202-020202020202"
        }
        "#);
        let said = bench.refused(&format!("member add {} --role admin", who("bob"))).await;
        assert_eq!(said, "bob@example.com is already a member, with the role viewer");
        bench.json(&format!("member role {} --role admin", who("bob"))).await;
        let listed = bench.run(&format!("member list --team {team}")).await;
        insta::assert_snapshot!(listed.out, @r"
        USER                                  NAME  EMAIL            ROLE
        01010101-0101-4101-8101-010101010101  ada   ada@example.com  owner
        02020202-0202-4202-8202-020202020202  bob   bob@example.com  admin
        ");
        let removed = bench.run(&format!("member remove {}", who("bob"))).await;
        assert_eq!(removed.out, format!("bob@example.com is no longer a member of team {team}.\n"));
        for command in ["member remove", "member role --role viewer"] {
            let said = bench.refused(&format!("{command} {}", who("bob"))).await;
            assert_eq!(said, "bob@example.com is not a member of the team");
        }
        assert_eq!(bench.json(&format!("team show {team}")).await["seats"]["used"], 1);
    }

    #[tokio::test]
    async fn no_member_is_added_beyond_the_seats_of_the_plan() {
        let (bench, team) = bench().await;
        let add = |name: &str| {
            format!("member add --team {team} --email {name}@example.com --role member")
        };
        bench.json(&add("bob")).await;
        bench.json(&add("cleo")).await;
        let said = bench.refused(&add("dan")).await;
        assert_eq!(
            said,
            "the starter plan has 3 seats, and all are taken; remove a member or withdraw an invitation first"
        );
        bench.json(&format!("plan set {team} agency")).await;
        bench.json(&add("dan")).await;
    }

    #[tokio::test]
    async fn the_last_owner_of_a_team_cannot_leave() {
        let (bench, team) = bench().await;
        let who = |name: &str| format!("--team {team} --email {name}@example.com");
        for command in ["member remove", "member role --role admin"] {
            let said = bench.refused(&format!("{command} {}", who("ada"))).await;
            let reason = "is the team's last owner; make another member an owner first";
            assert_eq!(said, format!("ada@example.com {reason}"));
        }
        bench.json(&format!("member role {} --role owner", who("ada"))).await;
        let as_owner = bench.run(&format!("member add {} --role owner", who("bob"))).await;
        assert_eq!(as_owner.code, 2);
        bench.json(&format!("member add {} --role member", who("bob"))).await;
        bench.json(&format!("member role {} --role owner", who("bob"))).await;
        bench.json(&format!("member remove {}", who("ada"))).await;
    }

    #[tokio::test]
    async fn a_change_of_role_does_not_bring_back_whoever_left_meanwhile() {
        let (bench, team) = bench().await;
        let team = TeamId::parse(&team).expect("a team id");
        let bob = user::by_email(&bench.app, "bob@example.com").await.expect("a user");
        let membership = Membership { team, user: bob.id, role: Role::Admin };
        let changed = bench.app.store.change_role(&membership, Role::Member, Audit::None).await;
        assert!(changed.is_err_and(|error| error.is_conflict()));
    }
}
