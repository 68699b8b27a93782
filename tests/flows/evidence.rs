//! The evidence of issues, and its cost.

use serde_json::{Value, json};
use vedette_domain::alerts::channel::Filter;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{IssueId, SiteId};
use vedette_store::{EVIDENCE_MAX, IssueEvidence};
use vedette_testkit::Spent;
use vedette_testkit::channels::{add_channel, chat, mail, webhook};

use crate::scene::{Scene, URL};

impl Scene {
    /// The only issue, active or resolved, with its evidence.
    async fn evidence(&self, site: SiteId) -> (IssueId, IssueEvidence) {
        let store = &self.service.test.app.store;
        let issues = store.issues_of_site(site.partition()).await.expect("read");
        let [issue] = &issues[..] else { panic!("{issues:?}") };
        (issue.id, store.evidence(issue.id).await.expect("read"))
    }

    /// Runs a scheduled check five minutes later. Returns the items of evidence and openings that exist then, and what
    /// the check wrote.
    async fn check_later(&self, site: SiteId) -> (Vec<String>, f64) {
        let before = self.kept().await;
        self.service.advance_minutes(5);
        let message = self.scheduled(site, Tool::Status, self.service.test.now());
        let meter = self.service.test.meter();
        meter.start();
        self.service.check(&message).await;
        let writes = meter.stop().writes;
        let after = self.kept().await;
        let changed = after.iter().filter(|(key, item)| before.get(*key) != Some(*item));
        (changed.map(|(key, _)| key.clone()).collect(), writes)
    }

    async fn kept(&self) -> std::collections::BTreeMap<String, Value> {
        let items = self.service.test.table.dump().await.into_iter();
        let kept = items.filter(|((_, sk), _)| sk.starts_with("V#") || sk.starts_with("E#"));
        kept.map(|((_, sk), item)| (sk, item)).collect()
    }
}

fn text(evidence: &Option<vedette_domain::checks::evidence::CheckEvidence>) -> Option<&str> {
    evidence.as_ref()?.evidence.body.as_ref()?.text.as_deref()
}

fn at_once() -> Value {
    json!({ "failures_to_open": 1, "successes_to_resolve": 1 })
}

#[tokio::test]
async fn an_issue_keeps_its_first_response_and_the_newest_that_differs() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&at_once()).await;
    scene.target.answer(503);
    scene.target.say("Try again. Request 7f3a.");
    let (kept, _) = scene.check_later(site).await;
    let opened = scene.service.test.now().as_millisecond();
    assert_eq!(kept, [format!("E#status:down#{opened}"), "V#status:down#first".to_owned()]);
    // The same response with a different id, and then another response.
    scene.target.say("Try again. Request 08b1.");
    assert_eq!(scene.check_later(site).await.0, [""; 0]);
    scene.target.say("Down for maintenance.");
    assert_eq!(scene.check_later(site).await.0, ["V#status:down#newest"]);
    assert_eq!(scene.check_later(site).await.0, [""; 0]);

    let (_, evidence) = scene.evidence(site).await;
    assert_eq!(text(&evidence.first), Some("Try again. Request 7f3a."));
    assert_eq!(text(&evidence.newest), Some("Down for maintenance."));
    let first = evidence.first.expect("evidence").evidence;
    assert_eq!(first.status_line.as_deref(), Some("HTTP/1.1 503 Service Unavailable"));
    assert_eq!(first.address.map(|address| address.ip().is_loopback()), Some(true));
    assert_eq!(
        (first.requests[0].url.as_str(), first.requests[0].code),
        (&*format!("{URL}/"), Some(503))
    );
    let cookie = first.headers.iter().find(|header| header.name == "set-cookie");
    assert_eq!(cookie.expect("a cookie").value, "[redacted]");
    let is_known = first.timing.phases().map(|phase| phase.is_some());
    assert_eq!(is_known, [true, true, false, true], "there is no TLS handshake");
    // The headers and the digest of the previous successful check, without text.
    let good = evidence.good.expect("evidence").evidence;
    assert_eq!(good.status_line.as_deref(), Some("HTTP/1.1 200 OK"));
    let body = good.body.expect("what is known of it");
    assert_eq!((body.text, body.is_cut, body.bytes), (None, true, 5));

    // The next opening has its own evidence, and the facts of the previous one do not change.
    scene.target.answer(200);
    scene.check_later(site).await;
    scene.target.answer(404);
    scene.target.say("No such shop.");
    scene.check_later(site).await;
    let (id, evidence) = scene.evidence(site).await;
    assert_eq!((text(&evidence.first), text(&evidence.newest)), (Some("No such shop."), None));
    let openings = scene.service.test.app.store.openings(id).await.expect("read");
    let codes: Vec<&Value> =
        openings.iter().map(|opening| &opening.context["measured"]["code"]).collect();
    assert_eq!(codes, [404, 503], "the newest first");
    let good = openings.iter().map(|opening| opening.last_good.expect("a successful check").id);
    let good: Vec<_> = good.map(|check| check.created_at().as_millisecond() - opened).collect();
    assert_eq!(good, [20 * 60_000, -5 * 60_000]);

    // All of it goes with the site.
    let deleted = scene.client().delete(&format!("/sites/{site}")).await;
    assert_eq!(deleted.status, 204);
    scene.service.deliver_alerts().await;
    scene.service.deliver(&scene.purge(site)).await;
    assert!(scene.kept().await.is_empty());
}

