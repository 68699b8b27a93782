//! Runs as tables: what is outstanding, what receivers answer, and the steps that follow.

use std::time::Duration;

use uuid::Uuid;

use super::batch::alert_id;
use super::*;
use crate::accounts::plan::Plan;
use crate::accounts::team::Team;
use crate::alerts::channel::alertmanager::Alertmanager;
use crate::alerts::channel::webhook::Webhook;
use crate::alerts::channel::{
    Channel, EventKind, Filter, LinkKey, SecretUrl, SigningKey, SigningKeys, SnapshotAlert, Target,
};
use crate::alerts::channel_state::LEASE;
use crate::alerts::delivery::{SnapshotProgress, place};
use crate::alerts::standing::StandingAlert;
use crate::alerts::{Alert, Thread, compose};
use crate::checks::schedule::TimeScale;
use crate::id::{ChannelId, SiteId, TeamId};
use crate::issues::Fingerprint;
use crate::sites::settings::Settings;
use crate::sites::site::Site;
use crate::sites::site_url::SiteUrl;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
}

/// What comes of an attempt to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Delivered,
    Fails,
    Refuses,
    IsGone,
    HostLimit,
}

use Answer::{Delivered as Takes, Fails, HostLimit, IsGone, Refuses};

fn site(number: u128) -> Monitor {
    let id = SiteId(Uuid::from_u128(number << 64 | 0x8000 << 48 | number));
    let url = SiteUrl::parse(&format!("https://site-{number}.test")).expect("a URL");
    Site::new(id, TeamId(Uuid::from_u128(7)), url, at(-60)).into()
}

fn issue(number: u128) -> Issue {
    Issue {
        summary: "it is down".to_owned(),
        ..Issue::opened(site(number).id(), Fingerprint::StatusDown, at(-10))
    }
}

fn news(number: u128) -> DeliveryState {
    DeliveryState::new(issue(number).id, at(-10), at(0))
}

fn event(number: u128, rev: u64, event: EventKind) -> Queued {
    let content = Content::Event { id: format!("{number}-{rev}"), event, body: "{}".to_owned() };
    Queued::event(issue(number).id, place(rev, None), content, at(0))
}

fn mailbox() -> Target {
    Target::email("ops@example.com").expect("an address")
}

fn program() -> Target {
    let current = SigningKey::from_random([1; SigningKey::BYTES]);
    let keys = SigningKeys { current, previous: None };
    Target::Webhook(Webhook { url: SecretUrl::new("https://example.com"), keys })
}

fn alertmanager() -> Target {
    Target::Alertmanager(Alertmanager { url: SecretUrl::new("https://example.com"), token: None })
}

/// An issue whose alert has been in snapshots since it began or ended.
fn known(number: u128, changed_at: i64, ends_at: Option<Timestamp>) -> DeliveryState {
    let alert = SnapshotAlert {
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        starts_at: at(-500),
        ends_at,
        url: None,
    };
    let standing = StandingAlert { alert, changed_at: at(changed_at), is_refused: false };
    DeliveryState { standing: Some(Box::new(standing)), due: None, ..news(number) }
}

fn channel(target: Target) -> Channel {
    let (id, team) = (ChannelId(Uuid::from_u128(9)), TeamId(Uuid::from_u128(7)));
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let channel = Channel::new(id, team, "Ops", target, Filter::default(), key, at(-60));
    Channel { since: Some(at(-60)), ..channel }
}

/// A step, and when what it writes is due.
fn describe(step: &DeliveryStep) -> String {
    let due = |due: Option<Timestamp>| match due.map(|due| due.duration_since(at(0)).as_secs()) {
        None => "never".to_owned(),
        Some(0) => "now".to_owned(),
        Some(_) => "later".to_owned(),
    };
    match step {
        DeliveryStep::LoadIssues(deliveries) => format!("load issues: {}", deliveries.len()),
        DeliveryStep::LoadUsers(users) => format!("load users: {}", users.len()),
        DeliveryStep::CheckOutbox(_) => "check outbox".to_owned(),
        DeliveryStep::QueueEvents(plan) => format!("queue events: {}", plan.events.len()),
        DeliveryStep::Write(write) => match &**write {
            Write::PutState(delivery) => format!("issue due {}", due(delivery.due)),
            Write::DeleteState(_) => "forget issue".to_owned(),
            Write::PutQueued(queued) => {
                format!("{} due {}", queued.content.name(), due(queued.due))
            }
            Write::AddQueued(queued) => format!("add {}", queued.content.name()),
            Write::PutNotified(_) => "people know".to_owned(),
            Write::DeleteQueued(queued) => format!("delete {}", queued.content.name()),
        },
        DeliveryStep::Send(delivery) => match &delivery.of {
            Sending::Notice(queued) | Sending::Event { event: queued, .. } => {
                format!("send {}", queued.content.name())
            }
            Sending::Alert { title, .. } => format!("send {title}"),
            Sending::Snapshot(request) => format!("send snapshot of {}", request.len()),
        },
        DeliveryStep::NotifyOwner { why } => format!("notify owner: {why}"),
    }
}

