//! What a person does on pages leaves the same behind as what a program does through the API.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::{Client, Member, TestApp, member_of, new_team};

use crate::support::Browser;

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
    let log = log.iter().map(|entry| json!([entry.actor.user(), entry.event]).to_string());
    // In any order, because all of it happens in one second.
    let log: BTreeSet<_> = log.collect();
    let text = json!([known.name, shown, roles, log]).to_string();
    let id = channel.rsplit('/').next().unwrap_or_default().to_owned();
    let ids = [owner.user.to_string(), grace.user.to_string(), id, owner.team.to_string()];
    let names = ["the owner", "grace", "the channel", "the team"];
    let text = ids.iter().zip(names).fold(text, |text, (id, name)| text.replace(id, name));
    serde_json::from_str(&text).expect("JSON")
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