#[tokio::test]
async fn a_check_that_writes_no_evidence_costs_what_it_did() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "failures_to_open": 2 })).await;
    assert_eq!(scene.kept().await.len(), 1, "of the first check, which was successful");
    assert_eq!(scene.check_later(site).await, (Vec::new(), 1.0));
    // If the words differ, the evidence is replaced after six hours, otherwise after a day.
    scene.target.say("something else");
    assert_eq!(scene.check_later(site).await, (Vec::new(), 1.0));
    scene.service.advance_minutes(6 * 60);
    let (kept, writes) = scene.check_later(site).await;
    assert_eq!((kept, writes <= 4.0), (vec!["V#status:down#good".to_owned()], true), "{writes}");
    assert_eq!(scene.check_later(site).await, (Vec::new(), 1.0));
    // Below the threshold, nothing is stored.
    scene.target.answer(503);
    assert_eq!(scene.check_later(site).await.0, [""; 0]);
    assert_eq!(scene.check_later(site).await.0.len(), 2);
}

#[tokio::test]
async fn evidence_takes_four_kilobytes_and_one_query() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&at_once()).await;
    scene.target.answer(500);
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'!' + (state >> 24) as u8 % 90)
    });
    scene.target.say(&noise.take(100_000).collect::<String>());
    scene.check_later(site).await;
    scene.target.say(&"word ".repeat(20_000));
    scene.check_later(site).await;
    let sizes = scene.service.test.table.sizes().await;
    let kept = sizes.iter().filter(|((_, sk), _)| sk.starts_with("V#")).map(|(_, size)| *size);
    let largest = kept.max().expect("evidence");
    assert!((3_000..=EVIDENCE_MAX + 128).contains(&largest), "{largest} bytes");
    let meter = scene.service.test.meter();
    meter.start();
    let (_, evidence) = scene.evidence(site).await;
    let spent = meter.stop();
    let body = |evidence: Option<vedette_domain::checks::evidence::CheckEvidence>| {
        let body = evidence.expect("evidence").evidence.body.expect("a body");
        (body.text.map_or(0, |text| text.len()), body.is_cut, body.bytes)
    };
    let (cut, is_cut, read) = body(evidence.first);
    assert!((2_000..4_096).contains(&cut) && is_cut && read == 65_536, "{cut} {read}");
    assert_eq!(body(evidence.newest), (8 * 1024, true, 65_536));
    // The issues of the site, and their evidence.
    assert_eq!((spent.round_trips, spent.writes), (2, 0.0));
    assert!(spent.reads <= 1.0 + 3.0, "{spent:?}");
    assert_eq!(Spent { reads: 0.0, ..spent }.rounds, 2);
}

