//! Where the story takes place: a service with one team, ids and times that are always the same.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::SignedDuration;
use serde_json::Value;
use vedette_domain::account::{Team, User};
use vedette_domain::check::{Finish, ToolResult};
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::plan::Plan;
use vedette_domain::tool::{RunReason, Tool};
use vedette_runtime::Entropy;
use vedette_testkit::{ApiResponse, Client, Member, TestApp, status_result, store_team};

const BASE_URL: &str = "https://vedette.example.com/api/v1";
const URL: &str = "https://shop.example";

pub(super) struct Scene {
    pub(super) owner: Member,
    test: TestApp,
}

impl Scene {
    /// A team on the growth plan, and its owner's token.
    pub(super) async fn start() -> Self {
        let mut test = TestApp::start().await;
        test.app.entropy = same_every_time();
        test.app.service.base_url = Some(BASE_URL.to_owned());
        let (app, now) = (&test.app, test.now());
        let owner = User {
            id: app.entropy.user_id().expect("an id"),
            name: "Ada".to_owned(),
            email: "ada@example.com".to_owned(),
            email_verified_at: Some(now),
            created_at: now,
        };
        let team = app.entropy.team_id().expect("an id");
        let team = Team::new(team, "Observers", Plan::Growth, now);
        let owner = store_team(&test, &team, &owner).await;
        Self { test, owner }
    }

    pub(super) fn advance(&self, seconds: i64) {
        self.test.advance(SignedDuration::from_secs(seconds));
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
        self.test.end_run(site, check, Finish::Completed(ToolResult::Status(result))).await;
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
