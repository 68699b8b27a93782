//! What the handlers do, as far as the domain decides it: they load, decide, and save under a `rev`.

use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::alerts::Alert;
use vedette_domain::alerts::channel::webhook::webhook_id;
use vedette_domain::alerts::channel::{Channel, EventKind};
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::alerts::delivery::{Content, DeliveryState, OutboxEntry, Queued, place};
use vedette_domain::alerts::delivery_run::{
    DeliveryContext, DeliveryRun, DeliveryStep, EventPlan, NotifiedIssue, PlannedEvent, Write,
};
use vedette_domain::alerts::outgoing_message::OutgoingMessage;
use vedette_domain::alerts::send_outcome::SendOutcome;
use vedette_domain::id::IssueId;
use vedette_domain::issues::record::Issue;
use vedette_domain::monitor::Monitor;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::tag::Tags;

/// What is stored about a channel.
#[derive(Debug, Clone)]
pub(crate) struct ChannelRows {
    pub(crate) channel: Channel,
    pub(crate) state: ChannelState,
    pub(crate) deliveries: BTreeMap<IssueId, DeliveryState>,
    pub(crate) queued: BTreeMap<(String, String), Queued>,
}

impl ChannelRows {
    /// Writes a delivery state, whose `rev` must be one above the one that was read.
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

    /// Applies a write of a run, and returns whether the item was still as it had been read.
    fn write(&mut self, write: &Write, now: Timestamp) -> bool {
        match write {
            Write::PutState(delivery) => self.put_delivery_state(delivery.clone()),
            Write::DeleteState(delivery) => self.delete_delivery_state(delivery),
            Write::PutNotified(notified) => self.save_notified(notified, now),
            Write::PutQueued(queued) | Write::AddQueued(queued) => {
                self.put_queued(queued.clone());
                true
            }
            Write::DeleteQueued(queued) => {
                self.queued.remove(&(queued.group.clone(), queued.place.clone()));
                true
            }
        }
    }

    fn save_notified(&mut self, saved: &NotifiedIssue, now: Timestamp) -> bool {
        let NotifiedIssue { before, next, issue, notified, handle } = saved;
        let is_ours = match next {
            Some(next) => self.put_delivery_state(next.clone()),
            None => self.delete_delivery_state(before),
        };
        if let Some(current) = self.deliveries.get(&before.issue).filter(|_| !is_ours) {
            let next = current.notified_meanwhile(issue, (*notified, handle), now);
            self.put_delivery_state(next);
        }
        is_ours
    }

    /// Passes a change to the channel.
    pub(crate) fn learn(&mut self, entry: &OutboxEntry, tags: &Tags, now: Timestamp) {
        let issue = &entry.issue;
        if !self.channel.follows(issue) {
            return;
        }
        let delivery = self.deliveries.get(&issue.id).cloned();
        let selects = self.channel.filter.selects(tags);
        let news = match self.channel.is_on() {
            true => self.channel.news(delivery, entry, selects, now),
            false => self.channel.missed_while_off(delivery, entry, selects, now),
        };
        let Some(news) = news else { return };
        assert!(self.put_delivery_state(news.delivery), "written under the rev that was read");
        if let Some(event) = news.event {
            self.put_queued(event_of(issue, place(issue.rev, None), event, entry.at, now));
        }
    }

    /// Marks everything to be checked again.
    pub(crate) fn look_again(&mut self, now: Timestamp) {
        for delivery in self.deliveries.values_mut() {
            *delivery = DeliveryState { due: Some(now), rev: delivery.rev + 1, ..delivery.clone() };
        }
        for queued in self.queued.values_mut().filter(|queued| queued.failing.is_none()) {
            *queued = queued.again(now).expect("no weekly test");
        }
    }

    /// The earliest time at which something is due.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let deliveries = self.deliveries.values().filter_map(|delivery| delivery.due);
        deliveries.chain(self.queued.values().filter_map(|queued| queued.due)).min()
    }
}

/// An event; its body contains what the simulated receivers need to know about it.
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

/// What happens to a message at a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Taken,
    Failed(Option<SignedDuration>),
    /// The process dies before it knows the result.
    Died,
}

/// The process dies.
#[derive(Debug)]
pub(crate) struct Died;

