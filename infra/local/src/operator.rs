//! Notifies the operator about problems that keep the service from working, in a way that does not need the table.

use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tracing::{error, info, warn};
use vedette_domain::accounts::email::parse_email;
use vedette_domain::alerts::channel::{SecretUrl, Target};
use vedette_domain::alerts::{Alert, AlertKind};
use vedette_domain::issues::Severity;
use vedette_domain::time::wire;
use vedette_notifier::send::{OutgoingMessage, SendOutcome, SendReason, Sender};
use vedette_runtime::App;
use vedette_runtime::health::{Health, Notice, Ongoing};

/// The variable that says where to reach the operator.
pub const OPERATOR_URL: &str = "VEDETTE_OPERATOR_URL";

/// How long there must be no problem before the operator is notified of that. A disk that is almost full soon fills up
/// again.
const CALM: Duration = Duration::from_secs(60);

/// The pauses before further attempts to send.
const AGAIN: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(10),
    Duration::from_secs(60),
    Duration::from_secs(300),
];

/// Where to reach the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operator {
    /// With a POST to this URL.
    Webhook(SecretUrl),
    /// With an email to this address.
    Mail(String),
}

impl FromStr for Operator {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let problem = "expected https://… or mailto:ADDRESS";
        let text = text.trim();
        let address = text.strip_prefix("mailto:").unwrap_or(text);
        if !address.contains("//")
            && let Ok(address) = parse_email(address)
        {
            return Ok(Self::Mail(address.to_owned()));
        }
        SecretUrl::parse(text).map(Self::Webhook).map_err(|_| problem)
    }
}

impl Operator {
    /// Sends a report once.
    async fn send(&self, app: &App, sender: &Sender, report: &Report) -> SendOutcome {
        let (now, id) = (app.clock.now(), report.id());
        let service = app.service.pages_base().unwrap_or("this machine");
        match self {
            Self::Webhook(url) => {
                let body = report.event(service).to_string();
                sender.post(url, &id, body.as_bytes(), now).await
            }
            Self::Mail(address) => {
                let target = Target::Email { address: address.clone() };
                let alert = report.alert(service);
                sender
                    .send(
                        &target,
                        &OutgoingMessage::Alert {
                            alert,
                            id,
                            openings: Vec::new(),
                            unsubscribe_url: None,
                        },
                        SendReason::Due,
                        now,
                    )
                    .await
            }
        }
    }
}

/// A report for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Report {
    /// The current problems, or those that are over.
    problems: Vec<Ongoing>,
    is_over: bool,
    at: Timestamp,
}

impl Report {
    /// The id of the report, which is the same whenever it is sent again.
    fn id(&self) -> String {
        format!("{}-{}", self.state().to_lowercase(), self.at.as_millisecond())
    }

    const fn state(&self) -> &'static str {
        if self.is_over { "RECOVERED" } else { "DEGRADED" }
    }

    fn lines(&self) -> Vec<String> {
        let what = |notice: Notice| match self.is_over {
            true => format!("Resolved: {}", notice.what),
            false => format!("{} {}", notice.what, notice.remedy),
        };
        self.problems.iter().map(|ongoing| what(ongoing.into())).collect()
    }

    /// The report for programs; chats show its `text`.
    fn event(&self, service: &str) -> Value {
        let problems: Vec<Value> = self
            .problems
            .iter()
            .map(|ongoing| {
                let Notice { since, what, remedy } = ongoing.into();
                json!({ "since": wire(since), "what": what, "remedy": remedy })
            })
            .collect();
        json!({
            "type": format!("service.{}", self.state().to_lowercase()),
            "timestamp": wire(self.at),
            "text": format!("{}: Vedette at {service}\n{}", self.state(), self.lines().join("\n")),
            "data": { "service": service, "problems": problems },
        })
    }

    fn alert(&self, service: &str) -> Alert {
        Alert {
            kind: if self.is_over { AlertKind::Resolved } else { AlertKind::Notice },
            state: self.state().to_owned(),
            name: format!("Vedette at {service}"),
            lines: self.lines(),
            facts: Vec::new(),
            severity: (!self.is_over).then_some(Severity::Critical),
            site_url: None,
            link: None,
            respond: None,
            runbook: None,
            thread: None,
            at: self.at,
        }
    }
}

/// Notifies the operator once when the service is degraded, and once when that is over.
pub(crate) async fn notify(app: App, sender: std::sync::Arc<Sender>, operator: Operator) {
    let (health, clock) = (app.health.clone(), app.clock.clone());
    let send = |report: Report| {
        let (app, sender, operator) = (&app, &sender, &operator);
        async move { operator.send(app, sender, &report).await }
    };
    notify_by(&health, || clock.now(), send).await;
}

