//! Recipients of reports across time: each is sent every report once, whatever fails.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use vedette_actions::access::Caller;
use vedette_domain::alerts::mail::TransactionalMailKind;
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SubscriptionId};
use vedette_domain::message::{MailRequest, Message, ReconcileMessage};
use vedette_domain::reports::{RECIPIENTS_MAX, ReportKind, ReportList, ReportPeriod};
use vedette_domain::source::Source;
use vedette_domain::status_pages::{MailingTopic, Subscription};
use vedette_notifier::send::SendOutcome;
use vedette_runtime::Destination;
use vedette_store::Audit;
use vedette_testkit::{Fault, status_result};
use vedette_tests::receivers::Posted;

use crate::scene::Scene;

const WEEK: &str = "2026-W48";

/// A team with a site in a group, at the time at which the report of its first week is made.
async fn start() -> Scene {
    let mut scene = Scene::start().await;
    scene.service.test.app.service.sends_mail = true;
    let site = scene.create("https://shop.example", &json!({})).await;
    let groups = json!({ "groups": [{ "name": "Shops", "selector": "!none" }] });
    let path = format!("/teams/{}/groups", scene.owner.team);
    assert_eq!(scene.client().put(&path, &groups).await.status, 200);
    scene.service.waiting();
    let test = &scene.service.test;
    test.set_clock(at("2026-11-24T10:00:00Z"));
    let finish =
        Finish::Completed(ToolResult::Status(status_result("https://shop.example", 200, 100.0)));
    let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, test.now());
    test.end_run(site, check, finish).await;
    test.set_clock(at("2026-11-30T06:00:00Z"));
    scene
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn list(kind: ReportKind, group: Option<&str>) -> ReportList {
    ReportList { kind, group: group.map(str::to_owned) }
}

fn weekly() -> ReportList {
    list(ReportKind::Week, None)
}

/// Adds a recipient, as the owner.
async fn add(scene: &Scene, reports: &ReportList, email: &str) -> Subscription {
    let app = &scene.service.test.app;
    let account = app.store.account(scene.owner.user).await.expect("read").expect("a user");
    let caller = Caller::new(account.user, account.memberships, app.clock.now());
    let by = (&caller, Source::Unknown);
    let added = vedette_actions::add_recipient(app, scene.owner.team, reports, email, by).await;
    scene.service.test.queue.drain(Destination::Mailer);
    added.expect("added")
}

/// Adds recipients of whom each confirms.
async fn confirmed(scene: &Scene, reports: &ReportList, emails: &[&str]) {
    let app = &scene.service.test.app;
    for email in emails {
        let pending = add(scene, reports, email).await;
        let now = app.clock.now();
        vedette_actions::confirm_subscription(app, &pending, now).await.expect("confirmed");
    }
}

async fn make(scene: &Scene) {
    let message = ReconcileMessage::Report(scene.owner.team);
    Box::pin(vedette_reconciler::handle(&scene.service.test.app, &message)).await.expect("made");
}

/// Handles messages to the mailer until only delayed ones are left.
async fn mail(scene: &Scene) -> Vec<(MailRequest, Duration)> {
    let mut delayed = Vec::new();
    loop {
        let waiting = scene.service.test.queue.drain(Destination::Mailer);
        if waiting.is_empty() {
            return delayed;
        }
        for (message, delay) in waiting {
            let Message::Mail(message) = message else { panic!("{message:?}") };
            match delay.is_zero() {
                true => scene.service.write(&message).await,
                false => delayed.push((message, delay)),
            }
        }
    }
}

fn sent(scene: &Scene) -> Vec<Posted> {
    scene.service.receivers.take_mails()
}

/// To whom emails were sent, and the group that each is about.
fn addressed(sent: &[Posted]) -> Vec<(&str, Option<&str>)> {
    let mut addressed: Vec<_> = sent
        .iter()
        .map(|mail| {
            let TransactionalMailKind::Report(of) = &mail.mail.kind else {
                panic!("another email")
            };
            (mail.to.as_str(), of.report.group.as_deref())
        })
        .collect();
    addressed.sort_unstable();
    addressed
}

