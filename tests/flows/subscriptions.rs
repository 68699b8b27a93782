//! Subscribers of a status page across time: each is sent every update once, whatever fails.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::json;
use vedette_domain::alerts::mail::TransactionalMailKind;
use vedette_domain::id::{IncidentId, StatusPageId, SubscriptionId, TeamId};
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::source::Source;
use vedette_domain::status_pages::{IncidentNews, IncidentStatus, MailingTopic};
use vedette_notifier::send::SendOutcome;
use vedette_runtime::Destination;
use vedette_testkit::Fault;
use vedette_tests::receivers::Posted;

use crate::scene::Scene;

/// A team with a page that offers subscriptions.
struct Readers {
    scene: Scene,
    path: String,
    page: StatusPageId,
}

impl Readers {
    async fn start() -> Self {
        let mut scene = Scene::start().await;
        scene.service.test.app.service.sends_mail = true;
        let path = format!("/teams/{}/status-pages", scene.owner.team);
        let body = json!({ "slug": "meridian", "name": "Meridian", "subscriptions": true });
        let created = scene.client().post(&path, &body).await;
        assert_eq!(created.status, 201, "{created:?}");
        scene.service.consume().await;
        let page = StatusPageId::parse(&created.data("uuid")).expect("an id");
        Self { path: format!("{path}/{page}"), scene, page }
    }

    /// Subscribes an address, and confirms it if `confirms`.
    async fn subscribe(&self, email: &str, confirms: bool) {
        self.subscribe_from(Source::Unknown, email, confirms).await;
    }

    async fn subscribe_from(&self, source: Source, email: &str, confirms: bool) {
        let app = &self.scene.service.test.app;
        let (team, page) = (self.scene.owner.team, self.page);
        vedette_actions::subscribe(app, team, page, email, source).await.expect("requested");
        let id = SubscriptionId::of(email);
        let pending = app.store.subscription(self.page, id).await.expect("read").expect("pending");
        if confirms {
            let now = app.clock.now();
            vedette_actions::confirm_subscription(app, &pending, now).await.expect("confirmed");
        }
        self.scene.service.test.queue.drain(Destination::Mailer);
    }

    async fn write_incident(&self) -> IncidentId {
        let body = json!({ "title": "The shop is down", "text": "We are looking into it." });
        let path = format!("{}/incidents", self.path);
        let written = self.scene.client().post(&path, &body).await;
        assert_eq!(written.status, 201, "{written:?}");
        IncidentId::parse(&written.data("uuid")).expect("an id")
    }

    async fn update(&self, incident: IncidentId, text: &str) {
        let body = json!({ "status": "identified", "text": text });
        let path = format!("{}/incidents/{incident}", self.path);
        assert_eq!(self.scene.client().patch(&path, &body).await.status, 200);
    }

    /// Publishes what is outstanding, and handles messages to the mailer until only delayed ones are left.
    async fn mail(&self) -> Vec<(MailRequest, Duration)> {
        self.scene.service.consume().await;
        let mut delayed = Vec::new();
        loop {
            let waiting = self.scene.service.test.queue.drain(Destination::Mailer);
            if waiting.is_empty() {
                return delayed;
            }
            for (message, delay) in waiting {
                let Message::Mail(message) = message else { panic!("{message:?}") };
                match delay.is_zero() {
                    true => self.scene.service.write(&message).await,
                    false => delayed.push((message, delay)),
                }
            }
        }
    }

    /// Takes the emails that were sent: to whom, and which update.
    fn sent(&self) -> Vec<(String, u32)> {
        let sent = self.scene.service.receivers.take_mails().into_iter();
        let mut sent: Vec<_> = sent.map(|mail| (mail.to.clone(), news(&mail).update)).collect();
        sent.sort();
        sent
    }

    fn receive(&self, outcome: SendOutcome) {
        self.scene.service.receivers.answer_mails(outcome);
    }

    async fn redeliver(&self) {
        self.scene.service.redeliver().await;
    }
}

fn requested(team: TeamId, page: StatusPageId, incident: IncidentId) -> MailRequest {
    MailRequest::Mailing { team, list: page.into(), topic: MailingTopic::Incident(incident) }
}

