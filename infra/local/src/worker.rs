//! The consumers of the queues, and the scheduler that feeds them.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};
use vedette_checker::{Engines, Handled, handle_beside_others};
use vedette_domain::checks::concurrency::Places;
use vedette_domain::message::Message;
use vedette_notifier::send::Sender;
use vedette_ops::ErrorChain;
use vedette_runtime::{App, Destination, LocalQueue, LocalScheduler, QueueDelivery};

use crate::console::Console;
use crate::lateness::{LOOK_EVERY, Lateness};
use crate::metrics::Counters;
use crate::patient_sender::PatientSender;

/// How long running checks may take to finish when the service stops.
const GRACE: Duration = Duration::from_secs(5);
/// How often a message is tried.
const TRIES: u32 = 5;
/// The delay before the second try; it doubles with every further try.
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// What is needed to handle a message.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) app: App,
    pub(crate) queue: LocalQueue,
    pub(crate) engines: Arc<Engines>,
    pub(crate) sender: Arc<Sender>,
    pub(crate) console: Console,
    pub(crate) counters: Arc<Counters>,
    pub(crate) stop: CancellationToken,
}

impl Worker {
    /// Handles the messages of a queue until it is stopped. Running checks then get a few seconds to finish.
    pub(crate) async fn consume(self, destination: Destination, places: Places) {
        let mut running = JoinSet::new();
        let mut lateness = Lateness::default();
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                Some(ended) = running.join_next() => note_panic(destination, ended),
                _ = looks.tick() => lateness.look(destination, self.queue.backlog(destination)),
                delivery = self.queue.receive(destination, places) => {
                    running.spawn(self.clone().deliver(delivery));
                }
            }
        }
        let finished = async {
            while let Some(ended) = running.join_next().await {
                note_panic(destination, ended);
            }
        };
        if timeout(GRACE, finished).await.is_err() {
            warn!(
                queue = destination.name(),
                cut_off = running.len(),
                "the shutdown interrupted work, which will be done again"
            );
        }
    }

    /// Handles a message, and retries it later if that fails. Other messages are handled in the meantime.
    async fn deliver(self, delivery: QueueDelivery) {
        let Err(error) = self.handle(&delivery).await else { return };
        let error = ErrorChain(&*error);
        let QueueDelivery { message, deliveries, .. } = &delivery;
        let delay = (*deliveries < TRIES).then(|| FIRST_DELAY * 2_u32.pow(deliveries - 1));
        match delay {
            _ if self.app.health.cannot_save() => {
                debug!(?message, %error, deliveries, "could not handle a message");
            }
            Some(delay) => {
                warn!(?message, %error, deliveries, ?delay, "could not handle a message; trying again later");
            }
            None => {
                error!(?message, %error, deliveries, "could not handle a message; Vedette sends it again if it is still needed");
            }
        }
        match delay {
            Some(delay) => delivery.retry(delay),
            None => self.counters.given_up(Destination::of(message)),
        }
    }

    async fn handle(&self, delivery: &QueueDelivery) -> Result<(), Box<dyn Error + Send + Sync>> {
        match &delivery.message {
            Message::Check(check) => {
                let started = Instant::now();
                let (app, engines) = (&self.app, &self.engines);
                let handled = handle_beside_others(app, engines, check, || delivery.slow());
                match handled.await? {
                    Handled::Finished(finished) => {
                        self.counters.check(&finished);
                        self.console.show(self.app.clock.now(), &finished, started.elapsed());
                    }
                    other => debug!(?check, "{other}"),
                }
            }
            Message::Reconcile(message) => {
                Box::pin(vedette_reconciler::handle(&self.app, message)).await?;
            }
            Message::Alert(alert) => {
                let sender =
                    PatientSender { sender: &self.sender, delivery, counters: &self.counters };
                Box::pin(vedette_notifier::handle(&self.app, &sender, alert)).await?;
            }
            Message::Mail(mail) => {
                let sender =
                    PatientSender { sender: &self.sender, delivery, counters: &self.counters };
                Box::pin(vedette_mailer::handle(&self.app, &sender, mail)).await?;
            }
        }
        Ok(())
    }
}

fn note_panic(destination: Destination, ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        error!(queue = destination.name(), %error, "handling a message panicked");
    }
}

/// Sends the message of every recurring run when it is due.
pub(crate) async fn schedule(app: App, scheduler: LocalScheduler) {
    loop {
        let run = Message::Check(scheduler.next().await);
        // The local queue accepts everything.
        if let Err(error) = app.queue.send(&run, Duration::ZERO).await {
            error!(?run, error = %ErrorChain(&error), "could not queue a scheduled run; it is skipped");
        }
    }
}

/// Puts messages that a `vedette` command has passed on into the queues.
pub(crate) fn receive(queue: &LocalQueue, passed_on: &[u8]) {
    match serde_json::from_slice::<Vec<(Message, Duration)>>(passed_on) {
        Ok(messages) => {
            messages.into_iter().for_each(|(message, delay)| queue.send(message, delay));
        }
        Err(error) => {
            warn!(%error, "could not read the messages of a command; redelivery will send them");
        }
    }
}

