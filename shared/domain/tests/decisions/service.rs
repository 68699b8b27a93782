//! What the handlers do, as far as the domain decides it: they load, ask, and save under a `rev`.

use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::alerts::channel::{Channel, EventKind};
use vedette_domain::alerts::channel_state::{ChannelState, FailedAttempt};
use vedette_domain::alerts::collection::{Collecting, Collection, collect};
use vedette_domain::alerts::compose::{self, AlertSubject};
use vedette_domain::alerts::delivery::{
    Content, DeliveryState, OutboxEntry, ProgramStep, Queued, overtaken, place, program_step,
};
use vedette_domain::alerts::due::{AlertPolicy, Due, News, Notified, due};
use vedette_domain::alerts::retry::retry;
use vedette_domain::alerts::storm::{Batching, Rest, Window, batch};
use vedette_domain::alerts::webhook::webhook_id;
use vedette_domain::alerts::{Alert, AlertKind};
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::id::IssueId;
use vedette_domain::issues::record::Issue;
use vedette_domain::sites::settings::{Escalation, QuietTime};
use vedette_domain::sites::site::Site;

/// What is stored of a channel.
#[derive(Debug, Clone)]
pub(crate) struct ChannelRows {
    pub(crate) channel: Channel,
    pub(crate) state: ChannelState,
    pub(crate) deliveries: BTreeMap<IssueId, DeliveryState>,
    pub(crate) queued: BTreeMap<(String, String), Queued>,
}

impl ChannelRows {
    /// Writes a delivery state, whose `rev` is one above the one that was read.
    fn put_delivery_state(&mut self, delivery: DeliveryState) -> bool {
        let is_ours = self.rev(delivery.issue) == delivery.rev - 1;
        if is_ours {
            self.deliveries.insert(delivery.issue, delivery);
        }
        is_ours
    }

    fn delete_delivery_state(&mut self, delivery: &DeliveryState) -> bool {
        let is_ours = self.rev(delivery.issue) == delivery.rev;
        if is_ours {
            self.deliveries.remove(&delivery.issue);
        }
        is_ours
    }

    fn rev(&self, issue: IssueId) -> u64 {
        self.deliveries.get(&issue).map_or(0, |delivery| delivery.rev)
    }

    fn put_queued(&mut self, queued: Queued) {
        self.queued.insert((queued.group.clone(), queued.place.clone()), queued);
    }

    /// Has the channel learn of a change.
    pub(crate) fn learn(&mut self, entry: &OutboxEntry, now: Timestamp) {
        let issue = &entry.issue;
        if !self.channel.follows(issue) {
            return;
        }
        let delivery = self.deliveries.get(&issue.id).cloned();
        let Some(news) = self.channel.news(delivery, entry, now) else { return };
        if let Some(delivery) = news.delivery {
            assert!(self.put_delivery_state(delivery), "written under the rev that was read");
        }
        if let Some(event) = news.event {
            self.put_queued(event_of(issue, place(issue.rev, None), event, entry.at, now));
        }
    }

    /// Has everything looked at again.
    pub(crate) fn look_again(&mut self, now: Timestamp) {
        for delivery in self.deliveries.values_mut() {
            *delivery = DeliveryState { due: Some(now), rev: delivery.rev + 1, ..delivery.clone() };
        }
        for queued in self.queued.values_mut().filter(|queued| queued.failing.is_none()) {
            *queued = queued.again(now);
        }
    }

    /// The earliest time at which something is due.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let deliveries = self.deliveries.values().filter_map(|delivery| delivery.due);
        deliveries.chain(self.queued.values().filter_map(|queued| queued.due)).min()
    }
}

/// An event; its body says what the simulated receivers want to know of it.
fn event_of(
    issue: &Issue,
    place: String,
    event: EventKind,
    at: Timestamp,
    now: Timestamp,
) -> Queued {
    let number = if event == EventKind::Reminder { at.as_millisecond() } else { 0 };
    let opened_at = issue.lifecycle.opened_at();
    let id = webhook_id(issue.id, opened_at, event, &number.to_be_bytes());
    let content = Content::Event { id, event, body: opened_at.to_string() };
    Queued::event(issue.id, place, content, now)
}

/// What a receiver does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Taken,
    Failed(Option<SignedDuration>),
    /// The process dies before it knows.
    Died,
}

/// The process dies.
#[derive(Debug)]
pub(crate) struct Died;

/// What a pass needs of the world around it.
pub(crate) trait Around {
    fn now(&self) -> Timestamp;
    fn rows(&mut self) -> &mut ChannelRows;
    fn issue(&self, issue: IssueId) -> (Issue, Rc<Site>);
    /// An alert, of which people know no more than they read.
    fn notify(&mut self, alert: &Alert) -> Answer;
    fn event(&mut self, queued: &Queued) -> Answer;
    fn reminder_is_made(&mut self, issue: IssueId);
}