fn news(mail: &Posted) -> &IncidentNews {
    let TransactionalMailKind::Incident(news) = &mail.mail.kind else { panic!("another email") };
    news
}

fn to(addresses: &[&str], update: u32) -> Vec<(String, u32)> {
    addresses.iter().map(|address| ((*address).to_owned(), update)).collect()
}

#[tokio::test]
async fn subscribers_are_sent_each_update_after_it_is_published() {
    let readers = Readers::start().await;
    readers.subscribe("ada@example.com", true).await;
    readers.subscribe("kate@example.com", false).await;
    let incident = readers.write_incident().await;
    assert!(readers.scene.service.test.queue.drain(Destination::Mailer).is_empty());
    assert!(readers.mail().await.is_empty());
    let [mail] = <[Posted; 1]>::try_from(readers.scene.service.receivers.take_mails())
        .ok()
        .expect("one email");
    assert_eq!(mail.to, "ada@example.com");
    assert_eq!(mail.mail.url, "https://monitor.test/status/meridian");
    let end = mail.mail.unsubscribe_url.as_deref().expect("a link");
    let id = SubscriptionId::of("ada@example.com");
    let place =
        format!("https://monitor.test/subscriptions/{}/{id}/unsubscribe?key=", readers.page);
    assert!(end.starts_with(&place), "{end}");
    assert_eq!(
        *news(&mail),
        IncidentNews {
            incident,
            update: 1,
            page: "Meridian".to_owned(),
            title: "The shop is down".to_owned(),
            status: IncidentStatus::Investigating,
            text: "We are looking into it.".to_owned(),
            components: Vec::new(),
        }
    );
    // Who confirms later is sent what is written later.
    readers.scene.service.advance_minutes(1);
    readers.subscribe("kate@example.com", true).await;
    readers.update(incident, "It was a release.").await;
    assert!(readers.mail().await.is_empty());
    assert_eq!(readers.sent(), to(&["ada@example.com", "kate@example.com"], 2));
    // A change without an update is no news.
    let body = json!({ "title": "The shop was down" });
    let path = format!("{}/incidents/{incident}", readers.path);
    assert_eq!(readers.scene.client().patch(&path, &body).await.status, 200);
    assert!(readers.mail().await.is_empty());
    assert_eq!(readers.sent(), []);
    // A page that offers no subscriptions any more sends nothing to those it had.
    let body = json!({ "subscriptions": false });
    assert_eq!(readers.scene.client().patch(&readers.path, &body).await.status, 200);
    readers.update(incident, "It is over.").await;
    readers.mail().await;
    assert_eq!(readers.sent(), []);
}

#[tokio::test]
async fn nothing_is_lost_with_a_message_and_nothing_is_sent_twice() {
    let readers = Readers::start().await;
    for email in ["ada@example.com", "grace@example.com", "kate@example.com"] {
        readers.subscribe(email, true).await;
    }
    let incident = readers.write_incident().await;
    // All messages are lost.
    readers.scene.service.waiting();
    readers.scene.service.advance_minutes(3);
    readers.redeliver().await;
    let team = readers.scene.owner.team;
    let request = requested(team, readers.page, incident);
    assert!(readers.mail().await.is_empty());
    assert_eq!(
        readers.sent(),
        to(&["ada@example.com", "grace@example.com", "kate@example.com"], 1)
    );
    // A late duplicate finds nothing.
    readers.scene.service.write(&request).await;
    readers.scene.service.advance_minutes(60);
    readers.redeliver().await;
    assert!(readers.mail().await.is_empty());
    assert_eq!(readers.sent(), []);
}

#[tokio::test]
async fn after_a_crash_one_subscriber_gets_an_email_twice_with_the_same_id() {
    let readers = Readers::start().await;
    for email in ["ada@example.com", "grace@example.com", "kate@example.com"] {
        readers.subscribe(email, true).await;
    }
    let incident = readers.write_incident().await;
    readers.scene.service.consume().await;
    readers.scene.service.test.queue.drain(Destination::Mailer);
    let (team, page) = (readers.scene.owner.team, readers.page);
    let request = requested(team, page, incident);
    // The lease, the first email, and then the process ends before it has saved the second.
    let faults = readers.scene.service.test.faults();
    faults.on_write(3, Fault::CrashBefore);
    assert_eq!(faults.until_crash(readers.scene.service.write(&request)).await, None);
    let before = readers.scene.service.receivers.take_mails();
    assert_eq!(before.len(), 2);
    // Nobody else continues while the lease lasts.
    readers.scene.service.write(&request).await;
    assert_eq!(readers.sent(), []);
    readers.scene.service.advance_minutes(2);
    readers.redeliver().await;
    assert!(readers.mail().await.is_empty());
    let after = readers.scene.service.receivers.take_mails();
    assert_eq!(after.len(), 2);
    assert_eq!((&before[1].to, &before[1].id), (&after[0].to, &after[0].id));
    let all: BTreeSet<_> = before.iter().chain(&after).map(|mail| mail.to.clone()).collect();
    assert_eq!(all.len(), 3);
}

