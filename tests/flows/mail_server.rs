//! Email through a real mail server on loopback, which refuses the service itself for a while.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use vedette_domain::accounts::audit::By;
use vedette_domain::alerts::channel::{CHANNELS_MAX, Channel, Filter, Target};
use vedette_domain::message::AlertMessage;
use vedette_notifier::NOTIFIER;
use vedette_notifier::send::{MailConfig, MailTransport, SendOutcome, Sender};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_store::{Deliveries, Grant};
use vedette_testkit::granted;

use crate::scene::Scene;

/// A mail server that refuses the sender until it is told to accept it.
#[derive(Clone, Default)]
struct MailServer {
    accepts: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// `MAIL FROM` commands.
    attempts: usize,
    /// Emails that it accepted, with their headers.
    mails: Vec<String>,
}

impl MailServer {
    /// Starts the server, and returns its address.
    async fn start() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("smtp://{}", listener.local_addr().expect("an address"));
        let server = Self::default();
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(accepting.clone().serve(stream));
            }
        });
        (server, url)
    }

    async fn serve(self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        stream.write_all(b"220 mail.test\r\n").await.ok()?;
        let mut mail: Option<String> = None;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            let reply = if let Some(text) = &mut mail {
                if line != ".\r\n" {
                    text.push_str(&line);
                    continue;
                }
                self.seen.lock().expect("no panic").mails.extend(mail.take());
                "250 kept"
            } else if line.starts_with("MAIL") {
                self.seen.lock().expect("no panic").attempts += 1;
                let accepts = self.accepts.load(Ordering::Relaxed);
                if accepts { "250 fine" } else { "550 5.7.1 not from here" }
            } else if line.starts_with("DATA") {
                mail = Some(String::new());
                "354 go on"
            } else {
                "250 fine"
            };
            stream.write_all(format!("{reply}\r\n").as_bytes()).await.ok()?;
        }
    }

    fn attempts(&self) -> usize {
        self.seen.lock().expect("no panic").attempts
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().expect("no panic").mails)
    }
}

fn sender(url: &str) -> Sender {
    let read = |name: &str| match name {
        "VEDETTE_SMTP" => Some(url.to_owned()),
        "VEDETTE_MAIL_FROM" => Some("alerts@vedette.test".to_owned()),
        _ => None,
    };
    let mail =
        MailConfig::read(&read, MailTransport::Folder("mail".into())).expect("a configuration");
    Sender::new(Arc::new(SsrfGuard::new(Outbound::default()).expect("a guard")), mail)
}

impl Scene {
    /// Runs a delivery for a channel, whose email goes through a server.
    async fn mail(&self, sender: &Sender, channel: &Channel) {
        let message = AlertMessage::Channel { team: channel.team, channel: channel.id };
        let app = &self.service.test.app;
        let notified = Box::pin(vedette_notifier::handle(app, sender, &message));
        granted([&NOTIFIER, &Grant::NONE], notified).await.expect("told");
    }

    async fn deliveries(&self, channel: &Channel) -> Deliveries {
        self.service.test.app.store.deliveries(channel.into()).await.expect("read")
    }

    /// An address whose owner is asked to confirm it.
    async fn ask(&self, address: &str) -> Channel {
        let (app, target) = (&self.service.test.app, Target::email(address).expect("an address"));
        let (team, filter) = (self.owner.team, Filter::default());
        let added = vedette_actions::add_channel(
            app,
            team,
            None,
            target,
            filter,
            By::operator(app.clock.now()),
        )
        .await;
        added.expect("added")
    }
}

fn header<'a>(mail: &'a str, name: &str) -> &'a str {
    let value = mail.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.unwrap_or_else(|| panic!("no {name} in {mail}"))
}

#[tokio::test]
async fn a_mail_server_that_refuses_the_sender_disables_no_channel_and_loses_no_mail() {
    let scene = Scene::start().await;
    let (server, url) = MailServer::start().await;
    let sender = sender(&url);
    let mut channels = Vec::new();
    for number in 1..CHANNELS_MAX {
        let target = Target::email(&format!("{number}@example.com")).expect("an address");
        let channel = scene.add_channel(&format!("{number}"), target).await;
        let held = SendOutcome::Held {
            after: Duration::from_secs(1),
            was_tried: false,
            why: "held".to_owned(),
        };
        scene.service.receivers.answer(channel.id, held);
        channels.push(channel);
    }
    scene.watch_down(&json!({})).await;
    channels.push(scene.ask("new@example.com").await);

    // More often than it takes to disable a channel that refuses messages.
    for attempts in 1..=5 {
        scene.service.advance_minutes(16);
        for channel in &channels {
            scene.mail(&sender, channel).await;
        }
        assert_eq!(server.attempts(), attempts, "one mail finds out for all");
    }
    let mut listed = 0;
    for channel in &channels {
        let Deliveries { state, deliveries, queued } = scene.deliveries(channel).await;
        assert_eq!((state.disabled, state.failing, state.refusals), (None, None, 0));
        let why = state.held.expect("it waits");
        assert!(why.starts_with("the mail server, at MAIL FROM: "), "{why}");
        assert!(why.ends_with("5.7.1 not from here"), "{why}");
        assert!(state.log.iter().all(|attempt| attempt.why == why), "{:?}", state.log);
        listed += state.log.len();
        let is_due = deliveries.iter().all(|delivery| delivery.due.is_some());
        assert!(is_due && deliveries.len() + queued.len() == 1, "{deliveries:?} {queued:?}");
    }
    assert_eq!(listed, server.attempts(), "only attempts are listed as such");

    server.accepts.store(true, Ordering::Relaxed);
    scene.service.advance_minutes(16);
    for channel in &channels {
        scene.mail(&sender, channel).await;
    }
    let mails = server.take();
    let subjects: Vec<_> = mails.iter().map(|mail| header(mail, "Subject")).collect();
    let down = subjects.iter().filter(|subject| subject.starts_with("[DOWN]")).count();
    assert_eq!((down, subjects.len()), (channels.len() - 1, channels.len()), "{subjects:?}");
}