#[cfg(test)]
mod tests {
    use vedette_checker::EngineConfig;
    use vedette_domain::accounts::plan::Plan;
    use vedette_domain::alerts::channel::webhook::Webhook;
    use vedette_domain::alerts::channel::{
        CHANNELS_MAX, Filter, SecretUrl, SigningKey, SigningKeys, Target,
    };
    use vedette_domain::alerts::delivery::{Content, Queued};
    use vedette_domain::checks::concurrency::team_share;
    use vedette_domain::checks::tool::{RunReason, Tool};
    use vedette_domain::checks::tool_state::ToolState;
    use vedette_domain::id::TeamId;
    use vedette_domain::message::{AlertMessage, CheckMessage, ReconcileMessage, RunOrder};
    use vedette_domain::sites::site::Site;
    use vedette_notifier::send::{MailConfig, MailTransport};
    use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
    use vedette_runtime::SLOW_AFTER;
    use vedette_store::{Audit, SiteWithTools};
    use vedette_testkit::channels::add_channel;
    use vedette_testkit::{Member, TestApp, WebServer, advance_timers, loopback, new_team};

    use super::*;
    use crate::patient_sender;
    use crate::places::places;
    use crate::tests::app_without_table;

    fn sender() -> Sender {
        let guard = SsrfGuard::new(loopback()).expect("a guard");
        let mail =
            MailConfig::read(&|_| None, MailTransport::Folder("mail".into())).expect("a folder");
        Sender::new(Arc::new(guard), mail)
    }

    async fn worker() -> (Worker, Message) {
        let queue = LocalQueue::new();
        let app = app_without_table(&queue);
        let worker = Worker {
            app: app.clone(),
            queue,
            engines: Arc::new(
                Engines::new(Outbound::default(), EngineConfig::default()).expect("engines"),
            ),
            sender: Arc::new(sender()),
            console: Console::start(true).expect("a quiet console"),
            counters: Arc::default(),
            stop: CancellationToken::new(),
        };
        let id = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";
        let team = TeamId::parse(id).expect("a team id");
        let message = Message::Reconcile(ReconcileMessage::SyncTeam(team));
        app.queue.send(&message, Duration::ZERO).await.expect("sent");
        (worker, message)
    }

    #[tokio::test(start_paused = true)]
    async fn failing_work_is_retried_then_given_up_and_does_not_count_as_running() {
        let (worker, message) = worker().await;
        for delay in [0, 1, 2, 4, 8] {
            let since = Instant::now();
            let delivery = worker.queue.receive(Destination::Reconcile, Places::running(1)).await;
            assert_eq!(delivery.message, message);
            assert_eq!(since.elapsed().as_secs(), delay);
            worker.clone().deliver(delivery).await;
        }
        assert_eq!(worker.queue.drain(Destination::Reconcile), []);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_does_not_wait_for_what_is_to_be_tried_again() {
        let (worker, message) = worker().await;
        let delivery = worker.queue.receive(Destination::Reconcile, Places::running(1)).await;
        worker.clone().deliver(delivery).await;
        let (queue, stop) = (worker.queue.clone(), worker.stop.clone());
        let consumer = tokio::spawn(worker.consume(Destination::Reconcile, Places::running(4)));
        stop.cancel();
        timeout(Duration::from_millis(1), consumer).await.expect("at once").expect("no panic");
        let waiting = queue.drain(Destination::Reconcile);
        assert_eq!(waiting.into_iter().map(|(message, _)| message).collect::<Vec<_>>(), [message]);
    }

    /// Monitors a URL, and returns the message of its run of a tool that is due now.
    async fn run(test: &TestApp, tool: Tool, member: &Member, url: &str) -> CheckMessage {
        let now = test.now();
        let id = test.app.entropy.site_id().expect("an id");
        let url = url.parse().expect("a URL");
        let site = Site { synced: 1, ..Site::new(id, member.team, url, now) };
        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot: now };
        let message = CheckMessage { team: site.team, site: site.id, tool, order };
        let team = test.app.store.team(site.team, now).await.expect("read").expect("a team").team;
        let tools = Tool::ALL.map(|tool| (tool, ToolState::new())).into();
        let stored = SiteWithTools { site, tools };
        test.app.store.create_site(&team, &stored, None, None, Audit::None).await.expect("a site");
        message
    }

