//! `/ping/…`: the addresses that jobs ping. Paths, answers and their status codes are those of Healthchecks.

use lambda_http::http::Request;
use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_http::source::Peer;
use vedette_testkit::{ApiResponse, Member, new_team};
use vedette_tests::Service;

use crate::heartbeats::{added, frequent, path};
use crate::ping_key::put;
use crate::support::{UNKNOWN, rows, set_plan};

const RUN: &str = "f7f4f5b4-cf3c-4a0a-9b2c-7dd5b9b0f1a2";

/// A team with the job `Backup`.
struct Scene {
    service: Service,
    owner: Member,
    heartbeat: String,
    key: String,
    /// The ping key of the team.
    team: String,
}

impl Scene {
    async fn start() -> Self {
        Self::on(Plan::Agency).await
    }

    async fn on(plan: Plan) -> Self {
        let service = Service::start().await;
        let owner = new_team(&service.test, plan).await;
        let (heartbeat, key) = added(&service, &owner, &frequent("Backup")).await;
        let team = put(&service, &owner, &json!({})).await.data("ping_key");
        Self { service, owner, heartbeat, key, team }
    }

    async fn runs(&self) -> Vec<Value> {
        rows(&self.service.client(&self.owner).get(&format!("{}/runs", self.heartbeat)).await)
    }

    async fn ping(&self, method: &str, path: &str) -> ApiResponse {
        let request = Request::builder().method(method).uri(format!("/ping/{path}"));
        self.service.send_ping(request.body(Vec::new()).expect("a request")).await
    }
}