#[tokio::test]
async fn the_site_s_request_header_is_in_no_evidence_and_no_evidence_in_a_message() {
    let scene = Scene::start().await;
    let app = &scene.service.test.app;
    for (name, target) in [("Chat", chat()), ("Mail", mail()), ("Program", webhook())] {
        add_channel(app, scene.owner.team, (name, target), Filter::default()).await;
    }
    let site = scene.watch_with(&at_once()).await;
    let header = json!({ "name": "Authorization", "value": "Bearer of-the-site\"s" });
    let tools = json!({ "status": { "settings": at_once() } });
    let settings = json!({ "tools": tools, "request_header": header });
    let change = json!({ "url": URL, "monitoring_settings": settings });
    let changed = scene.client().patch(&format!("/sites/{site}"), &change).await;
    assert_eq!(changed.status, 200, "{}", changed.shown());
    scene.service.waiting();
    scene.target.answer(503);
    scene.target.say("You sent <b>Bearer of-the-site&quot;s</b> and ");
    scene.target.echo();
    scene.check_later(site).await;
    let (_, evidence) = scene.evidence(site).await;
    let shown = text(&evidence.first).expect("a body");
    assert!(shown.contains("You sent <b>[redacted]</b> and"), "{shown}");
    assert!(shown.contains("\"authorization\": "), "{shown}");
    assert!(!format!("{evidence:?}").contains("of-the-site"), "{evidence:?}");

    scene.service.deliver_alerts().await;
    let sent = scene.service.receivers.take();
    assert_eq!(sent.len(), 3);
    let sent = format!("{sent:?}");
    for secret in ["You sent", "of-the-site", "of-a-stranger", "redacted"] {
        assert!(!sent.contains(secret), "{secret}: {sent}");
    }
}

#[tokio::test]
async fn issues_of_expectations_have_evidence_of_their_own() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&at_once()).await;
    let at_once = json!({
        "severity": "warning", "failures_to_open": 1, "successes_to_resolve": 1,
    });
    let body = json!({
        "expectations": [{ "kind": "body_contains", "text": "Welcome" }],
        "issues": { "expectation": at_once, "slow": at_once },
    });
    let path = format!("/sites/{site}/expectations");
    assert_eq!(scene.client().put(&path, &body).await.status, 200);
    scene.service.consume().await;
    scene.target.say("Welcome");
    let met = scene.check_later(site).await.0;
    assert_eq!(met, ["V#status:expectation#good"], "the first that was met");
    assert_eq!(scene.check_later(site).await, (Vec::new(), 1.0));

    scene.target.say("Fatal error 1");
    let opened = scene.service.test.now().as_millisecond() + 5 * 60_000;
    let kept = scene.check_later(site).await.0;
    let opening = format!("E#status:expectation#{opened}");
    assert_eq!(kept, [opening, "V#status:expectation#first".to_owned()]);
    assert_eq!(scene.check_later(site).await.0, [""; 0]);
    scene.target.say("Out of memory");
    assert_eq!(scene.check_later(site).await.0, ["V#status:expectation#newest"]);
    let (issue, evidence) = scene.evidence(site).await;
    assert_eq!(text(&evidence.first), Some("Fatal error 1"));
    assert_eq!(text(&evidence.newest), Some("Out of memory"));
    assert_eq!(text(&evidence.good), None);
    assert!(evidence.good.is_some(), "headers of the response that was as expected");
    let answer = scene.client().get(&format!("/issues/{issue}/evidence")).await;
    assert_eq!(answer.body["data"]["first"]["status_line"], "HTTP/1.1 200 OK");
    assert_eq!(answer.body["data"]["first"]["body"]["text"], "Fatal error 1");

    // While the site is down, its expectations are not judged, so their evidence stays.
    scene.target.answer(503);
    let kept = scene.check_later(site).await.0;
    assert!(kept.iter().all(|key| key.contains("status:down")), "{kept:?}");
    let evidence = scene.service.test.app.store.evidence(issue).await.expect("read");
    assert_eq!(text(&evidence.newest), Some("Out of memory"));

    // All of it goes with the site.
    assert_eq!(scene.client().delete(&format!("/sites/{site}")).await.status, 204);
    scene.service.deliver_alerts().await;
    scene.service.deliver(&scene.purge(site)).await;
    assert!(scene.kept().await.is_empty());
}
