//! The recipients of channels: what they know, and what they are owed. They notice at once when they receive something
//! that is not owed to them, and soon when they do not receive what is.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::alerts::AlertKind;
use vedette_domain::alerts::channel::{Channel, EventKind};
use vedette_domain::issues::Fingerprint;
use vedette_domain::sites::settings::{Escalation, QuietTime};

use crate::lives::Counts;
use crate::truth::{Truth, awaits_a_reminder, is_quiet, passed_a_reminder};

/// An issue: the number of its site, and its fingerprint.
pub(crate) type Key = (usize, Fingerprint);
pub(crate) type Truths = BTreeMap<Key, Truth>;

/// Waits after each failure in a row, in seconds: for people, and for programs.
const WAITS: [&[i64]; 2] = [
    &[5, 30, 120, 300, 900, 3_600, 10_800],
    &[5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400],
];

/// What a reader knows about an issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Mind {
    /// The opening that the reader takes to be active.
    knows: Option<Timestamp>,
    /// The last opening that the reader knows to be over.
    over: Option<Timestamp>,
    /// When the reader was last notified of an opening or with a reminder.
    notified_at: Timestamp,
    /// Whether an outage has ended of which the reader was to be notified.
    has_missed: bool,
}

#[derive(Debug, Default)]
struct Place {
    mind: Mind,
    /// The same according to the service, which may have died before it saved what it sent.
    saved: Mind,
    owed_since: Option<Timestamp>,
    /// Whether a program misses something of the issue since it was off.
    misses: bool,
    /// Transitions that a program must receive, and how many it has received.
    expected: Vec<(EventKind, Timestamp)>,
    received: usize,
    ids: BTreeSet<String>,
    /// Reminders that were created and have not arrived.
    reminders: BTreeSet<Timestamp>,
}

impl Place {
    /// Whether the last event for a program was this opening.
    fn expects_end_of(&self, truth: &Truth) -> bool {
        self.expected.last() == Some(&(EventKind::Opened, truth.opened_at))
    }
}

/// How a receiver has answered recently.
#[derive(Debug, Default, Clone, Copy)]
struct Patience {
    failures: usize,
    not_before: Timestamp,
}

/// The reader of a channel.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    places: BTreeMap<Key, Place>,
    patience: BTreeMap<Option<String>, Patience>,
    /// The patience for people when the pass began: all that the service knows about it if it dies.
    patience_before: Option<Patience>,
    /// The time by which it must have been asked again, however it has failed.
    asked_again_by: Timestamp,
    /// The state of all issues, as far as the current pass has read it.
    seen: Truths,
    in_pass: Vec<(Key, Option<String>)>,
    unsaved: BTreeSet<String>,
    sent: BTreeMap<AlertKind, Vec<Timestamp>>,
    pub(crate) counts: Counts,
}

/// What matters besides the issue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) channel: &'a Channel,
    /// The sites that channels with a selector are about.
    pub(crate) tagged: &'a BTreeSet<usize>,
    pub(crate) quiet_time: &'a QuietTime,
    pub(crate) escalation: &'a Escalation,
    pub(crate) now: Timestamp,
}

