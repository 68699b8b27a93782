mod get;
mod update;

use serde_json::Value;
use vedette_domain::id::TeamId;
use vedette_testkit::Member;
use vedette_tests::{Answer, Service};

async fn get(service: &Service, caller: &Member, team: TeamId) -> Answer {
    service.client(caller).get(&format!("/teams/{team}/monitoring")).await
}

async fn patch(service: &Service, caller: &Member, body: &Value) -> Answer {
    let path = format!("/teams/{}/monitoring", caller.team);
    service.client(caller).patch(&path, body).await
}

/// What a team reads back under the settings at a dotted path.
fn setting<'a>(answer: &'a Answer, path: &str) -> &'a Value {
    let settings = &answer.body["data"]["settings"];
    path.split('.').fold(settings, |value, name| &value[name])
}
