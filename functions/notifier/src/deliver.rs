//! One channel at a time: what is due is sent by whoever holds the channel's lease.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use vedette_actions::wake;
use vedette_domain::alerts::channel::{Channel, Target};
use vedette_domain::alerts::channel_state::{ChannelState, FailedAttempt};
use vedette_domain::alerts::delivery::{Content, DeliveryState, Queued};
use vedette_domain::alerts::due::AlertPolicy;
use vedette_domain::alerts::ended::EndReason;
use vedette_domain::alerts::{Alert, link};
use vedette_domain::checks::limits::LONGEST_DELAY;
use vedette_runtime::App;
use vedette_runtime::metrics::{self, Metric};
use vedette_store::{
    Audit, ChannelRef, Deliveries, IssueWithSite, StoreError, TeamWithSettings, budget,
    retry_on_conflict, unless_conflict,
};

use crate::send::{Message as Outgoing, SendOutcome, Sender};
use crate::{NotifierError, broken, people, webhooks};

/// What carries messages to where channels lead.
pub trait Transport: Sync {
    /// Sends a message to a channel, which leads to `target`, once, and says what became of it. It takes 30
    /// seconds at most.
    fn send(
        &self,
        channel: &Channel,
        target: &Target,
        message: &Outgoing,
        now: Timestamp,
    ) -> impl Future<Output = SendOutcome> + Send;
}

impl Transport for Sender {
    async fn send(
        &self,
        _: &Channel,
        target: &Target,
        message: &Outgoing,
        now: Timestamp,
    ) -> SendOutcome {
        Self::send(self, target, message, now).await
    }
}

/// What a pass over a channel did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delivered {
    /// Messages that arrived.
    pub sent: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Alerts that the channel will not get: those that it refused, the one that disabled it, and those that it
    /// leaves waiting once it is disabled for what it answers.
    pub given_up: u64,
}

/// After how long another process looks whether a channel is free.
const BUSY: Duration = Duration::from_secs(2);
/// Why a test was not sent.
const OFF: &str = "the channel was disabled meanwhile";
/// Why it was not where the reader of an address has withdrawn meanwhile.
const UNCONFIRMED: &str = "its reader has not confirmed the channel";
/// How long before its lease ends a pass begins nothing new: a send takes 30 seconds at most.
const LEASE_MARGIN: SignedDuration = SignedDuration::from_secs(35);

/// A pass over a channel, which this process alone sends to.
pub(crate) struct DeliveryRun<'a, T> {
    pub(crate) app: &'a App,
    pub(crate) transport: &'a T,
    pub(crate) channel: &'a Channel,
    /// Where it leads.
    pub(crate) target: Target,
    pub(crate) team: &'a TeamWithSettings,
    pub(crate) state: ChannelState,
    /// Until when nothing more is sent to the channel's host.
    pub(crate) held_until: Option<Timestamp>,
    /// The earliest time at which something is due.
    next: Option<Timestamp>,
    done: Delivered,
}

/// What became of an attempt, as far as a pass goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The receiver has it, or it never will: it counts as told.
    Notified,
    /// It is told again then, and nothing else before.
    Again(Timestamp),
    /// Nothing is sent to the channel any more.
    Disabled,
}