impl Scene<'_> {
    fn wants(&self, kind: EventKind) -> bool {
        let events = &self.channel.filter.events;
        events.is_empty() || events.contains(&kind)
    }

    /// Whether the channel is about the site of an issue.
    pub(crate) fn selects(&self, (place, _): Key) -> bool {
        self.channel.filter.selector.is_none() || self.tagged.contains(&place)
    }

    /// Whether people are to be notified of an opening now, if they do not know it: their channel may have a delay.
    fn announces(&self, truth: &Truth) -> bool {
        length(self.channel.filter.delay_minutes).is_none_or(|delay| {
            !truth.is_acknowledged
                && truth.opened_at + delay <= self.now
                && truth.snoozed_until.is_none_or(|until| until <= self.now)
        })
    }

    fn follows(&self, (_, fingerprint): Key, truth: &Truth) -> bool {
        let filter = &self.channel.filter;
        let tool = filter.tools.is_empty() || filter.tools.contains(&fingerprint.tool());
        let severity =
            filter.severities.is_empty() || filter.severities.contains(&fingerprint.severity());
        let since = self.channel.since.is_some_and(|since| since <= truth.opened_at);
        tool && severity && since && truth.opened_at > Timestamp::UNIX_EPOCH
    }

    /// What people who know this much must be told now.
    fn owed(&self, key: Key, truth: &Truth, mind: Mind) -> Option<AlertKind> {
        if is_quiet(self.quiet_time, self.now) || !self.follows(key, truth) {
            return None;
        }
        // Those who know of an opening are notified of everything until the issue is over.
        if mind.knows.is_none() && !self.selects(key) {
            return None;
        }
        let opened_at = Some(truth.opened_at);
        if !truth.is_active {
            return if mind.over == opened_at || !self.wants(EventKind::Resolved) {
                None
            } else if mind.knows.is_some() || !self.wants(EventKind::Opened) {
                Some(AlertKind::Resolved)
            } else {
                mind.has_missed.then_some(AlertKind::Missed)
            };
        }
        if self.wants(EventKind::Opened) && mind.knows != opened_at {
            return (self.selects(key) && self.announces(truth)).then_some(AlertKind::Opened);
        }
        self.owes_reminder(truth, mind.notified_at).then_some(AlertKind::Reminder)
    }

    /// The same, unless the process died before it saved what it had sent, and nothing more is due according to what is
    /// saved: with a delay, an acknowledgement may come before the alert is sent again.
    fn owed_for_certain(&self, key: Key, truth: &Truth, place: &Place) -> Option<AlertKind> {
        self.owed(key, truth, place.saved)?;
        self.owed(key, truth, place.mind)
    }

    /// Whether a program must be notified of an opening that its channel was not about at first.
    fn owes_opening(&self, key: Key, truth: &Truth, place: &Place) -> bool {
        truth.is_active
            && self.selects(key)
            && self.follows(key, truth)
            && !place.expects_end_of(truth)
    }

    fn owes_reminder(&self, truth: &Truth, notified_at: Timestamp) -> bool {
        let after = notified_at.max(truth.opened_at);
        truth.is_active
            && self.wants(EventKind::Reminder)
            && truth.snoozed_until.is_none_or(|until| until <= self.now)
            && match length(self.channel.filter.repeat_minutes) {
                Some(repeat) => !truth.is_acknowledged && after + repeat <= self.now,
                None => passed_a_reminder(self.escalation, truth.opened_at, after, self.now),
            }
    }
}

/// A number of minutes.
fn length(minutes: Option<NonZeroU32>) -> Option<SignedDuration> {
    minutes.map(|minutes| SignedDuration::from_mins(minutes.get().into()))
}

impl Reader {
    /// A pass begins to send after it has read the current state.
    pub(crate) fn begin_pass(&mut self, truths: &Truths) {
        self.seen.clone_from(truths);
        self.patience_before = self.patience.get(&None).copied();
    }

    /// The sent messages are saved, or the process died before that.
    pub(crate) fn end_pass(&mut self, is_saved: bool) {
        if let Some(patience) = self.patience_before.take().filter(|_| !is_saved) {
            self.patience.insert(None, patience);
        }
        for (key, id) in std::mem::take(&mut self.in_pass) {
            let place = self.places.entry(key).or_default();
            match id {
                Some(id) if !is_saved => drop(self.unsaved.insert(id)),
                Some(_) => {}
                None if is_saved => place.saved = place.mind,
                None => {}
            }
        }
    }

    /// People are asked, or a program is asked to accept an event. This must not happen too early.
    pub(crate) fn is_asked(&self, event: Option<&str>, now: Timestamp) {
        let event = event.map(str::to_owned);
        let not_before = self.patience.get(&event).map_or(now, |patience| patience.not_before);
        assert!(not_before <= now, "asked at {now}, and not from {not_before} on");
    }

