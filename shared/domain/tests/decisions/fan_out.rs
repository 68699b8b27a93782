//! What is recorded about a change while a channel is off.

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{
    Channel, EventKind, Filter, LinkKey, SecretUrl, SigningKey, SigningKeys, Target,
};
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::id::{ChannelId, IssueId, SiteId, TeamId, UserId};
use vedette_domain::issues::record::{Issue, resolve};
use vedette_domain::issues::{Fingerprint, Lifecycle, Timeline};

const TEAM: TeamId = TeamId(Uuid::from_u128(2));

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_795_000_000 + 60 * minute).expect("a timestamp")
}

fn channel(target: Target) -> Channel {
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let id = ChannelId(Uuid::from_u128(1));
    Channel::new(id, TEAM, "Ops", target, Filter::default(), key, at(0))
}

/// The entry of an issue that opened at a minute, and was resolved five minutes later.
fn resolution(opened: i64) -> OutboxEntry {
    let lifecycle = Lifecycle::open(at(opened));
    let issue = Issue {
        id: IssueId::new(SiteId(Uuid::from_u128(3)), Fingerprint::StatusDown, at(opened)),
        rev: 1,
        lifecycle,
        timeline: Timeline::default().then(lifecycle),
        seen: vedette_domain::issues::SeenTimes::default(),
        chosen_severity: None,
        summary: String::new(),
        context: Value::Null,
        check: None,
        previous_check: None,
        last_evaluated_at: None,
        snoozed_until: None,
        notes: Vec::new(),
        acts: Vec::new(),
        created_at: at(opened),
        updated_at: at(opened),
    };
    let by = UserId(Uuid::from_u128(4));
    OutboxEntry::of(TEAM, &resolve(issue, by, at(opened + 5)).expect("it is open"))
}

/// The delivery state ends when the channel looks at the resolved issue. If the channel is then turned off before the
/// outbox is read, nothing else says that the program still needs the event.
#[test]
fn a_program_that_is_off_notes_a_resolution_without_a_delivery_state() {
    let url = SecretUrl::new("https://hooks.example.com/x");
    let keys = SigningKeys::new(SigningKey::from_random([7; SigningKey::BYTES]));
    let program = channel(Target::Webhook(Webhook { url: url.clone(), keys }));
    let news = program.missed_while_off(None, &resolution(1), at(7)).expect("it is noted");
    let missed = news.delivery.expect("a delivery state").missed.expect("a transition");
    assert_eq!((missed.event, missed.at, missed.rev), (EventKind::Resolved, at(6), 2));
    assert_eq!(program.missed_while_off(None, &resolution(-1), at(7)), None, "before its time");
    let people = channel(Target::Slack(Slack { url }));
    assert_eq!(people.missed_while_off(None, &resolution(1), at(7)), None, "they knew nothing");
}
