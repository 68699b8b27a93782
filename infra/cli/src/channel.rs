//! `vedette channel`: manages the channels of a team, and shows what became of its alerts. The URL of a channel is as
//! secret as a password, so it is read from a file or from standard input, and never shown again.

mod add;
mod edit;
mod shown;

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::Value;
use tokio::time::sleep;
use vedette_actions::{confirm_channel, save_channel, try_channel};
use vedette_domain::accounts::audit::{By, ChannelChange};
use vedette_domain::alerts::channel::{Channel, SigningKey};
use vedette_domain::id::{ChannelId, TeamId};
use vedette_runtime::App;
use vedette_store::{ChannelRef, budget, retry_on_conflict};

use self::add::NewChannel;
use self::edit::Edit;
use self::shown::{KEY_SHOWN, LISTED, NONE, failures, shown};
use crate::api::{Api, Call};
use crate::output::{Output, Records, text_at};
use crate::{Failure, args};

/// How often the outcome of a test is looked for.
const POLL: Duration = Duration::from_millis(250);

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a channel to a team
    Add {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
        #[command(subcommand)]
        new: NewChannel,
    },
    /// List a team's channels
    List {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
    /// Show a channel
    Show {
        #[command(flatten)]
        which: Which,
    },
    /// Change the name of a channel, which alerts it gets, or where they go
    Edit {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        edit: Edit,
    },
    /// Send a test message to a channel, and wait for the outcome
    Test {
        #[command(flatten)]
        which: Which,
        /// Seconds to wait for the outcome
        #[arg(
            long,
            value_name = "SECONDS",
            default_value_t = 20,
            value_parser = clap::value_parser!(u64).range(1..=300)
        )]
        wait: u64,
    },
    /// Confirm an email address on its recipient's behalf; only the operator can do this
    Confirm {
        #[command(flatten)]
        which: Which,
    },
    /// Enable a channel again, and send what it has missed
    Enable {
        #[command(flatten)]
        which: Which,
    },
    /// Disable a channel
    Disable {
        #[command(flatten)]
        which: Which,
    },
    /// Delete a channel, and all alerts that are waiting to be sent to it
    #[command(alias = "remove")]
    Delete {
        #[command(flatten)]
        which: Which,
    },
    /// Show what did not arrive recently, what is waiting to be sent, and when
    Failures {
        #[command(flatten)]
        which: Which,
    },
    /// Send failed alerts and the confirmation email again, right away
    Resend {
        #[command(flatten)]
        which: Which,
    },
    /// Create a signing key for a webhook and print it once; the old one stays valid for 24 hours. Only the operator can
    /// do this
    RotateKey {
        #[command(flatten)]
        which: Which,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The team
    #[arg(value_parser = args::team_id)]
    team: TeamId,
    /// The channel's name, or its uuid
    channel: String,
}

impl Command {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let channel = match self {
            Self::Add { team, new } => return Ok(out.show(&add::add(api, *team, new).await?)?),
            Self::List { team } => {
                let shown = channels(api, *team).await?.into_iter().map(shown);
                return Ok(out.show(&Records::new(NONE, LISTED, shown))?);
            }
            Self::Show { which } => which.find(api).await?,
            Self::Edit { which, edit } => {
                let (edit, channel) = (edit.body()?, which.find(api).await?);
                api.call(&which.call("channels.update", &channel).sending(edit)).await?
            }
            Self::Test { which, wait } => {
                let channel = test(api, which, Duration::from_secs(*wait)).await?;
                let text = format!("{} received the test message.", text_at(&channel, "/name"));
                return Ok(out.show(&shown(channel).saying(text))?);
            }
            Self::Confirm { which } => {
                let app = api.app()?;
                confirm(app, which).await?;
                which.find(api).await?
            }
            Self::Enable { which } => which.act(api, "channels.enable").await?,
            Self::Disable { which } => which.act(api, "channels.disable").await?,
            Self::Delete { which } => {
                let channel = which.find(api).await?;
                api.call(&which.call("channels.delete", &channel)).await?;
                let name = text_at(&channel, "/name");
                let said = format!("{name} is no longer a channel of team {}.", which.team);
                return Ok(out.show(&shown(channel).saying(said))?);
            }
            Self::Failures { which } => {
                return Ok(out.show(&failures(which.find(api).await?))?);
            }
            Self::Resend { which } => {
                return Ok(out.show(&failures(which.act(api, "channels.resend").await?))?);
            }
            Self::RotateKey { which } => {
                let key = rotate_key(api.app()?, which).await?;
                let record = shown(which.find(api).await?).with_key(&key.reveal());
                let more = "The old key stays valid for 24 hours.\n";
                return Ok(out.show(&record.with_details(format!("{KEY_SHOWN}{more}")))?);
            }
        };
        Ok(out.show(&shown(channel))?)
    }
}

