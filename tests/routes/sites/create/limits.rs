//! `POST /teams/{team}/sites`: each URL once per team, and as many sites as the plan allows.

use futures::future::join_all;
use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{Creator, team_on};
use crate::support::{assert_invalid, new_site};

#[tokio::test]
async fn a_url_is_watched_once_in_a_team() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    new_site(&service, &owner, "https://example.com/a").await;
    for again in [
        "https://example.com/a",
        "HTTPS://EXAMPLE.COM:443/a#top",
        " https://example.com/a ",
        "https://example.com/a?",
        "https://example.com./a",
    ] {
        let refused = creator.post(&json!({ "url": again, "name": "Again" })).await;
        assert_invalid(&refused, "url", "This URL is already monitored by the team.");
    }
    for other in [
        "http://example.com/a",
        "https://www.example.com/a",
        "https://example.com/a/",
        "https://example.com/A",
        "https://example.com:8443/a",
        "https://example.com",
    ] {
        new_site(&service, &owner, other).await;
    }
    let stranger = new_team(&service.test, Plan::Starter).await;
    new_site(&service, &stranger, "https://example.com/a").await;
}

#[tokio::test]
async fn a_team_has_as_many_sites_as_its_plan_allows() {
    let (service, owner) = team_on(Plan::Starter).await;
    let creator = Creator::new(&service, &owner);
    let mut last = None;
    for n in 1..=5 {
        last = Some(new_site(&service, &owner, &format!("https://example.com/{n}")).await);
    }
    let sixth = json!({ "url": "https://example.com/6" });
    let message = "Your current plan has reached its site limit.";
    assert_invalid(&creator.post(&sixth).await, "url", message);
    creator.client.delete(&format!("/sites/{}", last.expect("a site"))).await;
    assert_eq!(creator.post(&sixth).await.status, 201);
    assert_invalid(&creator.post(&json!({ "url": "https://example.com/7" })).await, "url", message);
}

#[tokio::test]
async fn of_many_creations_at_once_as_many_succeed_as_the_plan_allows() {
    let (service, owner) = team_on(Plan::Starter).await;
    let creator = Creator::new(&service, &owner);
    let bodies: Vec<_> =
        (0..50).map(|n| json!({ "url": format!("https://example.com/{n}") })).collect();
    let answers = join_all(bodies.iter().map(|body| creator.post(body))).await;
    let (created, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    assert_eq!(created.len(), 5);
    for answer in refused {
        assert_invalid(&answer, "url", "Your current plan has reached its site limit.");
    }
    let team = creator.client.get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(team.body["data"]["sites_count"], 5);
}

#[tokio::test]
async fn of_many_creations_of_one_url_at_once_one_succeeds() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let body = json!({ "url": "https://example.com" });
    let answers = join_all((0..200).map(|_| creator.post(&body))).await;
    let (created, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    assert_eq!(created.len(), 1);
    for answer in refused {
        assert_invalid(&answer, "url", "This URL is already monitored by the team.");
    }
    let team = creator.client.get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(team.body["data"]["sites_count"], 1);
    assert_eq!(service.waiting().len(), 1, "one site is to be synced");
}