    /// A worker for a test app, which may reach this machine.
    fn worker_of(test: &TestApp) -> Worker {
        Worker {
            app: test.app.clone(),
            queue: test.queue.clone(),
            engines: Arc::new(Engines::new(loopback(), EngineConfig::default()).expect("engines")),
            sender: Arc::new(sender()),
            console: Console::start(true).expect("a quiet console"),
            counters: Arc::default(),
            stop: CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn healthy_sites_are_checked_while_more_hang_than_there_are_places() {
        const PLACES: Places = Places { running: 4, slow: 16 };
        let (test, team) = TestApp::with_team().await;
        let (slow, quick) = (WebServer::start().await, WebServer::start().await);
        slow.hang();
        let tool = Tool::Status;
        let worker = worker_of(&test);
        for number in 0..12 {
            let url = format!("{}/{number}", slow.url);
            let message = Message::Check(run(&test, tool, &team, &url).await);
            test.app.queue.send(&message, Duration::ZERO).await.expect("sent");
        }
        // Of the same team, and queued after all the targets that hang.
        let healthy = run(&test, tool, &team, &quick.url).await;
        test.app.queue.send(&Message::Check(healthy), Duration::ZERO).await.expect("sent");
        let consumer = tokio::spawn(worker.consume(Destination::Tool(tool), PLACES));
        for hanging in [3, 6, 9, 12] {
            slow.asked(hanging).await;
            advance_timers(SLOW_AFTER).await;
        }
        quick.asked(1).await;
        assert_eq!(test.queue.backlog(Destination::Tool(tool)).slow, 12);

        // Checks that hung are saved like any others once their target answers.
        slow.answer(200);
        let mut saved = 0;
        while saved < 13 {
            saved = 0;
            for site in test.app.store.directory(team.team, 13).await.expect("read") {
                let read = test.app.store.site_tool(site.id.partition(), tool).await.expect("read");
                saved += usize::from(read.expect("a site").1.automatic.is_some());
            }
        }
        assert_eq!((slow.requests(), quick.requests()), (12, 1), "each was asked once");
        // A check is saved before its message leaves the queue.
        while test.queue.backlog(Destination::Tool(tool)).slow > 0 {
            tokio::task::yield_now().await;
        }
        consumer.abort();
    }

    /// Adds a webhook to a team, and returns the message that sends a test message to it.
    async fn webhook(test: &TestApp, team: TeamId, server: &WebServer) -> Message {
        let key = SigningKey::from_random([7; SigningKey::BYTES]);
        let keys = SigningKeys { current: key, previous: None };
        let target = Target::Webhook(Webhook { url: SecretUrl::new(server.url.clone()), keys });
        let channel = add_channel(&test.app, team, ("Hook", target), Filter::default()).await;
        let content = Content::Test { id: channel.id.to_string() };
        let queued = Queued::notice("test".to_owned(), content, test.now());
        test.app.store.put_queued((&channel).into(), &queued).await.expect("queued");
        Message::Alert(AlertMessage::Channel { team, channel: channel.id })
    }

    #[tokio::test]
    async fn channels_are_told_while_all_others_of_their_team_hang() {
        const HANGING: usize = CHANNELS_MAX - 2;
        let test = TestApp::start().await;
        let team = new_team(&test, Plan::Agency).await.team;
        let (slow, quick) = (WebServer::start().await, WebServer::start().await);
        slow.hang();
        for number in 0..CHANNELS_MAX {
            let server = if number < HANGING { &slow } else { &quick };
            let message = webhook(&test, team, server).await;
            test.app.queue.send(&message, Duration::ZERO).await.expect("sent");
        }
        let places = places(Destination::Alerts, 4_096);
        let at_once = team_share(places.running);
        assert!(at_once < HANGING, "or nothing would be shown");
        let consumer = tokio::spawn(worker_of(&test).consume(Destination::Alerts, places));
        slow.asked(at_once).await;
        advance_timers(patient_sender::SLOW_AFTER).await;
        quick.asked(CHANNELS_MAX - HANGING).await;
        slow.asked(HANGING).await;
        assert!(test.queue.backlog(Destination::Alerts).slow >= at_once, "they hang still");
        consumer.abort();
    }

    #[tokio::test]
    async fn a_crawl_begins_while_twelve_of_another_team_hang() {
        let mut test = TestApp::start().await;
        test.app.service.tools = vec![Tool::BrokenLinks];
        let (many, one) =
            (new_team(&test, Plan::Agency).await, new_team(&test, Plan::Starter).await);
        let (slow, quick) = (WebServer::start().await, WebServer::start().await);
        slow.hang();
        let worker = worker_of(&test);
        let mut hanging = Vec::new();
        for number in 0..12 {
            let url = format!("{}/{number}", slow.url);
            let message = run(&test, Tool::BrokenLinks, &many, &url).await;
            test.app.queue.send(&Message::Check(message), Duration::ZERO).await.expect("sent");
            hanging.push(message);
        }
        let consumer =
            tokio::spawn(worker.consume(Destination::Tool(Tool::BrokenLinks), Places::running(4)));
        slow.asked(3).await;
        let message = run(&test, Tool::BrokenLinks, &one, &quick.url).await;
        test.app.queue.send(&Message::Check(message), Duration::ZERO).await.expect("sent");
        quick.asked(1).await;
        for CheckMessage { site, tool, .. } in hanging {
            let read = test.app.store.site_tool(site.partition(), tool).await.expect("read");
            assert_eq!(read.expect("a site").1.automatic, None, "none has ended");
        }
        consumer.abort();
    }
}
