//! `vedette token`: manages access tokens of the API. A secret is shown once, when its token is created.

use clap::{Args, Subcommand};
use serde_json::Value;
use vedette_domain::accounts::account::{NewToken, Scope};

use crate::api::{Api, Call};
use crate::given::Given;
use crate::output::{Output, Record, Records, text_at};
use crate::{Failure, args};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a token and print its secret once
    Create {
        #[command(flatten)]
        owner: Owner,
        #[command(flatten)]
        token: Given<NewToken>,
    },
    /// List a user's tokens, without their secrets
    List {
        #[command(flatten)]
        owner: Owner,
    },
    /// Revoke a token
    Revoke {
        #[command(flatten)]
        owner: Owner,
        #[command(flatten)]
        which: Which,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Owner {
    /// Address of the owner. With --url, it is the owner of the token that is sent
    #[arg(long, value_parser = args::email)]
    email: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// Name of the token
    #[arg(long, value_parser = args::name)]
    name: Option<String>,
    /// First digits of its hash, as `token list` shows it
    #[arg(long, value_name = "PREFIX", value_parser = args::hash_prefix)]
    hash: Option<String>,
}

impl Which {
    fn is(&self, token: &Value) -> bool {
        let Self { name, hash } = self;
        name.as_ref().is_none_or(|name| token["name"] == **name)
            && hash.as_ref().is_none_or(|hash| text_at(token, "/hash").starts_with(hash))
    }
}

impl Command {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let (Self::Create { owner, .. } | Self::List { owner } | Self::Revoke { owner, .. }) = self;
        let api = &api.acting_as("--email", owner.email.as_deref()).await?;
        match self {
            Self::Create { token, .. } => {
                let created = Call::to("tokens.create").sending(token.body([])?);
                let shown = shown(api.call(&created).await?).field("secret", "/secret");
                let kept = "\nVedette does not keep the secret, so it cannot be shown again.\n";
                Ok(out.show(&shown.with_details(kept))?)
            }
            Self::List { .. } => {
                let listed = &["hash", "name", "scopes", "last used", "expires"];
                let tokens = tokens(api).await?.into_iter().map(shown);
                Ok(out.show(&Records::new("The user has no tokens.\n", listed, tokens))?)
            }
            Self::Revoke { which, .. } => Ok(out.show(&revoke(api, which).await?)?),
        }
    }
}

async fn tokens(api: &Api<'_>) -> Result<Vec<Value>, Failure> {
    api.list(&Call::to("tokens.list")).await
}

async fn revoke(api: &Api<'_>, which: &Which) -> Result<Record<Value>, Failure> {
    let mut tokens = tokens(api).await?;
    tokens.retain(|token| which.is(token));
    match <[_; 1]>::try_from(tokens) {
        Ok([token]) => {
            let (hash, name) = (text_at(&token, "/hash"), text_at(&token, "/name"));
            api.call(&Call::to("tokens.revoke").of("token", &hash)).await?;
            let said = format!("Token {}, {name}, no longer works.", short(&hash));
            Ok(shown(token).saying(said))
        }
        Err(tokens) if tokens.is_empty() => Err(Failure::refused("the user has no such token")),
        Err(tokens) => {
            let count = tokens.len();
            Err(Failure::refused(format!(
                "the user has {count} such tokens; choose one with --hash"
            )))
        }
    }
}

/// As many digits of a hash as tell tokens apart.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn shown(token: Value) -> Record<Value> {
    let names =
        |scopes: &[Scope]| scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" ");
    let scopes = match text_at(&token, "/scopes") {
        scopes if scopes == names(&Scope::DEFAULT) => "default".to_owned(),
        scopes if scopes == names(&Scope::ALL) => "all".to_owned(),
        scopes => scopes,
    };
    let hash = short(&text_at(&token, "/hash")).to_owned();
    Record::of(token)
        .labeled("hash", hash)
        .field("name", "/name")
        .labeled("scopes", scopes)
        .instant("created", "/created_at")
        .instant("last used", "/last_used_at")
        .instant("expires", "/expires_at")
}

#[cfg(test)]
mod tests {
    use vedette_domain::accounts::account::Secret;

    use super::*;
    use crate::testing::Bench;