#[tokio::test]
async fn each_confirmation_mail_has_an_id_of_its_own() {
    let scene = Scene::start().await;
    let (server, url) = MailServer::start().await;
    let sender = sender(&url);
    let channel = scene.ask("new@example.com").await;
    scene.mail(&sender, &channel).await;
    assert_eq!(server.attempts(), 1, "refused");
    server.accepts.store(true, Ordering::Relaxed);
    scene.service.test.advance(SignedDuration::from_mins(16));
    scene.mail(&sender, &channel).await;
    let app = &scene.service.test.app;
    vedette_actions::resend_to_channel(app, &channel, By::operator(app.clock.now()))
        .await
        .expect("asked again");
    scene.mail(&sender, &channel).await;
    let mails = server.take();
    let ids: BTreeSet<_> = mails.iter().map(|mail| header(mail, "Message-ID")).collect();
    assert_eq!((mails.len(), ids.len()), (2, 2), "{ids:?}");
}

#[tokio::test]
async fn a_person_who_tries_again_finds_that_the_mail_server_works_and_all_mail_is_sent() {
    for request in ["resend", "test"] {
        let scene = Scene::start().await;
        let (server, url) = MailServer::start().await;
        let sender = sender(&url);
        let recoveries = sender.mail_recoveries();
        let mut channels = Vec::new();
        for number in 1..=3 {
            let target = Target::email(&format!("{number}@example.com")).expect("an address");
            let channel = scene.add_channel(&format!("{number}"), target).await;
            let after = Duration::from_secs(1);
            let held = SendOutcome::Held { after, was_tried: false, why: "held".to_owned() };
            scene.service.receivers.answer(channel.id, held);
            channels.push(channel);
        }
        scene.watch_down(&json!({})).await;
        scene.service.advance_minutes(1);
        for channel in &channels {
            scene.mail(&sender, channel).await;
        }
        let app = &scene.service.test.app;
        let ask = async |channel: &Channel| {
            match request {
                "resend" => {
                    let by = By::operator(app.clock.now());
                    vedette_actions::resend_to_channel(app, channel, by).await.expect("asked");
                }
                _ => drop(vedette_actions::queue_test(app, channel).await.expect("asked")),
            }
            scene.mail(&sender, channel).await;
        };
        ask(&channels[1]).await;
        assert_eq!((server.attempts(), *recoveries.borrow()), (2, 0), "{request}: not yet");
        scene.mail(&sender, &channels[2]).await;
        assert_eq!(server.attempts(), 2, "{request}: nobody has asked for this one");

        server.accepts.store(true, Ordering::Relaxed);
        ask(&channels[1]).await;
        assert_eq!(*recoveries.borrow(), 1, "{request}: at once");
        vedette_notifier::redeliver_held_mail(app, usize::MAX).await.expect("released");
        for channel in &channels {
            scene.mail(&sender, channel).await;
            let Deliveries { state, .. } = scene.deliveries(channel).await;
            assert_eq!((state.held, state.retry_at, state.is_requested), (None, None, false));
        }
        let mails = server.take();
        let subjects: Vec<_> = mails.iter().map(|mail| header(mail, "Subject")).collect();
        let down = subjects.iter().filter(|subject| subject.starts_with("[DOWN]")).count();
        assert_eq!(down, channels.len(), "{request}: {subjects:?}");
    }
}

#[tokio::test]
async fn after_a_restart_one_email_tries_whether_a_hold_is_over_and_all_others_follow() {
    let scene = Scene::start().await;
    let (server, url) = MailServer::start().await;
    let mut channels = Vec::new();
    for number in 1..=3 {
        let target = Target::email(&format!("{number}@example.com")).expect("an address");
        channels.push(scene.add_channel(&format!("{number}"), target).await);
        let why = "held by the last process".to_owned();
        let held = SendOutcome::Held { after: Duration::from_mins(15), was_tried: false, why };
        scene.service.receivers.answer(channels[number - 1].id, held);
    }
    scene.watch_down(&json!({})).await;
    server.accepts.store(true, Ordering::Relaxed);
    let app = &scene.service.test.app;
    let sender = sender(&url);
    let recoveries = sender.mail_recoveries();
    for (most, sent, recovered) in [(1, 1, 1), (usize::MAX, channels.len(), 1)] {
        vedette_notifier::redeliver_held_mail(app, most).await.expect("released");
        for channel in &channels {
            scene.mail(&sender, channel).await;
        }
        assert_eq!((server.attempts(), *recoveries.borrow()), (sent, recovered), "{most}");
    }
}
