//! `vedette member`: manages the members of a team, and its invitations.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use vedette_actions::add_member;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::audit::By;
use vedette_domain::accounts::invitation::NewInvitation;
use vedette_domain::id::TeamId;
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use crate::api::{Api, Call};
use crate::given::Given;
use crate::output::{Output, Record, Records, text_at};
use crate::{Failure, args, team, user};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a user to a team, if its plan has a seat left; only the operator can do this
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
    /// Invite somebody to a team by email
    ///
    /// If the service sends no email, prints the link with which the person joins.
    Invite {
        /// The team
        #[arg(long, value_parser = args::team_id)]
        team: TeamId,
        #[command(flatten)]
        invitation: Given<NewInvitation>,
    },
    /// List a team's pending invitations
    Invitations {
        /// The team
        #[arg(long, value_parser = args::team_id)]
        team: TeamId,
    },
    /// Withdraw an invitation
    Withdraw {
        #[command(flatten)]
        who: Who,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Who {
    /// The team
    #[arg(long, value_parser = args::team_id)]
    team: TeamId,
    /// The address of the person
    #[arg(long, value_parser = args::email)]
    email: String,
}

impl Command {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        match self {
            Self::Add { who, role } => {
                add(api.app()?, who, *role).await?;
                Ok(out.show(&member(who.find(api, "members.list").await?))?)
            }
            Self::Role { who, role } => {
                let change = who.call("members.update", &who.find(api, "members.list").await?);
                let change = change.sending(json!({ "role": role }));
                Ok(out.show(&member(api.call(&change).await?))?)
            }
            Self::Remove { who } => {
                let gone = who.find(api, "members.list").await?;
                api.call(&who.call("members.remove", &gone)).await?;
                let text = format!("{} is no longer a member of team {}.\n", who.email, who.team);
                Ok(out.show(&member(gone).saying(text))?)
            }
            Self::List { team } => {
                let members = listed(api, "members.list", *team).await?.into_iter().map(member);
                let labels = &["user", "name", "email", "role"];
                Ok(out.show(&Records::new("The team has no members.\n", labels, members))?)
            }
            Self::Invite { team, invitation: new } => {
                let invite = Call::to("invitations.create").of("team", team);
                let invited = api.call(&invite.sending(new.body([])?)).await?;
                let link = text_at(&invited, "/url");
                let not_sent = text_at(&invited, "/unsent");
                let details = match (&*link, &*not_sent) {
                    ("-", "-") => "\nThe person gets an email with a link.\n".to_owned(),
                    ("-", why) => format!("\n{why}\n"),
                    (link, _) => format!("\nWhoever has this link can join, once:\n{link}\n"),
                };
                Ok(out.show(&invitation(invited).with_details(details))?)
            }
            Self::Invitations { team } => {
                let pending = listed(api, "invitations.list", *team).await?;
                let labels = &["email", "role", "expires"];
                let none = "There are no pending invitations.\n";
                Ok(out.show(&Records::new(none, labels, pending.into_iter().map(invitation)))?)
            }
            Self::Withdraw { who } => {
                let pending = who.find(api, "invitations.list").await?;
                let withdraw = Call::to("invitations.withdraw").of("team", who.team);
                let withdraw = withdraw.of("invitation", text_at(&pending, "/hash"));
                api.call(&withdraw).await.map(drop)
            }
        }
    }
}

/// Adds a user who has an account.
async fn add(app: &App, who: &Who, role: Role) -> Result<(), Failure> {
    let user = user::by_email(app, &who.email).await?;
    retry_on_conflict(budget::WRITE, || async {
        let team = team::find(app, who.team).await?;
        Ok::<_, Failure>(add_member(app, &team, &user, role, By::operator(app.clock.now())).await?)
    })
    .await
}

async fn listed(api: &Api<'_>, route: &'static str, team: TeamId) -> Result<Vec<Value>, Failure> {
    api.list(&Call::to(route).of("team", team)).await
}

impl Who {
    /// The person in one of the team's lists.
    async fn find(&self, api: &Api<'_>, list: &'static str) -> Result<Value, Failure> {
        let is_meant = |person: &Value| text_at(person, "/email").eq_ignore_ascii_case(&self.email);
        let found = listed(api, list, self.team).await?.into_iter().find(is_meant);
        found.ok_or_else(|| {
            let what = if list == "members.list" { "a member of" } else { "invited to" };
            Failure::refused(format!("{} is not {what} the team", self.email))
        })
    }

    /// A call about a member.
    fn call(&self, route: &'static str, member: &Value) -> Call {
        Call::to(route).of("team", self.team).of("user", text_at(member, "/uuid"))
    }
}

fn member(member: Value) -> Record<Value> {
    Record::of(member)
        .field("user", "/uuid")
        .field("name", "/name")
        .field("email", "/email")
        .field("role", "/role")
}

fn invitation(invitation: Value) -> Record<Value> {
    Record::of(invitation)
        .field("email", "/email")
        .field("role", "/role")
        .instant("expires", "/expires_at")
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
          "uuid": "02020202-0202-4202-8202-020202020202"
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
    async fn somebody_is_invited_with_a_link_to_the_service_and_the_invitation_is_withdrawn() {
        let (bench, team) = bench().await;
        let invite = format!("member invite --team {team} --email eve@example.com --role viewer");
        let invited = bench.run(&invite).await;
        let link = invited.out.trim_end().lines().next_back().expect("a link");
        assert!(link.starts_with("http://127.0.0.1:8080/join/"), "{}", invited.out);
        let invitations = format!("member invitations --team {team}");
        insta::assert_snapshot!(bench.run(&invitations).await.out, @r"
        EMAIL            ROLE    EXPIRES
        eve@example.com  viewer  2026-11-27 09:54:00 UTC
        ");
        let withdraw = format!("member withdraw --team {team} --email Eve@example.com");
        assert_eq!(bench.run(&withdraw).await.code, 0);
        let none = bench.run(&invitations).await.out;
        assert_eq!(none, "There are no pending invitations.\n");
        let again = bench.refused(&withdraw).await;
        assert_eq!(again, "Eve@example.com is not invited to the team");
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
            let reason = "is the team's last owner; make another member an owner first.";
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
