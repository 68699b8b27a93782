//! The timeline of an issue, newest entry first: checks, changes, what members did and wrote, and who was notified.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use vedette_domain::alerts::channel::EventKind;
use vedette_domain::alerts::notification::{Notification, NotificationOutcome};
use vedette_domain::input::Input as _;
use vedette_domain::issues::act::{Act, ActKind};
use vedette_domain::issues::input::NewNote;
use vedette_domain::issues::note::Note;
use vedette_domain::issues::{Responder, TimelineEntry, TimelineKey};

use super::IssueView;
use crate::checks::summary;
use crate::clock::Clock;
use crate::form::FormInput;
use crate::look::{Icon, Look};
use crate::words;

/// Notifications about one event within this time are one entry.
const TOGETHER: SignedDuration = SignedDuration::from_mins(2);

/// The timeline, with the form for a note.
pub(super) fn card(view: &IssueView<'_>, input: &FormInput) -> Markup {
    let entries = view.issue.timeline.entries().iter();
    let mut events: Vec<(Timestamp, Markup)> =
        entries.map(|entry| (entry.timestamp, changed(view, entry))).collect();
    events.extend(view.issue.notes.iter().map(|note| (note.at, written(view, note))));
    events.extend(view.issue.acts.iter().map(|act| (act.at, done(view, act))));
    events.extend(notified(&view.found.notifications, view.clock));
    events.extend(checks(view));
    events.sort_by_key(|(at, _)| Reverse(*at));
    html! {
        section.card {
            header { h2 { "Timeline" } }
            div.in { ol.time { @for (_, event) in &events { (event) } } }
            @if view.may_act {
                form.in.stack.gs.rule method="post" action={ "/issues/" (view.issue.id) "/note" } {
                    @for field in NewNote::FIELDS { (input.control(field)) }
                    div { button { "Add note" } }
                }
            }
        }
    }
}

/// An entry: its dot, what happened, and when.
fn entry(class: &str, dot: &Markup, what: &Markup, at: &Markup) -> Markup {
    html! {
        li class=(class) {
            span.dot { (dot) }
            div { (what) }
            (at)
        }
    }
}

/// The last good check and the first failed one.
fn checks(view: &IssueView<'_>) -> Vec<(Timestamp, Markup)> {
    let mut events = Vec::new();
    let (first, opened_at) = (view.problem.began_at, view.problem.opened_at);
    if first < opened_at {
        let what = html! { p { b { "First failed check" } } };
        events.push((
            first,
            entry("failing", &Look::Failing.shape(), &what, &view.clock.second(first)),
        ));
    }
    let good = view.found.checks.last_good.and_then(|id| view.found.checks.read.get(&id));
    if let Some(good) = good {
        let at = good.id.created_at();
        let what = html! { p { a href={ "/checks/" (good.id) } { b { "Last good check" } } ": " (summary(good)) } };
        events.push((at, entry("up", &Look::Up.shape(), &what, &view.clock.second(at))));
    }
    events
}

fn changed(view: &IssueView<'_>, of: &TimelineEntry) -> Markup {
    let (look, word) = match of.key {
        TimelineKey::Opened => (Look::from(view.issue.severity()), "opened the issue"),
        TimelineKey::Acknowledged => (Look::Info, "acknowledged it"),
        TimelineKey::Resolved => (Look::Up, "resolved it"),
    };
    // What this opening said, whatever the issue says now.
    let opening = view.found.opening(of.timestamp).filter(|_| of.key == TimelineKey::Opened);
    let what = html! {
        p {
            @match of.by {
                Some(by) => (responder(view, by)),
                None => b { "A check" },
            }
            " " (word)
        }
        @if let Some(opening) = opening {
            p.quiet.small {
                a href={ "/checks/" (opening.check) } { (words::named(&view.told(opening), view.monitor)) }
            }
        }
    };
    entry(look.class(), &look.shape(), &what, &view.clock.second(of.timestamp))
}

/// A member, or the readers of a channel, which has sent a message about the issue.
fn responder(view: &IssueView<'_>, by: Responder) -> Markup {
    match by {
        Responder::Member(user) => view.name_of(user),
        Responder::Reader { channel } => {
            let sent = view.found.notifications.iter().find(|sent| sent.channel == channel);
            html! {
                b { "A reader" } " of "
                @match sent { Some(sent) => { "the channel " b { bdi { (sent.name) } } }, None => "a channel" }
            }
        }
    }
}

fn written(view: &IssueView<'_>, note: &Note) -> Markup {
    let what = html! { p { (view.name_of(note.by)) " added a note" } p.quote.text { (note.text) } };
    entry("paused", &Icon::Note.shape(), &what, &view.clock.second(note.at))
}