/// Sends what is due to a channel.
///
/// # Errors
///
/// When the table does not answer. What was sent and is not saved is sent once more.
pub async fn deliver(
    app: &App,
    transport: &impl Transport,
    channel: ChannelRef,
) -> Result<Delivered, NotifierError> {
    let now = app.clock.now();
    let (found, team, state) = futures::try_join!(
        app.store.channel(channel),
        app.store.team(channel.team, now),
        app.store.channel_state(channel),
    )?;
    let (Some(found), Some(team)) = (found, team) else {
        // What is left of a channel that was removed meanwhile.
        app.store.delete_deliveries(channel).await?;
        return Ok(Delivered::default());
    };
    let Some(state) = state.leased(now) else {
        wake(app, channel, BUSY).await;
        return Ok(Delivered::default());
    };
    // What the last holder of the lease has written is there, as that ended before.
    let (leased, deliveries, target) = futures::join!(
        app.store.put_channel_state(channel, &state, Audit::None),
        app.store.deliveries(channel),
        app.store.target_of(&found),
    );
    if !unless_conflict(leased)? {
        wake(app, channel, BUSY).await;
        return Ok(Delivered::default());
    }
    let target = match target {
        Ok(target) => target,
        Err(error) => {
            let mut state = state;
            state.end(None, now);
            app.store.put_channel_state(channel, &state, Audit::None).await?;
            return Err(error.into());
        }
    };
    let (held_until, next, done) = (None, None, Delivered::default());
    let (channel, team) = (&found, &team);
    let mut run =
        DeliveryRun { app, transport, channel, target, team, state, held_until, next, done };
    let worked = match deliveries {
        Ok(Deliveries { deliveries, queued, .. }) => run.work(deliveries, queued).await,
        Err(error) => Err(error.into()),
    };
    // Whatever goes wrong next: nothing says so again.
    if run.done.given_up > 0 {
        metrics::emit(&[(Metric::AlertsGivenUp, run.done.given_up)], run.now());
    }
    run.end().await?;
    worked?;
    Ok(run.done)
}