#[tokio::test]
async fn recipients_who_have_confirmed_are_sent_the_reports_that_they_want() {
    let scene = start().await;
    confirmed(&scene, &weekly(), &["ada@example.com", "grace@example.com"]).await;
    confirmed(&scene, &list(ReportKind::Week, Some("Shops")), &["ada@example.com"]).await;
    confirmed(&scene, &list(ReportKind::Week, Some("Gone")), &["kate@example.com"]).await;
    confirmed(&scene, &list(ReportKind::Month, None), &["monthly@example.com"]).await;
    add(&scene, &weekly(), "silent@example.com").await;
    let app = &scene.service.test.app;
    let recipients = vedette_actions::recipients(app, scene.owner.team).await.expect("read");
    let gone = recipients.iter().find(|one| one.email == "grace@example.com").expect("there");
    vedette_actions::unsubscribe(app, gone).await.expect("ended");
    make(&scene).await;
    assert!(mail(&scene).await.is_empty());
    let mails = sent(&scene);
    assert_eq!(addressed(&mails), [("ada@example.com", None), ("ada@example.com", Some("Shops"))]);
    let mail_to_ada = mails.iter().find(|mail| mail.id.contains(WEEK)).expect("an email");
    let end = mail_to_ada.mail.unsubscribe_url.as_deref().expect("a link");
    assert!(end.starts_with("https://monitor.test/subscriptions/"), "{end}");
    let page = format!("https://monitor.test/teams/{}/reports/{WEEK}", scene.owner.team);
    assert!(mails.iter().all(|mail| mail.mail.url.starts_with(&page)));
    // A late duplicate sends nothing.
    let (team, topic) = (scene.owner.team, MailingTopic::Report(WEEK.parse().expect("a week")));
    scene.service.write(&MailRequest::Mailing { team, list: team.into(), topic }).await;
    make(&scene).await;
    assert!(mail(&scene).await.is_empty());
    assert_eq!(addressed(&sent(&scene)), []);
    // Who is added later is sent the next report.
    confirmed(&scene, &weekly(), &["late@example.com"]).await;
    scene.service.test.set_clock(at("2026-12-01T06:00:00Z"));
    make(&scene).await;
    assert!(mail(&scene).await.is_empty());
    assert_eq!(addressed(&sent(&scene)), [("monthly@example.com", None)]);
}

#[tokio::test]
async fn a_crash_repeats_at_most_one_email_with_the_same_id() {
    let all = ["ada@example.com", "grace@example.com", "kate@example.com"];
    // Before and after each write of the reconciler and of the mailer.
    for write in 1.. {
        let mut crashed = false;
        for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::LoseAnswer] {
            let scene = start().await;
            confirmed(&scene, &weekly(), &all).await;
            let faults = scene.service.test.faults().clone();
            faults.on_write(write, fault);
            let before = faults.writes();
            let run = faults.until_crash(async {
                let message = ReconcileMessage::Report(scene.owner.team);
                let app = &scene.service.test.app;
                let _ = vedette_reconciler::handle(app, &message).await;
                for (message, _) in scene.service.test.queue.drain(Destination::Mailer) {
                    let Message::Mail(message) = message else { panic!("{message:?}") };
                    let receivers = &scene.service.receivers;
                    let _ = vedette_mailer::handle(app, receivers, &message).await;
                }
            });
            let _ = Box::pin(run).await;
            crashed |= faults.writes() - before >= write;
            faults.forget();
            // The message is lost with the process, and the work index has what is left.
            scene.service.test.queue.drain(Destination::Mailer);
            make(&scene).await;
            for _ in 0..3 {
                scene.service.advance_minutes(5);
                scene.service.redeliver().await;
                mail(&scene).await;
            }
            let mut ids: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for mail in sent(&scene) {
                ids.entry(mail.to).or_default().push(mail.id);
            }
            assert_eq!(ids.len(), all.len(), "{fault:?} at {write}: {ids:?}");
            let repeated: usize = ids.values().map(|ids| ids.len() - 1).sum();
            assert!(repeated <= 1, "{fault:?} at {write}: {ids:?}");
            assert!(ids.values().all(|ids| ids.iter().all(|id| *id == ids[0])), "{ids:?}");
        }
        if !crashed {
            assert!(write > 6, "a part, the report, its schedule, three emails");
            break;
        }
    }
}