fn done(view: &IssueView<'_>, act: &Act) -> Markup {
    let what = html! {
        p {
            @match act.by {
                Some(by) => (responder(view, by)),
                None => b { "The operator" },
            }
            @match act.kind {
                ActKind::Snoozed(until) => { " paused reminders until " (view.clock.instant(until)) }
                ActKind::Unsnoozed => " resumed reminders",
                ActKind::Unacknowledged => " undid the acknowledgement",
            }
        }
    };
    entry("paused", &Icon::Moon.shape(), &what, &view.clock.second(act.at))
}

/// Who was notified: one entry for all channels that were notified about an event at about the same time.
fn notified(notifications: &[Notification], clock: Clock<'_>) -> Vec<(Timestamp, Markup)> {
    let belongs = |first: &Notification, other: &Notification| {
        first.event == other.event && first.at.duration_since(other.at) <= TOGETHER
    };
    let groups = notifications.chunk_by(|one, other| belongs(one, other));
    groups.filter_map(|group| Some((group.first()?.at, sent(group, clock)))).collect()
}

fn sent(group: &[Notification], clock: Clock<'_>) -> Markup {
    let of = |outcome| group.iter().rev().filter(move |sent| sent.outcome == outcome);
    let mut names: Vec<String> = Vec::new();
    for Notification { name, .. } in of(NotificationOutcome::Sent) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let event = group.first().map(|sent| sent.event);
    let about = match event {
        Some(EventKind::Opened) | None => "",
        Some(EventKind::Resolved) => " that it is resolved",
        Some(EventKind::Reminder) => " again",
        Some(EventKind::Acknowledged) => " that it is acknowledged",
    };
    let mut missing: Vec<(&Notification, usize)> = Vec::new();
    for sent in of(NotificationOutcome::Failed).chain(of(NotificationOutcome::Held)) {
        let is_same = |known: &Notification| {
            (&known.name, known.outcome, &known.why) == (&sent.name, sent.outcome, &sent.why)
        };
        match missing.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, attempts)) => *attempts += 1,
            None => missing.push((sent, 1)),
        }
    }
    let what = html! {
        @if !names.is_empty() { p { b { "Vedette" } " notified " bdi { (words::listed(&names)) } (about) } }
        @for (Notification { name, outcome, why, .. }, attempts) in missing {
            p {
                @match outcome {
                    NotificationOutcome::Held => "Notification waits for ",
                    _ => "Could not notify ",
                }
                b { bdi { (name) } }
                @if let Some(why) = why { ": " bdi { (why) } }
                @if attempts > 1 { " (" (attempts) " attempts)" }
            }
        }
    };
    let at = group.first().map_or(Timestamp::UNIX_EPOCH, |sent| sent.at);
    let class = if names.len() < group.len() { "issues" } else { "paused" };
    entry(class, &Icon::Bell.shape(), &what, &clock.second(at))
}

#[cfg(test)]
mod tests {
    use vedette_domain::id::{ChannelId, IssueId, SiteId};
    use vedette_domain::issues::Fingerprint;

    use super::*;

    #[test]
    fn notifications_about_one_event_are_one_entry() {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let notification =
            |second: i64, name: &str, event, outcome, why: Option<&str>| Notification {
                issue: IssueId::new(site, Fingerprint::StatusDown, Timestamp::UNIX_EPOCH),
                channel: ChannelId(site.0),
                name: name.to_owned(),
                event,
                at: Timestamp::from_second(second).expect("a timestamp"),
                outcome,
                why: why.map(str::to_owned),
            };
        use EventKind::{Opened, Resolved};
        use NotificationOutcome::{Failed, Held, Sent};
        let newest_first = [
            notification(500, "Mail", Resolved, Held, Some("no mail server answers")),
            notification(60, "Ops", Opened, Failed, Some("HTTP 500 <b>")),
            notification(45, "Ops", Opened, Failed, Some("HTTP 500 <b>")),
            notification(31, "Mail", Opened, Sent, None),
            notification(30, "Chat", Opened, Sent, None),
        ];
        let told = notified(&newest_first, Clock::new(Timestamp::UNIX_EPOCH, None, None));
        assert_eq!(told.iter().map(|(at, _)| at.as_second()).collect::<Vec<_>>(), [500, 60]);
        let told: String = told.into_iter().map(|(_, entry)| entry.into_string()).collect();
        for part in [
            "Notification waits for <b><bdi>Mail</bdi></b>: <bdi>no mail server answers</bdi>",
            "notified <bdi>Chat and Mail</bdi></p>",
            "Could not notify <b><bdi>Ops</bdi></b>: <bdi>HTTP 500 &lt;b&gt;</bdi> (2 attempts)</p>",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}
