//! `vedette channel`: manages the channels of a team, and shows what became of its alerts. The URL of a channel is as
//! secret as a password, so it is read from a file or from standard input, and never shown again.

mod add;
mod shown;

use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use vedette_actions::{
    confirm_channel, enable_channel, remove_channel, resend_to_channel, save_channel, try_channel,
};
use vedette_domain::accounts::audit::{By, ChannelChange};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::id::TeamId;
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use self::add::NewChannel;
use self::shown::{LISTED, NONE, failures, shown, with_key};
use crate::output::{Output, Record, Records};
use crate::{Failure, args, team};

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
    /// Confirm an email address on its recipient's behalf
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
        /// The reason, which the team sees
        #[arg(long, value_parser = args::name, default_value = "disabled by an operator")]
        reason: String,
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
    /// Create a signing key for a webhook and print it once; the old one stays valid for 24 hours
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
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        match self {
            Self::Add { team, new } => Ok(out.show(&add::add(app, *team, new).await?)?),
            Self::List { team } => Ok(out.show(&list(app, *team).await?)?),
            Self::Show { which } => {
                let channel = find(app, which).await?;
                Ok(out.show(&shown(app, &channel).await?)?)
            }
            Self::Test { which, wait } => {
                let channel = find(app, which).await?;
                try_channel(app, &channel, Duration::from_secs(*wait)).await?;
                let arrived = Record::default()
                    .with("uuid", "channel", channel.id.to_string())
                    .with("name", "name", &*channel.name)
                    .saying(format!("{} received the test message.", channel.name));
                Ok(out.show(&arrived)?)
            }
            Self::Confirm { which } => Ok(out.show(&confirm(app, which).await?)?),
            Self::Enable { which } => Ok(out.show(&enable(app, which).await?)?),
            Self::Disable { which, reason } => {
                let disabled = |channel: &Channel, now| channel.disabled_by_hand(reason, now);
                let channel =
                    change(app, which, disabled, "is disabled", ChannelChange::Disabled).await?;
                Ok(out.show(&shown(app, &channel).await?)?)
            }
            Self::Delete { which } => {
                let channel = find(app, which).await?;
                let shown = shown(app, &channel).await?;
                remove_channel(app, &channel, By::operator(app.clock.now())).await?;
                let Channel { name, team, .. } = &channel;
                let said = format!("{name} is no longer a channel of team {team}.");
                Ok(out.show(&shown.saying(said))?)
            }
            Self::Failures { which } => {
                let channel = find(app, which).await?;
                Ok(out.show(&failures(app, &channel).await?)?)
            }
            Self::Resend { which } => Ok(out.show(&resend(app, which).await?)?),
            Self::RotateKey { which } => Ok(out.show(&rotate_key(app, which).await?)?),
        }
    }
}

async fn list(app: &App, team: TeamId) -> Result<Records, Failure> {
    team::find(app, team).await?;
    let mut channels = app.store.channels(team).await?;
    channels.sort_by_key(|channel| (channel.created_at, channel.id));
    let mut records = Vec::new();
    for channel in &channels {
        records.push(shown(app, channel).await?);
    }
    Ok(Records::new(NONE, LISTED, records))
}

/// The channel to work on.
async fn find(app: &App, which: &Which) -> Result<Channel, Failure> {
    team::find(app, which.team).await?;
    let asked = which.channel.trim();
    let is_meant = |channel: &Channel| {
        channel.name == asked || channel.id.to_string().eq_ignore_ascii_case(asked)
    };
    let mut channels = app.store.channels(which.team).await?;
    channels.retain(is_meant);
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

/// Changes the current state of a channel, even if somebody else has just changed it. Refuses if the channel `is`
/// already in the new state.
async fn change(
    app: &App,
    which: &Which,
    decide: impl Fn(&Channel, Timestamp) -> Option<Channel>,
    is: &str,
    change: ChannelChange,
) -> Result<Channel, Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let channel = find(app, which).await?;
        let next = decide(&channel, app.clock.now())
            .ok_or_else(|| Failure::refused(format!("{} {is} already", channel.name)))?;
        save_channel(app, &next, change, By::operator(app.clock.now())).await?;
        Ok(next)
    })
    .await
}

async fn confirm(app: &App, which: &Which) -> Result<Record, Failure> {
    let channel = retry_on_conflict(budget::WRITE, || async {
        let channel = find(app, which).await?;
        let confirmed = confirm_channel(app, &channel, By::operator(app.clock.now())).await?;
        confirmed.ok_or_else(|| Failure::refused(format!("{} is already confirmed", channel.name)))
    });
    shown(app, &channel.await?).await
}

async fn enable(app: &App, which: &Which) -> Result<Record, Failure> {
    let channel = retry_on_conflict(budget::WRITE, || async {
        let channel = find(app, which).await?;
        Ok::<_, Failure>(enable_channel(app, &channel, By::operator(app.clock.now())).await?)
    });
    shown(app, &channel.await?).await
}

async fn resend(app: &App, which: &Which) -> Result<Record, Failure> {
    let channel = retry_on_conflict(budget::WRITE, || async {
        let channel = find(app, which).await?;
        resend_to_channel(app, &channel, By::operator(app.clock.now())).await?;
        Ok::<_, Failure>(channel)
    });
    failures(app, &channel.await?).await
}

async fn rotate_key(app: &App, which: &Which) -> Result<Record, Failure> {
    let key = app.entropy.signing_key().map_err(Failure::because)?;
    let channel = retry_on_conflict(budget::WRITE, || async {
        let channel = find(app, which).await?;
        let target = app.store.target_of(&channel).await?;
        let next =
            channel.with_new_key(&target, key.clone(), app.clock.now()).ok_or_else(|| {
                let (name, kind) = (&channel.name, channel.target.kind());
                Failure::refused(format!(
                    "{name} is a channel of the kind {kind}, which has no signing key"
                ))
            })?;
        save_channel(app, &next, ChannelChange::KeyRotated, By::operator(app.clock.now())).await?;
        Ok::<_, Failure>(next)
    });
    let record = shown(app, &channel.await?).await?;
    Ok(with_key(record, &key, "The old key stays valid for 24 hours.\n"))
}

#[cfg(test)]
mod tests;
