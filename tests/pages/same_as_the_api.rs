//! What a person does on pages leaves the same behind as what a program does through the API.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::audit::AuditEntry;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::SiteId;
use vedette_testkit::{Client, Member, TestApp, member_of, new_team};
use vedette_tests::Service;

use crate::edit::filled;
use crate::issues::broken;
use crate::settings::{STATUS, form};
use crate::support::{Browser, said};

/// Who does something.
enum Hands<'a> {
    OnPages(Browser<'a>),
    ThroughApi(Client<'a>),
}

/// One step in both forms: the address of the form and what it sends, and a request.
type Step<'s> = ((&'s str, &'s str), (&'s str, &'s str, Value));

impl Hands<'_> {
    async fn take(&mut self, ((page, form), (method, path, body)): Step<'_>) {
        match self {
            Self::OnPages(browser) => {
                let status = browser.post(page, form).await.status();
                assert_eq!(status, 303, "{page}: {form}");
            }
            Self::ThroughApi(client) => {
                let body = if body.is_null() { String::new() } else { body.to_string() };
                let answer = client.send(method, path, body.into()).await;
                assert!(answer.status < 300, "{method} {path}: {answer:?}");
            }
        }
    }
}

/// Sets up a team and changes it. Returns what its settings, channels and members are then, and its audit log.
async fn run_team(test: &TestApp, owner: &Member, hands: &mut Hands<'_>) -> Value {
    let store = &test.app.store;
    let team = format!("/teams/{}", owner.team);
    let [rename, channels, members] =
        ["name", "channels", "members"].map(|at| format!("{team}/{at}"));
    let grace = member_of(test, owner.team, Role::Viewer, &[]).await;
    hands.take(((&rename, "name=Meridian"), ("PATCH", &team, json!({ "name": "Meridian" })))).await;
    let url = "https://hooks.slack.com/services/T0/B0/s3cret";
    let slack = format!(
        "kind=slack&to={}&name=Ops&events=opened",
        url.replace(':', "%3A").replace('/', "%2F")
    );
    let body = json!({ "kind": "slack", "url": url, "name": "Ops", "events": ["opened"] });
    hands.take(((&channels, &slack), ("POST", &channels, body))).await;
    let [channel] = &store.channels(owner.team).await.expect("read")[..] else { panic!("one") };
    let channel = format!("{channels}/{}", channel.id);
    let edit = format!("{channel}/edit");
    let edited = json!({ "name": "Night", "severities": ["critical"], "events": [] });
    hands.take(((&edit, "name=Night&severities=critical"), ("PATCH", &channel, edited))).await;
    for verb in ["test", "disable", "enable", "resend"] {
        let act = format!("{channel}/{verb}");
        hands.take(((&act, ""), ("POST", &act, Value::Null))).await;
    }
    let role = format!("{members}/{}/role", grace.user);
    let member = format!("{members}/{}", grace.user);
    let admin = json!({ "role": "admin" });
    hands.take(((&role, "role=admin"), ("PATCH", &member, admin))).await;

    let known = store.team(owner.team, test.now()).await.expect("read").expect("a team").team;
    let stored = store.channels(owner.team).await.expect("read");
    let shown: Vec<_> = stored
        .iter()
        .map(|channel| {
            let filter = serde_json::to_value(&channel.filter).expect("JSON");
            json!([channel.name, channel.target.leads_to(), filter, channel.disabled.is_none()])
        })
        .collect();
    let mut people: Vec<_> = store.members(owner.team).await.expect("read");
    people.sort_by_key(|row| row.role);
    let roles: Vec<_> = people.iter().map(|row| row.role).collect();

    let invitations = format!("{team}/invitations");
    let bob = "email=bob%40example.com&name=Bob&role=viewer";
    match hands {
        // The page shows the link in its answer.
        Hands::OnPages(browser) => assert_eq!(browser.post(&members, bob).await.status(), 200),
        Hands::ThroughApi(_) => {
            let body = json!({ "email": "bob@example.com", "name": "Bob", "role": "viewer" });
            hands.take((("", ""), ("POST", &invitations, body))).await;
        }
    }
    let invited = store.team(owner.team, test.now()).await.expect("read").expect("a team").team;
    let [invitation] = &invited.invitations[..] else { panic!("one invitation") };
    let invitation = format!("{invitations}/{}", invitation.hash.0);
    let withdraw = format!("{invitation}/withdraw");
    hands.take(((&withdraw, ""), ("DELETE", &invitation, Value::Null))).await;
    let [gone, left] = [&channel, &member].map(|of| format!("{of}/remove"));
    hands.take(((&left, ""), ("DELETE", &member, Value::Null))).await;
    hands.take(((&gone, ""), ("DELETE", &channel, Value::Null))).await;

    let log = store.audit_log(owner.team, None, 100).await.expect("read").entries;
    let log = in_any_order(&log);
    let text = json!([known.name, shown, roles, log]).to_string();
    let id = channel.rsplit('/').next().unwrap_or_default().to_owned();
    let ids = [owner.user.to_string(), grace.user.to_string(), id, owner.team.to_string()];
    named(text, ids, ["the owner", "grace", "the channel", "the team"])
}