#[track_caller]
fn assert_answer(answer: &ApiResponse, status: u16, text: &str) {
    assert_eq!((answer.status, &answer.body), (status, &json!(text)));
    for (name, value) in [
        ("content-type", "text/plain; charset=utf-8"),
        ("access-control-allow-origin", "*"),
        ("cache-control", "no-store"),
        ("ping-body-limit", "10000"),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
}

/// The table of answers of Healthchecks. It also answers 409 if a slug is ambiguous, which no slug of Vedette is.
#[tokio::test]
async fn each_path_has_its_answer() {
    let scene = Scene::start().await;
    let Scene { key, team, .. } = &scene;
    let (own, slug) = (key.as_str(), format!("{team}/backup"));
    let (_, id) = scene.heartbeat.rsplit_once('/').expect("a uuid");
    let stranger = new_team(&scene.service.test, Plan::Agency).await;
    let theirs = put(&scene.service, &stranger, &json!({})).await.data("ping_key");
    for (path, status, text) in [
        (own.to_owned(), 200, "OK"),
        (own.to_uppercase(), 200, "OK"),
        (format!("{own}/"), 200, "OK"),
        (format!("{own}/start"), 200, "OK"),
        (format!("{own}/fail"), 200, "OK"),
        (format!("{own}/log"), 200, "OK"),
        (format!("{own}/0"), 200, "OK"),
        (format!("{own}/255"), 200, "OK"),
        (format!("{own}/256"), 400, "invalid url format"),
        (format!("{own}/stop"), 404, "not found"),
        (format!("{own}/start/"), 404, "not found"),
        (format!("{own}?rid={RUN}"), 200, "OK"),
        (format!("{own}/start?rid={}", RUN.to_uppercase()), 200, "OK"),
        (format!("{own}?rid="), 400, "invalid uuid format"),
        (format!("{own}?rid=1"), 400, "invalid uuid format"),
        (format!("{own}?rid={}", RUN.replace('-', "")), 400, "invalid uuid format"),
        (format!("{own}?rid={}g", &RUN[..35]), 400, "invalid uuid format"),
        (slug.clone(), 200, "OK"),
        (format!("{slug}/start"), 200, "OK"),
        (format!("{slug}/fail"), 200, "OK"),
        (format!("{slug}/log"), 200, "OK"),
        (format!("{slug}/1?rid={RUN}"), 200, "OK"),
        (format!("{slug}/256"), 400, "invalid url format"),
        (format!("{slug}/"), 404, "not found"),
        (format!("{slug}?create=1"), 200, "OK"),
        (format!("{team}/Backup"), 400, "invalid url format"),
        (format!("{team}/Backup?create=1"), 400, "invalid url format"),
        (format!("{team}/new"), 404, "not found"),
        (format!("{team}/new?create=0"), 404, "not found"),
        (format!("{team}/new/start?create=1"), 201, "Created"),
        (format!("{team}/new?create=1"), 200, "OK"),
        (format!("{team}/"), 404, "not found"),
        (team.clone(), 404, "not found"),
        (format!("{theirs}/backup"), 404, "not found"),
        ("AAAAAAAAAAAAAAAAAAAAAA/backup?create=1".to_owned(), 404, "not found"),
        (format!("{UNKNOWN}?create=1"), 404, "not found"),
        (id.to_owned(), 404, "not found"),
        ("nonsense".to_owned(), 404, "not found"),
        (String::new(), 404, "not found"),
    ] {
        for method in ["GET", "POST"] {
            scene.service.advance_minutes(1);
            // Only the first ping creates.
            let (status, text) = match (status, method) {
                (201, "POST") => (200, "OK"),
                _ => (status, text),
            };
            let answer = scene.ping(method, &path).await;
            assert_eq!((answer.status, &answer.body), (status, &json!(text)), "{method} {path}");
            assert_answer(&answer, status, text);
        }
    }
}

#[tokio::test]
async fn each_method_counts() {
    let scene = Scene::start().await;
    for method in ["GET", "POST", "PUT"] {
        assert_answer(&scene.ping(method, &scene.key).await, 200, "OK");
    }
    let head = scene.ping("HEAD", &format!("{}/fail", scene.key)).await;
    assert_eq!((head.status, &head.body, head.header("content-length")), (200, &json!(null), "2"));
    let outcomes: Vec<_> = scene.runs().await.iter().map(|run| run["outcome"].clone()).collect();
    assert_eq!(outcomes, ["failure", "success", "success", "success"]);
}

#[tokio::test]
async fn the_end_of_a_body_is_kept_whatever_it_is() {
    let scene = Scene::start().await;
    let sent = async |body: Vec<u8>| {
        let request = Request::post(format!("/ping/{}", scene.key))
            .header("content-type", "application/json; charset=nonsense")
            .body(body);
        assert_answer(&scene.service.send_ping(request.expect("a request")).await, 200, "OK");
        scene.runs().await[0]["output"].clone()
    };
    assert_eq!(sent(Vec::new()).await, json!(null));
    let most = "b".repeat(10_000);
    assert_eq!(sent(most.clone().into()).await, json!(most));
    assert_eq!(sent(format!("{}{most}", "a".repeat(200_000)).into()).await, json!(most));
    assert_eq!(sent(b"caf\xe9 \0".to_vec()).await, json!("caf\u{fffd} \0"));
    let cut = format!("é{}", "b".repeat(9_999));
    assert_eq!(sent(cut.into()).await, json!(format!("\u{fffd}{}", "b".repeat(9_999))));
}

#[tokio::test]
async fn a_ping_creates_a_heartbeat_with_the_defaults_of_healthchecks() {
    let scene = Scene::start().await;
    let Scene { service, owner, team, .. } = &scene;
    let answer = service.ping(&format!("{team}/nightly_dump?create=1")).await;
    assert_answer(&answer, 201, "Created");
    let listed = rows(&service.client(owner).get(&path(owner)).await);
    let [_, created] = &listed[..] else { panic!("{listed:?}") };
    let of =
        |fields: &[&str]| fields.iter().map(|field| created[field].clone()).collect::<Vec<_>>();
    assert_eq!(of(&["name", "slug", "state"]), ["nightly_dump", "nightly_dump", "on_time"]);
    assert_eq!(of(&["period_minutes", "grace_minutes"]), [json!(1_440), json!(60)]);
    let key =
        created["ping_url"].as_str().expect("a URL").replace("https://monitor.test/ping/", "");
    assert_answer(&service.ping(&key).await, 200, "OK");
}

#[tokio::test]
async fn no_more_heartbeats_are_created_than_the_plan_allows() {
    let scene = Scene::on(Plan::Starter).await;
    let Scene { service, owner, team, .. } = &scene;
    for n in 2..=20 {
        assert_answer(&service.ping(&format!("{team}/{n}?create=1")).await, 201, "Created");
    }
    assert_answer(&service.ping(&format!("{team}/21?create=1")).await, 404, "not found");
    assert_answer(&service.ping(&format!("{team}/20?create=1")).await, 200, "OK");
    set_plan(service, owner.team, Plan::Agency, false).await;
    let answer = service.ping(&format!("{team}/21?create=1")).await;
    assert_eq!(answer.status, 404, "the plan is not active");
}

#[tokio::test]
async fn too_many_pings_of_a_heartbeat_are_refused_except_failures() {
    let scene = Scene::start().await;
    for _ in 0..30 {
        assert_answer(&scene.service.ping(&scene.key).await, 200, "OK");
    }
    for kind in ["", "/start", "/log", "/0"] {
        let answer = scene.service.ping(&format!("{}{kind}", scene.key)).await;
        assert_answer(&answer, 429, "rate limited");
        assert_eq!(answer.header("retry-after"), "3");
    }
    assert_answer(&scene.service.ping(&format!("{}/fail", scene.key)).await, 200, "OK");
    assert_answer(&scene.service.ping(&format!("{}/1", scene.key)).await, 200, "OK");
    scene.service.test.advance(jiff::SignedDuration::from_secs(3));
    assert_answer(&scene.service.ping(&scene.key).await, 200, "OK");
    assert_eq!(scene.service.ping(&scene.key).await.status, 429);
}

#[tokio::test]
async fn a_source_may_try_sixty_unknown_addresses_a_minute() {
    let scene = Scene::start().await;
    let from = async |peer: &str, key: &str| {
        let peer = Peer(peer.parse().expect("an address"));
        let request = Request::get(format!("/ping/{key}")).extension(peer).body(Vec::new());
        scene.service.send_ping(request.expect("a request")).await
    };
    for _ in 0..60 {
        assert_answer(&from("192.0.2.1", UNKNOWN).await, 404, "not found");
    }
    let refused = from("192.0.2.1", UNKNOWN).await;
    assert_answer(&refused, 429, "rate limited");
    assert_eq!(refused.header("retry-after"), "60");
    assert_answer(&from("192.0.2.1", &scene.key).await, 200, "OK");
    assert_answer(&from("192.0.2.2", UNKNOWN).await, 404, "not found");
    scene.service.advance_minutes(1);
    assert_answer(&from("192.0.2.1", UNKNOWN).await, 404, "not found");
}

#[tokio::test]
async fn who_sends_a_ping_that_cannot_be_saved_is_told_to_try_again() {
    let scene = Scene::start().await;
    scene.service.test.faults().refuse_writes(true);
    let answer = scene.service.ping(&scene.key).await;
    assert_answer(&answer, 503, "try again later");
    assert_eq!(answer.header("retry-after"), "5");
    scene.service.test.faults().refuse_writes(false);
    assert_answer(&scene.service.ping(&scene.key).await, 200, "OK");
    assert_eq!(scene.runs().await.len(), 1);
}
