//! `vedette user`: manages the users of the API and the dashboard.

use clap::Subcommand;
use serde_json::json;
use vedette_actions::change_user_time_zone;
use vedette_domain::accounts::account::{Membership, User};
use vedette_domain::id::UserId;
use vedette_domain::time_zone::NamedZone;
use vedette_runtime::App;

use crate::output::{Output, Record};
use crate::{Failure, args};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a user
    Create {
        /// Display name
        #[arg(long, value_parser = args::name)]
        name: String,
        /// Email address, unique regardless of case
        #[arg(long, value_parser = args::email)]
        email: String,
        /// Mark the address as verified; until then, the API refuses the user
        #[arg(long)]
        verified: bool,
    },
    /// Mark a user's address as verified
    Verify {
        /// The user's address
        #[arg(value_parser = args::email)]
        email: String,
    },
    /// Choose the time zone of a user's dashboard and emails
    TimeZone {
        /// The user's address
        #[arg(value_parser = args::email)]
        email: String,
        /// An IANA time zone name, such as Europe/Berlin
        #[arg(value_parser = NamedZone::RULE.parse, required_unless_present = "of_team")]
        zone: Option<NamedZone>,
        /// Remove the user's time zone, so that each team's time zone applies
        #[arg(long, conflicts_with = "zone")]
        of_team: bool,
    },
    /// Show a user and their teams
    Show {
        /// The user's address
        #[arg(value_parser = args::email)]
        email: String,
    },
}

/// The position of the email address in the transaction of `Store::create_user`.
const CREATE_ADDRESS: usize = 1;

impl Command {
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        let email = match self {
            Self::Create { name, email, verified } => {
                create(app, name, email, *verified).await?;
                email
            }
            Self::Verify { email } => {
                verify(app, email).await?;
                email
            }
            Self::TimeZone { email, zone, .. } => {
                let user = by_email(app, email).await?;
                change_user_time_zone(app, &user, zone.as_ref()).await?;
                email
            }
            Self::Show { email } => email,
        };
        let user = by_email(app, email).await?;
        let memberships = memberships(app, user.id).await?;
        let teams = app.store.teams(memberships.iter().map(|place| place.team), app.clock.now());
        let teams = teams.await?;
        let places = memberships.iter().map(|Membership { team: uuid, role, .. }| {
            let name = teams.get(uuid).map(|team| &*team.team.name).unwrap_or_default();
            let text = format!("{uuid} {name}, {}", role.as_str());
            (json!({ "uuid": uuid, "name": name, "role": role }), text)
        });
        let (places, texts): (Vec<_>, Vec<_>) = places.unzip();
        let record = Record::default()
            .with("uuid", "user", user.id.to_string())
            .with("name", "name", user.name)
            .with("email", "email", user.email)
            .at("email_verified_at", "verified", user.email_verified_at)
            .with("time_zone", "time zone", user.zone.map(|zone| zone.to_string()))
            .at("created_at", "created", user.created_at)
            .worded("teams", "teams", places, texts.join("; "));
        Ok(out.show(&record)?)
    }
}

async fn create(app: &App, name: &str, email: &str, verified: bool) -> Result<(), Failure> {
    let now = app.clock.now();
    let user = User {
        id: app.entropy.user_id().map_err(Failure::because)?,
        name: name.to_owned(),
        email: email.to_owned(),
        email_verified_at: verified.then_some(now),
        zone: None,
        created_at: now,
    };
    app.store.create_user(&user).await.map_err(|error| {
        if error.has_failed(CREATE_ADDRESS) {
            Failure::refused(format!("{email} is the address of another user"))
        } else {
            error.into()
        }
    })
}

/// Marks an address as verified. One that is already verified keeps its date.
async fn verify(app: &App, email: &str) -> Result<(), Failure> {
    let user = by_email(app, email).await?;
    if user.email_verified_at.is_none() {
        app.store.verify_email(user.id, app.clock.now()).await?;
    }
    Ok(())
}

/// The user with this address.
pub(crate) async fn by_email(app: &App, email: &str) -> Result<User, Failure> {
    let user = app.store.user_by_email(email).await?;
    user.ok_or_else(|| Failure::refused(format!("no user has the address {email}")))
}

/// The memberships of a user.
pub(crate) async fn memberships(app: &App, user: UserId) -> Result<Vec<Membership>, Failure> {
    Ok(app.store.account(user).await?.map(|account| account.memberships).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Bench;

    #[tokio::test]
    async fn a_user_is_created_verified_and_shown() {
        let bench = Bench::new().await;
        let created = bench.json("user create --name Ada --email Ada@example.com").await;
        insta::assert_json_snapshot!(created, @r#"
        {
          "created_at": "2026-11-20T09:54:00+00:00",
          "email": "Ada@example.com",
          "email_verified_at": null,
          "name": "Ada",
          "teams": [],
          "time_zone": null,
          "uuid": "01010101-0101-4101-8101-010101010101"
        }
        "#);
        bench.pass(60);
        bench.json("user verify ada@example.com").await;
        bench.pass(60);
        let again = bench.json("user verify ada@example.com").await;
        // The first verification counts.
        assert_eq!(again["email_verified_at"], "2026-11-20T09:55:00+00:00");
        bench.team("ada", "growth").await;
        let shown = bench.run("user show ada@example.com").await;
        insta::assert_snapshot!(shown.out, @r"
        user       01010101-0101-4101-8101-010101010101
        name       Ada
        email      Ada@example.com
        verified   2026-11-20 09:55:00 UTC
        time zone  -
        created    2026-11-20 09:54:00 UTC
        teams      02020202-0202-4202-8202-020202020202 Shop, owner
        ");
    }

    #[tokio::test]
    async fn a_user_has_the_time_zone_that_is_chosen_until_it_is_removed() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let command = "user time-zone ada@example.com";
        for (argument, zone) in [
            ("europe/berlin", json!("Europe/Berlin")),
            ("UTC", json!("UTC")),
            ("--of-team", json!(null)),
        ] {
            assert_eq!(bench.json(&format!("{command} {argument}")).await["time_zone"], zone);
            assert_eq!(bench.json("user show ada@example.com").await["time_zone"], zone);
        }
        for argument in ["", "Europe/Atlantis", "UTC --of-team"] {
            assert_eq!(bench.run(&format!("{command} {argument}")).await.code, 2, "{argument}");
        }
    }

    #[tokio::test]
    async fn an_address_is_taken_once_and_an_unknown_one_is_refused() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let said = bench.refused("user create --name Eve --email ADA@example.com").await;
        assert_eq!(said, "ADA@example.com is the address of another user");
        for command in ["user show eve@example.com", "user verify eve@example.com"] {
            assert_eq!(bench.refused(command).await, "no user has the address eve@example.com");
        }
        assert_eq!(bench.run("user create --name Eve --email eve").await.code, 2);
    }
}