/// The entries of an audit log, in any order, because all of it happens in one second.
fn in_any_order(log: &[AuditEntry]) -> BTreeSet<String> {
    log.iter().map(|entry| json!([entry.actor.user(), entry.event]).to_string()).collect()
}

/// A document with names in place of ids.
fn named<const N: usize>(text: String, ids: [String; N], names: [&str; N]) -> Value {
    let text = ids.iter().zip(names).fold(text, |text, (id, name)| text.replace(id, name));
    serde_json::from_str(&text).expect("JSON")
}

/// Creates and changes a site, and changes the team's settings. Returns both as they are then.
async fn settle(service: &Service, owner: &Member, hands: &mut Hands<'_>) -> (SiteId, Value) {
    let store = &service.test.app.store;
    let team = format!("/teams/{}", owner.team);
    let sites = format!("{team}/sites");
    let body = json!({ "url": "https://a.test/" });
    hands.take(((&sites, "urls=https%3A%2F%2Fa.test%2F"), ("POST", &sites, body))).await;
    let listed = service.client(owner).get(&sites).await;
    let id = listed.body["data"][0]["uuid"].as_str().and_then(SiteId::parse).expect("the site");

    let [site, edit] = [format!("/sites/{id}"), format!("/sites/{id}/edit")];
    let cadence = "monitoring_settings.tools.status.cadence_minutes";
    let changes = [
        ("name", "Shop"),
        ("notes", "Call Ada"),
        (&*format!("{cadence}.from"), "own"),
        (cadence, "30"),
    ];
    let sent = match hands {
        Hands::OnPages(browser) => filled(said(&browser.get(&edit).await), &changes),
        Hands::ThroughApi(_) => String::new(),
    };
    let own = json!({ "tools": { "status": { "cadence_minutes": 30 } } });
    let body = json!({
        "url": "https://a.test/", "name": "Shop", "notes": "Call Ada", "monitoring_settings": own,
    });
    hands.take(((&edit, &sent), ("PATCH", &site, body))).await;

    let (section, monitoring) = (format!("{team}/settings/status"), format!("{team}/monitoring"));
    let status = json!({ "enabled": true, "cadence_minutes": 15, "settings": {
        "incident_status_codes": [500, 503], "failures_to_open": 3, "successes_to_resolve": 1,
        "confirmation_retry_minutes": 2, "incident_follow_up_minutes": 5,
    } });
    let body = json!({ "monitoring_settings": { "tools": { "status": status } } });
    hands.take(((&section, &form("status", STATUS)), ("PATCH", &monitoring, body))).await;

    let stored = store.site(id.partition()).await.expect("read").expect("a site").site;
    let settings = store.team(owner.team, service.test.now()).await.expect("read");
    let settings = settings.expect("a team").settings;
    (id, json!([stored.name, stored.url, stored.notes, stored.overrides, settings]))
}

