//! Where channels lead. Secrets are stored separately, each URL belongs to at most one channel of a team, and what all
//! teams send to a host is counted.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::alerts::channel::{
    AccessToken, Channel, PublicTarget, SecretUrl, Target, TargetEdit,
};
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::alerts::host_limit::ReceivingHost;
use vedette_domain::id::{ChannelId, TeamId};

use super::ChannelRef;
use crate::item::{Item, Stored, attributes, item, key_of, stored, string};
use crate::keys;
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{Audit, StoreError};

stored!(attributes: Target, UrlClaim);

/// The channel of a team that leads to a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UrlClaim {
    /// The channel.
    pub channel: ChannelId,
    /// The URL's digest.
    pub digest: String,
}

/// The attribute of a channel that holds its target.
const TARGET: &str = "target";

impl Stored for Channel {
    fn read(mut item: Item) -> Result<Self, StoreError> {
        let former = match item.get(TARGET) {
            // An earlier version stored the secret here.
            Some(AttributeValue::M(target)) if target.contains_key("url") => target.clone(),
            _ => return attributes(item),
        };
        let secret: Target = attributes(former)?;
        let public = serde_dynamo::to_attribute_value(secret.public())?;
        item.insert(TARGET.to_owned(), public);
        Ok(Self { secret: Some(secret), ..attributes(item)? })
    }
}

/// Writes a channel, with its secret if it has a new one.
fn put<'a>(transaction: Transaction<'a>, channel: &Channel) -> Result<Transaction<'a>, StoreError> {
    let key = keys::channel(channel.team, channel.id);
    let unchanged = Condition::after(channel.rev - 1);
    let written = transaction.put(item(&key, channel)?, unchanged);
    Ok(match &channel.secret {
        // The channel's `rev` guards both.
        Some(secret) => {
            let key = keys::channel_secret(channel.team, channel.id);
            written.put(item(&key, secret)?, Condition::Always)
        }
        None => written,
    })
}

fn claim<'a>(
    transaction: Transaction<'a>,
    channel: &Channel,
) -> Result<Transaction<'a>, StoreError> {
    let Some(url) = channel.target.masked() else { return Ok(transaction) };
    let claim = UrlClaim { channel: channel.id, digest: url.digest.clone() };
    let key = keys::channel_claim(channel.team, &claim.digest);
    Ok(transaction.put(item(&key, &claim)?, Condition::Absent))
}

/// Changes parts of a channel's secret, without reading the others. If the token must not leave its `server`, the change
/// is a conflict for a channel that leads to another one.
fn change_secret<'a>(
    transaction: Transaction<'a>,
    channel: &Channel,
    edit: &TargetEdit,
    server: Option<String>,
) -> Transaction<'a> {
    let (url, token) = (edit.url.as_ref().map(SecretUrl::reveal), edit.token.as_ref());
    let token = token.map(|token| token.as_ref().map(AccessToken::reveal));
    let set = [url.map(|_| "#url = :url"), token.flatten().map(|_| "#token = :token")];
    let set: Vec<_> = set.into_iter().flatten().collect();
    let set = if set.is_empty() { String::new() } else { format!("SET {}", set.join(", ")) };
    let remove = if token == Some(None) { " REMOVE #token" } else { "" };
    let is_named = url.is_some() || server.is_some();
    let names = [(is_named, "#url", "url"), (token.is_some(), "#token", "token")];
    let values = [(":url", url), (":token", token.flatten())];
    let change = Change {
        expression: format!("{set}{remove}").into(),
        names: names.into_iter().filter(|of| of.0).map(|of| (of.1, of.2.to_owned())).collect(),
        values: values
            .into_iter()
            .filter_map(|(name, value)| Some((name, string(value?))))
            .collect(),
    };
    let condition = match server {
        Some(server) => {
            Condition::When("begins_with(#url, :server)", vec![(":server", string(server))])
        }
        None => Condition::Present,
    };
    transaction.update(&keys::channel_secret(channel.team, channel.id), change, condition)
}

/// The place of the secret in the transaction that moves a channel.
const SECRET_PLACE: usize = 0;

impl Store {
    /// A team's channels, and the URLs that they have claimed.
    pub async fn channels_and_claims(
        &self,
        team: TeamId,
    ) -> Result<(Vec<Channel>, Vec<UrlClaim>), StoreError> {
        let pk = keys::channel_partition(team);
        let (mut channels, mut claims) = (Vec::new(), Vec::new());
        for item in self.query(Range::new(&pk, Sort::All)).await? {
            if keys::is_channel_claim(&key_of(&item)?) {
                claims.push(UrlClaim::read(item)?);
            } else {
                channels.push(Channel::read(item)?);
            }
        }
        Ok((channels, claims))
    }

    /// Creates a channel. No other channel of the team may lead to its URL.
    ///
    /// # Errors
    ///
    /// A conflict when one does.
    pub async fn create_channel(
        &self,
        channel: &Channel,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        claim(put(self.transaction(), channel)?, channel)?.commit(audit).await
    }

    /// Saves a channel, with its secret if it holds one. Its `rev` is one above the `rev` that was read.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since.
    pub async fn put_channel(&self, channel: &Channel, audit: Audit<'_>) -> Result<(), StoreError> {
        put(self.transaction(), channel)?.commit(audit).await
    }

