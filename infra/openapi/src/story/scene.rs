//! Where the story takes place: a service with one team, ids and times that are always the same.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, ToSpan};
use lambda_http::Body;
use lambda_http::http::{Request, StatusCode};
use serde_json::Value;
use vedette_domain::account::{Membership, Role, Scope, Team, Token, User};
use vedette_domain::check::{Finish, StatusResult, ToolResult};
use vedette_domain::id::{CheckId, SiteId, TeamId};
use vedette_domain::plan::Plan;
use vedette_domain::settings::Settings;
use vedette_domain::tool::{RunReason, Tool};
use vedette_runs::record_run;
use vedette_runtime::Entropy;
use vedette_testkit::TestApp;

const BASE_URL: &str = "https://vedette.example.com/api/v1";
const URL: &str = "https://shop.example";

pub(super) struct Scene {
    pub(super) team: TeamId,
    test: TestApp,
    authorization: String,
}

impl Scene {
    /// A team on the growth plan, and its owner's token.
    pub(super) async fn start() -> Self {
        let mut test = TestApp::start().await;
        test.app.entropy = same_every_time();
        test.app.service.base_url = Some(BASE_URL.to_owned());
        let app = &test.app;
        let now = app.clock.now();

        let user = User {
            id: app.entropy.user_id().expect("an id"),
            name: "Ada".to_owned(),
            email: "ada@example.com".to_owned(),
            email_verified_at: Some(now),
            created_at: now,
        };
        app.store.create_user(&user).await.expect("a user");
        let team = Team {
            id: app.entropy.team_id().expect("an id"),
            name: "Observers".to_owned(),
            plan: Plan::Growth,
            plan_active: true,
            sites: 0,
            members: 1,
            cfg: 1,
            synced: 1,
            created_at: now,
            updated_at: now,
        };
        let owner = Membership { team: team.id, user: user.id, role: Role::Owner };
        let settings = Settings::defaults(team.plan);
        app.store.create_team(&team, &settings, &owner).await.expect("a team");
        let secret = app.entropy.secret().expect("a secret");
        let token = Token {
            hash: secret.hash(),
            user: user.id,
            name: "laptop".to_owned(),
            scopes: Scope::ALL.to_vec(),
            expires_at: now.saturating_add((24 * 30).hours()).expect("a time"),
            created_at: now,
        };
        app.store.create_token(&token).await.expect("a token");
        Self { team: team.id, authorization: format!("Bearer {}", secret.reveal()), test }
    }

    pub(super) fn advance(&self, seconds: i64) {
        self.test.advance(SignedDuration::from_secs(seconds));
    }

    /// Sends a request to a route.
    pub(super) async fn send(
        &self,
        name: &str,
        path: &[(&str, &str)],
        query: &str,
        body: Option<&Value>,
    ) -> (StatusCode, Value) {
        let route = vedette_api::named(name).expect("a route");
        let mut uri = format!("https://vedette.example.com{}", route.path);
        for (name, value) in path {
            uri = uri.replace(&format!("{{{name}}}"), value);
        }
        let body = body.map_or(Body::Empty, |body| Body::Text(body.to_string()));
        let request = Request::builder()
            .method(route.method)
            .uri(format!("{uri}?{query}"))
            .header("authorization", &self.authorization)
            .body(body)
            .expect("a request");
        let (head, body) = request.into_parts();
        let (route, head) = vedette_api::dispatch(head);
        let request = Request::from_parts(head, body);
        let response = vedette_api::answer(&self.test.app, route, request).await;
        let status = response.status();
        let answer = match response.into_body() {
            Body::Text(text) => serde_json::from_str(&text).expect("json"),
            _ => Value::Null,
        };
        (status, answer)
    }

    /// A scheduled status check of a site ends now with this result.
    pub(super) async fn check(&self, site: &str, result: StatusResult) {
        let app = &self.test.app;
        let now = app.clock.now();
        let site = SiteId::parse(site).expect("an id");
        let context = app.store.run_context(self.team, site, Tool::Status).await.expect("read");
        let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, now);
        let finish = Finish::Completed(ToolResult::Status(result));
        let (run, state) = context.expect("a site").begin(check, app.service.time_scale);
        record_run(app, &run, state, &finish).await.expect("recorded");
    }
}

/// The shop answers.
pub(super) fn up(response_time: f64) -> StatusResult {
    StatusResult {
        up: true,
        code: 200,
        url: URL.to_owned(),
        effective_url: URL.to_owned(),
        response_time,
        redirected: false,
        redirect_count: 0,
        redirects: Vec::new(),
        error: None,
    }
}

/// The shop says that it cannot answer.
pub(super) fn down() -> StatusResult {
    StatusResult { up: false, code: 503, ..up(61.05) }
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