/// Creates a token and revokes it. Returns it, and its short form.
async fn use_token(service: &Service, owner: &Member, hands: &mut Hands<'_>) -> (String, Value) {
    let store = &service.test.app.store;
    let before = store.tokens_of(owner.user).await.expect("read");
    match hands {
        // The page shows the secret in its answer.
        Hands::OnPages(browser) => {
            let sent = "name=ci&days=7&scopes=teams%3Aread&scopes=sites%3Aread";
            assert_eq!(browser.post("/tokens", sent).await.status(), 200);
        }
        Hands::ThroughApi(_) => {
            let scopes = ["teams:read", "sites:read"];
            let body = json!({ "name": "ci", "days": 7, "scopes": scopes });
            hands.take((("", ""), ("POST", "/me/tokens", body))).await;
        }
    }
    let tokens = store.tokens_of(owner.user).await.expect("read");
    let is_new = |hash: &str| before.iter().all(|(token, _)| token.hash.0 != hash);
    let new = tokens.iter().map(|(token, _)| token).find(|token| is_new(&token.hash.0));
    let token = new.expect("a new token");
    let [revoke, path] =
        [format!("/tokens/{}/revoke", token.hash.0), format!("/me/tokens/{}", token.hash.0)];
    hands.take(((&revoke, ""), ("DELETE", &path, Value::Null))).await;
    let left = store.tokens_of(owner.user).await.expect("read").len();
    assert_eq!(left, before.len());
    let lifetime = token.expires_at.duration_since(token.created_at).as_secs();
    (token.hash.short().to_owned(), json!([token.name, token.scopes, lifetime]))
}

/// Works on a site, settings, a token and an issue. Returns what is left of them, and the audit log.
async fn run_sites(service: &Service, owner: &Member, hands: &mut Hands<'_>) -> Value {
    let store = &service.test.app.store;
    let (site, settled) = settle(service, owner, hands).await;
    let (hash, token) = use_token(service, owner, hands).await;
    let (_target, id) = broken(service, owner).await;
    let issue = format!("/issues/{id}");
    for verb in ["acknowledge", "unacknowledge", "acknowledge"] {
        let act = format!("{issue}/{verb}");
        hands.take(((&act, ""), ("POST", &act, Value::Null))).await;
    }
    let [note, notes, resolve] = ["note", "notes", "resolve"].map(|of| format!("{issue}/{of}"));
    let text = json!({ "note": "The disk is full." });
    hands.take(((&note, "note=+The+disk+is+full.+"), ("POST", &notes, text))).await;
    hands.take(((&resolve, ""), ("POST", &resolve, Value::Null))).await;

    let stored = store.issue(id.partition(), id.fingerprint()).await.expect("read");
    let stored = stored.expect("an issue");
    let notes: Vec<_> = stored.notes.iter().map(|note| (&note.text, note.by)).collect();
    let log = store.audit_log(owner.team, None, 100).await.expect("read").entries;
    let log = in_any_order(&log);
    let text = json!([settled, token, stored.status(), notes, log]).to_string();
    let broken = store.site(id.partition()).await.expect("read").expect("a site").site.id;
    let [site, issue, broken] = [site.to_string(), id.to_string(), broken.to_string()];
    let ids = [owner.user.to_string(), hash, site, issue, broken];
    named(text, ids, ["the owner", "the token", "the site", "the issue", "the broken site"])
}

#[tokio::test]
async fn sites_settings_tokens_and_issues_are_the_same_and_so_is_the_audit_log() {
    let (service, owner) = Service::with_team().await;
    let mut pages = Hands::OnPages(Browser::of(&service.test, owner.user).await);
    let by_pages = run_sites(&service, &owner, &mut pages).await;
    let (service, owner) = Service::with_team().await;
    let mut api = Hands::ThroughApi(service.client(&owner));
    let by_api = run_sites(&service, &owner, &mut api).await;
    assert_eq!(by_pages, by_api);
    assert_eq!(by_pages[4].as_array().map(Vec::len), Some(10), "{by_pages:#}");
}

#[tokio::test]
async fn a_team_is_the_same_and_so_is_its_audit_log() {
    let test = TestApp::start().await;
    let [of_pages, of_api] =
        [new_team(&test, Plan::Agency).await, new_team(&test, Plan::Agency).await];
    let mut pages = Hands::OnPages(Browser::of(&test, of_pages.user).await);
    let mut api = Hands::ThroughApi(Client::new(&test.app, &of_api));
    let by_pages = run_team(&test, &of_pages, &mut pages).await;
    let by_api = run_team(&test, &of_api, &mut api).await;
    assert_eq!(by_pages, by_api);
    assert_eq!(by_pages[3].as_array().map(Vec::len), Some(10), "{by_pages:#}");
}
