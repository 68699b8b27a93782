//! What route tests share.

use serde_json::{Value, json};
use vedette_checker::{EngineConfig, Engines};
use vedette_domain::accounts::account::{Membership, Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::{SiteId, TeamId, UserId};
use vedette_store::Audit;
use vedette_testkit::{ApiResponse, Member, WebServer, loopback, member_of};
use vedette_tests::Service;

/// Status and body, with what differs from run to run replaced: the target's port, and response
/// times as by [`timeless`].
pub(crate) fn masked(answer: &ApiResponse, target: &WebServer) -> String {
    timeless(answer).replace(&target.url, "http://127.0.0.1:PORT")
}

/// Status and body, with response times replaced.
pub(crate) fn timeless(answer: &ApiResponse) -> String {
    let mut answer = answer.clone();
    mask_times(&mut answer.body);
    answer.shown()
}

fn mask_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "response_time" && value.is_number() {
                    *value = json!("<ms>");
                } else {
                    mask_times(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_times),
        _ => {}
    }
}

/// Asserts that a request was refused for one thing that is wrong with it.
#[track_caller]
pub(crate) fn assert_invalid(answer: &ApiResponse, field: &str, message: &str) {
    let expected = json!({ "message": message, "errors": { field: [message] } });
    assert_eq!((answer.status, &answer.body), (422, &expected));
}

/// Asserts that a request was refused with a status and nothing but a message.
#[track_caller]
pub(crate) fn assert_refused(answer: &ApiResponse, status: u16, message: &str) {
    assert_eq!((answer.status, &answer.body), (status, &json!({ "message": message })));
}

/// Asserts that there is no such thing, as far as the client may know.
#[track_caller]
pub(crate) fn assert_not_found(answer: &ApiResponse) {
    assert_refused(answer, 404, "The requested resource was not found.");
}

/// Asserts that the team's plan is inactive.
#[track_caller]
pub(crate) fn assert_plan_required(answer: &ApiResponse) {
    assert_refused(answer, 402, "An active team plan is required.");
}

/// Asserts that the caller's role is too weak.
#[track_caller]
pub(crate) fn assert_role_required(answer: &ApiResponse) {
    assert_refused(answer, 403, "Your role in this team does not permit this.");
}

/// Spellings that a UUID may have elsewhere, but not in a path.
pub(crate) fn odd_spellings(uuid: &impl ToString) -> Vec<String> {
    let uuid = uuid.to_string();
    vec![
        uuid.replace('-', ""),
        format!("urn:uuid:{uuid}"),
        format!("{{{uuid}}}"),
        format!("{uuid}0"),
        uuid[1..].to_owned(),
        format!("{}g", &uuid[..35]),
        format!("{}--{}", &uuid[..8], &uuid[10..]),
        "1".to_owned(),
    ]
}

/// Puts a URL under watch with these settings; its first runs wait in the queue.
pub(crate) async fn new_site_with(
    service: &Service,
    owner: &Member,
    url: &str,
    settings: &Value,
) -> SiteId {
    let body = json!({ "url": url, "monitoring_settings": settings });
    let created = service.client(owner).post(&format!("/teams/{}/sites", owner.team), &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    SiteId::parse(&created.data("uuid")).expect("an id")
}

/// Puts a URL under watch; its first runs wait in the queue.
pub(crate) async fn new_site(service: &Service, owner: &Member, url: &str) -> SiteId {
    new_site_with(service, owner, url, &json!({})).await
}

/// A member of the owner's team, whose token has all scopes.
pub(crate) async fn colleague(service: &Service, owner: &Member, role: Role) -> Member {
    member_of(&service.test, owner.team, role, &Scope::ALL).await
}

/// Makes a user a member of one more team.
pub(crate) async fn join(service: &Service, user: UserId, team: TeamId, role: Role) {
    let membership = Membership { team, user, role };
    service.test.app.store.put_member(&membership, None, Audit::None).await.expect("a member");
}

/// One more token of a user.
pub(crate) async fn new_token(service: &Service, user: UserId, scopes: &[Scope]) -> String {
    vedette_testkit::new_token(&service.test, user, scopes).await
}

/// Puts a team on a plan, active or not.
pub(crate) async fn set_plan(service: &Service, team: TeamId, plan: Plan, is_active: bool) {
    let now = service.test.now();
    service.test.app.store.set_plan(team, plan, is_active, now).await.expect("a team");
}

/// Ends the team's plan.
pub(crate) async fn suspend(service: &Service, owner: &Member) {
    set_plan(service, owner.team, Plan::Agency, false).await;
}

/// Engines that may reach no loopback address, so that checks of a [`WebServer`] fail.
pub(crate) fn guarded() -> Engines {
    let mut outbound = loopback();
    outbound.allow.clear();
    Engines::new(outbound, EngineConfig::default()).expect("engines")
}