    /// The receiver does not accept a message.
    pub(crate) fn fails(
        &mut self,
        event: Option<&str>,
        asked: Option<SignedDuration>,
        now: Timestamp,
    ) {
        self.counts.add("failures", 1_u64);
        let waits = WAITS[usize::from(event.is_some())];
        let patience = self.patience.entry(event.map(str::to_owned)).or_default();
        let [least, most] = match asked {
            Some(asked) => [asked.max(SignedDuration::from_secs(5)); 2],
            None => {
                let wait = waits[patience.failures.min(waits.len() - 1)];
                patience.failures += 1;
                [800, 1_200].map(|share| SignedDuration::from_millis(wait * share))
            }
        };
        patience.not_before = now + least;
        self.asked_again_by = self.asked_again_by.max(now + most);
    }

    /// People read an alert.
    pub(crate) fn hear(&mut self, scene: Scene<'_>, kind: AlertKind, keys: &[Key]) {
        let now = scene.now;
        assert!(!keys.is_empty(), "an alert of nothing that its readers know");
        self.patience.remove(&None);
        self.counts.add("alerts", 1_u64);
        self.counts.add("collections", keys.len() > 1);
        let sent = self.sent.entry(kind).or_default();
        sent.retain(|at| now.duration_since(*at) < SignedDuration::from_secs(60));
        sent.push(now);
        assert!(sent.len() <= 6, "a storm of {kind:?}");
        assert!(!is_quiet(scene.quiet_time, now), "{kind:?} in quiet time");
        for key in keys {
            let truth = &self.seen[key];
            let place = self.places.entry(*key).or_default();
            let owed = [place.mind, place.saved].map(|mind| scene.owed(*key, truth, mind));
            assert!(owed.contains(&Some(kind)), "{kind:?} of {key:?}, where {owed:?} is owed");
            self.counts.add("repetitions", owed[0] != Some(kind));
            self.counts.add("reminders", kind == AlertKind::Reminder);
            self.counts.add("missed outages", kind == AlertKind::Missed);
            let opened_at = Some(truth.opened_at);
            place.owed_since = None;
            let before = place.mind;
            let over = before.over.filter(|over| Some(*over) != opened_at);
            place.mind = match kind {
                AlertKind::Opened => {
                    Mind { knows: opened_at, over, notified_at: now, has_missed: false }
                }
                AlertKind::Reminder => Mind { notified_at: now, ..before },
                _ => Mind { knows: None, over: opened_at, has_missed: false, ..before },
            };
            if owed[0] == Some(kind) && place.saved != before {
                // The previous death was before the send.
                place.saved = before;
            }
            self.in_pass.push((*key, None));
        }
    }

    /// An issue opened, or ended at that time.
    pub(crate) fn expect(
        &mut self,
        scene: Scene<'_>,
        key: Key,
        truth: &Truth,
        ended_at: Option<Timestamp>,
    ) {
        let is_off = scene.channel.disabled.is_some();
        let kind = if ended_at.is_some() { EventKind::Resolved } else { EventKind::Opened };
        if !scene.follows(key, truth) {
            return;
        }
        if scene.channel.target.is_for_people() {
            self.expect_for_people(scene, key, truth, ended_at);
        } else if scene.wants(kind) {
            let place = self.places.entry(key).or_default();
            let is_wanted = match kind {
                // Once something is missed, everything that follows is sent.
                EventKind::Opened => scene.selects(key) || is_off && place.misses,
                _ => !scene.wants(EventKind::Opened) || place.expects_end_of(truth),
            };
            place.misses |= is_off && is_wanted;
            if is_wanted {
                place.expected.push((kind, truth.opened_at));
            }
        }
    }

    /// People do not need to hear of an outage that opens while their channel is not about the site, unless an earlier
    /// one still needs to be sent, nor of one that ends within the delay.
    fn expect_for_people(
        &mut self,
        scene: Scene<'_>,
        key: Key,
        truth: &Truth,
        ended_at: Option<Timestamp>,
    ) {
        let Place { mind, saved, .. } = self.places.entry(key).or_default();
        let opened_at = Some(truth.opened_at);
        for mind in [mind, saved] {
            let delay = length(scene.channel.filter.delay_minutes);
            match ended_at {
                None if !scene.selects(key) && !mind.has_missed && mind.knows.is_none() => {
                    mind.over = opened_at;
                }
                Some(ended_at) if mind.knows.is_none() => {
                    let is_announced = delay.is_none_or(|delay| {
                        !truth.is_acknowledged && truth.opened_at + delay <= ended_at
                    });
                    mind.has_missed |= is_announced && mind.over != opened_at;
                    // Unless the channel is off, everything that is over is forgotten with the tags of its end.
                    mind.has_missed &= scene.selects(key) || scene.channel.disabled.is_some();
                }
                _ => {}
            }
        }
    }

