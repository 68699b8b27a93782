//! Who changed what: through the pages, the API and the command line.

use jiff::SignedDuration;
use lambda_http::Body;
use lambda_http::http::Response;
use serde_json::json;
use vedette_actions::{change_role, create_token, remove_channel, remove_member, revoke_token};
use vedette_domain::accounts::account::{Membership, NewToken, Role, Scope};
use vedette_domain::accounts::audit::{AUDIT_LIFETIME, By};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::channel::Filter;
use vedette_domain::alerts::channel_state::{ChannelState, FailedAttempt};
use vedette_domain::id::UserId;
use vedette_domain::sites::settings::Settings;
use vedette_testkit::channels::{add_channel, chat, mail};
use vedette_testkit::{Client, Fault, Member, TestApp, member_of, new_team};
use vedette_tests::Service;

use crate::issues::broken;
use crate::settings::{STATUS, form};
use crate::sites::after;
use crate::support::{Browser, main_part, said};
use vedette_store::Audit;

async fn email_of(test: &TestApp, user: UserId) -> String {
    test.app.store.user(user).await.expect("read").expect("a user").email
}

fn log(owner: &Member) -> String {
    format!("/teams/{}/audit-log", owner.team)
}

/// Who did what, newest first.
fn rows(response: &Response<Body>) -> Vec<String> {
    let table = said(response).split("</table>").next().unwrap_or_default();
    let rows = table.split("<tr>").skip(2);
    rows.map(|row| row.split("<td>").skip(2).map(text).collect::<Vec<_>>().join(" | ")).collect()
}

/// The text of markup.
fn text(markup: &str) -> String {
    let mut text = String::new();
    for part in markup.split('<') {
        let (tag, rest) = part.split_once('>').unwrap_or(("", part));
        match tag {
            "li" => text.push_str("; "),
            "br" => text.push(' '),
            _ => {}
        }
        text.push_str(rest);
    }
    text.trim().to_owned()
}

fn new_token() -> NewToken {
    NewToken { name: "ci".to_owned(), days: 7, scopes: Some([Scope::SitesRead].into()) }
}

/// Performs an action in a browser, a minute after the previous one.
async fn act(browser: &mut Browser<'_>, path: &str, form: &str) -> String {
    browser.test.advance(SignedDuration::from_mins(1));
    let done = browser.post(path, form).await;
    assert!(done.status().as_u16() < 400, "{path}: {}", main_part(&done));
    match done.status().as_u16() {
        200 => main_part(&done).to_owned(),
        _ => String::new(),
    }
}

