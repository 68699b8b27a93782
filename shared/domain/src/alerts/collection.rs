//! One alert about many issues. It names as many of them as fit into every channel.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::Timestamp;

use super::channel::{Room, discord, slack, teams};
use super::compose::{AlertSubject, active};
use super::text::{cut, one_line};
use super::{Alert, AlertKind, Fact, Link, link};
use crate::id::MonitorId;
use crate::issues::mass_outage::in_common;
use crate::monitor::Monitor;

/// An alert about many issues. The reader learns only about the issues that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collection {
    /// What the alert says.
    pub(crate) alert: Alert,
    /// How many of the issues it names: the first ones, at least one. The others are not covered by it.
    pub(crate) named: usize,
}

/// What all issues of a collection have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Collecting {
    /// The kind of news about them.
    pub(crate) kind: AlertKind,
    /// Whether the message before it did not have room for all of them.
    pub(crate) continues: bool,
}

/// The most issues that an alert names.
const NAMED_MAX: usize = 50;
/// The longest that the lines with the names may be together, in the units of kinds without a room of their own.
const NAMED_SIZE: usize = 2_900;
/// Room for the line that says how many more there are.
const MORE_SIZE: usize = 100;
/// The longest address of a site that shares its name with another one.
const ADDRESS_SIZE: usize = 200;

// If a channel cut off names, people would miss them. The last line says how many more there are.
const _: () = assert!(NAMED_SIZE + MORE_SIZE <= slack::SECTION);
const _: () = assert!(NAMED_SIZE + MORE_SIZE <= discord::TEXT);
// A UTF-16 unit takes at most three bytes.
const _: () = assert!(3 * (NAMED_SIZE + 600) <= teams::TEXTS);
const _: () = assert!(NAMED_MAX + 5 <= teams::COUNT);

/// The size of a character in the channel that has the least room, of those without a room of their own.
fn common_size(c: char) -> usize {
    slack::size(c).max(discord::size(c))
}

