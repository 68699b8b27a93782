//! Where the story takes place: a service with one team, ids and times that are always the same.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use vedette_domain::accounts::account::{Membership, Role, User};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::channel::{Channel, EventKind, Filter};
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::expectations::OwnershipRecord;
use vedette_domain::id::{ChannelId, CheckId, SiteId, UserId};
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_notifier::send::{OutgoingMessage as Outgoing, SendOutcome, SendReason};
use vedette_notifier::{Recipient, Transport};
use vedette_runtime::{Destination, Entropy, TxtRecords};
use vedette_store::Audit;
use vedette_testkit::channels::{self, channel};
use vedette_testkit::{
    ApiResponse, Client, Member, TestApp, status_evidence, status_result, store_team,
};

const BASE_URL: &str = "https://vedette.example.com/api/v1";
const URL: &str = "https://shop.example";

pub(super) struct Scene {
    pub(super) owner: Member,
    test: TestApp,
    webhook: Channel,
}

/// The receiver of a webhook.
#[derive(Debug, Default)]
struct Receiver(Mutex<Vec<Value>>);

impl Transport for Receiver {
    async fn send(
        &self,
        _: Recipient<'_>,
        message: &Outgoing,
        _: SendReason,
        _: Timestamp,
    ) -> SendOutcome {
        if let Outgoing::Event { body, .. } = message {
            self.0.lock().expect("events").push(serde_json::from_slice(body).expect("JSON"));
        }
        SendOutcome::DELIVERED
    }
}

impl Scene {
    /// A team on the growth plan, and its owner's token.
    pub(super) async fn start() -> Self {
        let mut test = TestApp::start().await;
        test.app.entropy = same_every_time();
        test.app.txt_records = TxtRecords::from_fn(|_| Box::pin(async { Ok(Vec::new()) }));
        test.app.service.base_url = Some(BASE_URL.to_owned());
        let (app, now) = (&test.app, test.now());
        let owner = User {
            id: app.entropy.user_id().expect("an id"),
            name: "Ada".to_owned(),
            email: "ada@example.com".to_owned(),
            email_verified_at: Some(now),
            zone: None,
            created_at: now,
        };
        let team = app.entropy.team_id().expect("an id");
        let team = Team::new(team, "Observers", Plan::Growth, now);
        let owner = store_team(&test, &team, &owner).await;
        let webhook = channel(
            // A fixed id, so that all other ids stay what they were.
            ChannelId::parse("5a7f0d1e-93c4-4f0b-8a2d-6e1c9b3f7d20").expect("an id"),
            team.id,
            ("Pager", channels::webhook()),
            Filter { events: EventKind::ALL.into(), ..Filter::default() },
            now,
        );
        test.app.store.put_channel(&webhook, Audit::None).await.expect("saved");
        Self { owner, test, webhook }
    }

    /// Has the owner of a site's host publish the DNS record of the team.
    pub(super) async fn publish_record(&mut self, site: &str) {
        let id = SiteId::parse(site).expect("an id");
        let found = self.test.app.store.site(id.partition()).await.expect("read");
        let record = OwnershipRecord::of(&found.expect("a site").site).expect("a record");
        self.test.app.txt_records = TxtRecords::from_fn(move |_| {
            let value = record.value.clone();
            Box::pin(async move { Ok(vec![value]) })
        });
    }

    /// Adds a member to the team.
    pub(super) async fn add_member(&self) -> UserId {
        let (app, now) = (&self.test.app, self.test.now());
        let grace = User {
            id: app.entropy.user_id().expect("an id"),
            name: "Grace".to_owned(),
            email: "grace@example.com".to_owned(),
            email_verified_at: Some(now),
            zone: None,
            created_at: now,
        };
        app.store.create_user(&grace).await.expect("created");
        let place = Membership { team: self.owner.team, user: grace.id, role: Role::Member };
        app.store.put_member(&place, None, Audit::None).await.expect("added");
        grace.id
    }

    /// Tests the team's webhook.
    pub(super) async fn try_webhook(&self) {
        let id = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W".to_owned();
        let test = Queued::notice("test".to_owned(), Content::Test { id }, self.test.now());
        self.test.app.store.put_queued((&self.webhook).into(), &test).await.expect("queued");
    }

    /// Notifies the team's webhook that it missed something while it was off.
    pub(super) async fn turn_webhook_on_too_late(&self) {
        let (id, until) = ("msg_6vfkBhBkqYTLzmrbUHmtXNEG9Zb".to_owned(), self.test.now());
        let since = until - SignedDuration::from_hours(9 * 24);
        let content = Content::Missed { id, since, until };
        let missed = Queued::notice("missed".to_owned(), content, until);
        self.test.app.store.put_queued((&self.webhook).into(), &missed).await.expect("queued");
    }

    /// The events that the webhook gets about everything so far.
    pub(super) async fn events(&self) -> Vec<Value> {
        let receiver = Receiver::default();
        vedette_notifier::wake(&self.test.app, (&self.webhook).into(), Duration::ZERO).await;
        loop {
            let messages = self.test.queue.drain(Destination::Alerts).into_iter();
            let now: Vec<_> = messages.filter(|(_, delay)| delay.is_zero()).collect();
            if now.is_empty() {
                break;
            }
            for (message, _) in now {
                let Message::Alert(message) = message else { continue };
                vedette_notifier::handle(&self.test.app, &receiver, &message).await.expect("told");
            }
        }
        receiver.0.into_inner().expect("events")
    }

    pub(super) fn advance(&self, seconds: i64) {
        self.test.advance(SignedDuration::from_secs(seconds));
    }

    /// Moves the clock to the next Monday, when the report about the week is made.
    pub(super) async fn end_week(&self) {
        self.test.set_clock("2026-11-23T06:00:00Z".parse().expect("a timestamp"));
        let message = ReconcileMessage::Report(self.owner.team);
        vedette_reconciler::handle(&self.test.app, &message).await.expect("made");
    }

    /// Sends a request to a route.
    pub(super) async fn send(
        &self,
        route: &str,
        path: &[(&str, &str)],
        query: &str,
        body: Option<&Value>,
    ) -> ApiResponse {
        Client::new(&self.test.app, &self.owner).call(route, path, query, body).await
    }

    /// A scheduled status check of the shop ends now, with this code after some milliseconds.
    pub(super) async fn check(&self, site: &str, code: u16, response_time: f64) {
        let site = SiteId::parse(site).expect("an id");
        let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, self.test.now());
        let result = status_result(URL, code, response_time);
        let (status, body) = match result.up {
            true => ("200 OK", "<h1>Shop</h1>"),
            false => ("503 Service Unavailable", "<h1>503 Service Temporarily Unavailable</h1>"),
        };
        let evidence = status_evidence(&result, status, body);
        let finish = Finish::Completed(ToolResult::Status(result));
        self.test.end_run_with(site, check, finish, Some(&evidence)).await;
    }
}

/// Ids that look like ids, and are the same in every story (SplitMix64).
fn same_every_time() -> Entropy {
    let state = AtomicU64::new(0x5EED);
    Entropy::from_fn(move |bytes| {
        for chunk in bytes.chunks_mut(8) {
            const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
            let mut z = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
            chunk.copy_from_slice(&z.to_le_bytes()[..chunk.len()]);
        }
    })
}
