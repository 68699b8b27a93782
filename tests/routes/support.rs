//! What route tests share.

use serde_json::{Map, Value, json};
use vedette_checker::{EngineConfig, Engines};
use vedette_domain::accounts::account::{Membership, Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::{SiteId, TeamId, UserId};
use vedette_store::Audit;
use vedette_testkit::{
    ApiResponse, Client, Member, WebServer, for_each_object, loopback, member_of,
};
use vedette_tests::Service;

/// Status and body, with the target's port and response times replaced. Two parts that most checks
/// share are shown by name: the team's first site, and the result of a status check without redirects.
pub(crate) fn masked(answer: &ApiResponse, target: &WebServer) -> String {
    let mut answer = with_fixed_port(answer, target);
    for_each_object(&mut answer.body, &name_site_and_result);
    answer.shown()
}

/// The same, with everything.
pub(crate) fn masked_whole(answer: &ApiResponse, target: &WebServer) -> String {
    with_fixed_port(answer, target).shown_whole()
}

/// Status and body, with response times replaced.
pub(crate) fn timeless(answer: &ApiResponse) -> String {
    without_times(answer).shown()
}

/// The rows of a list.
#[track_caller]
pub(crate) fn rows(answer: &ApiResponse) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["data"].as_array().expect("rows").clone()
}

/// Asserts that a page has as many rows as it should, and the links and numbers of its place in a list with so many
/// rows. `query` is what its links contain before the number of the page.
#[track_caller]
pub(crate) fn assert_page(
    answer: &ApiResponse,
    (path, query): (&str, &str),
    (page, per_page, total): (usize, usize, usize),
) {
    let path = format!("https://monitor.test/api/v1{path}");
    let link = |page: usize| format!("{path}?{query}page={page}");
    let last = total.div_ceil(per_page).max(1);
    let before = total.min((page - 1) * per_page);
    let count = per_page.min(total - before);
    let links = json!({
        "first": link(1),
        "last": link(last),
        "next": (page < last).then(|| link(page + 1)),
        "prev": (page > 1).then(|| link(page - 1)),
    });
    let meta = json!({
        "current_page": page,
        "from": (count > 0).then_some(before + 1),
        "last_page": last,
        "path": path,
        "per_page": per_page,
        "to": (count > 0).then_some(before + count),
        "total": total,
    });
    assert_eq!(rows(answer).len(), count);
    assert_eq!((&answer.body["links"], &answer.body["meta"]), (&links, &meta));
}

/// Asserts that the pages of a list are the whole list, whatever their size, and returns it. A filter ends with `&`.
pub(crate) async fn assert_paged(
    client: &Client<'_>,
    path: &str,
    filter: &str,
    sizes: &[usize],
) -> Vec<Value> {
    let all = rows(&client.get(&format!("{path}?{filter}per_page=100")).await);
    for size in sizes {
        let query = format!("{filter}per_page={size}&");
        let mut paged = Vec::new();
        for page in 1..=all.len().div_ceil(*size) {
            let answer = client.get(&format!("{path}?{query}page={page}")).await;
            assert_page(&answer, (path, &query), (page, *size, all.len()));
            paged.extend(rows(&answer));
        }
        assert_eq!(paged, all, "{query}");
    }
    all
}

/// The URL that stands for a target's.
const TARGET: &str = "http://127.0.0.1:PORT";

fn with_fixed_port(answer: &ApiResponse, target: &WebServer) -> ApiResponse {
    let mut answer = without_times(answer);
    let body = answer.body.to_string().replace(&target.url, TARGET);
    answer.body = body.parse().expect("JSON");
    answer
}

fn without_times(answer: &ApiResponse) -> ApiResponse {
    let mut answer = answer.clone();
    for_each_object(&mut answer.body, &|fields| {
        if let Some(time) = fields.get_mut("response_time").filter(|time| time.is_number()) {
            *time = json!("<ms>");
        }
        if let Some(Value::Object(phases)) = fields.get_mut("phases") {
            phases.values_mut().filter(|ms| ms.is_u64()).for_each(|ms| *ms = json!("<ms>"));
        }
    });
    answer
}

fn name_site_and_result(fields: &mut Map<String, Value>) {
    let site = json!({
        "domain": "127.0.0.1",
        "name": "127.0.0.1",
        "url": TARGET,
        "uuid": "00000000-0000-4000-8000-000000000004",
    });
    if let Some(shown) = fields.get_mut("site").filter(|shown| **shown == site) {
        *shown = json!("<the site>");
    }
    if let Some(shown) = fields.get_mut("result") {
        let code = shown["code"].as_u64().unwrap_or_default();
        let result = json!({
            "code": code,
            "effective_url": TARGET,
            "redirect_count": 0,
            "redirected": false,
            "response_time": "<ms>",
            "up": (200..400).contains(&code),
            "url": TARGET,
        });
        if *shown == result {
            *shown = json!(format!("<HTTP {code}>"));
        }
    }
}

/// Asserts that a request was refused because of a single problem.
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

/// Asserts that the resource does not exist, as far as the client may know.
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

/// An id of nothing.
pub(crate) const UNKNOWN: &str = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";

/// A path below `/api/v1` that matches a route's template, but leads to nothing that exists.
pub(crate) fn some_path(template: &str) -> String {
    let path = template.strip_prefix("/api/v1").expect("below the base");
    let parts = path.split('/').map(|part| match part.strip_prefix('{') {
        Some(_) => UNKNOWN,
        None => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// The `Authorization` header of a token.
pub(crate) fn bearer(secret: &str) -> String {
    format!("Bearer {secret}")
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
        format!("{}g", &uuid[..uuid.len() - 1]),
        uuid.replacen('-', "--", 1),
        "1".to_owned(),
    ]
}

/// Adds a site with these settings; its first runs wait in the queue.
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

/// Adds a site; its first runs wait in the queue.
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
