//! `vedette sign-in`: creates a link that signs a person in.

use clap::Args;
use vedette_domain::accounts::session::SignInLink;
use vedette_domain::alerts::link;
use vedette_runtime::App;

use crate::output::{Output, Record, moment};
use crate::{Failure, args, user};

/// The default address of a service on this machine, if none is running.
const LOCAL: &str = "http://vedette.localhost:8787";

#[derive(Debug, Args)]
pub(crate) struct SignIn {
    /// The user's email address
    #[arg(value_parser = args::email)]
    email: String,
    /// Address of the dashboard; by default that of VEDETTE_BASE_URL, or of the running service
    #[arg(long, value_name = "URL", value_parser = args::pages_base)]
    url: Option<String>,
}

impl SignIn {
    pub(crate) async fn run(
        &self,
        app: &App,
        is_deployed: bool,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let base = pages_base(app, self.url.as_deref(), is_deployed)?;
        let user = user::by_email(app, &self.email).await?;
        if user.email_verified_at.is_none() {
            let why = format!("the address {} is not verified", self.email);
            return Err(Failure::refused(why));
        }
        let secret = app.entropy.session_secret().map_err(Failure::because)?;
        let sign_in = SignInLink::new(&secret, user.id, app.clock.now());
        app.store.create_sign_in_link(&sign_in).await?;
        let link = link::sign_in(base, &secret);
        let until = moment(sign_in.expires_at);
        let text = format!(
            "{link}\n\nThe link works once, until {until}. Anybody who has it can sign in."
        );
        let record = Record::default().with("link", "", link);
        Ok(out.show(&record.at("expires_at", "", sign_in.expires_at).saying(text))?)
    }
}

/// The base address of the dashboard: `url` if somebody has named one.
pub(crate) fn pages_base<'a>(
    app: &'a App,
    url: Option<&'a str>,
    is_deployed: bool,
) -> Result<&'a str, Failure> {
    match url.or(app.service.pages_base()) {
        Some(base) => Ok(base),
        None if is_deployed => Err(Failure::Usage(NO_BASE.to_owned())),
        None => Ok(LOCAL),
    }
}

const NO_BASE: &str = "the address of the deployment's dashboard is unknown; set it with --url";

#[cfg(test)]
mod tests {
    use vedette_domain::accounts::session::SessionSecret;

    use crate::testing::Bench;

    const USER: &str = "user create --name Ada --email ada@example.com --verified";

    #[tokio::test]
    async fn a_link_is_shown_once_and_stored_as_a_hash() {
        let bench = Bench::new().await;
        bench.json(USER).await;
        let shown = bench.json("sign-in ADA@example.com --url https://watch.example.com/").await;
        let link = shown["link"].as_str().expect("a link");
        let secret = link.strip_prefix("https://watch.example.com/sign-in/").expect("a page");
        let secret = SessionSecret::parse(secret).expect("a secret");
        let stored = bench.app.store.sign_in_link(&secret.hash()).await.expect("read");
        let stored = stored.expect("stored");
        assert_eq!(shown["expires_at"], vedette_domain::time::wire(stored.expires_at));
    }

    #[tokio::test]
    async fn unknown_and_unverified_users_get_no_link() {
        let bench = Bench::new().await;
        bench.json("user create --name Ada --email ada@example.com").await;
        for (email, why) in [
            ("bob@example.com", "no user has the address bob@example.com"),
            ("ada@example.com", "the address ada@example.com is not verified"),
        ] {
            assert_eq!(bench.refused(&format!("sign-in {email}")).await, why);
        }
    }
}