#[tokio::test]
async fn after_a_crash_one_deferred_subscriber_gets_an_email_twice_with_the_same_id() {
    let readers = Readers::start().await;
    let all = ["ada@example.com", "grace@example.com"];
    for email in all {
        readers.subscribe(email, true).await;
    }
    readers.write_incident().await;
    let (after, why) = (Duration::from_mins(5), || "the mailbox is full".to_owned());
    readers.receive(SendOutcome::Held { after, was_tried: true, why: why() });
    let delayed = readers.mail().await;
    let [(message, _)] = &delayed[..] else { panic!("{delayed:?}") };
    readers.receive(SendOutcome::DELIVERED);
    readers.scene.service.advance_minutes(5);
    // The lease, the first email, and then the process ends before it has saved the second.
    let faults = readers.scene.service.test.faults();
    faults.on_write(3, Fault::CrashBefore);
    assert_eq!(faults.until_crash(readers.scene.service.write(message)).await, None);
    let before = readers.scene.service.receivers.take_mails();
    assert_eq!(before.len(), 2);
    readers.scene.service.advance_minutes(2);
    readers.redeliver().await;
    assert!(readers.mail().await.is_empty());
    let after = readers.scene.service.receivers.take_mails();
    assert_eq!(after.len(), 1, "only the one that was not saved");
    assert_eq!((&before[1].to, &before[1].id), (&after[0].to, &after[0].id));
}

#[tokio::test]
async fn a_mail_server_that_is_away_delays_and_a_newer_update_replaces_an_older_one() {
    let readers = Readers::start().await;
    for email in ["ada@example.com", "kate@example.com"] {
        readers.subscribe(email, true).await;
    }
    let incident = readers.write_incident().await;
    let held = SendOutcome::Held {
        after: Duration::from_mins(15),
        was_tried: false,
        why: "the server is away".to_owned(),
    };
    readers.receive(held);
    // More often than an email is tried that fails for another reason.
    let mut delayed = readers.mail().await;
    for _ in 0..20 {
        readers.scene.service.advance_minutes(2);
        let [(message, delay)] = &delayed[..] else { panic!("{delayed:?}") };
        assert!(*delay > Duration::from_secs(119), "{delay:?}");
        readers.scene.service.write(message).await;
        delayed = readers.mail().await;
    }
    // Nothing overrides the pause, such as another publication.
    readers.receive(SendOutcome::DELIVERED);
    readers.scene.service.advance_minutes(1);
    readers.scene.service.write(&delayed[0].0).await;
    assert_eq!(readers.sent(), []);
    readers.update(incident, "It was a release.").await;
    assert!(readers.mail().await.is_empty());
    assert_eq!(readers.sent(), to(&["ada@example.com", "kate@example.com"], 2));
    readers.scene.service.write(&delayed[0].0).await;
    assert_eq!(readers.sent(), []);
}