/// One alert about at least two issues with the same kind of news, for a channel with this room.
pub(crate) fn collect(
    subjects: &[AlertSubject<'_>],
    collecting: Collecting,
    room: Room,
    now: Timestamp,
) -> Collection {
    let Collecting { kind, continues } = collecting;
    let monitors: Monitors =
        subjects.iter().map(|subject| (subject.monitor.id(), subject.monitor)).collect();
    let mut fingerprints = subjects.iter().map(|subject| subject.issue.id.fingerprint());
    let first = fingerprints.next();
    let word = first.filter(|first| fingerprints.all(|other| other == *first)).map(active);
    let more = if continues { "more " } else { "" };
    let counted = |count: usize, more: &str, what: &str| match count {
        1 => format!("1 {more}{what}"),
        count => format!("{count} {more}{what}s"),
    };
    let name = if word.is_some() && monitors.len() == subjects.len() {
        counted(monitors.len(), more, what(&monitors))
    } else {
        let issues = counted(subjects.len(), more, "issue");
        format!("{issues} on {}", counted(monitors.len(), "", what(&monitors)))
    };
    let mut lines = named(subjects, kind, room, now);
    let named = lines.len();
    lines.extend(match subjects.len() - named {
        0 => None,
        1 => Some("1 more follows in the next message.".to_owned()),
        left => Some(format!("{left} more follow in the next message.")),
    });
    let severity = subjects.iter().map(|subject| subject.issue.severity()).min();
    let first = subjects.first();
    let base = first.and_then(|subject| Some((subject.base_url?, subject.monitor.team())));
    let team = first.map_or("", |subject| subject.team.name.as_str());
    let alert = Alert {
        kind,
        state: state(kind, word, subjects),
        name,
        lines,
        facts: common(&monitors, subjects)
            .into_iter()
            .chain([Fact { label: "Team", value: team.to_owned() }])
            .collect(),
        severity: severity.filter(|_| !kind.is_over()),
        site_url: None,
        link: base.map(|(base, team)| Link { text: "All events", url: link::events(base, team) }),
        respond: None,
        runbook: None,
        thread: None,
        at: now,
    };
    Collection { alert, named }
}

type Monitors<'a> = BTreeMap<MonitorId, &'a Monitor>;

/// What these monitors are.
fn what(monitors: &Monitors<'_>) -> &'static str {
    let heartbeats = monitors.values().filter(|monitor| monitor.heartbeat().is_some()).count();
    match heartbeats {
        0 => "site",
        _ if heartbeats == monitors.len() => "heartbeat",
        _ => "monitor",
    }
}

/// What most of these monitors have in common: tags, and the address at which they failed.
fn common(monitors: &Monitors<'_>, subjects: &[AlertSubject<'_>]) -> Option<Fact> {
    let all = monitors.len();
    let tags = in_common(all, monitors.values().flat_map(|monitor| monitor.tags())).into_iter();
    let tags = tags.map(|(tag, count)| (tag.to_string(), count));
    let addresses: BTreeMap<MonitorId, IpAddr> = subjects
        .iter()
        .filter_map(|subject| Some((subject.monitor.id(), subject.issue.address?)))
        .collect();
    let addresses = in_common(all, addresses.into_values()).into_iter();
    let addresses = addresses.map(|(address, count)| (format!("address {address}"), count));
    let named = tags.chain(addresses).map(|(what, count)| match count == all {
        true => what,
        false => format!("{what} ({count} of {all})"),
    });
    let value = named.collect::<Vec<_>>().join(", ");
    (!value.is_empty()).then_some(Fact { label: "In common", value })
}

/// The current state in capitals: `word` describes each issue, if all have the same.
fn state(kind: AlertKind, word: Option<&str>, subjects: &[AlertSubject<'_>]) -> String {
    let stopped = subjects.iter().filter(|subject| subject.ended.is_some()).count();
    match (kind, word) {
        (AlertKind::Resolved, _) if stopped == 0 => "RESOLVED".to_owned(),
        (AlertKind::Resolved, _) if stopped == subjects.len() => "MONITORING STOPPED".to_owned(),
        (AlertKind::Resolved, _) => "CLOSED".to_owned(),
        (AlertKind::Reminder, Some(word)) => format!("STILL {word}"),
        (AlertKind::Reminder, None) => "STILL OPEN".to_owned(),
        (AlertKind::Missed, Some(word)) => format!("WAS {word}"),
        (AlertKind::Missed, None) => "OPENED AND RESOLVED".to_owned(),
        (_, Some(word)) => word.to_owned(),
        (_, None) => "OPENED".to_owned(),
    }
}

/// A line for each of the first issues, as long as there is room.
fn named(
    subjects: &[AlertSubject<'_>],
    kind: AlertKind,
    room: Room,
    now: Timestamp,
) -> Vec<String> {
    let (most, size_of): (usize, fn(char) -> usize) = match room {
        Room::Common => (NAMED_SIZE, common_size),
        Room::Own { size, size_of } => (size - MORE_SIZE, size_of),
    };
    let mut named_so: BTreeMap<String, BTreeSet<MonitorId>> = BTreeMap::new();
    for AlertSubject { monitor, .. } in subjects {
        named_so.entry(one_line(monitor.name())).or_default().insert(monitor.id());
    }
    let (mut free, line_break) = (most, size_of('\n'));
    let mut lines = Vec::new();
    for subject in subjects.iter().take(NAMED_MAX) {
        let mut name = one_line(subject.monitor.name());
        if name.is_empty() || named_so.get(&name).is_some_and(|sites| sites.len() > 1) {
            let address = match subject.monitor {
                Monitor::Site(site) => site.url.as_str(),
                Monitor::Heartbeat(heartbeat) => &heartbeat.slug,
            };
            let address = cut(address, ADDRESS_SIZE, size_of);
            name = format!("{name} ({address})");
        }
        let line = one_line(&format!("{name}: {}", said(subject, kind, now)));
        let line = cut(&line, most - line_break, size_of);
        let size = line.chars().map(size_of).sum::<usize>();
        let Some(left) = free.checked_sub(size + line_break) else { break };
        free = left;
        lines.push(line);
    }
    lines
}

/// The line about an issue.
fn said(subject: &AlertSubject<'_>, kind: AlertKind, now: Timestamp) -> String {
    if let Some(stopped) = subject.stopped() {
        return one_line(&stopped);
    }
    if kind.is_over() {
        return format!("resolved{}. {}", subject.end(now), subject.past_problem());
    }
    let mut said = subject.problem();
    if kind == AlertKind::Reminder {
        let by = subject.acknowledged_by().map(|by| format!(" {by}")).unwrap_or_default();
        said =
            format!("{said} Since {}.{by}", subject.zone.minute(subject.issue.first_failed_at()));
    }
    said
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::accounts::plan::Plan;
    use crate::accounts::team::Team;
    use crate::alerts::channel::{
        ChannelKind, google_chat, gotify, matrix, mattermost, ntfy, pushover, telegram,
    };
    use crate::alerts::text::unmentioned;
    use crate::id::{SiteId, TeamId};
    use crate::issues::Fingerprint;
    use crate::issues::record::Issue;
    use crate::sites::site::Site;
    use crate::sites::site_url::SiteUrl;
    use crate::sites::tag::Tag;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    /// A site of this name with an issue of this summary.
    fn subject(number: u128, name: &str, summary: &str) -> (Monitor, Issue) {
        let id = SiteId(Uuid::from_u128(number << 64 | 0x8000 << 48 | number));
        let url = SiteUrl::parse(&format!("https://example.com/{number}")).expect("a URL");
        let mut site = Site::new(id, TeamId(Uuid::from_u128(7)), url, at(0));
        name.clone_into(&mut site.name);
        let issue = Issue {
            summary: summary.to_owned(),
            ..Issue::opened(id, Fingerprint::StatusDown, at(0))
        };
        (site.into(), issue)
    }

    fn collected(of: &[(Monitor, Issue)], kind: AlertKind, continues: bool) -> Collection {
        collected_in(Room::Common, of, kind, continues)
    }

    fn collected_in(
        room: Room,
        of: &[(Monitor, Issue)],
        kind: AlertKind,
        continues: bool,
    ) -> Collection {
        let team = Team::new(TeamId(Uuid::from_u128(7)), "Ops", Plan::Starter, at(0));
        let subjects: Vec<_> = of
            .iter()
            .map(|(site, issue)| AlertSubject {
                issue,
                monitor: site,
                team: &team,
                zone: &team.zone,
                acknowledged_by: None,
                resolved_by: None,
                base_url: Some("https://monitor.test"),
                ended: None,
                channel: None,
            })
            .collect();
        collect(&subjects, Collecting { kind, continues }, room, at(720))
    }

    fn shops(count: u128) -> Vec<(Monitor, Issue)> {
        let summary = "example.com is down: HTTP 503 Service Unavailable";
        (0..count).map(|number| subject(number, &format!("Shop {number}"), summary)).collect()
    }

    #[test]
    fn sites_beyond_the_size_of_a_message_are_counted() {
        let few = collected(&shops(3), AlertKind::Opened, false);
        assert_eq!((few.alert.title().as_str(), few.named), ("DOWN: 3 sites", 3));
        let line = "Shop 0: example.com is down: HTTP 503 Service Unavailable.";
        assert_eq!((few.alert.lines[0].as_str(), few.alert.lines.len()), (line, 3));
        let many = collected(&shops(200), AlertKind::Opened, false);
        assert_eq!(many.alert.title(), "DOWN: 200 sites");
        assert_eq!(many.alert.lines.len(), many.named + 1);
        let left = format!("{} more follow in the next message.", 200 - many.named);
        assert_eq!(many.alert.lines.last(), Some(&left));
        let rest = collected(&shops(200)[many.named..], AlertKind::Opened, true);
        let title = format!("DOWN: {} more sites", 200 - many.named);
        assert_eq!(rest.alert.title(), title);
        let link = many.alert.link.expect("a link");
        let list = "https://monitor.test/teams/00000000-0000-0000-0000-000000000007/events";
        assert_eq!(link.url, list);
    }

    #[test]
    fn an_alert_about_many_sites_says_what_most_of_them_have_in_common() {
        let facts = |sites: &[&str]| {
            let mut shops = shops(sites.len() as u128);
            for ((monitor, _), tags) in shops.iter_mut().zip(sites) {
                let Monitor::Site(site) = monitor else { continue };
                let tags = tags.split_whitespace().map(|tag| Tag::parse(tag).expect("a tag"));
                site.tags = tags.collect();
            }
            let facts = collected(&shops, AlertKind::Opened, false).alert.facts;
            let common = facts.into_iter().find(|fact| fact.label == "In common");
            common.map(|fact| fact.value)
        };
        let most = ["a b:1 c", "a b:1", "a b:1 c", "a b:1 c", "a c d"];
        assert_eq!(facts(&most).as_deref(), Some("a, b:1 (4 of 5), c (4 of 5)"));
        assert_eq!(facts(&["a b c d"; 5]).as_deref(), Some("a, b, c"));
        assert_eq!(facts(&["a", "a", "a", "b", "c"]), None, "three of five");
        assert_eq!(facts(&["a"; 4]), None, "few");
    }

    #[test]
    fn an_alert_about_many_sites_says_which_address_most_of_them_have() {
        let facts = |addresses: &[Option<u8>]| {
            let mut shops = shops(addresses.len() as u128);
            for ((_, issue), last) in shops.iter_mut().zip(addresses) {
                issue.address = last.map(|last| [203, 0, 113, last].into());
            }
            let facts = collected(&shops, AlertKind::Opened, false).alert.facts;
            facts.into_iter().find(|fact| fact.label == "In common").map(|fact| fact.value)
        };
        assert_eq!(facts(&[Some(7); 5]).as_deref(), Some("address 203.0.113.7"));
        let most = facts(&[Some(7), Some(7), None, Some(7), Some(7)]);
        assert_eq!(most.as_deref(), Some("address 203.0.113.7 (4 of 5)"));
        assert_eq!(facts(&[Some(7), Some(7), Some(7), Some(8), None]), None);
    }

    #[test]
    fn resolved_issues_are_described_as_resolved() {
        let over = collected(&shops(2), AlertKind::Resolved, false);
        let line = "Shop 0: resolved after 12 min. example.com was down: HTTP 503 Service \
                    Unavailable.";
        assert_eq!(
            (over.alert.title().as_str(), over.alert.lines[0].as_str()),
            ("RESOLVED: 2 sites", line)
        );
    }

    #[test]
    fn sites_of_one_name_are_told_apart() {
        let mut twins = shops(3);
        twins[2] = subject(2, "Shop  1", &twins[2].1.summary.clone());
        let lines = collected(&twins, AlertKind::Opened, false).alert.lines;
        assert!(lines[0].starts_with("Shop 0: "), "{lines:?}");
        assert!(lines[1].starts_with("Shop 1 (https://example.com/1): "), "{lines:?}");
        assert!(lines[2].starts_with("Shop 1 (https://example.com/2): "), "{lines:?}");
    }

    /// Looks for each line of an alert in the message that a channel shows.
    fn shows_all_lines(kind: ChannelKind, alert: &Alert) -> Result<(), TestCaseError> {
        let json =
            |bytes: Vec<u8>| -> serde_json::Value { serde_json::from_slice(&bytes).expect("JSON") };
        let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
        let in_one_text = |shown: String| {
            prop_assert_eq!(shown.lines().count(), alert.lines.len(), "{}", shown);
            // The last line is cut if there was no room.
            let last = alert.lines.last().map(|line| line.ends_with('…'));
            prop_assert_eq!(Some(shown.ends_with('…')), last);
            Ok(())
        };
        match kind {
            ChannelKind::Slack => {
                in_one_text(text(&json(slack::message(alert))["blocks"][1]["text"]["text"]))
            }
            ChannelKind::Discord => {
                in_one_text(text(&json(discord::message(alert))["embeds"][0]["description"]))
            }
            ChannelKind::Teams => {
                let teams = json(teams::message(alert));
                let body = teams["attachments"][0]["content"]["body"].as_array().expect("a body");
                prop_assert_eq!(body.len(), 1 + alert.lines.len() + alert.facts.len());
                Ok(())
            }
            ChannelKind::Ntfy => {
                let message = text(&json(ntfy::message(alert, "alerts"))["message"]);
                prop_assert!(message.starts_with(&alert.lines.join("\n")), "{}", message);
                Ok(())
            }
            ChannelKind::GoogleChat => {
                let card = &json(google_chat::message(alert))["cardsV2"][0]["card"];
                let lines = text(&card["sections"][0]["widgets"][0]["textParagraph"]["text"]);
                in_one_text(lines.replace("<br>", "\n"))
            }
            ChannelKind::Mattermost => {
                let shown = text(&json(mattermost::message(alert))["attachments"][0]["text"]);
                let lines = shown.lines().filter(|line| !line.is_empty()).count();
                prop_assert!(lines > alert.lines.len(), "{}", shown);
                Ok(())
            }
            ChannelKind::Matrix => {
                let shown = text(&json(matrix::body(alert, None))["body"]);
                prop_assert!(shown.contains(&alert.lines.join("\n")), "{}", shown);
                Ok(())
            }
            ChannelKind::Telegram => {
                let shown = text(&json(telegram::body(alert, "-100", None))["text"]);
                prop_assert!(shown.contains(&unmentioned(&alert.lines.join("\n"))), "{}", shown);
                Ok(())
            }
            ChannelKind::Pushover => {
                let shown = text(&pushover::message(alert)["message"]);
                prop_assert!(shown.starts_with(&alert.lines.join("\n")), "{}", shown);
                Ok(())
            }
            ChannelKind::Gotify => {
                let shown = text(&json(gotify::message(alert))["message"]);
                prop_assert!(shown.starts_with(&alert.lines.join("\n")), "{}", shown);
                Ok(())
            }
            // An email has room for everything, and a program gets events or snapshots.
            ChannelKind::Email
            | ChannelKind::PagerDuty
            | ChannelKind::Alertmanager
            | ChannelKind::Webhook => Ok(()),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_channel_shows_all_that_is_named(
            name in prop_oneof!["[&<>]{0,250}", "[*_()|]{0,250}", "\u{1f9d1}{0,250}", "[a-z ]{0,30}"],
            summary in prop_oneof!["[&<>*]{0,400}", "[a-z .]{0,100}"],
            count in 2u128..120,
        ) {
            let of: Vec<_> = (0..count).map(|n| subject(n, &format!("{n} {name}"), &summary)).collect();
            for kind in ChannelKind::ALL {
                let room = kind.description().room;
                let Collection { alert, named } = collected_in(room, &of, AlertKind::Opened, false);
                prop_assert!((1..=of.len()).contains(&named));
                shows_all_lines(kind, &alert)?;
            }
        }
    }
}