/// The steps of a run, and what it has delivered.
fn steps(
    channel: &Channel,
    leased_until: Timestamp,
    (deliveries, queued): (Vec<DeliveryState>, Vec<Queued>),
    answers: &[Answer],
) -> (Vec<String>, Delivered) {
    let team = Team::new(channel.team, "Ops", Plan::Agency, at(-60));
    let settings = Settings::defaults(Plan::Agency);
    let context = DeliveryContext {
        channel,
        team: &team,
        zone: &team.zone,
        settings: &settings,
        time_scale: TimeScale::default(),
        pages_base: None,
    };
    let state = ChannelState { leased_until: Some(leased_until), ..ChannelState::default() };
    let mut run = DeliveryRun::new(context, state, deliveries, queued);
    let (mut answers, mut steps, now) = (answers.iter(), Vec::new(), at(0));
    while let Some(step) = run.next(now) {
        steps.push(describe(&step));
        match step {
            DeliveryStep::LoadIssues(deliveries) => {
                // The sites numbered from 90 on are gone.
                let there = (1..90).map(|number| (issue(number), site(number)));
                run.loaded(deliveries, there.map(|found| (found.0.id, found)).collect());
            }
            DeliveryStep::LoadUsers(_) => run.loaded_users(BTreeMap::new()),
            DeliveryStep::CheckOutbox(check) => run.checked_outbox(check, false),
            DeliveryStep::QueueEvents(plan) => run.queued(&plan, None, now),
            DeliveryStep::Write(write) => run.wrote(&write, true, now),
            DeliveryStep::Send(delivery) => {
                let why = "HTTP 500".to_owned();
                let outcome = match answers.next().expect("an answer") {
                    Takes => SendOutcome::DELIVERED,
                    Fails => SendOutcome::Retry { after: Some(Duration::from_mins(1)), why },
                    Refuses => SendOutcome::Refused { why },
                    IsGone => SendOutcome::Gone { why },
                    HostLimit => {
                        run.reached_host_limit(*delivery, at(30));
                        continue;
                    }
                };
                run.sent(*delivery, outcome, now);
            }
            DeliveryStep::NotifyOwner { .. } => {}
        }
    }
    assert_eq!(answers.next(), None, "all of them were asked for: {steps:?}");
    let delivered = run.delivered();
    let (state, _) = run.end(now);
    assert_eq!(state.leased_until, None);
    (steps, delivered)
}

fn counts(sent: u64, failed: u64, given_up: u64) -> Delivered {
    Delivered { sent, failed, given_up }
}

#[test]
fn people_are_notified_of_what_is_the_case() {
    let channel = channel(mailbox());
    for (numbers, answers, expected, delivered) in [
        (
            vec![1],
            vec![Takes],
            vec!["load issues: 1", "send DOWN: site-1.test", "people know"],
            counts(1, 0, 0),
        ),
        (
            vec![1, 2],
            vec![Fails],
            vec![
                "load issues: 2",
                "send DOWN: site-1.test",
                "issue due later",
                // Nothing else is tried before.
                "issue due later",
            ],
            counts(0, 1, 0),
        ),
        (
            vec![1],
            vec![Refuses],
            vec!["load issues: 1", "send DOWN: site-1.test", "people know"],
            counts(0, 1, 1),
        ),
        (
            vec![1, 2],
            vec![IsGone],
            vec![
                "load issues: 2",
                "send DOWN: site-1.test",
                "notify owner: HTTP 500",
                "issue due never",
                "issue due never",
            ],
            counts(0, 1, 2),
        ),
        (
            vec![1, 2],
            vec![HostLimit],
            vec!["load issues: 2", "send DOWN: site-1.test", "issue due later", "issue due later"],
            counts(0, 0, 0),
        ),
        // In a storm, three are sent one by one, and the others wait for the end of the minute.
        (
            vec![1, 2, 3, 4, 5],
            vec![Takes, Takes, Takes],
            vec![
                "load issues: 5",
                "issue due later",
                "issue due later",
                "send DOWN: site-1.test",
                "people know",
                "send DOWN: site-2.test",
                "people know",
                "send DOWN: site-3.test",
                "people know",
            ],
            counts(3, 0, 0),
        ),
        (vec![90], vec![], vec!["load issues: 1", "check outbox", "forget issue"], counts(0, 0, 0)),
    ] {
        let deliveries = numbers.iter().map(|number| news(*number)).collect();
        let found = steps(&channel, at(0) + LEASE, (deliveries, Vec::new()), &answers);
        assert_eq!(found, (expected.iter().map(ToString::to_string).collect(), delivered));
    }
}