async fn channels(api: &Api<'_>, team: TeamId) -> Result<Vec<Value>, Failure> {
    api.list(&Call::to("channels.list").of("team", team)).await
}

impl Which {
    /// The channel to work on.
    async fn find(&self, api: &Api<'_>) -> Result<Value, Failure> {
        let asked = self.channel.trim();
        let mut channels = channels(api, self.team).await?;
        channels.retain(|channel| {
            channel["name"] == asked || text_at(channel, "/uuid").eq_ignore_ascii_case(asked)
        });
        match <[_; 1]>::try_from(channels) {
            Ok([channel]) => Ok(channel),
            Err(found) if found.is_empty() => {
                Err(Failure::refused(format!("the team has no channel {asked}")))
            }
            // If two people add channels at the same time, both may have the same name.
            Err(found) => {
                let count = found.len();
                Err(Failure::refused(format!(
                    "the team has {count} channels named {asked}; give the uuid of one"
                )))
            }
        }
    }

    /// A call of a route below the channel.
    fn call(&self, route: &'static str, channel: &Value) -> Call {
        Call::to(route).of("team", self.team).of("channel", text_at(channel, "/uuid"))
    }

    /// The channel after an action on it.
    async fn act(&self, api: &Api<'_>, route: &'static str) -> Result<Value, Failure> {
        api.call(&self.call(route, &self.find(api).await?)).await
    }

    /// The channel as it is stored, for the operator.
    async fn stored(&self, app: &App) -> Result<Channel, Failure> {
        let id = text_at(&self.find(&Api::here(app)).await?, "/uuid");
        let id = ChannelId::parse(&id);
        let place = id.map(|id| ChannelRef { team: self.team, id });
        let channel = match place {
            Some(place) => app.store.channel(place).await?,
            None => None,
        };
        channel.ok_or_else(|| Failure::refused("the channel was deleted"))
    }
}

/// Sends a test, and waits until its outcome is known.
async fn test(api: &Api<'_>, which: &Which, wait: Duration) -> Result<Value, Failure> {
    if let Api::Here(app, _) = api {
        try_channel(app, &which.stored(app).await?, wait).await?;
        return which.find(api).await;
    }
    let before = which.find(api).await?;
    api.call(&which.call("channels.test", &before)).await?;
    let begun = Instant::now();
    loop {
        let channel = which.find(api).await?;
        let tested = &channel["last_test"];
        if *tested != before["last_test"] {
            return match tested["failed"].as_str() {
                None => Ok(channel),
                Some(why) => {
                    Err(Failure::refused(format!("the test message did not arrive: {why}")))
                }
            };
        }
        if begun.elapsed() > wait {
            let name = text_at(&channel, "/name");
            return Err(Failure::refused(format!(
                "the test of {name} is still waiting; `channel failures` shows what became of it"
            )));
        }
        sleep(POLL).await;
    }
}

/// Confirms an address. Only the operator can do this on its reader's behalf.
async fn confirm(app: &App, which: &Which) -> Result<(), Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let channel = which.stored(app).await?;
        let confirmed = confirm_channel(app, &channel, By::operator(app.clock.now())).await?;
        match confirmed {
            Some(_) => Ok(()),
            None => Err(Failure::refused(format!("{} is already confirmed", channel.name))),
        }
    })
    .await
}

async fn rotate_key(app: &App, which: &Which) -> Result<SigningKey, Failure> {
    let key = app.entropy.signing_key().map_err(Failure::because)?;
    retry_on_conflict(budget::WRITE, || async {
        let channel = which.stored(app).await?;
        let target = app.store.target_of(&channel).await?;
        let next =
            channel.with_new_key(&target, key.clone(), app.clock.now()).ok_or_else(|| {
                let (name, kind) = (&channel.name, channel.target.kind());
                Failure::refused(format!(
                    "{name} is a channel of the kind {kind}, which has no signing key"
                ))
            })?;
        save_channel(app, &next, ChannelChange::KeyRotated, By::operator(app.clock.now())).await?;
        Ok::<_, Failure>(())
    })
    .await?;
    Ok(key)
}

#[cfg(test)]
mod tests;