impl<T: Transport> DeliveryRun<'_, T> {
    pub(crate) fn place(&self) -> ChannelRef {
        self.channel.into()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.app.clock.now()
    }

    /// What decides what is due of an issue.
    pub(crate) fn policy(
        &self,
        IssueWithSite { issue, site, .. }: &IssueWithSite,
    ) -> AlertPolicy<'_> {
        let tool = issue.id.fingerprint().tool();
        let ended = EndReason::of(tool, &self.team.team, &self.team.settings_for(site));
        AlertPolicy::of(self.channel, &self.team.settings, ended, self.app.service.time_scale)
    }

    async fn work(
        &mut self,
        deliveries: Vec<DeliveryState>,
        queued: Vec<Queued>,
    ) -> Result<(), NotifierError> {
        if self.is_off() {
            return self.park(deliveries, queued).await;
        }
        let (events, notices): (Vec<_>, Vec<_>) =
            queued.into_iter().partition(|queued| matches!(queued.content, Content::Event { .. }));
        for notice in notices {
            self.send_notice(notice).await?;
        }
        if self.channel.since.is_none() || self.is_off() {
            return self.park(deliveries, events).await;
        }
        if self.channel.target.is_for_people() {
            people::notify(self, deliveries).await
        } else {
            webhooks::notify(self, deliveries, events).await
        }
    }

    /// An alert to the channel; `id` is the same whenever it is sent again.
    pub(crate) fn alert(&self, alert: Alert, id: String) -> Outgoing {
        let base = self.app.service.pages_base();
        let unsubscribe_url = base.map(|base| link::unsubscribe(base, self.channel));
        Outgoing::Alert { alert, id, unsubscribe_url }
    }

    /// Whether nothing is sent to the channel.
    pub(crate) const fn is_off(&self) -> bool {
        self.state.disabled.is_some() || self.channel.disabled.is_some()
    }

    /// Whether there is time to send something more before somebody else may.
    pub(crate) fn has_time(&self) -> bool {
        let until = self.state.leased_until.unwrap_or(Timestamp::MIN);
        until.duration_since(self.now()) > LEASE_MARGIN
    }

    /// Leaves everything where it is, until the channel is enabled again.
    pub(crate) async fn park(
        &mut self,
        deliveries: Vec<DeliveryState>,
        queued: Vec<Queued>,
    ) -> Result<(), NotifierError> {
        // Those that wait for a person to enable the channel are not lost by what it answers.
        let (is_given_up, now) = (self.state.disabled.is_some(), self.now());
        for delivery in deliveries {
            if let Some(due) = delivery.due {
                self.put_off(delivery, None).await?;
                if is_given_up && due <= now {
                    self.give_up();
                }
            }
        }
        for queued in queued {
            if let Content::Test { id } = &queued.content {
                self.drop_test(id, &queued, OFF).await?;
            } else if queued.due.is_some() {
                let is_alert = matches!(queued.content, Content::Event { .. });
                self.save_queued(Queued { due: None, ..queued }).await?;
                if is_given_up && is_alert {
                    self.give_up();
                }
            }
        }
        Ok(())
    }

    /// Notes that a test is not sent, and why.
    async fn drop_test(&mut self, id: &str, test: &Queued, why: &str) -> Result<(), NotifierError> {
        self.state.tested(id, Some(why.to_owned()), self.now());
        self.drop_queued(test).await
    }

    /// Looks at an issue again at another time, unless something happened to it meanwhile.
    pub(crate) async fn put_off(
        &mut self,
        delivery: DeliveryState,
        due: Option<Timestamp>,
    ) -> Result<(), NotifierError> {
        let next = DeliveryState { due, rev: delivery.rev + 1, ..delivery };
        let saved = self.app.store.put_delivery_state(self.place(), &next).await;
        self.look_at_saved(saved, due)
    }

    /// Writes what waits to be sent; only this pass does.
    pub(crate) async fn save_queued(&mut self, queued: Queued) -> Result<(), NotifierError> {
        let next = Queued { rev: queued.rev + 1, ..queued };
        let saved = self.app.store.put_queued(self.place(), &next).await;
        self.look_at_saved(saved, next.due)
    }

    /// Forgets an issue of which nothing is to be told.
    pub(crate) async fn forget(&mut self, delivery: &DeliveryState) -> Result<(), NotifierError> {
        let deleted = self.app.store.delete_delivery_state(self.place(), delivery).await;
        self.look_at_saved(deleted, None)
    }

    /// Notes when to look at what was written again: now, if somebody else was sooner.
    fn look_at_saved(
        &mut self,
        written: Result<(), StoreError>,
        due: Option<Timestamp>,
    ) -> Result<(), NotifierError> {
        let is_ours = unless_conflict(written)?;
        self.look_at(if is_ours { due } else { Some(self.now()) });
        Ok(())
    }

    /// The issues to look at now: those that are due, and those of which the channel missed something while it
    /// was off. The others are noted.
    pub(crate) fn take_due(
        &mut self,
        deliveries: Vec<DeliveryState>,
        now: Timestamp,
    ) -> Vec<DeliveryState> {
        let is_due = |delivery: &DeliveryState| match delivery.due {
            Some(due) => due <= now,
            None => delivery.missed.is_some(),
        };
        let (due, later): (Vec<_>, Vec<_>) = deliveries.into_iter().partition(is_due);
        later.iter().for_each(|delivery| self.look_at(delivery.due));
        due
    }

    /// Notes that something is due then.
    pub(crate) fn look_at(&mut self, due: Option<Timestamp>) {
        self.next = self.next.into_iter().chain(due).min();
    }

    /// A message about the channels themselves, which is sent whatever time it is.
    async fn send_notice(&mut self, notice: Queued) -> Result<(), NotifierError> {
        let now = self.now();
        if let Content::Test { id } = &notice.content
            && (self.is_off() || self.channel.since.is_none())
        {
            let why = if self.is_off() { OFF } else { UNCONFIRMED };
            return self.drop_test(id, &notice, why).await;
        }
        if notice.due.is_none_or(|due| due > now) || self.is_off() {
            self.look_at(notice.due);
            return Ok(());
        }
        if self.channel.since.is_none() && !notice.content.needs_no_confirmation() {
            return self.save_queued(Queued { due: None, ..notice }).await;
        }
        if let Some(until) = self.held().await? {
            return self.save_queued(Queued { due: Some(until), ..notice }).await;
        }
        let outcome = broken::send(self, &notice.content).await;
        if let Content::Test { id } = &notice.content {
            return self.note_test(id, &notice, outcome).await;
        }
        match self.note(notice.content.name(), outcome).await? {
            Attempt::Notified => self.drop_queued(&notice).await,
            Attempt::Again(at) => self.save_queued(Queued { due: Some(at), ..notice }).await,
            Attempt::Disabled => self.save_queued(Queued { due: None, ..notice }).await,
        }
    }

    /// What became of a test, which is tried once: nobody wants it hours later.
    async fn note_test(
        &mut self,
        id: &str,
        test: &Queued,
        outcome: SendOutcome,
    ) -> Result<(), NotifierError> {
        let failed = outcome.why().map(str::to_owned);
        self.note(test.content.name(), outcome).await?;
        self.state.tested(id, failed, self.now());
        self.drop_queued(test).await
    }

    /// Removes what was sent, whatever happened to it meanwhile: it must not be sent twice.
    pub(crate) async fn drop_queued(&self, queued: &Queued) -> Result<(), NotifierError> {
        let (store, place) = (&self.app.store, self.place());
        let mut read = Some(queued.clone());
        retry_on_conflict(budget::WRITE, || {
            let read = read.take();
            async move {
                let current = match read {
                    Some(read) => Some(read),
                    None => store.queued(place, queued).await?,
                };
                match current {
                    Some(current) => store.delete_queued(place, &current).await,
                    None => Ok(()),
                }
            }
        })
        .await?;
        Ok(())
    }

    /// What an attempt to tell people makes of the channel.
    pub(crate) async fn note(
        &mut self,
        what: &str,
        outcome: SendOutcome,
    ) -> Result<Attempt, NotifierError> {
        let now = self.now();
        let attempt = |why| FailedAttempt { at: now, what: what.to_owned(), why };
        self.done.failed += u64::from(outcome != SendOutcome::Delivered);
        Ok(match outcome {
            SendOutcome::Delivered => {
                self.done.sent += 1;
                self.state.delivered(now);
                Attempt::Notified
            }
            SendOutcome::Retry { after, why } => {
                let asked = after.and_then(|after| SignedDuration::try_from(after).ok());
                let whom = (&self.channel.target, self.channel.id);
                let retry = self.state.failed(whom, attempt(why.clone()), asked);
                if retry.is_exhausted && !self.state.is_reported {
                    self.state.is_reported = true;
                    broken::notify_owner(self, &why).await?;
                }
                Attempt::Again(retry.at)
            }
            SendOutcome::Held { after, why } => {
                let wait = SignedDuration::try_from(after).unwrap_or(LONGEST_DELAY);
                let at = now.saturating_add(wait).unwrap_or(now);
                self.state.held(attempt(why), at);
                Attempt::Again(at)
            }
            SendOutcome::Refused { why } => {
                if self.state.refused(attempt(why.clone())) {
                    broken::notify_owner(self, &why).await?;
                    Attempt::Disabled
                } else {
                    Attempt::Notified
                }
            }
            SendOutcome::Gone { why } => {
                self.state.disable(attempt(why.clone()));
                broken::notify_owner(self, &why).await?;
                Attempt::Disabled
            }
        })
    }

    /// Counts an alert that the channel will not get.
    pub(crate) const fn give_up(&mut self) {
        self.done.given_up += 1;
    }

    /// Counts an attempt to tell a program.
    pub(crate) const fn count(&mut self, arrived: bool) {
        if arrived {
            self.done.sent += 1;
        } else {
            self.done.failed += 1;
        }
    }

    /// Gives the channel back, and has it looked at when something is due again.
    async fn end(&mut self) -> Result<(), NotifierError> {
        let wait = self.state.end(self.next, self.now());
        self.app.store.put_channel_state(self.place(), &self.state, Audit::None).await?;
        if let Some(wait) = wait {
            // SQS delays by whole seconds, and an alert must not be early.
            let seconds = u64::try_from(wait.as_secs()).unwrap_or(0);
            let delay = Duration::from_secs(seconds + u64::from(wait.subsec_nanos() > 0));
            wake(self.app, self.place(), delay).await;
        }
        Ok(())
    }
}
