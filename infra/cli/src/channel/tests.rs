//! Stories of `vedette channel`, with a notifier that sends to a receiver in the test.

use std::io::Write as _;
use std::time::Duration;

use futures::future::join;
use tempfile::NamedTempFile;
use vedette_domain::alerts::channel::{ChannelKind, EventKind};
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_domain::alerts::host_limit::{MESSAGES_TO_HOST, ReceivingHost};
use vedette_notifier::send::{OutgoingMessage, SendOutcome, SendReason};
use vedette_notifier::{Recipient, Transport, deliver};
use vedette_store::{Audit, ChannelRef};

use jiff::Timestamp;

use super::*;
use crate::testing::{Bench, Ran};

/// A receiver that gives the same answer to everything.
struct Receiver(SendOutcome);

impl Transport for Receiver {
    async fn send(
        &self,
        _: Recipient<'_>,
        _: &OutgoingMessage,
        _: SendReason,
        _: Timestamp,
    ) -> SendOutcome {
        self.0.clone()
    }
}

const SECRET: &str = "https://hooks.slack.com/services/T0/B0/secret";

/// A file that contains a text.
fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file
}

async fn bench() -> (Bench, String) {
    let bench = Bench::new().await;
    bench.user("ada").await;
    let team = bench.team("ada", "starter").await;
    (bench, team)
}

impl Bench {
    async fn add(&self, team: &str, kind: &str, url: &str, more: &str) -> Ran {
        let url = file(url);
        let path = url.path().display();
        self.run(&format!("--json channel add {team} {kind} --url-file {path} {more}")).await
    }

    async fn channel(&self, team: &str, name: &str) -> Channel {
        let which =
            Which { team: TeamId::parse(team).expect("a team id"), channel: name.to_owned() };
        which.stored(&self.app).await.expect("a channel")
    }

    async fn waiting(&self, channel: &Channel) -> Vec<Queued> {
        self.app.store.deliveries(channel.into()).await.expect("read").queued
    }

    async fn deliver(&self, channel: &Channel, answer: SendOutcome) {
        let place = ChannelRef::from(channel);
        Box::pin(deliver(&self.app, &Receiver(answer), place)).await.expect("delivered");
    }

    /// Runs a test of a channel while a notifier sends what waits for it.
    async fn try_out(&self, team: &str, channel: &Channel, answer: SendOutcome) -> Ran {
        let notifier = async {
            while self.waiting(channel).await.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            self.deliver(channel, answer).await;
        };
        let command = format!("channel test {team} {}", channel.id);
        Box::pin(join(self.run(&command), notifier)).await.0
    }
}

fn server_error() -> SendOutcome {
    SendOutcome::Retry { after: None, why: "HTTP 500\u{1b}[31m".to_owned() }
}