#[tokio::test]
async fn a_report_is_sent_after_the_mail_server_was_away_but_not_a_week_later() {
    let scene = start().await;
    confirmed(&scene, &weekly(), &["ada@example.com"]).await;
    make(&scene).await;
    let after = Duration::from_mins(15);
    let held = SendOutcome::Held { after, was_tried: false, why: "away".to_owned() };
    scene.service.receivers.answer_mails(held);
    assert_eq!(mail(&scene).await.len(), 1);
    scene.service.advance_minutes(6 * 24 * 60);
    scene.service.receivers.answer_mails(SendOutcome::DELIVERED);
    scene.service.redeliver().await;
    assert!(mail(&scene).await.is_empty());
    assert_eq!(addressed(&sent(&scene)), [("ada@example.com", None)]);

    scene.service.test.set_clock(at("2026-12-07T06:00:00Z"));
    make(&scene).await;
    scene.service.test.queue.drain(Destination::Mailer);
    scene.service.advance_minutes(7 * 24 * 60);
    scene.service.redeliver().await;
    assert!(mail(&scene).await.is_empty());
    assert_eq!(addressed(&sent(&scene)), []);
}

#[tokio::test]
async fn a_report_has_a_number_of_recipients() {
    let scene = start().await;
    let app = &scene.service.test.app;
    let mut pending = Vec::new();
    for number in 0..RECIPIENTS_MAX {
        pending.push(add(&scene, &weekly(), &format!("user{number}@example.com")).await);
        scene.service.advance_minutes(4);
    }
    let account = app.store.account(scene.owner.user).await.expect("read").expect("a user");
    let caller = Caller::new(account.user, account.memberships, app.clock.now());
    let added = async |reports: &ReportList| {
        let by = (&caller, Source::Unknown);
        let email = "one-more@example.com";
        let added = vedette_actions::add_recipient(app, scene.owner.team, reports, email, by).await;
        added.map(|_| ()).map_err(|refusal| refusal.to_string())
    };
    let refused = Err("A report has at most 20 recipients.".to_owned());
    assert_eq!(added(&weekly()).await, refused);
    assert_eq!(added(&list(ReportKind::Week, Some("Shops"))).await, Ok(()), "another report");
    // Nor is it exceeded by those who were added at the same time.
    for one in &pending {
        vedette_actions::confirm_subscription(app, one, app.clock.now()).await.expect("confirmed");
    }
    let last = pending.pop().expect("a recipient");
    let id = SubscriptionId::of_recipient(&weekly(), "one-more@example.com");
    let other = Subscription { id, ..last };
    app.store.put_requested_subscription(None, &other, Audit::None).await.expect("requested");
    let full = vedette_actions::confirm_subscription(app, &other, app.clock.now()).await;
    assert_eq!(full.map_err(|refusal| refusal.to_string()), refused);
}

#[tokio::test]
async fn a_member_is_sent_a_report_now_and_again_if_that_fails() {
    let scene = start().await;
    make(&scene).await;
    let (app, team, user) = (&scene.service.test.app, scene.owner.team, scene.owner.user);
    let period: ReportPeriod = WEEK.parse().expect("a week");
    let retry = SendOutcome::Retry { after: None, why: "busy".to_owned() };
    scene.service.receivers.answer_mails(retry);
    let group = Some("Shops".to_owned());
    vedette_actions::send_report(app, team, (period, group), user).await.expect("asked");
    let [(message, _)] = &mail(&scene).await[..] else { panic!("one message") };
    scene.service.receivers.answer_mails(SendOutcome::DELIVERED);
    scene.service.advance_minutes(2);
    scene.service.write(message).await;
    let mails = sent(&scene);
    let email = app.store.account(user).await.expect("read").expect("a user").user.email;
    assert_eq!(addressed(&mails), [(email.as_str(), Some("Shops"))]);
    assert_eq!(mails[0].mail.unsubscribe_url, None);
    scene.service.advance_minutes(24 * 60);
    scene.service.write(message).await;
    assert_eq!(addressed(&sent(&scene)), [], "nobody waits for it any more");
}