async fn notify_by<F: Future<Output = SendOutcome>>(
    health: &Health,
    now: impl Fn() -> Timestamp,
    send: impl Fn(Report) -> F,
) {
    let mut changes = health.watch();
    let mut notified: Vec<Ongoing> = Vec::new();
    loop {
        let ongoing = changes.borrow_and_update().clone();
        let is_known = |problem: &Ongoing| notified.iter().any(|known| known.is_same(problem));
        if !ongoing.iter().all(is_known) {
            notified = ongoing;
            deliver(Report { problems: notified.clone(), is_over: false, at: now() }, &send).await;
        } else if !notified.is_empty() && ongoing.is_empty() {
            if timeout(CALM, changes.changed()).await.is_err() {
                let problems = std::mem::take(&mut notified);
                deliver(Report { problems, is_over: true, at: now() }, &send).await;
            }
        } else if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Sends a report, with a few more attempts if necessary.
async fn deliver<F: Future<Output = SendOutcome>>(report: Report, send: &impl Fn(Report) -> F) {
    let mut again = AGAIN.into_iter();
    loop {
        let delay = again.next();
        match (send(report.clone()).await, delay) {
            (SendOutcome::Delivered { .. }, _) => return info!("notified the operator"),
            (SendOutcome::Retry { why, .. } | SendOutcome::Held { why, .. }, Some(delay)) => {
                warn!(why, ?delay, "could not notify the operator; trying again later");
                sleep(delay).await;
            }
            (
                SendOutcome::Retry { why, .. }
                | SendOutcome::Held { why, .. }
                | SendOutcome::Refused { why }
                | SendOutcome::Gone { why },
                _,
            ) => return error!(why, "could not notify the operator; check {OPERATOR_URL}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::time::Instant;
    use vedette_runtime::health::ServiceProblem;

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn full() -> ServiceProblem {
        ServiceProblem::NotWritable { why: "disk full".to_owned() }
    }

    #[test]
    fn a_webhook_or_an_address_is_meant() {
        let mail = Operator::Mail("ada@example.com".to_owned());
        assert_eq!("mailto:ada@example.com".parse(), Ok(mail.clone()));
        assert_eq!(" ada@example.com ".parse(), Ok(mail));
        let webhook: Operator = "https://hooks.example/@/T1".parse().expect("a URL");
        assert!(matches!(webhook, Operator::Webhook(_)), "{webhook:?}");
        assert!(!format!("{webhook:?}").contains("T1"), "a URL is a secret");
        for wrong in ["", "operator", "http://hooks.example/T1", "ftp://hooks.example", "mailto:"] {
            assert!(wrong.parse::<Operator>().is_err(), "{wrong}");
        }
    }

    /// Notifies an operator that does not receive the first messages. Returns what was sent, and after how many
    /// seconds.
    async fn notified(deaf: usize, story: impl AsyncFnOnce(&Health)) -> Vec<(u64, String)> {
        let (health, sent) = (Health::default(), Arc::new(Mutex::new(Vec::new())));
        let begun = Instant::now();
        let notifying = tokio::spawn({
            let (health, sent) = (health.clone(), Arc::clone(&sent));
            async move {
                let send = |report: Report| {
                    let mut sent = sent.lock().expect("a list");
                    let text = report.event("x")["type"].as_str().unwrap_or_default().to_owned();
                    sent.push((begun.elapsed().as_secs(), text));
                    std::future::ready(match sent.len() > deaf {
                        true => SendOutcome::DELIVERED,
                        false => SendOutcome::Retry { after: None, why: "deaf".to_owned() },
                    })
                };
                notify_by(&health, || NOW, send).await;
            }
        });
        story(&health).await;
        sleep(Duration::from_hours(1)).await;
        notifying.abort();
        let sent = sent.lock().expect("a list");
        sent.clone()
    }

    #[tokio::test(start_paused = true)]
    async fn the_operator_is_told_once_and_once_that_it_is_over() {
        let sent = notified(0, async |health| {
            health.report(full(), NOW);
            sleep(Duration::from_secs(10)).await;
            health
                .report(ServiceProblem::NotWritable { why: "input/output error".to_owned() }, NOW);
            // Like a disk that is almost full.
            for _ in 0..10 {
                health.report_over(|_| true);
                sleep(CALM / 2).await;
                health.report(full(), NOW);
                sleep(CALM / 2).await;
            }
            health.report_over(|_| true);
        });
        let expected = [(0, "service.degraded".to_owned()), (670, "service.recovered".to_owned())];
        assert_eq!(sent.await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn undelivered_messages_to_the_operator_are_retried_a_few_times() {
        let degraded = |second| (second, "service.degraded".to_owned());
        let sent = notified(2, async |health| health.report(full(), NOW)).await;
        assert_eq!(sent, [0, 1, 11].map(degraded));
        let sent = notified(9, async |health| health.report(full(), NOW)).await;
        assert_eq!(sent, [0, 1, 11, 71, 371].map(degraded));
    }

    #[test]
    fn a_report_says_what_is_wrong_and_what_to_do() {
        let problems = vec![Ongoing { since: NOW, problem: full() }];
        let report = Report { problems, is_over: false, at: NOW };
        let event = report.event("https://monitor.example");
        let text = event["text"].as_str().expect("text");
        assert!(
            text.starts_with("DEGRADED: Vedette at https://monitor.example\nNothing can be saved")
        );
        assert!(text.contains("Free space"), "{text}");
        assert_eq!(report.alert("x").lines, report.lines());
        let over = Report { is_over: true, ..report };
        assert!(over.alert("x").title().starts_with("RECOVERED: "), "{over:?}");
    }
}