#[tokio::test]
async fn a_channel_is_added_and_its_url_is_never_shown() {
    let (bench, team) = bench().await;
    let wants = "--name Ops --events opened,resolved --tools ssl --severities critical,warning";
    let added = bench.add(&team, "slack", &format!("{SECRET}\n"), wants).await;
    insta::assert_snapshot!(added.out, @r#"
    {
      "confirmed_at": "2026-11-20T09:54:00+00:00",
      "created_at": "2026-11-20T09:54:00+00:00",
      "delivered_at": null,
      "disabled": null,
      "events": [
        "opened",
        "resolved"
      ],
      "failures": [],
      "has_secret": true,
      "kind": "slack",
      "last_test": null,
      "name": "Ops",
      "severities": [
        "critical",
        "warning"
      ],
      "state": "on",
      "to": "https://hooks.slack.com/…",
      "tools": [
        "ssl"
      ],
      "updated_at": "2026-11-20T09:54:00+00:00",
      "uuid": "03030303-0303-4303-8303-030303030303",
      "waiting": []
    }
    "#);
    let listed = bench.run(&format!("channel list {team}")).await;
    insta::assert_snapshot!(listed.out, @r"
    CHANNEL                               NAME  KIND   TO                         SITES  STATE  DELIVERED
    03030303-0303-4303-8303-030303030303  Ops   slack  https://hooks.slack.com/…  all    on     -
    ");
    let shown = bench.run(&format!("channel show {team} Ops")).await;
    insta::assert_snapshot!(shown.out, @r"
    channel      03030303-0303-4303-8303-030303030303
    name         Ops
    kind         slack
    to           https://hooks.slack.com/…
    events       opened resolved
    tools        ssl
    severities   critical warning
    sites        all
    delay        -
    repeat       -
    links        to acknowledge
    weekly test  -
    state        on
    confirmed    2026-11-20 09:54:00 UTC
    disabled     -
    delivered    -
    created      2026-11-20 09:54:00 UTC
    updated      2026-11-20 09:54:00 UTC
    ");
    for ran in [added, listed, shown, bench.run(&format!("channel failures {team} Ops")).await] {
        assert!(!ran.out.contains("/secret") && !ran.said.contains("/secret"), "{ran:?}");
    }
    let stored = bench.channel(&team, "Ops").await;
    assert_eq!(stored.secret, None, "nobody who lists channels reads it");
    let target = bench.app.store.target_of(&stored).await.expect("read");
    assert_eq!(target.url().expect("a URL").reveal(), SECRET);
    let removed = bench.run(&format!("channel delete {team} {}", stored.id)).await;
    assert_eq!(removed.out, format!("Ops is no longer a channel of team {team}.\n"));
    let listed = bench.run(&format!("channel list {team}")).await;
    assert_eq!(listed.out, "The team has no channels, so nobody is notified of its issues.\n");
    let said = bench.refused(&format!("channel show {team} Ops")).await;
    assert_eq!(said, "the team has no channel Ops");
}

#[tokio::test]
async fn a_channel_without_a_valid_url_is_refused() {
    let (bench, team) = bench().await;
    let ran = bench.add(&team, "teams", "http://example.com/hook", "").await;
    let said = "The url field must start with https://.";
    assert_eq!((ran.code, ran.said.as_str()), (1, said));
    let ran = bench.run(&format!("channel add {team} slack --url-file /nonexistent/url")).await;
    assert_eq!(ran.code, 2);
    assert!(ran.said.starts_with("the url cannot be read from /nonexistent/url: "), "{}", ran.said);
    for wrong in ["email ada@", "slack --events opening", "pager"] {
        assert_eq!(bench.run(&format!("channel add {team} {wrong}")).await.code, 2, "{wrong}");
    }
    let other = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";
    let said = bench.refused(&format!("channel add {other} email ada@example.com")).await;
    assert_eq!(said, format!("there is no team {other}"));
}

#[test]
fn each_kind_has_a_command_that_says_what_it_is() {
    let add = <NewChannel as clap::Subcommand>::augment_subcommands(clap::Command::new("add"));
    for kind in ChannelKind::ALL {
        let command = add.find_subcommand(kind.as_str()).expect("a command");
        let about = command.get_about().map(ToString::to_string);
        assert_eq!(about.as_deref(), Some(kind.description().about));
    }
}

#[tokio::test]
async fn a_topic_of_ntfy_is_added_with_its_token_from_a_file() {
    let (bench, team) = bench().await;
    let token = file("tk_s3cr3t\n");
    let with_token = format!("--token-file {}", token.path().display());
    let added = bench.add(&team, "ntfy", "s3cr3t-topic\n", &with_token).await;
    assert_eq!(added.code, 0, "{}", added.said);
    assert!(added.out.contains(r#""to": "https://ntfy.sh/…""#), "{}", added.out);
    assert!(!added.out.contains("s3cr3t"), "{}", added.out);
    let target = bench.app.store.target_of(&bench.channel(&team, "ntfy").await).await;
    let stored = serde_json::to_string(&target.expect("read")).expect("JSON");
    assert_eq!(
        stored,
        r#"{"kind":"ntfy","url":"https://ntfy.sh/s3cr3t-topic","token":"tk_s3cr3t"}"#
    );
    let absent = "--name none --token-file /nonexistent/token";
    let ran = bench.add(&team, "ntfy", "alerts", absent).await;
    assert_eq!(ran.code, 2);
    let said = "the token cannot be read from /nonexistent/token: ";
    assert!(ran.said.starts_with(said), "{}", ran.said);
}

#[tokio::test]
async fn a_channel_leads_to_the_url_in_a_file_from_now_on() {
    let (bench, team) = bench().await;
    let token = file("tk_s3cr3t\n");
    let more = format!("--name Phone --token-file {}", token.path().display());
    bench.add(&team, "ntfy", "topic\n", &more).await;
    let url = file("https://ntfy.example.com/s3cr3t\n");
    let edit = format!("channel edit {team} Phone --url-file {}", url.path().display());
    let edited = bench.run(&edit).await;
    assert_eq!(edited.code, 0, "{}", edited.said);
    assert!(edited.out.contains("https://ntfy.example.com/…"), "{}", edited.out);
    assert!(!edited.out.contains("s3cr3t"), "{}", edited.out);
    let target = bench.app.store.target_of(&bench.channel(&team, "Phone").await).await;
    let stored = serde_json::to_string(&target.expect("read")).expect("JSON");
    // The token was for another server.
    assert_eq!(stored, r#"{"kind":"ntfy","url":"https://ntfy.example.com/s3cr3t"}"#);
}

#[tokio::test]
async fn a_channel_is_named_in_the_team() {
    let (bench, team) = bench().await;
    let local = "http://127.0.0.1:9/hook";
    assert_eq!(bench.add(&team, "webhook", local, "").await.code, 0);
    let again = bench.add(&team, "webhook", local, "").await;
    let said = "The team already has a channel Webhook.";
    assert_eq!((again.code, again.said.as_str()), (1, said));
    let one = bench.channel(&team, "Webhook").await;
    let id = bench.app.entropy.channel_id().expect("an id");
    let twin = Channel { id, rev: 1, ..one.clone() };
    bench.app.store.put_channel(&twin, Audit::None).await.expect("saved");
    let said = bench.refused(&format!("channel show {team} Webhook")).await;
    assert_eq!(said, "the team has 2 channels named Webhook; give the uuid of one");
    bench.json(&format!("channel show {team} {}", one.id)).await;
}

#[tokio::test]
async fn a_webhook_shows_its_key_once_and_gets_a_new_one() {
    let (bench, team) = bench().await;
    let url = file("https://example.com/hook");
    let command = format!("channel add {team} webhook --url-file {}", url.path().display());
    let added = bench.run(&command).await;
    insta::assert_snapshot!(added.out, @r"
    channel      04040404-0404-4404-8404-040404040404
    name         Webhook
    kind         webhook
    to           https://example.com/…
    events       all
    tools        all
    severities   all
    sites        all
    delay        -
    repeat       -
    links        -
    weekly test  -
    state        on
    confirmed    2026-11-20 09:54:00 UTC
    disabled     -
    delivered    -
    created      2026-11-20 09:54:00 UTC
    updated      2026-11-20 09:54:00 UTC
    signing key  whsec_AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=

    The key cannot be shown again.
    ");
    let shown = bench.run(&format!("--json channel show {team} Webhook")).await;
    assert!(!shown.out.contains("whsec_"), "{}", shown.out);

    bench.pass(60);
    let rotated = bench.json(&format!("channel rotate-key {team} Webhook")).await;
    let stored = bench.channel(&team, "Webhook").await;
    let target = bench.app.store.target_of(&stored).await.expect("read");
    let keys = target.keys().expect("keys");
    assert_eq!(rotated["signing_key"], keys.current.reveal());
    let (previous, _) = keys.previous.as_ref().expect("a key");
    assert!(added.out.contains(&previous.reveal()));

    bench.add(&team, "slack", SECRET, "").await;
    let said = bench.refused(&format!("channel rotate-key {team} Slack")).await;
    assert_eq!(said, "Slack is a channel of the kind slack, which has no signing key");
}

#[tokio::test]
async fn an_address_must_confirm_before_it_receives_alerts() {
    let (bench, team) = bench().await;
    let added = bench.run(&format!("channel add {team} email ada@example.com")).await;
    insta::assert_snapshot!(added.out, @r"
    channel      03030303-0303-4303-8303-030303030303
    name         ada@example.com
    kind         email
    to           ada@example.com
    events       all
    tools        all
    severities   all
    sites        all
    delay        -
    repeat       -
    links        to acknowledge
    weekly test  -
    state        unconfirmed
    confirmed    -
    disabled     -
    delivered    -
    created      2026-11-20 09:54:00 UTC
    updated      2026-11-20 09:54:00 UTC

    ada@example.com must confirm the address, and gets no alerts until then.
    ");
    let channel = bench.channel(&team, "ada@example.com").await;
    let [question] = &bench.waiting(&channel).await[..] else { panic!("one question") };
    assert_eq!(question.content.name(), "confirmation");
    let test = format!("channel test {team} ada@example.com");
    let said = bench.refused(&test).await;
    assert_eq!(
        said,
        "ada@example.com is not confirmed yet: its recipient must follow the link in the confirmation email"
    );

    bench.pass(60);
    let confirmed = bench.json(&format!("channel confirm {team} ada@example.com")).await;
    assert_eq!(confirmed["state"], "on");
    assert_eq!(confirmed["confirmed_at"], "2026-11-20T09:55:00+00:00");
    let said = bench.refused(&format!("channel confirm {team} ada@example.com")).await;
    assert_eq!(said, "ada@example.com is already confirmed");
}

#[tokio::test]
async fn a_test_says_what_became_of_it_and_is_tried_once() {
    let (bench, team) = bench().await;
    bench.add(&team, "slack", SECRET, "--name Ops").await;
    let channel = bench.channel(&team, "Ops").await;
    let took = bench.try_out(&team, &channel, SendOutcome::DELIVERED).await;
    assert_eq!(
        (took.code, took.out.as_str()),
        (0, "Ops received the test message.\n"),
        "{}",
        took.said
    );
    assert_eq!(bench.json(&format!("channel show {team} Ops")).await["state"], "on");

    bench.pass(1);
    for (answer, why) in [
        (server_error(), "HTTP 500\u{fffd}[31m"),
        (SendOutcome::Refused { why: "HTTP 400".to_owned() }, "HTTP 400"),
        (SendOutcome::Gone { why: "HTTP 404".to_owned() }, "HTTP 404"),
    ] {
        // The next attempt is due after the one that failed.
        bench.pass(60);
        let failed = bench.try_out(&team, &channel, answer).await;
        let said = format!("the test message did not arrive: {why}");
        assert_eq!((failed.code, failed.said), (1, said));
        assert!(bench.waiting(&channel).await.is_empty(), "it is not sent hours later");
    }
    let said = bench.refused(&format!("channel test {team} Ops")).await;
    assert_eq!(said, "Ops is disabled (HTTP 404); enable it first");
    let failures = bench.run(&format!("channel failures {team} Ops")).await;
    insta::assert_snapshot!(failures.out, @r"
    The channel has been disabled since 2026-11-20 09:57:01 UTC (HTTP 404).

    FAILED                   WHAT  WHY
    2026-11-20 09:55:01 UTC  test  HTTP 500�[31m
    2026-11-20 09:56:01 UTC  test  HTTP 400
    2026-11-20 09:57:01 UTC  test  HTTP 404

    Nothing is waiting.
    ");
}

#[tokio::test]
async fn a_test_that_nobody_sends_is_taken_back() {
    let (bench, team) = bench().await;
    bench.add(&team, "slack", SECRET, "").await;
    let said = bench.refused(&format!("channel test {team} Slack --wait 1")).await;
    assert_eq!(said, "the test message was not sent within 1 s: is the service running?");
    let channel = bench.channel(&team, "Slack").await;
    assert!(bench.waiting(&channel).await.is_empty());
}

#[tokio::test]
async fn a_test_that_somebody_else_asked_for_is_left_to_them() {
    let (bench, team) = bench().await;
    bench.add(&team, "slack", SECRET, "").await;
    let channel = bench.channel(&team, "Slack").await;
    let theirs = vedette_actions::queue_test(&bench.app, &channel).await.expect("queued");
    let said = bench.refused(&format!("channel test {team} Slack --wait 1")).await;
    assert_eq!(said, "the test message was not sent within 1 s: is the service running?");
    assert_eq!(bench.waiting(&channel).await, [theirs]);
}

#[tokio::test]
async fn a_test_that_its_host_has_no_room_for_is_sent_later() {
    let (bench, team) = bench().await;
    bench.add(&team, "slack", SECRET, "").await;
    let channel = bench.channel(&team, "Slack").await;
    let target = bench.app.store.target_of(&channel).await.expect("read");
    let host = ReceivingHost::of(&target).expect("a host");
    for _ in 0..MESSAGES_TO_HOST.of_team {
        let now = bench.app.clock.now();
        assert!(bench.app.store.count_send(&host, channel.team, now).await.expect("counted"));
    }
    vedette_actions::queue_test(&bench.app, &channel).await.expect("queued");
    bench.deliver(&channel, SendOutcome::DELIVERED).await;
    let said = bench.refused(&format!("channel test {team} Slack --wait 1")).await;
    let expected = "the channel's host has reached its limit of messages for this minute; the test will be sent in the next one";
    assert_eq!(said, expected);
    assert_eq!(bench.waiting(&channel).await.len(), 1);
    bench.pass(65);
    bench.deliver(&channel, SendOutcome::DELIVERED).await;
    assert!(bench.waiting(&channel).await.is_empty());
    let state = bench.app.store.channel_state((&channel).into()).await.expect("read");
    assert_eq!(state.last_test.expect("an outcome").failed, None);
}

#[tokio::test]
async fn a_channel_is_disabled_and_enabled_by_hand() {
    let (bench, team) = bench().await;
    bench.add(&team, "slack", SECRET, "--name Ops").await;
    let disable = format!("channel disable {team} Ops");
    insta::assert_snapshot!(bench.run(&disable).await.out, @r"
    channel      03030303-0303-4303-8303-030303030303
    name         Ops
    kind         slack
    to           https://hooks.slack.com/…
    events       all
    tools        all
    severities   all
    sites        all
    delay        -
    repeat       -
    links        to acknowledge
    weekly test  -
    state        disabled
    confirmed    2026-11-20 09:54:00 UTC
    disabled     2026-11-20 09:54:00 UTC (disabled by an operator)
    delivered    -
    created      2026-11-20 09:54:00 UTC
    updated      2026-11-20 09:54:00 UTC
    ");
    let again = bench.json(&disable).await;
    assert_eq!(again["disabled"]["reason"], "disabled by an operator");
    let said = bench.refused(&format!("channel resend {team} Ops")).await;
    assert_eq!(said, "Ops is disabled (disabled by an operator); enable it first.");
    let enabled = bench.json(&format!("channel enable {team} Ops")).await;
    assert_eq!((&enabled["state"], &enabled["disabled"]), (&"on".into(), &().into()));
    assert!(bench.channel(&team, "Ops").await.is_on());
}

#[tokio::test]
async fn what_was_given_up_is_sent_again() {
    let (bench, team) = bench().await;
    bench.add(&team, "webhook", "https://example.com/hook", "").await;
    let channel = bench.channel(&team, "Webhook").await;
    let (now, event) = (bench.app.clock.now(), EventKind::Opened);
    let (id, body) = ("msg_1".to_owned(), "{}".to_owned());
    let queued = Queued::notice("x".to_owned(), Content::Event { id, event, body }, now);
    bench.app.store.put_queued((&channel).into(), &queued).await.expect("saved");
    bench.deliver(&channel, SendOutcome::Gone { why: "HTTP 410".to_owned() }).await;
    let parked = bench.json(&format!("channel failures {team} Webhook")).await;
    insta::assert_json_snapshot!(parked, @r#"
    {
      "disabled": {
        "at": "2026-11-20T09:54:00+00:00",
        "reason": "HTTP 410"
      },
      "failures": [
        {
          "at": "2026-11-20T09:54:00+00:00",
          "what": "opened",
          "why": "HTTP 410"
        }
      ],
      "state": "disabled",
      "waiting": [
        {
          "due": null,
          "failing_since": null,
          "issue": null,
          "what": "opened"
        }
      ]
    }
    "#);
    bench.pass(60);
    let again = bench.json(&format!("channel resend {team} Webhook")).await;
    assert_eq!((&again["state"], &again["disabled"]), (&"failing".into(), &().into()));
    assert_eq!(again["waiting"][0]["due"], "2026-11-20T09:55:00+00:00");
    bench.deliver(&channel, SendOutcome::DELIVERED).await;
    let after = bench.run(&format!("channel failures {team} Webhook")).await;
    assert!(after.out.starts_with("The channel is on.\n"), "{}", after.out);
    assert!(bench.waiting(&channel).await.is_empty());
}
