//! `vedette agent`: runs an agent, and manages the agents of a service.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use url::Url;
use vedette_agent::{Agent as RemoteAgent, AgentConfig, Connection};
use vedette_checker::{Config, Engines};
use vedette_domain::accounts::account::Secret;
use vedette_domain::locations::{Agent, Location, REMOTE_LOCATIONS_MAX};
use vedette_runtime::App;
use vedette_runtime::config::environment;

use crate::output::{Output, Record, Records};
use crate::{Failure, args};

/// Run an agent, or manage the agents of a service.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub(crate) struct AgentCommand {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

/// The options of an agent.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The service, such as https://monitor.example.com
    #[arg(long, env = "VEDETTE_AGENT_URL")]
    url: Option<Url>,
    /// A file with the token that `vedette agent add` printed
    #[arg(long, value_name = "FILE", env = "VEDETTE_AGENT_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// A proxy for requests to the service; sites are reached directly
    #[arg(long, value_name = "URL", env = "VEDETTE_AGENT_PROXY")]
    proxy: Option<Url>,
    /// A PEM file with certificate authorities to trust for the service, in addition to the system's
    #[arg(long, value_name = "FILE", env = "VEDETTE_AGENT_CA")]
    ca_file: Option<PathBuf>,
    /// Allow http:// for a service on another machine. Anybody on the network between them can then read the token and
    /// the sites' request headers
    #[arg(long)]
    allow_http: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add an agent and print its token, which is shown once
    Add {
        /// The name of its location, such as frankfurt
        name: Location,
    },
    /// List agents, and when each was last seen
    List,
    /// Give an agent a new token, which is shown once; the old one stops working
    Rotate {
        /// The name of its location
        name: Location,
    },
    /// Remove an agent; its token stops working
    Revoke {
        /// The name of its location
        name: Location,
    },
}

impl AgentCommand {
    /// The options of the agent to run. `None` for the other commands.
    pub(crate) const fn as_run(&self) -> Option<&Run> {
        if self.command.is_some() { None } else { Some(&self.run) }
    }

    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        match &self.command {
            Some(Command::Add { name }) => Ok(out.show(&add(app, name).await?)?),
            Some(Command::List) => {
                let agents = app.store.agents().await?;
                let shown = agents.iter().map(|agent| shown(agent, None));
                let listed = &["name", "added", "last seen"];
                Ok(out.show(&Records::new("There are no agents.\n", listed, shown))?)
            }
            Some(Command::Rotate { name }) => Ok(out.show(&rotate(app, name).await?)?),
            Some(Command::Revoke { name }) => {
                let agent = find(app, name).await?;
                app.store.delete_agent(&agent).await?;
                let said = format!("Agent {name} was removed; its token no longer works.");
                Ok(out.show(&shown(&agent, None).saying(said))?)
            }
            None => self.run.serve().await,
        }
    }
}

impl Run {
    /// Answers questions until the service refuses the agent.
    pub(crate) async fn serve(&self) -> Result<(), Failure> {
        let Self { url: Some(service), token_file: Some(token_file), .. } = self else {
            return Err(Failure::Usage("an agent needs --url and --token-file".to_owned()));
        };
        let token = args::read_secret(token_file)
            .map_err(|error| Failure::unreadable(token_file, &error))?;
        let connection = Connection {
            service: service.clone(),
            proxy: self.proxy.clone(),
            authorities: self.ca_file.clone(),
            allows_plaintext: self.allow_http,
        };
        let config = AgentConfig { connection, token };
        let (outbound, engines) = Config::of_location(&environment)?;
        let engines = Engines::new(outbound, engines).map_err(Failure::because)?;
        let agent =
            RemoteAgent::new(config, engines).map_err(|error| Failure::Usage(error.to_string()))?;
        Err(Failure::because(agent.run().await))
    }
}

async fn find(app: &App, name: &Location) -> Result<Agent, Failure> {
    let found = app.store.agent(name).await?;
    found.ok_or_else(|| Failure::refused(format!("there is no agent {name}")))
}

async fn add(app: &App, name: &Location) -> Result<Record, Failure> {
    let agents = app.store.agents().await?;
    if agents.iter().any(|agent| agent.location == *name) {
        return Err(Failure::refused(format!(
            "there is already an agent {name}; `vedette agent rotate` gives it a new token"
        )));
    }
    if agents.len() >= REMOTE_LOCATIONS_MAX {
        return Err(Failure::refused(format!(
            "a service can have at most {REMOTE_LOCATIONS_MAX} agents; revoke one first"
        )));
    }
    let secret = app.entropy.secret().map_err(Failure::because)?;
    let agent = Agent::new(name.clone(), secret.hash(), app.clock.now());
    app.store.put_agent(&agent).await?;
    Ok(shown(&agent, Some(&secret)))
}

async fn rotate(app: &App, name: &Location) -> Result<Record, Failure> {
    let secret = app.entropy.secret().map_err(Failure::because)?;
    let agent = find(app, name).await?.rotated(secret.hash());
    app.store.put_agent(&agent).await?;
    Ok(shown(&agent, Some(&secret)))
}

/// An agent, with its token if that is new.
fn shown(agent: &Agent, token: Option<&Secret>) -> Record {
    let record = Record::default()
        .with("name", "name", agent.location.as_str())
        .at("created_at", "added", agent.created_at)
        .at("last_seen_at", "last seen", agent.last_seen_at);
    match token {
        Some(token) => record
            .with("token", "token", token.reveal())
            .with_details("\nVedette does not keep the token, so it cannot be shown again.\n"),
        None => record,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[tokio::test]
    async fn a_token_is_shown_once_and_rotated_and_revoked() {
        let bench = Bench::new().await;
        let added = bench.json("agent add frankfurt").await;
        let token = added["token"].as_str().and_then(Secret::parse).expect("a token");
        let name = Location::parse("frankfurt").expect("a name");
        let stored = async || bench.app.store.agent(&name).await.expect("read");
        assert_eq!(stored().await.expect("an agent").hash, token.hash());
        let listed = bench.run("agent list").await.out;
        insta::assert_snapshot!(listed, @r"
        NAME       ADDED                    LAST SEEN
        frankfurt  2026-11-20 09:54:00 UTC  -
        ");
        assert_eq!(
            bench.refused("agent add frankfurt").await,
            "there is already an agent frankfurt; `vedette agent rotate` gives it a new token"
        );
        let rotated = bench.json("agent rotate frankfurt").await;
        let other = rotated["token"].as_str().and_then(Secret::parse).expect("a token");
        assert_ne!(other.hash(), token.hash());
        assert_eq!(stored().await.expect("an agent").hash, other.hash());
        bench.run("agent revoke frankfurt").await;
        assert_eq!(stored().await, None);
        assert_eq!(bench.refused("agent rotate frankfurt").await, "there is no agent frankfurt");
        for wrong in ["agent add Frankfurt", "agent add home", "agent"] {
            assert_eq!(bench.run(wrong).await.code, 2, "{wrong}");
        }
    }

    #[tokio::test]
    async fn no_agent_is_added_beyond_the_limit() {
        let bench = Bench::new().await;
        for number in 0..REMOTE_LOCATIONS_MAX {
            bench.json(&format!("agent add a{number}")).await;
        }
        assert_eq!(
            bench.refused("agent add one-more").await,
            "a service can have at most 8 agents; revoke one first"
        );
    }
}
