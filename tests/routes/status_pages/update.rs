//! `PATCH /teams/{team}/status-pages/{status_page}`.

use serde_json::{Value, json};
use vedette_tests::Service;

use super::added;
use crate::support::{assert_invalid, new_site};

#[tokio::test]
async fn what_is_omitted_stays_and_components_keep_their_ids() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let [shop, blog] = [
        new_site(&service, &owner, "https://shop.example").await,
        new_site(&service, &owner, "https://blog.example").await,
    ];
    let page = added(&service, &owner, "meridian").await;
    let groups = json!([{ "components": [{ "name": "Shop", "site": shop }] }]);
    let first = client.patch(&page, &json!({ "groups": groups, "message": "Hello" })).await;
    let component = first.body["data"]["groups"][0]["components"][0]["uuid"].clone();
    let groups = json!([
        { "name": "Reading", "components": [{ "name": "Blog", "site": blog }] },
        { "name": "Buying", "components": [{ "name": "Checkout", "site": shop }] },
    ]);
    let changed = client.patch(&page, &json!({ "groups": groups, "name": "Goods" })).await;
    let data = &changed.body["data"];
    assert_eq!((&data["name"], &data["message"]), (&json!("Goods"), &json!("Hello")));
    assert_eq!(data["groups"][1]["components"][0]["uuid"], component);
    let unsaid = client.patch(&page, &json!({ "message": null })).await;
    assert_eq!(unsaid.body["data"]["message"], Value::Null);
    assert_eq!(unsaid.body["data"]["groups"], data["groups"]);
    assert_eq!(client.get(&page).await.body, unsaid.body);
    let same = client.patch(&page, &json!({ "name": "Goods" })).await;
    assert_eq!(same.body, unsaid.body, "nothing differs, and nothing is written");
}

#[tokio::test]
async fn invalid_changes_are_refused_and_change_nothing() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let page = added(&service, &owner, "meridian").await;
    added(&service, &owner, "other").await;
    let before = client.get(&page).await.body;
    for (body, field, message) in [
        (json!({ "slug": "other" }), "slug", "The slug is taken."),
        (json!({ "slug": null }), "slug", "The slug field must not be empty."),
        (json!({ "name": null }), "name", "The name field must not be empty."),
    ] {
        assert_invalid(&client.patch(&page, &body).await, field, message);
    }
    assert_eq!(client.get(&page).await.body, before);
}