#[tokio::test]
async fn what_members_do_on_the_pages_is_written_down_with_who_did_it() {
    let (service, owner) = Service::with_team().await;
    let test = &service.test;
    let mut browser = Browser::of(test, owner.user).await;
    assert!(said(&browser.get(&log(&owner)).await).contains("No changes in the last 400"));
    let grace = member_of(test, owner.team, Role::Member, &Scope::ALL).await;
    let mut theirs = Browser::of(test, grace.user).await;
    let team = format!("/teams/{}", owner.team);

    act(&mut browser, &format!("{team}/settings/status"), &form("status", STATUS)).await;
    let header = "name=X-Key&value=let-me-in";
    act(&mut browser, &format!("{team}/settings/request-header"), &form("request-header", header))
        .await;
    act(&mut theirs, &format!("{team}/sites"), "urls=https%3A%2F%2Fshop.test").await;
    let list = theirs.get(&team).await;
    let site = format!("/sites/{}", after(said(&list), "href=\"/sites/"));
    act(&mut theirs, &format!("{site}/pause"), "").await;
    act(&mut theirs, &format!("{site}/delete"), "").await;

    let channels = format!("{team}/channels");
    let slack = "kind=slack&to=https%3A%2F%2Fhooks.test%2Fpassword&name=%3Ci%3EOps";
    act(&mut browser, &channels, slack).await;
    let channel = test.app.store.channels(owner.team).await.expect("read")[0].id;
    for verb in ["disable", "enable", "remove"] {
        act(&mut browser, &format!("{channels}/{channel}/{verb}"), "").await;
    }
    let members = format!("{team}/members");
    act(&mut browser, &members, "email=alan%40example.com&name=Alan&role=viewer").await;
    let page = browser.get(&members).await;
    let withdraw = said(&page).split("action=\"").find(|rest| rest.contains("/withdraw\""));
    let withdraw = withdraw.and_then(|rest| rest.split('"').next()).expect("a form");
    act(&mut browser, withdraw, "").await;
    act(&mut browser, &format!("{members}/{}/role", grace.user), "role=admin").await;
    act(&mut theirs, "/tokens", "name=ci&days=7&scopes=sites%3Aread&scopes=teams%3Aread").await;
    let tokens = theirs.get("/tokens").await;
    let revoke = after(said(&tokens), "action=\"/tokens/").to_owned();
    act(&mut theirs, &format!("/tokens/{revoke}"), "").await;
    act(&mut theirs, &format!("{members}/{}/remove", grace.user), "").await;

    let shown = browser.get(&log(&owner)).await;
    assert!(!said(&shown).contains("let-me-in") && !said(&shown).contains("password"));
    insta::assert_debug_snapshot!(rows(&shown), @r#"
    [
        "Grace grace-00000000-0000-4000-8000-000000000006@example.com | Left the team, with the role Admin",
        "Grace grace-00000000-0000-4000-8000-000000000006@example.com | Revoked their API token de996d391bbd",
        "Grace grace-00000000-0000-4000-8000-000000000006@example.com | Created their API token de996d391bbd, for teams:read, sites:read",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Gave Grace the role Admin, before Member",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Withdrew the invitation for alan@example.com",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Invited alan@example.com, as Viewer",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Removed the channel &lt;i&gt;Ops",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Enabled the channel &lt;i&gt;Ops",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Disabled the channel &lt;i&gt;Ops",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Added the channel &lt;i&gt;Ops",
        "Grace grace-00000000-0000-4000-8000-000000000006@example.com | Deleted the site shop.test",
        "Grace grace-00000000-0000-4000-8000-000000000006@example.com | Changed the site shop.test; Broken links, Check automatically: set to no; DNS, Check automatically: set to no; Performance, Check automatically: set to no; Certificate, Check automatically: set to no; Status, Check automatically: set to no",
        "Grace grace-00000000-0000-4000-8000-000000000006@example.com | Added the site shop.test",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Changed the monitoring settings; Request header, Header name: set to X-Key; Request header, Header value: changed",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Changed the monitoring settings; Status, Check interval: Every 5 minutes → Every 15 minutes; Status, Failures to open an issue: 2 → 3; Status, Failure status codes: 400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, 521, 522, 523, 524 → 500 Internal Server Error, 503 Service Unavailable",
    ]
    "#);
}

#[tokio::test]
async fn what_is_decided_about_an_issue_is_written_down() {
    let (service, owner) = Service::with_team().await;
    let (_target, id) = broken(&service, &owner).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let issue = format!("/issues/{id}");
    for (verb, form) in [
        ("acknowledge", ""),
        ("snooze", "hours=4"),
        ("snooze", "hours=0"),
        ("note", "note=The+disk+is+full"),
        ("resolve", ""),
    ] {
        act(&mut browser, &format!("{issue}/{verb}"), form).await;
    }
    let shown = browser.get(&log(&owner)).await;
    assert_eq!(said(&shown).matches(&format!("href=\"{issue}\"")).count(), 5);
    insta::assert_debug_snapshot!(rows(&shown), @r#"
    [
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Resolved 127.0.0.1 is down: HTTP 503 Service Unavailable",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Wrote a note about 127.0.0.1 is down: HTTP 503 Service Unavailable",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Ended the snooze of 127.0.0.1 is down: HTTP 503 Service Unavailable",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Snoozed until 2026-11-20 13:56 UTC: 127.0.0.1 is down: HTTP 503 Service Unavailable",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Acknowledged 127.0.0.1 is down: HTTP 503 Service Unavailable",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Added the site &lt;b onclick=x&gt;\u{200f}",
    ]
    "#);
}

#[tokio::test]
async fn what_is_done_by_the_api_and_by_the_operator_is_written_down() {
    let (test, owner) = TestApp::with_team().await;
    let grace = member_of(&test, owner.team, Role::Member, &Scope::ALL).await;
    let client = Client::new(&test.app, &owner);
    let later = || test.advance(SignedDuration::from_mins(1));
    let team = format!("/teams/{}", owner.team);
    let body = json!({ "url": "https://a.test", "name": "Shop" });
    let created = client.post(&format!("{team}/sites"), &body).await;
    let site = format!("/sites/{}", created.data("uuid"));
    later();
    let body = json!({
        "url": "https://b.test",
        "name": "Store",
        "notes": "n".repeat(101),
        "dns_expected_records": { "A": ["192.0.2.1", "192.0.2.2"] },
        "monitoring_settings": { "tools": { "ssl": { "enabled": false } } },
    });
    let changed = client.patch(&site, &body).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    later();
    assert_eq!(client.patch(&site, &body).await.status, 200, "which changes nothing");
    let settings = json!({
        "tools": { "ssl": { "enabled": true, "cadence_minutes": 1440 } },
        "escalation": { "enabled": true, "intervals": [15] },
    });
    let body = json!({ "monitoring_settings": settings });
    assert_eq!(client.patch(&format!("{team}/monitoring"), &body).await.status, 200);
    later();
    assert_eq!(client.delete(&site).await.status, 204);

    let (app, by) = (&test.app, || By::operator(test.now()));
    let user = app.store.user(grace.user).await.expect("read").expect("a user");
    later();
    change_role(app, owner.team, &user, Role::Owner, Role::Owner, by()).await.expect("changed");
    later();
    let (_, token) = create_token(app, grace.user, new_token(), None, by()).await.expect("made");
    later();
    revoke_token(app, &token, by()).await.expect("revoked");
    later();
    remove_member(app, owner.team, &user, Role::Owner, by()).await.expect("removed");

    let browser = Browser::of(&test, owner.user).await;
    insta::assert_debug_snapshot!(rows(&browser.get(&log(&owner)).await), @r#"
    [
        "the operator | Removed Grace, with the role Owner",
        "the operator | Revoked Grace’s API token e45bad230d2f",
        "the operator | Created Grace’s API token e45bad230d2f, for sites:read",
        "the operator | Gave Grace the role Owner, before Member",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Deleted the site Store",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Changed the monitoring settings; Reminders, Send reminders: no → yes; Reminders, When: none → After 15 minutes",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Changed the site Shop; Expected A records: set to 192.0.2.1, 192.0.2.2; Certificate, Check automatically: set to no; Name: Shop → Store; Notes: changed; URL: https://a.test → https://b.test; Known DNS records: changed",
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Added the site Shop",
    ]
    "#);
}

#[tokio::test]
async fn nothing_is_written_down_of_what_was_refused_or_cut_off() {
    let (test, owner) = TestApp::with_team().await;
    let client = Client::new(&test.app, &owner);
    let path = format!("/teams/{}/sites", owner.team);
    let browser = Browser::of(&test, owner.user).await;
    assert_eq!(client.post(&path, &json!({ "url": "no" })).await.status, 422);
    assert_eq!(rows(&browser.get(&log(&owner)).await), [""; 0]);
    let body = json!({ "url": "https://a.test" });
    for (fault, expected) in [(Fault::CrashBefore, 0), (Fault::CrashAfter, 1)] {
        test.faults().on_write(1, fault);
        assert!(test.faults().until_crash(Box::pin(client.post(&path, &body))).await.is_none());
        let listed = test.app.store.directory(owner.team, 10).await.expect("read").len();
        assert_eq!(listed, expected);
        assert_eq!(rows(&browser.get(&log(&owner)).await).len(), expected, "with what it tells of");
    }
}

#[tokio::test]
async fn a_log_has_pages_and_an_end() {
    let (test, owner) = TestApp::with_team().await;
    let grace = member_of(&test, owner.team, Role::Viewer, &Scope::ALL).await;
    let user = test.app.store.user(grace.user).await.expect("read").expect("a user");
    for number in 0..51 {
        test.advance(SignedDuration::from_mins(1));
        let role = if number % 2 == 0 { Role::Member } else { Role::Viewer };
        let done =
            change_role(&test.app, owner.team, &user, role, Role::Owner, By::operator(test.now()))
                .await;
        done.expect("changed");
    }
    let browser = Browser::of(&test, grace.user).await;
    let newest = browser.get(&log(&owner)).await;
    assert_eq!(rows(&newest).len(), 50);
    let older = after(said(&newest), "rel=\"next\" href=\"").to_owned();
    let oldest = browser.get(&older).await;
    assert_eq!(rows(&oldest), ["the operator | Gave Grace the role Member, before Viewer"]);
    assert!(!said(&oldest).contains("rel=\"next\"") && said(&oldest).contains("Newest"));
    for before in ["x%00", "%F0%9F%92%A5", "0", &"9".repeat(2_000)] {
        assert_eq!(browser.get(&format!("{}?before={before}", log(&owner))).await.status(), 200);
    }
    let stranger = new_team(&test, Plan::Agency).await;
    let theirs = Browser::of(&test, stranger.user).await;
    assert_eq!(theirs.get(&log(&owner)).await.status(), 404);
    assert_eq!(theirs.get(&older).await.status(), 404);

    let end = (test.now() + AUDIT_LIFETIME).as_second();
    let dump = test.table.dump().await;
    let kept: Vec<i64> = dump
        .iter()
        .filter(|((pk, _), _)| pk.starts_with("A#"))
        .map(|(_, item)| item["ttl"].as_i64().expect("a time"))
        .collect();
    assert_eq!((kept.len(), kept.iter().max()), (51, Some(&end)));
}

#[tokio::test]
async fn all_teams_of_a_user_are_told_of_their_tokens() {
    let (test, owner) = TestApp::with_team().await;
    let mut teams = vec![owner.clone()];
    for _ in 0..100 {
        let id = test.app.entropy.team_id().expect("an id");
        let team = Team::new(id, "Observers", Plan::Agency, test.now());
        let place = Membership { team: id, user: owner.user, role: Role::Owner };
        let created = test.app.store.create_team(&team, &Settings::default(), &place).await;
        created.expect("a team");
        teams.push(Member { team: id, ..owner.clone() });
    }
    let by = By::user(owner.user, test.now());
    let made = create_token(&test.app, owner.user, new_token(), None, by).await;
    let (_, token) = made.expect("made");
    let (hash, email) = (token.hash.short(), email_of(&test, owner.user).await);
    let browser = Browser::of(&test, owner.user).await;
    for team in &teams {
        let notified = rows(&browser.get(&log(team)).await);
        assert_eq!(
            notified,
            [format!("Ada {email} | Created their API token {hash}, for sites:read")]
        );
    }
}

#[tokio::test]
async fn what_readers_of_addresses_and_receivers_change_is_told_apart() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let app = &test.app;
    let address = add_channel(app, owner.team, ("Mail", mail()), Filter::default()).await;
    let at = |verb: &str| {
        let (team, id, key) = (address.team, address.id, address.key.reveal());
        format!("/channels/{team}/{id}/{verb}?key={key}")
    };
    act(&mut browser, &at("unsubscribe"), "").await;
    // The receiver has disabled the channel, so no person has changed anything.
    let chat = add_channel(app, owner.team, ("Ops", chat()), Filter::default()).await;
    let state = app.store.channel_state((&chat).into()).await.expect("read");
    let mut refused = ChannelState { rev: state.rev + 1, ..state };
    let (what, why) = ("a test".to_owned(), "HTTP 410".to_owned());
    refused.disable(FailedAttempt { at: test.now(), what, why });
    app.store.put_channel_state((&chat).into(), &refused, Audit::None).await.expect("saved");
    let enable = format!("/teams/{}/channels/{}/enable", owner.team, chat.id);
    act(&mut browser, &enable, "").await;
    insta::assert_debug_snapshot!(rows(&browser.get(&log(&owner)).await), @r#"
    [
        "Ada ada-00000000-0000-4000-8000-000000000002@example.com | Enabled the channel Ops",
        "the recipient of the address | Unsubscribed from the channel Mail",
    ]
    "#);
}

#[tokio::test]
async fn a_channel_that_is_gone_can_be_removed_again() {
    let (test, owner) = TestApp::with_team().await;
    let chat = ("Ops", chat());
    let channel = add_channel(&test.app, owner.team, chat, Filter::default()).await;
    for _ in 0..2 {
        remove_channel(&test.app, &channel, By::operator(test.now())).await.expect("removed");
    }
}
