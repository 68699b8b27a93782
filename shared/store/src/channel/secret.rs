//! Where channels lead. Secrets are stored separately, each URL belongs to at most one channel of a team, and what all
//! teams send to a host is counted.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::alerts::channel::{Channel, PublicTarget, Target};
use vedette_domain::alerts::host_limit::{MESSAGES_TO_HOST, ReceivingHost};
use vedette_domain::id::{ChannelId, TeamId};

use super::ChannelRef;
use crate::item::{Item, Stored, attributes, item, key_of, stored, string};
use crate::keys;
use crate::table::{Condition, Range, Sort, Store};
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
        let mut transaction = self
            .transaction()
            .delete(&keys::channel(team, id), Condition::Always)
            .delete(&keys::channel_secret(team, id), Condition::Always);
        if let Some(url) = channel.target.masked() {
            let key = keys::channel_claim(team, &url.digest);
            let claim = self.get(&key).await?.map(UrlClaim::read).transpose()?;
            // Earlier versions let several channels lead to one URL. A channel without a claim may get it meanwhile.
            if claim.is_none_or(|claim| claim.channel == id) {
                let is_its = Condition::When(
                    "attribute_not_exists(pk) OR channel = :id",
                    vec![(":id", string(id.to_string()))],
                );
                transaction = transaction.delete(&key, is_its);
            }
        }
        transaction.commit(audit).await?;
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
        let (limit, of_team) = (MESSAGES_TO_HOST, host.is_apart.then_some(team));
        let key = keys::host(&host.name, of_team, limit.window_at(now));
        Ok(limit.admits(self.add_shared(&key, team, limit, now).await?))
    }
}
