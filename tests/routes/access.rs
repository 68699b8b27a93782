//! What holds for every route: which scope and role it takes, that strangers and teams without a plan are refused, that
//! nothing is found under an unknown id, and how lists are paged.

use lambda_http::Body;
use serde_json::json;
use vedette_api::{ROUTES, Route};
use vedette_domain::accounts::account::{Role, Scope, Secret};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::message::ReconcileMessage;
use vedette_testkit::{ApiResponse, Member, WebServer, member_of, new_team};
use vedette_tests::Service;

use crate::support::{
    UNKNOWN, assert_invalid, assert_not_found, assert_page, assert_plan_required, assert_refused,
    assert_role_required, bearer, colleague, new_site_with, new_token, odd_spellings, rows,
    set_plan, some_path, suspend,
};

/// What a route requires.
struct Rule {
    method: &'static str,
    /// Below `/api/v1`.
    path: &'static str,
    scope: Scope,
    /// The weakest role that may use it.
    role: Role,
    /// A body that it accepts in [`Scene`].
    body: &'static str,
}

const fn rule(
    method: &'static str,
    path: &'static str,
    scope: Scope,
    role: Role,
    body: &'static str,
) -> Rule {
    Rule { method, path, scope, role, body }
}

/// Of each route, in the order of the specification, and then of those that we have added.
#[rustfmt::skip]
const RULES: [Rule; 87] = [
    rule("GET", "/me", Scope::TeamsRead, Role::Viewer, ""),
    rule("GET", "/teams", Scope::TeamsRead, Role::Viewer, ""),
    rule("GET", "/teams/{team}", Scope::TeamsRead, Role::Viewer, ""),
    rule("GET", "/teams/{team}/monitoring", Scope::TeamsRead, Role::Viewer, ""),
    rule("PATCH", "/teams/{team}/monitoring", Scope::TeamsWrite, Role::Admin, r#"{"monitoring_settings": {"tools": {"dns": {"enabled": true, "cadence_minutes": 60}}}}"#),
    rule("GET", "/teams/{team}/sites", Scope::SitesRead, Role::Viewer, ""),
    rule("POST", "/teams/{team}/sites", Scope::SitesWrite, Role::Member, r#"{"url": "https://example.com"}"#),
    rule("POST", "/teams/{team}/sites/bulk", Scope::SitesWrite, Role::Member, r#"{"sites": [{"url": "https://example.com"}]}"#),
    rule("GET", "/sites/{site}", Scope::SitesRead, Role::Viewer, ""),
    rule("PATCH", "/sites/{site}", Scope::SitesWrite, Role::Member, r#"{"url": "https://example.com"}"#),
    rule("DELETE", "/sites/{site}", Scope::SitesDelete, Role::Member, ""),
    rule("GET", "/sites/{site}/checks", Scope::ChecksRead, Role::Viewer, ""),
    rule("POST", "/sites/{site}/checks", Scope::ChecksRun, Role::Member, r#"{"tools": ["dns"]}"#),
    rule("GET", "/checks/{check}", Scope::ChecksRead, Role::Viewer, ""),
    rule("DELETE", "/checks/{check}", Scope::ChecksDelete, Role::Member, ""),
    rule("GET", "/sites/{site}/reports/uptime", Scope::SitesRead, Role::Viewer, ""),
    rule("GET", "/sites/{site}/reports/performance", Scope::SitesRead, Role::Viewer, ""),
    rule("GET", "/issues", Scope::IssuesRead, Role::Viewer, ""),
    rule("GET", "/issues/{issue}", Scope::IssuesRead, Role::Viewer, ""),
    rule("POST", "/issues/{issue}/acknowledge", Scope::IssuesWrite, Role::Member, ""),
    rule("POST", "/issues/{issue}/unacknowledge", Scope::IssuesWrite, Role::Member, ""),
    rule("POST", "/issues/{issue}/resolve", Scope::IssuesWrite, Role::Member, ""),
    rule("POST", "/issues/{issue}/snooze", Scope::IssuesWrite, Role::Member, r#"{"until": null}"#),
    rule("POST", "/issues/{issue}/notes", Scope::IssuesWrite, Role::Member, r#"{"note": "The disk is full."}"#),
    rule("GET", "/teams/{team}/reports/{period}", Scope::SitesRead, Role::Viewer, ""),
    rule("GET", "/teams/{team}/outages", Scope::IssuesRead, Role::Viewer, ""),
    rule("GET", "/teams/{team}/audit-log", Scope::AuditRead, Role::Viewer, ""),
    rule("GET", "/teams/{team}/events", Scope::AuditRead, Role::Viewer, ""),
    rule("POST", "/teams", Scope::TeamsManage, Role::Viewer, r#"{"name": "Shop"}"#),
    rule("PATCH", "/teams/{team}", Scope::TeamsManage, Role::Owner, r#"{"name": "Shop"}"#),
    rule("GET", "/me/tokens", Scope::TokensRead, Role::Viewer, ""),
    rule("POST", "/me/tokens", Scope::TokensWrite, Role::Viewer, r#"{"name": "Deploy"}"#),
    rule("DELETE", "/me/tokens/{token}", Scope::TokensWrite, Role::Viewer, ""),
    rule("GET", "/teams/{team}/members", Scope::MembersRead, Role::Viewer, ""),
    rule("PATCH", "/teams/{team}/members/{user}", Scope::MembersWrite, Role::Admin, r#"{"role": "member"}"#),
    rule("DELETE", "/teams/{team}/members/{user}", Scope::MembersWrite, Role::Admin, ""),
    rule("GET", "/teams/{team}/invitations", Scope::MembersRead, Role::Viewer, ""),
    rule("POST", "/teams/{team}/invitations", Scope::MembersWrite, Role::Admin, r#"{"email": "alan@example.com", "role": "viewer"}"#),
    rule("DELETE", "/teams/{team}/invitations/{invitation}", Scope::MembersWrite, Role::Admin, ""),
    rule("GET", "/teams/{team}/channels", Scope::ChannelsRead, Role::Viewer, ""),
    rule("POST", "/teams/{team}/channels", Scope::ChannelsWrite, Role::Admin, r#"{"kind": "email", "address": "ops@example.com"}"#),
    rule("GET", "/teams/{team}/channels/{channel}", Scope::ChannelsRead, Role::Viewer, ""),
    rule("PATCH", "/teams/{team}/channels/{channel}", Scope::ChannelsWrite, Role::Admin, r#"{"severities": ["critical"]}"#),
    rule("POST", "/teams/{team}/channels/{channel}/enable", Scope::ChannelsWrite, Role::Admin, ""),
    rule("POST", "/teams/{team}/channels/{channel}/disable", Scope::ChannelsWrite, Role::Admin, ""),
    rule("POST", "/teams/{team}/channels/{channel}/test", Scope::ChannelsWrite, Role::Admin, ""),
    rule("POST", "/teams/{team}/channels/{channel}/resend", Scope::ChannelsWrite, Role::Admin, ""),
    rule("DELETE", "/teams/{team}/channels/{channel}", Scope::ChannelsWrite, Role::Admin, ""),
    rule("GET", "/teams/{team}/time-zone", Scope::TeamsRead, Role::Viewer, ""),
    rule("PATCH", "/teams/{team}/time-zone", Scope::TeamsWrite, Role::Admin, r#"{"time_zone": "Europe/Berlin"}"#),
    rule("GET", "/teams/{team}/groups", Scope::SitesRead, Role::Viewer, ""),
    rule("PUT", "/teams/{team}/groups", Scope::SitesWrite, Role::Member, r#"{"groups": []}"#),
    rule("GET", "/teams/{team}/configuration", Scope::ConfigurationRead, Role::Viewer, ""),
    rule("POST", "/teams/{team}/configuration", Scope::ConfigurationWrite, Role::Admin, r#"{"document": {"name": "shop"}}"#),
    rule("GET", "/me/time-zone", Scope::TeamsRead, Role::Viewer, ""),
    rule("PATCH", "/me/time-zone", Scope::TeamsWrite, Role::Viewer, r#"{"time_zone": "Europe/Berlin"}"#),
    rule("GET", "/teams/{team}/maintenance-calendar", Scope::SitesRead, Role::Member, ""),
    rule("POST", "/teams/{team}/maintenance-calendar", Scope::SitesWrite, Role::Member, r#"{}"#),
    rule("DELETE", "/teams/{team}/maintenance-calendar", Scope::SitesWrite, Role::Member, ""),
    rule("GET", "/sites/{site}/expectations", Scope::SitesRead, Role::Viewer, ""),
    rule("PUT", "/sites/{site}/expectations", Scope::SitesWrite, Role::Member, r#"{"expectations": []}"#),
    rule("GET", "/issues/{issue}/evidence", Scope::IssuesRead, Role::Viewer, ""),
    rule("GET", "/teams/{team}/metrics", Scope::MetricsRead, Role::Viewer, ""),
    rule("GET", "/teams/{team}/maintenance-windows", Scope::SitesRead, Role::Viewer, ""),
    rule("POST", "/teams/{team}/maintenance-windows", Scope::SitesWrite, Role::Member, r#"{"duration_minutes": 5}"#),
    rule("GET", "/teams/{team}/maintenance-windows/{window}", Scope::SitesRead, Role::Viewer, ""),
    rule("PATCH", "/teams/{team}/maintenance-windows/{window}", Scope::SitesWrite, Role::Member, r#"{"duration_minutes": 60}"#),
    rule("DELETE", "/teams/{team}/maintenance-windows/{window}", Scope::SitesWrite, Role::Member, ""),
    rule("POST", "/teams/{team}/maintenance-windows/{window}/end", Scope::SitesWrite, Role::Member, ""),
    rule("GET", "/teams/{team}/status-pages", Scope::SitesRead, Role::Viewer, ""),
    rule("POST", "/teams/{team}/status-pages", Scope::SitesWrite, Role::Admin, r#"{"slug": "second", "name": "Second"}"#),
    rule("GET", "/teams/{team}/status-pages/{status_page}", Scope::SitesRead, Role::Viewer, ""),
    rule("PATCH", "/teams/{team}/status-pages/{status_page}", Scope::SitesWrite, Role::Admin, r#"{"name": "Second"}"#),
    rule("DELETE", "/teams/{team}/status-pages/{status_page}", Scope::SitesWrite, Role::Admin, ""),
    rule("GET", "/teams/{team}/heartbeats", Scope::HeartbeatsRead, Role::Viewer, ""),
    rule("POST", "/teams/{team}/heartbeats", Scope::HeartbeatsWrite, Role::Member, r#"{"name": "Import"}"#),
    rule("GET", "/teams/{team}/heartbeats/{heartbeat}", Scope::HeartbeatsRead, Role::Viewer, ""),
    rule("PATCH", "/teams/{team}/heartbeats/{heartbeat}", Scope::HeartbeatsWrite, Role::Member, r#"{"name": "Import"}"#),
    rule("DELETE", "/teams/{team}/heartbeats/{heartbeat}", Scope::HeartbeatsWrite, Role::Member, ""),
    rule("GET", "/teams/{team}/heartbeats/{heartbeat}/runs", Scope::HeartbeatsRead, Role::Viewer, ""),
    rule("GET", "/teams/{team}/ping-key", Scope::HeartbeatsRead, Role::Viewer, ""),
    rule("PUT", "/teams/{team}/ping-key", Scope::HeartbeatsWrite, Role::Member, r#"{}"#),
    rule("GET", "/teams/{team}/status-pages/{status_page}/incidents", Scope::SitesRead, Role::Viewer, ""),
    rule("POST", "/teams/{team}/status-pages/{status_page}/incidents", Scope::SitesWrite, Role::Member, r#"{"title": "Delays", "text": "We are looking into it."}"#),
    rule("GET", "/teams/{team}/status-pages/{status_page}/incidents/{incident}", Scope::SitesRead, Role::Viewer, ""),
    rule("PATCH", "/teams/{team}/status-pages/{status_page}/incidents/{incident}", Scope::SitesWrite, Role::Member, r#"{"text": "It is fixed."}"#),
    rule("DELETE", "/teams/{team}/status-pages/{status_page}/incidents/{incident}", Scope::SitesWrite, Role::Member, ""),
];

fn rule_of(route: &Route) -> &'static Rule {
    let found = RULES.iter().find(|rule| {
        (rule.method, Some(rule.path)) == (route.method, route.path.strip_prefix("/api/v1"))
    });
    found.unwrap_or_else(|| panic!("{} {} has no rule", route.method, route.path))
}

/// A team that has one of everything that a path can name.
struct Scene {
    service: Service,
    owner: Member,
    ids: [(&'static str, String); 12],
    _target: WebServer,
}

impl Scene {
    async fn start() -> Self {
        let (service, owner) = Service::with_team().await;
        let target = WebServer::start().await;
        target.answer(503);
        let settings = json!({ "tools": { "status": { "settings": { "failures_to_open": 1 } } } });
        let site = new_site_with(&service, &owner, &target.url, &settings).await;
        service.consume().await;
        let client = service.client(&owner);
        let add = async |path: &str, body: &str| {
            let answer = client.send("POST", path, body.into()).await;
            assert!(answer.status < 300, "{path}: {}", answer.shown());
            answer
        };
        let queued = add(&format!("/sites/{site}/checks"), r#"{"tools": ["ssl"]}"#).await;
        let check = &queued.body["data"][0]["uuid"];
        let issues = client.get("/issues").await;
        let issue = &issues.body["data"][0]["uuid"];
        let team = format!("/teams/{}", owner.team);
        let windows = format!("{team}/maintenance-windows");
        let window = add(&windows, r#"{"duration_minutes": 10000}"#).await.data("uuid");
        let pages = format!("{team}/status-pages");
        let page = add(&pages, r#"{"slug": "first", "name": "First"}"#).await.data("uuid");
        let incidents = format!("{pages}/{page}/incidents");
        let incident =
            add(&incidents, r#"{"title": "Delays", "text": "Soon."}"#).await.data("uuid");
        let user = colleague(&service, &owner, Role::Viewer).await.user;
        let invited = r#"{"email": "grace@example.com", "role": "viewer"}"#;
        let invitation = add(&format!("{team}/invitations"), invited).await.data("hash");
        let slack = r#"{"kind": "slack", "url": "https://hooks.slack.com/services/T0/B0/x"}"#;
        let channel = add(&format!("{team}/channels"), slack).await.data("uuid");
        let heartbeat = add(&format!("{team}/heartbeats"), r#"{"name": "Backup"}"#).await;
        let key = heartbeat.data("ping_url").replace("https://monitor.test/ping/", "");
        assert_eq!(service.ping(&key).await.status, 200);
        let now = service.test.now();
        service.test.set_clock("2026-11-23T06:00:00Z".parse().expect("a timestamp"));
        let reports = ReconcileMessage::Report(owner.team);
        vedette_reconciler::handle(&service.test.app, &reports).await.expect("made");
        service.test.set_clock(now);
        let text = |id: &serde_json::Value| id.as_str().expect("an id").to_owned();
        let ids = [
            ("{team}", owner.team.to_string()),
            ("{site}", site.to_string()),
            ("{check}", text(check)),
            ("{issue}", text(issue)),
            ("{channel}", channel),
            ("{window}", window),
            ("{status_page}", page),
            ("{incident}", incident),
            ("{heartbeat}", heartbeat.data("uuid")),
            ("{user}", user.to_string()),
            ("{invitation}", invitation),
            ("{period}", "2026-W47".to_owned()),
        ];
        Self { service, owner, ids, _target: target }
    }

    /// A path to what the team has.
    fn path(&self, template: &str) -> String {
        self.ids.iter().fold(template.to_owned(), |path, (name, id)| path.replace(name, id))
    }

    /// A request in the next minute, so that no limit of a minute refuses it.
    async fn send(&self, caller: &Member, rule: &Rule, path: &str) -> ApiResponse {
        self.service.advance_minutes(1);
        self.service.client(caller).send(rule.method, path, rule.body.into()).await
    }
}

#[tokio::test]
async fn every_route_asks_for_its_own_scope_and_for_no_other() {
    // The secrets of a test repeat after 62.
    for routes in ROUTES.chunks(10) {
        let (service, owner) = Service::with_team().await;
        for route in routes {
            let (path, scope) = (some_path(route.path), rule_of(route).scope);
            let others: Vec<_> = Scope::ALL.into_iter().filter(|other| *other != scope).collect();
            let without = new_token(&service, owner.user, &others).await;
            let client = service.client_with(Some(&bearer(&without)));
            // 403 although nothing is there, and although the body is not JSON.
            let refused = client.send(route.method, &path, "{".into()).await;
            let message = format!("The access token lacks the {} scope.", scope.as_str());
            assert_refused(&refused, 403, &message);

            let with = new_token(&service, owner.user, &[scope]).await;
            let client = service.client_with(Some(&bearer(&with)));
            let answer = client.send(route.method, &path, Body::Empty).await;
            let expected = match route.method {
                _ if path.contains(UNKNOWN) => 404,
                "GET" => 200,
                // The body is empty.
                _ => 422,
            };
            assert_eq!(answer.status, expected, "{}", route.name);
        }
    }
}

#[tokio::test]
async fn every_route_asks_for_its_role_and_for_an_active_plan() {
    for route in ROUTES {
        let rule = rule_of(route);
        let scene = Scene::start().await;
        let path = scene.path(rule.path);
        if route.name == "issues.unacknowledge" {
            let taken = scene.path("/issues/{issue}/acknowledge");
            let taken = scene.service.client(&scene.owner).post(&taken, &json!({})).await;
            assert_eq!(taken.status, 200, "{taken:?}");
        }
        let (weaker, allowed): (Vec<_>, Vec<_>) =
            Role::ALL.into_iter().partition(|role| *role < rule.role);
        for role in weaker {
            let member = colleague(&scene.service, &scene.owner, role).await;
            assert_role_required(&scene.send(&member, rule, &path).await);
        }
        if path != rule.path {
            suspend(&scene.service, &scene.owner).await;
            assert_plan_required(&scene.send(&scene.owner, rule, &path).await);
            set_plan(&scene.service, scene.owner.team, Plan::Agency, true).await;
        }
        // What has been deleted cannot be deleted again.
        let once = if rule.method == "GET" { allowed.len() } else { 1 };
        for role in allowed.into_iter().take(once) {
            let team = scene.owner.team;
            let member = member_of(&scene.service.test, team, role, &[rule.scope]).await;
            let own = Secret::parse(&member.secret).expect("a secret").hash();
            let path = path.replace("{token}", &own.0);
            let answer = scene.send(&member, rule, &path).await;
            assert!(answer.status < 300, "{} as {role:?}: {}", route.name, answer.shown());
        }
    }
}

#[tokio::test]
async fn resources_of_other_teams_and_unknown_ids_are_not_found() {
    let scene = Scene::start().await;
    let stranger = new_team(&scene.service.test, Plan::Agency).await;
    for rule in RULES.iter().filter(|rule| rule.path.contains('{')) {
        let path = scene.path(rule.path);
        assert_not_found(&scene.send(&stranger, rule, &path).await);
        for (name, id) in scene.ids.iter().filter(|(name, _)| rule.path.contains(name)) {
            // A hash has no hyphens to leave out.
            let odd = odd_spellings(id).into_iter().filter(|spelling| spelling != id);
            for spelling in odd.chain([UNKNOWN.to_owned()]) {
                let odd = scene.path(&rule.path.replace(name, &spelling));
                let answer = scene.send(&scene.owner, rule, &odd).await;
                assert_eq!(answer.status, 404, "{} {odd}", rule.method);
            }
        }
    }
}

#[tokio::test]
async fn a_heartbeat_is_no_site_and_a_site_is_no_heartbeat() {
    let scene = Scene::start().await;
    let [site, heartbeat] = ["{site}", "{heartbeat}"];
    for (own, other) in [(site, heartbeat), (heartbeat, site)] {
        for rule in RULES.iter().filter(|rule| rule.path.contains(own)) {
            let path = scene.path(&rule.path.replace(own, other));
            assert_not_found(&scene.send(&scene.owner, rule, &path).await);
        }
    }
    let client = scene.service.client(&scene.owner);
    assert_not_found(&client.get(&scene.path("/issues?site={heartbeat}")).await);
    let run = scene.path("/teams/{team}/heartbeats/{heartbeat}/runs");
    let run = rows(&client.get(&run).await)[0]["uuid"].clone();
    let run = format!("/checks/{}", run.as_str().expect("a uuid"));
    assert_not_found(&client.get(&run).await);
    assert_not_found(&client.delete(&run).await);
    let heartbeat = scene.path("/teams/{team}/heartbeats/{heartbeat}");
    assert_eq!(client.get(&heartbeat).await.status, 200, "nothing has deleted it");
}

/// Pages that no list has: the query, its wrong field, and the error message.
const WRONG_PAGES: [(&str, &str, &str); 12] = [
    ("page=0", "page", "The page field must be at least 1."),
    ("page=", "page", "The page field must be an integer."),
    ("page=-1", "page", "The page field must be an integer."),
    ("page=1.0", "page", "The page field must be an integer."),
    ("page=%2B1", "page", "The page field must be an integer."),
    ("page=9007199254740993", "page", TOO_FAR),
    ("page=99999999999999999999999999", "page", TOO_FAR),
    ("per_page=0", "per_page", "The per_page field must be at least 1."),
    ("per_page=101", "per_page", "The per_page field must not be greater than 100."),
    ("per_page=1.5", "per_page", "The per_page field must be an integer."),
    ("per_page=abc", "per_page", "The per_page field must be an integer."),
    ("per_page=", "per_page", "The per_page field must be an integer."),
];
const TOO_FAR: &str = "The page field must not be greater than 9007199254740992.";

#[tokio::test]
async fn every_list_is_paged_in_the_same_way_or_not_at_all() {
    let scene = Scene::start().await;
    let mut paged = Vec::new();
    for route in ROUTES.iter().filter(|route| route.method == "GET") {
        let rule = rule_of(route);
        let path = scene.path(rule.path);
        let get =
            async |query: &str| scene.send(&scene.owner, rule, &format!("{path}?{query}")).await;
        let whole = get("").await;
        if !whole.body["data"].is_array() {
            continue;
        }
        let total = rows(&whole).len();
        assert!(total > 0, "{}", route.name);
        // Their pages are found by their place in the list.
        if ["audit-log.list", "events.list"].contains(&route.name) {
            let why = "The per_page field must not be greater than 100.";
            assert_invalid(&get("per_page=101").await, "per_page", why);
            continue;
        }
        if whole.body["meta"].is_null() {
            assert_eq!(get("page=2&per_page=1").await.body, whole.body, "{}", route.name);
            continue;
        }
        paged.push(route.name);
        assert_page(&whole, (&path, ""), (1, 25, total));
        for (page, per_page) in [(1, 1), (1, 100), (7, 2)] {
            // Links contain no unknown parameter, and the page comes last.
            let answer = get(&format!("page={page}&unknown=1&per_page={per_page}")).await;
            let query = format!("per_page={per_page}&");
            assert_page(&answer, (&path, &query), (page, per_page, total));
        }
        assert_eq!(rows(&get("page=9007199254740992").await), Vec::<serde_json::Value>::new());
        for (query, field, message) in WRONG_PAGES {
            assert_invalid(&get(query).await, field, message);
        }
    }
    assert_eq!(
        paged,
        [
            "sites.list",
            "checks.list",
            "issues.list",
            "outages.list",
            "heartbeats.list",
            "heartbeats.runs",
        ]
    );
}