/// What a delivery run needs from its environment.
pub(crate) trait Around {
    fn now(&self) -> Timestamp;
    fn rows(&mut self) -> &mut ChannelRows;
    fn issue(&self, issue: IssueId) -> (Issue, Rc<Site>);
    fn is_in_outbox(&self, issue: IssueId) -> bool;
    /// Sends an alert to people, who only know what they read in it.
    fn notify(&mut self, alert: &Alert) -> Answer;
    fn event(&mut self, issue: IssueId, event: EventKind, id: &str, body: &[u8]) -> Answer;
    /// People are about to be notified of an opening that was left out.
    fn is_included(&mut self, issue: IssueId);
    /// A delivery run queues what a program missed of an issue while it was off.
    fn is_caught_up(&mut self, issue: IssueId);
    /// A delivery run queues an event for a program.
    fn event_is_made(&mut self, issue: IssueId, event: EventKind);
}

/// Executes a delivery run, and returns the channel; the channel stays leased if the process dies.
pub(crate) fn deliver(
    world: &mut impl Around,
    context: DeliveryContext<'_>,
    state: ChannelState,
) -> Result<(), Died> {
    let rows = world.rows().clone();
    let (deliveries, queued) = (rows.deliveries.into_values(), rows.queued.into_values());
    let mut run = DeliveryRun::new(context, state, deliveries.collect(), queued.collect());
    while let Some(step) = run.next(world.now()) {
        let now = world.now();
        match step {
            DeliveryStep::LoadIssues(deliveries) => {
                let issue = |delivery: &DeliveryState| {
                    let (issue, site) = world.issue(delivery.issue);
                    (delivery.issue, (issue, Monitor::from(Site::clone(&site))))
                };
                let issues = deliveries.iter().map(issue).collect();
                run.loaded(deliveries, issues);
            }
            // Users have no names here.
            DeliveryStep::LoadUsers(_) => {}
            DeliveryStep::CheckOutbox(check) => {
                let is_in_outbox = world.is_in_outbox(check.issue());
                run.checked_outbox(check, is_in_outbox);
            }
            DeliveryStep::QueueEvents(plan) => {
                let events = queue_events(world, &plan);
                run.queued(&plan, events, now);
            }
            DeliveryStep::Write(write) => {
                if let Write::PutState(next) = &*write {
                    let before = world.rows().deliveries.get(&next.issue);
                    if before.is_some_and(|before| before.from > next.from) {
                        world.is_included(next.issue);
                    }
                }
                let is_written = world.rows().write(&write, now);
                run.wrote(&write, is_written, now);
            }
            DeliveryStep::Send(delivery) => {
                let answer = match (&delivery.message, &delivery.about[..]) {
                    (OutgoingMessage::Alert { alert, .. }, _) => world.notify(alert),
                    (OutgoingMessage::Event { id, body }, [(issue, event)]) => {
                        world.event(*issue, *event, id, body)
                    }
                    _ => Answer::Taken,
                };
                let outcome = match answer {
                    Answer::Died => return Err(Died),
                    Answer::Taken => SendOutcome::DELIVERED,
                    Answer::Failed(asked) => SendOutcome::Retry {
                        after: asked.map(|asked| asked.try_into().expect("a wait")),
                        why: "HTTP 503".to_owned(),
                    },
                };
                run.sent(*delivery, outcome, now);
            }
            DeliveryStep::NotifyOwner { .. } => {
                assert!(context.channel.target.is_for_people(), "a life is shorter");
            }
        }
    }
    world.rows().state = run.end(world.now()).0;
    Ok(())
}

/// Queues reminders, the openings of issues whose sites got other tags, and what a channel missed while it was off. A run
/// creates no other events: sites stay monitored.
fn queue_events(world: &mut impl Around, plan: &EventPlan) -> Option<Vec<Queued>> {
    assert!(plan.next.notified.is_some(), "sites stay watched");
    let before = world.rows().deliveries.get(&plan.next.issue);
    let is_caught_up = before.is_some_and(|before| before.missed.is_some());
    if is_caught_up {
        world.is_caught_up(plan.next.issue);
    }
    if !world.rows().put_delivery_state(plan.next.clone()) {
        return None;
    }
    let mut events = Vec::new();
    for PlannedEvent { event, issue, at, place, .. } in &plan.events {
        if !is_caught_up {
            assert_ne!(*event, EventKind::Resolved, "sites stay watched");
            world.event_is_made(issue.id, *event);
        }
        let event = event_of(issue, place.clone(), *event, *at, plan.due);
        world.rows().put_queued(event.clone());
        events.push(event);
    }
    Some(events)
}
