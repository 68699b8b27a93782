//! What a site's status checks expect.

mod get;
mod update;

use serde_json::{Value, json};
use vedette_domain::expectations::OwnershipRecord;
use vedette_domain::id::SiteId;
use vedette_testkit::{ApiResponse, Member};
use vedette_tests::Service;

/// The record with which the owner of a site's host agrees to POSTs.
async fn record(service: &Service, site: SiteId) -> OwnershipRecord {
    let found = service.test.app.store.site(site.partition()).await.expect("read");
    OwnershipRecord::of(&found.expect("a site").site).expect("a record")
}

/// The resource without the record.
fn without_record(answer: &ApiResponse) -> Value {
    let mut data = answer.body["data"].clone();
    data.as_object_mut().expect("a resource").remove("ownership_record").expect("a record");
    json!({ "data": data })
}

async fn get(service: &Service, caller: &Member, site: SiteId) -> ApiResponse {
    service.client(caller).get(&format!("/sites/{site}/expectations")).await
}

async fn put(service: &Service, caller: &Member, site: SiteId, body: &Value) -> ApiResponse {
    service.client(caller).put(&format!("/sites/{site}/expectations"), body).await
}