#[test]
fn a_program_gets_the_events_of_an_issue_in_their_order() {
    let channel = channel(program());
    let (opened, resolved) = (EventKind::Opened, EventKind::Resolved);
    let both = || vec![event(1, 2, resolved), event(1, 1, opened)];
    let failed = ["send opened", "opened due later"];
    for (queued, answers, expected, delivered) in [
        (
            both(),
            vec![Takes, Takes],
            vec!["send opened", "delete opened", "send resolved", "delete resolved"],
            counts(2, 0, 0),
        ),
        (
            both(),
            vec![Fails],
            vec!["send opened", "opened due later", "resolved due later"],
            counts(0, 1, 0),
        ),
        (
            both(),
            vec![HostLimit],
            vec!["send opened", "opened due later", "resolved due later"],
            counts(0, 0, 0),
        ),
        (
            both(),
            vec![IsGone],
            vec!["send opened", "notify owner: HTTP 500", "opened due never", "resolved due never"],
            counts(0, 1, 2),
        ),
        // Whoever enabled the channel has died before the first of them was due again.
        (
            vec![event(1, 2, resolved), Queued { due: None, ..event(1, 1, opened) }],
            vec![Takes, Takes],
            vec!["send opened", "delete opened", "send resolved", "delete resolved"],
            counts(2, 0, 0),
        ),
        // After three failures the receiver is down, and the rest waits with it.
        (
            (1..=4).map(|number| event(number, 1, opened)).collect(),
            vec![Fails; 3],
            [&failed[..], &failed, &failed, &["opened due later"]].concat(),
            counts(0, 3, 0),
        ),
    ] {
        let found = steps(&channel, at(0) + LEASE, (Vec::new(), queued), &answers);
        assert_eq!(found, (expected.iter().map(ToString::to_string).collect(), delivered));
    }
}

