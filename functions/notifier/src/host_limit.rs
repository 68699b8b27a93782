//! Limits what all channels of all teams send to one host: messages beyond a minute's limit wait for the next minute.

use jiff::Timestamp;
use tracing::info;
use vedette_domain::alerts::host_limit::{ReceivingHost, next_try};

use crate::NotifierError;
use crate::deliver::{DeliveryRun, Transport};

impl<T: Transport> DeliveryRun<'_, T> {
    /// Counts a message that is about to be sent to the channel's host. Where that has enough for now, says
    /// when to try again: the message waits as it is, in its order, and no attempt has failed.
    pub(crate) async fn held(&mut self) -> Result<Option<Timestamp>, NotifierError> {
        let now = self.now();
        self.held_until = self.held_until.filter(|until| *until > now);
        let Some(host) = ReceivingHost::of(&self.target) else { return Ok(None) };
        if self.held_until.is_none()
            && !self.app.store.count_send(&host, self.channel.team, now).await?
        {
            info!(channel = %self.channel.id, team = %self.channel.team, "the host has enough for this minute");
            self.held_until = Some(next_try(self.channel.id, now));
        }
        Ok(self.held_until)
    }
}