    /// Saves a channel that leads elsewhere, with how it behaves from now on. No other channel of the team may lead to its
    /// URL. Its access token does not follow it to another server. The `rev`s are one above those that were read.
    ///
    /// # Errors
    ///
    /// A conflict when the channel or its state has changed since, when another channel leads to the URL, or when an
    /// earlier version stored the secret with the channel, which ends in the night.
    pub async fn move_channel(
        &self,
        before: &Channel,
        channel: &Channel,
        edit: &TargetEdit,
        state: &ChannelState,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let server = edit.server_of_token();
        let may_leave_token = server.is_some();
        let written = self.write_move((before, channel), (edit, server), state, audit).await;
        match written {
            Err(StoreError::Conflict { failed }) if may_leave_token && failed == [SECRET_PLACE] => {
                let edit = TargetEdit { token: Some(None), ..edit.clone() };
                self.write_move((before, channel), (&edit, None), state, audit).await
            }
            written => written,
        }
    }

    async fn write_move(
        &self,
        (before, channel): (&Channel, &Channel),
        (edit, server): (&TargetEdit, Option<String>),
        state: &ChannelState,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let secret = change_secret(self.transaction(), channel, edit, server);
        let public = Channel { secret: None, ..channel.clone() };
        let key = ChannelRef::from(channel).state();
        let unchanged = Condition::after(state.rev - 1);
        let moved = put(secret, &public)?.put(item(&key, state)?, unchanged);
        if before.target == channel.target {
            return moved.commit(audit).await;
        }
        claim(self.unclaim(moved, before).await?, channel)?.commit(audit).await
    }

    /// Gives up the claim of a channel to its URL.
    async fn unclaim<'a>(
        &self,
        transaction: Transaction<'a>,
        channel: &Channel,
    ) -> Result<Transaction<'a>, StoreError> {
        let Some(url) = channel.target.masked() else { return Ok(transaction) };
        let key = keys::channel_claim(channel.team, &url.digest);
        let claim = self.get(&key).await?.map(UrlClaim::read).transpose()?;
        // Earlier versions let several channels lead to one URL. A channel without a claim may get it meanwhile.
        if claim.is_some_and(|claim| claim.channel != channel.id) {
            return Ok(transaction);
        }
        let is_its = Condition::When(
            "attribute_not_exists(pk) OR channel = :id",
            vec![(":id", string(channel.id.to_string()))],
        );
        Ok(transaction.delete(&key, is_its))
    }

    /// Claims the URL of a channel that has no claim yet.
    ///
    /// # Errors
    ///
    /// A conflict when another channel has claimed it, or this channel has changed since.
    pub async fn claim_url(&self, channel: &Channel) -> Result<(), StoreError> {
        let key = keys::channel(channel.team, channel.id);
        let unchanged = self.transaction().check(&key, Condition::Rev(channel.rev));
        claim(unchanged, channel)?.commit(Audit::None).await
    }

    /// Deletes a channel with its secret, its claim and everything that is outstanding for it.
    ///
    /// # Errors
    ///
    /// A conflict when another transaction writes the channel at the same time.
    pub async fn delete_channel(
        &self,
        channel: &Channel,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let (team, id) = (channel.team, channel.id);
        let transaction = self
            .transaction()
            .delete(&keys::channel(team, id), Condition::Always)
            .delete(&keys::channel_secret(team, id), Condition::Always);
        self.unclaim(transaction, channel).await?.commit(audit).await?;
        self.delete_deliveries(channel.into()).await
    }

    /// Deletes the claim of a channel that no longer exists.
    ///
    /// # Errors
    ///
    /// A conflict when the channel exists, or when another channel has the claim.
    pub async fn delete_claim(&self, team: TeamId, claim: &UrlClaim) -> Result<(), StoreError> {
        let its = vec![(":id", string(claim.channel.to_string()))];
        self.transaction()
            .check(&keys::channel(team, claim.channel), Condition::Absent)
            .delete(
                &keys::channel_claim(team, &claim.digest),
                Condition::When("channel = :id", its),
            )
            .commit(Audit::None)
            .await
    }

    /// Where a channel leads, with its secrets.
    pub async fn target_of(&self, channel: &Channel) -> Result<Target, StoreError> {
        if let PublicTarget::Email { address } = &channel.target {
            return Ok(Target::Email { address: address.clone() });
        }
        if let Some(secret) = &channel.secret {
            return Ok(secret.clone());
        }
        let ChannelRef { team, id } = channel.into();
        let found = self.get(&keys::channel_secret(team, id)).await?;
        found.map(Target::read).ok_or_else(|| StoreError::corrupt("a channel without its URL"))?
    }

    /// Counts a team's message to a host, and says whether it may be sent in this window.
    pub async fn count_send(
        &self,
        host: &ReceivingHost,
        team: TeamId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (limit, of_team) = (host.limit, host.is_apart.then_some(team));
        let key = keys::host(&host.name, of_team, limit.window_at(now));
        Ok(limit.admits(self.add_shared(&key, team, limit, now).await?))
    }
}