#[test]
fn a_snapshot_has_the_alerts_of_all_open_issues() {
    let channel = channel(alertmanager());
    let repeat =
        |due| Queued { due: Some(at(due)), ..Queued::repeat(SnapshotProgress::default(), at(0)) };
    let ended = |number| known(number, -400, Some(at(-400)));
    let alone_from = Some(issue(2).id);
    let alone = Content::Repeat { progress: SnapshotProgress { sent_at: None, alone_from } };
    for (deliveries, queued, answers, expected, delivered) in [
        // Whatever may be sent is in the table before, and so is that it is due.
        (
            vec![news(1), news(2)],
            vec![],
            vec![Takes],
            vec![
                "load issues: 2",
                "open issues due now",
                "issue due never",
                "issue due never",
                "send snapshot of 2",
                "open issues due later",
            ],
            counts(1, 0, 0),
        ),
        // A repeat writes nothing about the issues, and comes with what is new.
        (
            vec![known(1, -300, None), known(2, -300, None)],
            vec![repeat(0)],
            vec![Takes],
            vec!["send snapshot of 2", "open issues due later"],
            counts(1, 0, 0),
        ),
        (vec![known(1, -300, None)], vec![repeat(60)], vec![], vec![], counts(0, 0, 0)),
        (
            vec![known(1, -300, None), news(2)],
            vec![repeat(60)],
            vec![Takes],
            vec![
                "load issues: 1",
                "open issues due now",
                "issue due never",
                "send snapshot of 2",
                "open issues due later",
            ],
            counts(1, 0, 0),
        ),
        // A process has died before it said when the next one is due, or after an end was sent for long enough.
        (
            vec![known(1, -300, None)],
            vec![],
            vec![Takes],
            vec!["open issues due now", "send snapshot of 1", "open issues due later"],
            counts(1, 0, 0),
        ),
        (
            vec![ended(90)],
            vec![repeat(0)],
            vec![Takes],
            vec![
                "send snapshot of 1",
                "load issues: 1",
                "check outbox",
                "forget issue",
                "delete open issues",
            ],
            counts(1, 0, 0),
        ),
        (vec![], vec![repeat(0)], vec![], vec!["delete open issues"], counts(0, 0, 0)),
        // An end is not forgotten before the receiver was sent it.
        (
            vec![ended(90)],
            vec![repeat(0)],
            vec![Fails],
            vec!["send snapshot of 1", "open issues due later"],
            counts(0, 1, 0),
        ),
        // Whichever of them is refused is left out.
        (
            vec![known(1, -300, None), known(2, -300, None), known(3, -300, None)],
            vec![repeat(0)],
            vec![Refuses, Takes, Refuses, Takes],
            vec![
                "send snapshot of 3",
                "send snapshot of 1",
                "send snapshot of 1",
                "issue due never",
                "send snapshot of 1",
                "open issues due later",
            ],
            counts(2, 2, 1),
        ),
        (
            vec![known(1, -300, None), known(2, -300, None)],
            vec![repeat(0)],
            vec![Refuses, Takes, HostLimit],
            vec![
                "send snapshot of 2",
                "send snapshot of 1",
                "send snapshot of 1",
                "open issues due later",
            ],
            counts(1, 1, 0),
        ),
        // One that was interrupted goes on, and then all of them are sent together.
        (
            vec![known(1, -300, None), known(2, -300, None), known(3, -300, None)],
            vec![Queued { content: alone, ..repeat(0) }],
            vec![Takes, Takes],
            vec!["send snapshot of 1", "send snapshot of 1", "open issues due later"],
            counts(2, 0, 0),
        ),
        (
            vec![known(1, -300, None)],
            vec![repeat(0)],
            vec![IsGone],
            vec!["send snapshot of 1", "notify owner: HTTP 500", "open issues due never"],
            counts(0, 1, 0),
        ),
    ] {
        let found = steps(&channel, at(0) + LEASE, (deliveries, queued), &answers);
        assert_eq!(found, (expected.iter().map(ToString::to_string).collect(), delivered));
    }
}

#[test]
fn messages_that_cannot_be_sent_now_stay_queued() {
    let test = || Queued::test("1".to_owned(), at(0));
    let reason = || Some(crate::alerts::channel::Disabled { at: at(-5), reason: String::new() });
    let disabled = |target| Channel { disabled: reason(), ..channel(target) };
    let unconfirmed = Channel { since: None, ..channel(mailbox()) };
    let opened = || event(1, 1, EventKind::Opened);
    for (channel, outstanding, leased_for, expected) in [
        // A test is not sent later.
        (
            disabled(mailbox()),
            (vec![news(1)], vec![test()]),
            120,
            vec!["issue due never", "delete test"],
        ),
        (unconfirmed, (Vec::new(), vec![test()]), 120, vec!["delete test"]),
        (disabled(program()), (Vec::new(), vec![opened()]), 120, vec!["opened due never"]),
        // The lease is nearly over.
        (channel(program()), (Vec::new(), vec![opened()]), 30, vec![]),
        (
            channel(mailbox()),
            (vec![news(1)], Vec::new()),
            30,
            vec!["load issues: 1", "issue due now"],
        ),
    ] {
        let (found, delivered) = steps(&channel, at(leased_for), outstanding, &[]);
        assert_eq!(found, expected);
        assert_eq!(delivered, Delivered::default());
    }
}

#[test]
fn an_opening_that_is_announced_again_has_another_id() {
    let (issue, first) = (issue(1), news(1));
    let opened_at = issue.lifecycle.opened_at();
    let thread = Some(Thread { issue: issue.id, opened_at });
    let alert = Alert { thread, at: opened_at, ..compose::test("Ops", "Team", at(0)) };
    let ended = first.notified_meanwhile(&issue, (None, &None), at(0));
    let again = ended.notified_meanwhile(&issue, (None, &None), at(5));
    let channel = ChannelId(Uuid::from_u128(9));
    let ids = [&first, &ended, &again].map(|news| alert_id(channel, &alert, Some(news.from)));
    assert_eq!(ids[1..], [format!("{}-1", ids[0]), format!("{}-2", ids[0])]);
}
