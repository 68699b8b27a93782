//! Stories of `vedette issue`: listing, acknowledging and resolving issues, also while checks write at the same time.

use std::io::Write as _;

use futures::future::join;
use jiff::SignedDuration;
use tempfile::NamedTempFile;
use vedette_domain::accounts::audit::Actor;
use vedette_domain::alerts::delivery::DeliveryState;
use vedette_domain::alerts::due::Notified;
use vedette_domain::checks::check::{Finish, StatusResult, ToolResult};
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{ChannelId, CheckId, IssueId, SiteId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record::{IssueChange, IssueEvent, follow};
use vedette_domain::locations::Votes;
use vedette_runtime::Destination;
use vedette_store::{Changes, ChannelRef, SiteWithTools};

use super::*;
use crate::testing::{Bench, SITE};

/// A team with ada (owner), bob (member) and cleo (viewer); dan is not in it. Its site is down, which two checks have
/// found.
async fn bench() -> (Bench, String, String) {
    let bench = Bench::new().await;
    for name in ["ada", "bob", "cleo", "dan"] {
        bench.user(name).await;
    }
    let team = bench.team("ada", "starter").await;
    for (name, role) in [("bob", "member"), ("cleo", "viewer")] {
        let who = format!("--team {team} --email {name}@example.com");
        bench.json(&format!("member add {who} --role {role}")).await;
    }
    bench.site(&team).await;
    for _ in 0..2 {
        bench.pass(60);
        check(&bench, 503).await;
    }
    let listed = bench.json(&format!("issue list --team {team}")).await;
    let issue = listed[0]["uuid"].as_str().expect("an issue").to_owned();
    (bench, team, issue)
}

async fn stored(bench: &Bench) -> SiteWithTools {
    let partition = SiteId::parse(SITE).expect("a site id").partition();
    bench.app.store.site(partition).await.expect("an answer").expect("a site")
}

/// Runs a status check now, which gets this code.
async fn check(bench: &Bench, code: u16) {
    let now = bench.app.clock.now();
    let stored = stored(bench).await;
    let (site, read) = (&stored.site, stored.tool(Tool::Status).expect("a state"));
    let result = ToolResult::Status(StatusResult {
        up: code < 400,
        code,
        url: site.url.to_string(),
        effective_url: site.url.to_string(),
        response_time: 100.0,
        redirected: false,
        redirect_count: 0,
        redirects: Vec::new(),
        error: None,
        phases: None,
        judged: None,
    });
    let check = CheckId::automatic(site.id, Tool::Status, RunReason::Scheduled, now);
    let run = bench.app.store.run_context(site.team, site.id, Tool::Status).await;
    let (run, _) = run.expect("an answer").expect("a site").begin(check, TimeScale::default());
    let finish = Finish::Completed(result);
    let evaluations = run.evaluate(&finish, None, now);
    let change = read
        .apply_run(&run, &finish, evaluations, &Votes::NoLocation, None, now)
        .expect("a run that counts");
    let before = bench.app.store.issue(site.id.partition(), Fingerprint::StatusDown).await;
    let before = before.expect("an answer");
    let changes = change.events.iter().filter_map(|event| {
        let event = IssueEvent { previous: None, ..event.clone() };
        follow(before.clone(), &event).expect("a transition")
    });
    let issues: Vec<IssueChange> = changes.collect();
    let changes = Changes { site, tools: &[change], issues: &issues, usage: None, now };
    bench.app.store.commit(&changes).await.expect("written");
}

#[tokio::test]
async fn an_issue_is_listed_taken_and_resolved() {
    let (bench, team, issue) = bench().await;
    let listed = bench.json(&format!("issue list --team {team}")).await;
    assert_eq!(
        (&listed[0]["fingerprint"], &listed[0]["type"]),
        (&json!("status:down"), &json!("status"))
    );
    insta::assert_snapshot!(bench.run(&format!("issue list --team {team}")).await.out, @r"
    ISSUE                                 STATUS  SEVERITY  WHAT         SITE                      OPENED
    01a1f862-6380-8100-8a55-6c1f3b7d9e01  open    critical  status:down  https://shop.example.com  2026-11-20 09:56:00 UTC
    ");

    bench.pass(10);
    let taken = bench.run(&format!("issue ack {issue} --as bob@example.com")).await;
    insta::assert_snapshot!(taken.out, @r"
    issue          01a1f862-6380-8100-8a55-6c1f3b7d9e01
    status         acknowledged
    severity       critical
    what           status:down
    site           https://shop.example.com
    opened         2026-11-20 09:56:00 UTC
    summary        shop.example.com is down: HTTP 503 Service Unavailable
    acknowledged   2026-11-20 09:56:10 UTC
    resolved       -
    snoozed until  -
    ");
    let said = bench.refused(&format!("issue ack {issue} --as ada@example.com")).await;
    assert_eq!(said, "An issue that is acknowledged cannot be acknowledged.");

    let back = bench.json(&format!("issue unack {issue} --as ada@example.com")).await;
    assert_eq!(back["status"], "open");
    assert!(back["acknowledged_at"].is_null(), "{back}");
    let said = bench.refused(&format!("issue unack {issue} --as ada@example.com")).await;
    assert_eq!(said, "An issue that is open cannot be unacknowledged.");
    bench.run(&format!("issue ack {issue} --as bob@example.com")).await;

    bench.pass(10);
    let resolved = bench.json(&format!("issue resolve {issue} --as ada@example.com")).await;
    assert_eq!(resolved["acknowledged_at"], "2026-11-20T09:56:10+00:00");
    assert_eq!(resolved["resolved_at"], "2026-11-20T09:56:20+00:00");
    assert_eq!(resolved["resolved_by"]["email"], "ada@example.com", "not the operator");
    let log = bench.app.store.audit_log(TeamId::parse(&team).expect("an id"), None, 50).await;
    let actors = log.expect("an answer").entries.into_iter().map(|entry| entry.actor);
    assert!(actors.clone().count() > 0 && actors.into_iter().all(|actor| actor == Actor::Operator));
    for command in ["issue ack", "issue resolve"] {
        let said = bench.refused(&format!("{command} {issue} --as ada@example.com")).await;
        assert!(said.starts_with("An issue that is resolved cannot be "), "{said}");
    }

    let active = bench.run(&format!("issue list --team {team}")).await;
    assert_eq!(active.out, "There are no issues.\n");
    let all = bench.json(&format!("issue list --team {team} --all")).await;
    assert_eq!((&all[0]["uuid"], &all[0]["status"]), (&issue.into(), &"resolved".into()));
}

#[tokio::test]
async fn after_a_resolution_the_checks_count_anew() {
    let (bench, _, issue) = bench().await;
    assert!(stored(&bench).await.tool(Tool::Status).expect("a state").timer.is_some());
    bench.json(&format!("issue resolve {issue} --as ada@example.com")).await;
    let stored = stored(&bench).await;
    let state = stored.tool(Tool::Status).expect("a state");
    assert_eq!(state.timer, None);
    assert_eq!(state.trackers[&Fingerprint::StatusDown].tracker.issue(), None);
}

#[tokio::test]
async fn an_issue_is_shown_and_its_reminders_are_silenced_for_a_while() {
    let (bench, _, issue) = bench().await;
    let shown = bench.json(&format!("issue show {issue}")).await;
    assert_eq!((&shown["status"], &shown["snoozed_until"]), (&"open".into(), &().into()));
    let snooze = format!("issue snooze {issue}");
    for (end, until) in [
        ("--for 2h", Some("2026-11-20T11:56:00+00:00")),
        ("--until 2026-11-21T07:00:00+01:00", Some("2026-11-21T06:00:00+00:00")),
        ("--off", None),
    ] {
        let snoozed = bench.json(&format!("{snooze} {end}")).await;
        assert_eq!(snoozed["snoozed_until"], serde_json::json!(until), "{end}");
        assert_eq!(snoozed["status"], "open", "it is no state");
        assert_eq!(bench.json(&format!("issue show {issue}")).await, snoozed);
    }
    for wrong in ["", "--for 2h --off", "--for soon", "--until 2026-11-20T09:56:00Z"] {
        assert_eq!(bench.run(&format!("{snooze} {wrong}")).await.code, 2, "{wrong}");
    }
    let alerts = bench.queue.drain(Destination::Alerts);
    assert_eq!(alerts.len(), 3, "channels learn of it at once");
    bench.json(&format!("issue resolve {issue} --as ada@example.com")).await;
    let said = bench.refused(&format!("{snooze} --off")).await;
    assert_eq!(said, "An issue that is resolved cannot be snoozed.");
}

#[tokio::test]
async fn a_note_is_the_operators() {
    let (bench, _, issue) = bench().await;
    let words = vec!["--json", "issue", "note", &issue, "The provider knows"];
    let noted = bench.run_words(words).await.document("issue note");
    assert_eq!(noted["notes"][0]["note"], "The provider knows");
    let said = bench.run(&format!("issue ack {issue}")).await;
    assert_eq!((said.code, said.said.as_str()), (2, "--as must name the user who does this"));
}

#[tokio::test]
async fn only_those_who_may_run_checks_act() {
    let (bench, _, issue) = bench().await;
    for command in ["issue ack", "issue resolve"] {
        for (name, why) in [
            ("cleo", "Your role in this team does not permit this.".to_owned()),
            ("dan", format!("there is no issue {issue}")),
            ("eve", "no user has the address eve@example.com".to_owned()),
        ] {
            let said = bench.refused(&format!("{command} {issue} --as {name}@example.com")).await;
            assert_eq!(said, why);
        }
    }
}

#[tokio::test]
async fn an_issue_that_is_not_there_cannot_be_taken() {
    let (bench, ..) = bench().await;
    let site = SiteId::parse(SITE).expect("a site id");
    let now = bench.app.clock.now();
    for id in [
        // Another fingerprint, another opening, and something that is not an id of ours.
        IssueId::new(site, Fingerprint::SslInvalid, now).to_string(),
        IssueId::new(site, Fingerprint::StatusDown, now.saturating_sub(SECOND).expect("earlier"))
            .to_string(),
        SITE.to_owned(),
    ] {
        let said = bench.refused(&format!("issue ack {id} --as ada@example.com")).await;
        assert_eq!(said, format!("there is no issue {id}"));
    }
    assert_eq!(bench.run("issue ack 17 --as ada@example.com").await.code, 2);
}

const SECOND: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

#[tokio::test]
async fn of_two_who_take_an_issue_at_once_one_is_refused() {
    let (bench, _, issue) = bench().await;
    let ada = format!("issue ack {issue} --as ada@example.com");
    let bob = format!("issue ack {issue} --as bob@example.com");
    let (ada, bob) = join(bench.run(&ada), bench.run(&bob)).await;
    let mut codes = [ada.code, bob.code];
    codes.sort_unstable();
    assert_eq!(codes, [0, 1]);
    let refused = if ada.code == 1 { ada } else { bob };
    assert_eq!(refused.said, "An issue that is acknowledged cannot be acknowledged.");
}

#[tokio::test]
async fn what_waits_to_be_told_of_an_issue_is_shown_with_when_it_is_due() {
    let (bench, team, issue) = bench().await;
    let mut url = NamedTempFile::new().expect("a file");
    url.write_all(b"https://hooks.slack.com/services/T0/B0/secret").expect("written");
    let path = url.path().display();
    let added = format!("channel add {team} slack --name Ops --url-file {path}");
    let channel = bench.json(&added).await["uuid"].as_str().expect("a uuid").to_owned();
    let id = ChannelId::parse(&channel).expect("an id");
    let place = ChannelRef { team: TeamId::parse(&team).expect("an id"), id };
    let (now, issue) = (bench.app.clock.now(), IssueId::parse(&issue).expect("an id"));
    // The channel knows that the site is down, and has not been notified yet that the problem is over.
    let notified = Some(Notified { opened_at: now, reminded_until: now });
    let due = Some(now + SignedDuration::from_secs(30));
    let delivery = DeliveryState { notified, due, ..DeliveryState::new(issue, now, now) };
    bench.app.store.put_delivery_state(place, &delivery).await.expect("written");
    let failures = format!("channel failures {team} Ops");
    let known = bench.run(&failures).await.out;
    assert!(known.ends_with("Nothing is waiting.\n"), "{known}");
    bench.json(&format!("issue resolve {issue} --as ada@example.com")).await;
    insta::assert_snapshot!(bench.run(&failures).await.out, @r"
    The channel is on.

    All recent messages arrived.

    WAITING         ISSUE                                 FAILING SINCE  DUE
    RESOLVED: Shop  01a1f862-6380-8100-8a55-6c1f3b7d9e01  -              2026-11-20 09:56:30 UTC
    ");
    bench.json(&format!("channel disable {team} Ops")).await;
    let disabled = bench.run(&failures).await.out;
    assert!(disabled.trim_end().ends_with("once enabled"), "{disabled}");
    let waiting = bench.json(&failures).await["waiting"][0].clone();
    assert_eq!((&waiting["what"], &waiting["due"]), (&"RESOLVED: Shop".into(), &().into()));
}