    #[tokio::test]
    async fn a_secret_is_shown_once_and_opens_what_was_asked_for() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let scopes = "--scope issues:read --scope sites:write,sites:read --scope sites:read";
        let command = format!("token create --email ada@example.com --name ci --days 7 {scopes}");
        let created = bench.json(&command).await;
        insta::assert_json_snapshot!(created, @r#"
        {
          "created_at": "2026-11-20T09:54:00+00:00",
          "expires_at": "2026-11-27T09:54:00+00:00",
          "hash": "c4b7752a7508ec92279114df95772c72982c2cee8ab398635d869b815b93df9b",
          "last_used_at": null,
          "name": "ci",
          "scopes": [
            "sites:read",
            "sites:write",
            "issues:read"
          ],
          "secret": "vdt_22222222222222222222222222222222224VD7kb"
        }
        "#);
        let secret = created["secret"].as_str().and_then(Secret::parse).expect("a secret");
        let stored = bench.app.store.token(&secret.hash()).await.expect("an answer");
        assert_eq!(
            stored.expect("a token").scopes,
            [Scope::SitesRead, Scope::SitesWrite, Scope::IssuesRead]
        );
        let listed = bench.run("token list --email ada@example.com").await.out;
        assert!(!listed.contains("vdt_"), "{listed}");
        insta::assert_snapshot!(listed, @r"
        HASH          NAME  SCOPES                              LAST USED  EXPIRES
        c4b7752a7508  ci    sites:read sites:write issues:read  -          2026-11-27 09:54:00 UTC
        ");
        assert!(!bench.run("--json token list --email ada@example.com").await.out.contains("vdt_"));
    }

    #[tokio::test]
    async fn the_list_says_when_a_token_was_last_used() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let created = bench.json("token create --email ada@example.com --name ci").await;
        let secret = created["secret"].as_str().and_then(Secret::parse).expect("a secret");
        let store = &bench.app.store;
        let token = store.token(&secret.hash()).await.expect("an answer").expect("a token");
        bench.pass(60);
        store.note_use(&token, bench.app.clock.now()).await.expect("noted");
        let listed = bench.run("token list --email ada@example.com").await.out;
        insta::assert_snapshot!(listed, @r"
        HASH          NAME  SCOPES   LAST USED                EXPIRES
        c4b7752a7508  ci    default  2026-11-20 09:55:00 UTC  2027-05-22 09:54:00 UTC
        ");
    }

    #[tokio::test]
    async fn a_token_has_the_default_scopes_and_six_months_unless_told_otherwise() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let created = bench.run("token create --email ada@example.com --name laptop").await;
        insta::assert_snapshot!(created.out, @r"
        hash       c4b7752a7508
        name       laptop
        scopes     default
        created    2026-11-20 09:54:00 UTC
        last used  -
        expires    2027-05-22 09:54:00 UTC
        secret     vdt_22222222222222222222222222222222224VD7kb

        Vedette does not keep the secret, so it cannot be shown again.
        ");
        for wrong in ["--days 0", "--days 3651", "--scope sites", "--name"] {
            let command = format!("token create --email ada@example.com --name x {wrong}");
            assert_eq!(bench.run(&command).await.code, 2, "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_revoked_token_is_gone_and_an_ambiguous_name_is_refused() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let create = "token create --email ada@example.com --name ci";
        let first = bench.json(create).await;
        bench.pass(1);
        let second = bench.json(create).await;
        let revoke = "token revoke --email ada@example.com";
        let said = bench.refused(&format!("{revoke} --name ci")).await;
        assert_eq!(said, "the user has 2 such tokens; choose one with --hash");
        let hash = second["hash"].as_str().expect("a hash");
        let revoked = bench.run(&format!("{revoke} --hash {}", &hash[..8])).await;
        assert_eq!(revoked.out, format!("Token {}, ci, no longer works.\n", &hash[..12]));
        let secret = second["secret"].as_str().and_then(Secret::parse).expect("a secret");
        assert!(bench.app.store.token(&secret.hash()).await.expect("an answer").is_none());
        let revoked = bench.json(&format!("{revoke} --name ci")).await;
        assert_eq!(revoked["hash"], first["hash"]);
        let said = bench.refused(&format!("{revoke} --name ci")).await;
        assert_eq!(said, "the user has no such token");
        for wrong in ["", "--hash abc", "--name ci --hash abcdef12"] {
            assert_eq!(bench.run(&format!("{revoke} {wrong}")).await.code, 2, "{wrong}");
        }
    }
}