/// A pass over a channel.
pub(crate) struct DeliveryRun<'a, W> {
    pub(crate) world: &'a mut W,
    pub(crate) channel: Channel,
    pub(crate) state: ChannelState,
    pub(crate) quiet_time: QuietTime,
    pub(crate) escalation: Escalation,
}

struct Ready {
    delivery: DeliveryState,
    issue: Issue,
    site: Rc<Site>,
    news: News,
    notified: Option<Notified>,
}

impl<W: Around> DeliveryRun<'_, W> {
    fn policy(&self) -> AlertPolicy<'_> {
        AlertPolicy {
            filter: &self.channel.filter,
            since: self.channel.since.unwrap_or(Timestamp::MAX),
            quiet_time: &self.quiet_time,
            escalation: &self.escalation,
            time_scale: TimeScale::default(),
            ended: None,
        }
    }

    /// Sends what is due, and gives the channel back; it stays leased where the process dies.
    pub(crate) fn work(mut self) -> Result<(), Died> {
        let rows = self.world.rows();
        let (deliveries, queued) = (rows.deliveries.clone(), rows.queued.clone());
        let now = self.world.now();
        let is_due = |delivery: &DeliveryState| delivery.due.is_some_and(|due| due <= now);
        let due_now: Vec<DeliveryState> = deliveries.into_values().filter(is_due).collect();
        if self.channel.since.is_some() {
            if self.channel.target.is_for_people() {
                self.notify_people(due_now, now)?;
            } else {
                self.notify_program(due_now, queued.into_values().collect(), now)?;
            }
        }
        let state = ChannelState { leased_until: None, rev: self.state.rev + 1, ..self.state };
        self.world.rows().state = state;
        Ok(())
    }

    fn put_off(&mut self, delivery: DeliveryState, due: Option<Timestamp>) {
        let rev = delivery.rev + 1;
        self.world.rows().put_delivery_state(DeliveryState { due, rev, ..delivery });
    }

    fn notify_people(&mut self, due_now: Vec<DeliveryState>, now: Timestamp) -> Result<(), Died> {
        let retry_at = self.state.retry_at.filter(|retry_at| *retry_at > now);
        let mut ready = Vec::new();
        for delivery in due_now {
            if retry_at.is_some() {
                self.put_off(delivery, retry_at);
                continue;
            }
            let (issue, site) = self.world.issue(delivery.issue);
            match due(&issue, delivery.notified, delivery.from, &self.policy(), now) {
                Due::Nothing(_) => {
                    self.world.rows().delete_delivery_state(&delivery);
                }
                Due::Later { at, notified, .. } => {
                    self.put_off(DeliveryState { notified, ..delivery }, at);
                }
                Due::Notify { news, notified, .. } => {
                    ready.push(Ready { delivery, issue, site, news, notified });
                }
            }
        }
        ready.sort_by_key(|ready| (ready.news.since(&ready.issue), ready.delivery.issue));
        while let Some(kind) = ready.first().map(|ready| ready.news.kind()) {
            let (of_kind, others) = ready.into_iter().partition(|ready| ready.news.kind() == kind);
            ready = others;
            self.notify_kind(kind, of_kind, now)?;
        }
        Ok(())
    }

    fn notify_kind(
        &mut self,
        kind: AlertKind,
        mut ready: Vec<Ready>,
        now: Timestamp,
    ) -> Result<(), Died> {
        let window = self.state.window_mut(kind);
        let Batching { singles, rest, window: next } = batch(*window, ready.len(), now);
        let is_collection = matches!(rest, Rest::Together { .. });
        if !is_collection {
            *window = next;
        }
        let continues = rest == Rest::Together { continues: true };
        let others = ready.split_off(singles);
        let mut groups: Vec<Vec<Ready>> = ready.into_iter().map(|single| vec![single]).collect();
        match rest {
            Rest::Together { .. } => groups.push(others),
            Rest::None => {}
            Rest::Until(end) => {
                others.into_iter().for_each(|ready| self.put_off(ready.delivery, Some(end)));
            }
        }
        for mut group in groups {
            let mut again = self.state.retry_at.filter(|retry_at| *retry_at > now);
            let Collection { alert, named } = alert(Collecting { kind, continues }, &group, now);
            let mut left = group.split_off(named);
            if again.is_none() {
                match self.world.notify(&alert) {
                    Answer::Died => return Err(Died),
                    Answer::Taken => self.state.delivered(now),
                    Answer::Failed(asked) => {
                        let (what, why) = (alert.title(), "HTTP 503".to_owned());
                        let whom = (&self.channel.target, self.channel.id);
                        let attempt = FailedAttempt { at: now, what, why };
                        again = Some(self.state.failed(whom, attempt, asked).at);
                    }
                }
            }
            match again {
                Some(_) => {
                    left.append(&mut group);
                    left.into_iter().for_each(|ready| self.put_off(ready.delivery, again));
                }
                None => {
                    group.iter().for_each(|ready| self.save(ready, now));
                    if is_collection {
                        let full = |window: Window| window.left_some();
                        let next = if left.is_empty() { next } else { next.map(full) };
                        *self.state.window_mut(kind) = next;
                    }
                    let end = next.map(Window::end);
                    left.into_iter().for_each(|ready| self.put_off(ready.delivery, end));
                }
            }
        }
        Ok(())
    }

    fn save(&mut self, Ready { delivery, issue, notified, .. }: &Ready, now: Timestamp) {
        let next = delivery.once_notified(issue, *notified, &self.policy(), now);
        let rows = self.world.rows();
        let is_ours = match next {
            Some(next) => rows.put_delivery_state(next),
            None => rows.delete_delivery_state(delivery),
        };
        if let Some(current) = rows.deliveries.get(&delivery.issue).filter(|_| !is_ours) {
            let next = current.notified_meanwhile(issue, *notified, now);
            rows.put_delivery_state(next);
        }
    }

    fn notify_program(
        &mut self,
        due_now: Vec<DeliveryState>,
        mut events: Vec<Queued>,
        now: Timestamp,
    ) -> Result<(), Died> {
        if let Some(end) = self.quiet_time.until(now) {
            due_now.into_iter().for_each(|delivery| self.put_off(delivery, Some(end)));
            self.wait(events, end, now);
            return Ok(());
        }
        for delivery in due_now {
            let (issue, _) = self.world.issue(delivery.issue);
            match program_step(&issue, &delivery, &self.policy(), now) {
                ProgramStep::Forget => {
                    self.world.rows().delete_delivery_state(&delivery);
                }
                ProgramStep::Wait { due } => self.put_off(delivery, due),
                ProgramStep::End(_) | ProgramStep::Reopen => panic!("sites stay watched"),
                ProgramStep::Remind => {
                    let place = place(issue.rev, Some(now));
                    let reminder = event_of(&issue, place, EventKind::Reminder, now, now);
                    let next = delivery.once_reminded(&issue, &self.policy(), now);
                    if self.world.rows().put_delivery_state(next) {
                        self.world.reminder_is_made(issue.id);
                        self.world.rows().put_queued(reminder.clone());
                        events.push(reminder);
                    }
                }
            }
        }
        let mut groups: BTreeMap<String, Vec<Queued>> = BTreeMap::new();
        for event in events {
            groups.entry(event.group.clone()).or_default().push(event);
        }
        let mut down: Option<Timestamp> = None;
        for mut group in groups.into_values() {
            group.sort_by(|one, other| one.place.cmp(&other.place));
            let (stale, group) = overtaken(group);
            for reminder in stale {
                self.world.rows().queued.remove(&(reminder.group, reminder.place));
            }
            match down {
                Some(again) => self.wait(group, again, now),
                None => down = self.send_in_order(group, now)?,
            }
        }
        Ok(())
    }

    fn wait(&mut self, events: Vec<Queued>, until: Timestamp, now: Timestamp) {
        for event in events {
            if event.due.is_some_and(|due| due <= now) {
                self.world.rows().put_queued(Queued { due: Some(until), ..event });
            }
        }
    }

    /// Sends events of an issue until one fails, and says when that is tried again.
    fn send_in_order(
        &mut self,
        group: Vec<Queued>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Died> {
        let mut group = group.into_iter();
        while let Some(event) = group.next() {
            if let Some(due) = event.due.filter(|due| *due > now) {
                self.wait(group.collect(), due, now);
                return Ok(None);
            }
            let asked = match self.world.event(&event) {
                Answer::Died => return Err(Died),
                Answer::Taken => {
                    self.world.rows().queued.remove(&(event.group, event.place));
                    continue;
                }
                Answer::Failed(asked) => asked,
            };
            let next = retry(&self.channel.target, self.channel.id, event.failing, asked, now);
            assert!(!next.is_exhausted, "a life is shorter");
            let event = Queued { failing: Some(next.failing), due: Some(next.at), ..event };
            self.world.rows().put_queued(event);
            self.wait(group.collect(), next.at, now);
            return Ok(Some(next.at));
        }
        Ok(None)
    }
}

fn alert(collecting: Collecting, group: &[Ready], now: Timestamp) -> Collection {
    let subjects: Vec<_> = group
        .iter()
        .map(|Ready { issue, site, .. }| AlertSubject {
            issue,
            site,
            team: "team",
            acknowledged_by: None,
            resolved_by: None,
            base_url: None,
            ended: None,
        })
        .collect();
    match (&subjects[..], group) {
        ([subject], [ready]) => {
            Collection { alert: compose::one(subject, &ready.news, now), named: 1 }
        }
        _ => collect(&subjects, collecting, now),
    }
}