    /// People are about to be notified of an opening at which their channel was not about the site.
    pub(crate) fn is_included(&mut self, key: Key) {
        let place = self.places.entry(key).or_default();
        (place.mind.over, place.saved.over) = (None, None);
    }

    /// What a program missed of an issue while it was off is queued. Its reminders count from then on.
    pub(crate) fn is_caught_up(&mut self, key: Key, now: Timestamp) {
        let place = self.places.entry(key).or_default();
        (place.mind.notified_at, place.misses) = (now, false);
    }

    /// The channel is enabled again, so its receiver is asked at once.
    pub(crate) fn is_enabled(&mut self) {
        self.patience.clear();
        self.places.values_mut().for_each(|place| place.owed_since = None);
    }

    /// Whether the service certainly knows what the reader was notified of about a site.
    pub(crate) fn is_certain(&self, place: usize) -> bool {
        let mut here = self.places.iter().filter(|(key, _)| key.0 == place);
        here.all(|(_, place)| place.mind == place.saved)
    }

    /// The tags of a site change, and an issue of it is over: nobody who has not been notified of it will be.
    pub(crate) fn hears_no_more(&mut self, key: Key, opened_at: Timestamp) {
        let Some(place) = self.places.get_mut(&key) else { return };
        for mind in [&mut place.mind, &mut place.saved] {
            (mind.over, mind.has_missed) = (Some(opened_at), false);
        }
    }

    /// The event for a program of an active issue, after its site has got tags that match.
    pub(crate) fn opening_is_made(&mut self, scene: Scene<'_>, key: Key) {
        let truth = &self.seen[&key];
        let place = self.places.entry(key).or_default();
        assert!(scene.owes_opening(key, truth, place), "an opening of {key:?} that is not owed");
        place.expected.push((EventKind::Opened, truth.opened_at));
        place.mind.notified_at = scene.now;
        self.counts.add("late openings", 1_u64);
    }

    /// A reminder is created for a program.
    pub(crate) fn reminder_is_made(&mut self, scene: Scene<'_>, key: Key) {
        let truth = &self.seen[&key];
        let place = self.places.entry(key).or_default();
        let is_owed = scene.owes_reminder(truth, place.mind.notified_at);
        assert!(is_owed, "a reminder of {key:?} that is not owed");
        place.mind.notified_at = scene.now;
        place.reminders.insert(scene.now);
        self.counts.add("reminders", 1_u64);
    }

    /// A program accepts an event.
    pub(crate) fn take(
        &mut self,
        scene: Scene<'_>,
        key: Key,
        (kind, id): (EventKind, &str),
        opened_at: Timestamp,
    ) {
        self.patience.remove(&Some(id.to_owned()));
        self.counts.add("events", 1_u64);
        assert!(!is_quiet(scene.quiet_time, scene.now), "{kind:?} in quiet time");
        let place = self.places.entry(key).or_default();
        let is_new = place.ids.insert(id.to_owned());
        let is_repeated = self.unsaved.remove(id);
        self.counts.add("repetitions", is_repeated);
        assert!(is_new || is_repeated, "{kind:?} of {key:?} sent twice");
        self.in_pass.push((key, Some(id.to_owned())));
        if kind == EventKind::Reminder {
            place.reminders.pop_first();
            let last = place.expected[..place.received].last();
            let is_active = last.is_none_or(|last| *last == (EventKind::Opened, opened_at));
            assert!(!scene.wants(EventKind::Opened) || last.is_some(), "reminded, never told");
            assert!(is_active, "reminded of {opened_at} after {last:?}");
        } else if is_new {
            let next = place.expected.get(place.received);
            assert_eq!(next, Some(&(kind, opened_at)), "the next event of {key:?}");
            place.received += 1;
            if kind == EventKind::Resolved {
                // This event has overtaken them.
                place.reminders.clear();
            }
        }
    }