#[tokio::test]
async fn an_email_that_fails_is_tried_again_after_those_to_everybody_else() {
    let readers = Readers::start().await;
    let all = ["ada@example.com", "grace@example.com", "kate@example.com"];
    for email in all {
        readers.subscribe(email, true).await;
    }
    readers.write_incident().await;
    let why = || "the mailbox is full".to_owned();
    let first = all.iter().min_by_key(|email| SubscriptionId::of(email)).expect("an address");
    readers.scene.service.receivers.answer_mails_to(
        first,
        SendOutcome::Held { after: Duration::from_mins(5), was_tried: true, why: why() },
    );
    let mut delayed = readers.mail().await;
    let others: Vec<&str> = all.into_iter().filter(|email| email != first).collect();
    assert_eq!(readers.sent(), to(&others, 1));
    for tried in 1..4 {
        let [(message, _)] = &delayed[..] else { panic!("{tried}: {delayed:?}") };
        let message = message.clone();
        readers.scene.service.advance_minutes(5);
        readers.scene.service.write(&message).await;
        delayed = readers.mail().await;
        assert_eq!(readers.sent(), []);
    }
    let [(message, _)] = &delayed[..] else { panic!("{delayed:?}") };
    readers.scene.service.receivers.answer_mails_to(first, SendOutcome::DELIVERED);
    readers.scene.service.advance_minutes(5);
    readers.scene.service.write(message).await;
    assert_eq!(readers.sent(), to(&[first], 1));
}

#[tokio::test]
async fn a_mailbox_that_is_always_full_is_given_up_and_one_that_is_gone_is_unsubscribed() {
    let readers = Readers::start().await;
    readers.subscribe("ada@example.com", true).await;
    let incident = readers.write_incident().await;
    let why = || "the mailbox is full".to_owned();
    let store = &readers.scene.service.test.app.store;
    readers.receive(SendOutcome::Retry { after: None, why: why() });
    let mut delayed = readers.mail().await;
    for tried in 1..5 {
        let [(message, delay)] = &delayed[..] else { panic!("{tried}: {delayed:?}") };
        assert!(delay.as_secs_f64() > 119.0, "{delay:?}");
        let message = message.clone();
        readers.scene.service.advance_minutes(2);
        readers.scene.service.write(&message).await;
        delayed = readers.mail().await;
    }
    assert!(delayed.is_empty());
    assert_eq!(
        store.mailing(readers.page.into(), MailingTopic::Incident(incident)).await.expect("read"),
        None,
        "five tries"
    );
    for (outcome, subscribers) in
        [(SendOutcome::Refused { why: why() }, 1), (SendOutcome::Gone { why: why() }, 0)]
    {
        readers.update(incident, "Another update.").await;
        readers.receive(outcome);
        assert!(readers.mail().await.is_empty());
        assert_eq!(
            store
                .mailing(readers.page.into(), MailingTopic::Incident(incident))
                .await
                .expect("read"),
            None
        );
        assert_eq!(store.subscriptions(readers.page).await.expect("read"), subscribers);
    }
}

#[tokio::test]
async fn an_update_is_not_sent_a_day_later_or_after_its_incident() {
    let readers = Readers::start().await;
    readers.subscribe("ada@example.com", true).await;
    let incident = readers.write_incident().await;
    readers.scene.service.waiting();
    readers.scene.service.advance_minutes(24 * 60);
    readers.redeliver().await;
    assert!(readers.mail().await.is_empty());
    assert_eq!(readers.sent(), []);

    readers.update(incident, "It was a release.").await;
    let path = format!("{}/incidents/{incident}", readers.path);
    assert_eq!(readers.scene.client().delete(&path).await.status, 204);
    assert!(readers.mail().await.is_empty());
    assert_eq!(readers.sent(), []);
    let store = &readers.scene.service.test.app.store;
    assert_eq!(
        store.mailing(readers.page.into(), MailingTopic::Incident(incident)).await.expect("read"),
        None
    );

    // With the page, everything about its readers is gone.
    assert_eq!(readers.scene.client().delete(&readers.path).await.status, 204);
    readers.mail().await;
    let stored = format!("{:?}", readers.scene.service.test.table.dump().await);
    assert!(!stored.contains("ada@example.com") && !stored.contains("F#"), "{stored}");
}

#[tokio::test]
async fn more_subscribers_than_one_message_sends_are_all_sent_an_update() {
    let readers = Readers::start().await;
    for number in 0..120 {
        let email = format!("user{number}@example.com");
        let source = Source::of(Ipv4Addr::new(192, 0, 2, number).into());
        readers.subscribe_from(source, &email, number % 10 > 0).await;
    }
    readers.write_incident().await;
    assert!(readers.mail().await.is_empty());
    let sent = readers.sent();
    assert_eq!(sent.len(), 108);
    let different: BTreeSet<_> = sent.iter().collect();
    assert_eq!(different.len(), 108);
}
