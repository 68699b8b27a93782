//! A site goes down and comes back.

use serde_json::json;
use vedette_domain::id::SiteId;
use vedette_domain::message::Message;
use vedette_domain::tool::Tool;
use vedette_testkit::Target;
use vedette_tests::Service;

#[tokio::test]
async fn an_issue_opens_after_a_confirmation_and_resolves_when_the_site_is_back() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let target = Target::start().await;

    let created =
        client.post(&format!("/teams/{}/sites", owner.team), &json!({ "url": target.url })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    assert!(service.work_off().await.is_empty(), "a site that is up has no timer");
    assert_eq!(target.requests(), 1, "the first run does not wait for the schedule");

    target.answer(503);
    service.advance_minutes(5);
    service.run_scheduled(site, Tool::Status).await;
    assert_eq!(client.get("/issues").await.body["meta"]["total"], 0, "one failure opens nothing");
    let retries = service.work_off().await;
    let [(Message::Check(retry), delay)] = retries.as_slice() else { panic!("{retries:?}") };
    assert!(delay.as_secs() > 110, "{delay:?}");

    service.advance_minutes(2);
    service.check(retry).await;
    let open = client.get("/issues").await;
    assert_eq!(open.body["meta"]["total"], 1, "{open:?}");
    assert_eq!(open.body["data"][0]["fingerprint"], "status:down");
    let follow_ups = service.work_off().await;
    let [(Message::Check(follow_up), _)] = follow_ups.as_slice() else { panic!("{follow_ups:?}") };

    target.answer(200);
    service.advance_minutes(5);
    service.check(follow_up).await;
    assert_eq!(client.get("/issues").await.body["meta"]["total"], 0);
    let resolved = client.get("/issues?status=resolved").await;
    assert_eq!(resolved.body["meta"]["total"], 1);
    let timeline = &resolved.body["data"][0]["timeline"];
    assert_eq!(timeline[0]["key"], "opened");
    assert_eq!(timeline[1]["key"], "resolved");

    let history = client.get(&format!("/sites/{site}/checks")).await;
    let reasons: Vec<_> = history.body["data"]
        .as_array()
        .expect("checks")
        .iter()
        .map(|check| check["run_reason"].as_str().expect("automatic"))
        .collect();
    let expected = ["incident_follow_up", "confirmation_retry", "scheduled", "scheduled"];
    assert_eq!(reasons, expected);
}
