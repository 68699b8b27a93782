//! Headers: how long a response may be cached, and how bodies are encoded.

use serde_json::json;
use vedette_api::{BODY_MAX, ROUTES};
use vedette_tests::{Service, gzip};

use crate::support::{assert_not_found, assert_refused, new_site};

#[tokio::test]
async fn what_is_read_is_not_sent_again_until_it_changes() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let path = format!("/sites/{site}");
    let first = service.client(&owner).get(&path).await;
    assert_eq!(first.header("cache-control"), "private, no-cache");
    let knowing = service.client(&owner).with_header("if-none-match", first.header("etag"));
    let again = knowing.get(&path).await;
    assert_eq!((again.status, &again.body), (304, &json!(null)));
    assert_eq!(again.header("etag"), first.header("etag"));
    assert_eq!(again.header("x-ratelimit-remaining"), "999997", "it counts as any other");
    let change = json!({ "url": "https://example.com", "pinned": true });
    assert_eq!(knowing.patch(&path, &change).await.status, 200, "no condition of a change");
    assert_eq!(knowing.get(&path).await.status, 200);
}

#[tokio::test]
async fn every_answer_is_what_it_says_and_only_what_is_read_is_kept() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    for route in ROUTES {
        let path = route.path.strip_prefix("/api/v1").expect("below the base");
        let path = path.replace("{team}", &owner.team.to_string());
        let answer = client.send(route.method, &path, "{}".into()).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{}", route.name);
        let is_kept = route.method == "GET" && answer.status == 200;
        let kept = if is_kept { "private, no-cache" } else { "no-store" };
        assert_eq!(answer.header("cache-control"), kept, "{}", route.name);
        assert_eq!(!answer.header("etag").is_empty(), is_kept, "{}", route.name);
    }
    let nowhere = client.get("/nothing").await;
    assert_not_found(&nowhere);
    assert_eq!(nowhere.header("cache-control"), "no-store");
    assert_eq!(nowhere.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn long_answers_come_compressed_where_that_is_asked_for() {
    let (service, owner) = Service::with_team().await;
    let path = format!("/teams/{}/monitoring", owner.team);
    let plain = service.client(&owner).get(&path).await;
    assert_eq!(plain.header("content-encoding"), "");
    let asking = service.client(&owner).with_header("accept-encoding", "br, gzip;q=0.8");
    let packed = asking.get(&path).await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert_eq!((packed.status, &packed.body), (200, &plain.body));
    assert_ne!(packed.header("etag"), plain.header("etag"));
    assert_eq!(packed.header("vary"), "authorization, accept-encoding");
}

#[tokio::test]
async fn bodies_may_come_compressed() {
    let (service, owner) = Service::with_team().await;
    let path = format!("/teams/{}/sites", owner.team);
    let packing = service.client(&owner).with_header("content-encoding", "gzip");
    let body = gzip(br#"{ "url": "https://example.com" }"#);
    assert_eq!(packing.send("POST", &path, body.into()).await.status, 201);
    // The body is small when it is sent, and large when it is decompressed.
    let bomb = gzip(&vec![b' '; 100 * BODY_MAX]);
    let refused = packing.send("POST", &path, bomb.into()).await;
    assert_refused(&refused, 413, "The request body is too large.");
    let refused = packing.send("POST", &path, "{}".into()).await;
    assert_refused(&refused, 400, "The request body must be valid gzip.");
    let other = service.client(&owner).with_header("content-encoding", "br");
    let refused = other.send("POST", &path, "{}".into()).await;
    assert_refused(&refused, 415, "The request body must be uncompressed or compressed with gzip.");
    assert_eq!(refused.header("accept-encoding"), "gzip");
    // A client without permission is refused first.
    let stranger = service.client_with(None).with_header("content-encoding", "br");
    assert_eq!(stranger.send("POST", &path, "{}".into()).await.status, 401);
}