    /// Whether nothing is owed for longer than allowed.
    pub(crate) fn is_told_in_time(
        &mut self,
        scene: Scene<'_>,
        truths: &Truths,
        longest: SignedDuration,
    ) {
        let now = scene.now;
        for (key, truth) in truths {
            let Some(place) = self.places.get_mut(key) else { continue };
            let owed = if scene.channel.target.is_for_people() {
                scene.owed_for_certain(*key, truth, place).map(|kind| format!("{kind:?}"))
            } else if is_quiet(scene.quiet_time, now) || !self.patience.is_empty() {
                // An event that failed before waits until quiet time ends, according to the settings at that time.
                None
            } else if let Some(next) = place.expected.get(place.received) {
                Some(format!("{next:?}"))
            } else {
                let is_owed = scene.follows(*key, truth)
                    && (place.expects_end_of(truth) || !scene.wants(EventKind::Opened))
                    && scene.owes_reminder(truth, place.mind.notified_at);
                let is_opening_owed = scene.owes_opening(*key, truth, place);
                let owed = is_owed.then_some("a reminder");
                owed.or(is_opening_owed.then_some("an opening")).map(str::to_owned)
            };
            if owed.is_none() || now < self.asked_again_by + longest {
                place.owed_since = None;
                continue;
            }
            let since = *place.owed_since.get_or_insert(now);
            let name = &scene.channel.name;
            assert!(
                now.duration_since(since) <= longest,
                "{name} is owed {owed:?} of {key:?} since {since}: {truth:?} {:?}",
                place.mind,
            );
        }
    }

    /// Whether nothing will ever be due to the reader for an issue in this state.
    pub(crate) fn may_rest(&self, scene: Scene<'_>, key: Key, truth: &Truth) -> bool {
        let Some(place) = self.places.get(&key) else { return true };
        let is_aware = match truth.is_active {
            true => place.mind.knows == Some(truth.opened_at),
            false => place.mind.knows.is_none(),
        };
        if !is_aware && scene.wants(EventKind::Opened) {
            return !scene.channel.target.is_for_people()
                || !scene.follows(key, truth)
                || !scene.selects(key)
                || truth.is_acknowledged && scene.channel.filter.delay_minutes.is_some();
        }
        let after = place.mind.notified_at.max(truth.opened_at);
        let awaits = match scene.channel.filter.repeat_minutes {
            Some(_) => !truth.is_acknowledged,
            None => awaits_a_reminder(scene.escalation, truth.opened_at, after),
        };
        !(truth.is_active && scene.wants(EventKind::Reminder) && awaits)
    }

    /// Starts to track an issue, even if the reader does not know it yet.
    pub(crate) fn follow(&mut self, key: Key) {
        self.places.entry(key).or_default();
    }

    /// Compares the reader's final knowledge with the current state.
    pub(crate) fn judge(&self, scene: Scene<'_>, truths: &Truths) {
        for (key, truth) in truths {
            let Some(place) = self.places.get(key) else { continue };
            let name = &scene.channel.name;
            if scene.channel.target.is_for_people() {
                let owed = scene.owed_for_certain(*key, truth, place);
                assert_eq!(owed, None, "{name} is owed this of {key:?} in the end");
                if place.mind != place.saved {
                    continue;
                }
                let is_left_alone =
                    truth.is_acknowledged && scene.channel.filter.delay_minutes.is_some();
                let is_about = scene.selects(*key) && !is_left_alone || place.mind.knows.is_some();
                if scene.wants(EventKind::Opened) && scene.follows(*key, truth) && is_about {
                    assert_eq!(place.mind.knows.is_some(), truth.is_active, "{name} of {key:?}");
                }
            } else {
                assert_eq!(place.received, place.expected.len(), "{name} of {key:?}");
                let overtaken = place.expected.last().map(|last| last.0);
                let is_over = overtaken == Some(EventKind::Resolved) || !truth.is_active;
                assert!(place.reminders.is_empty() || is_over, "a reminder of {key:?} is lost");
            }
        }
    }
}
