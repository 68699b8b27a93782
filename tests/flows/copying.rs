//! A team moves to another table and back, with all its data.

use std::collections::BTreeMap;

use serde_json::json;
use vedette_actions::{
    CopyDone, CopyError, CopyOrder, confirm_subscription, copy_teams, subscribe,
};
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::Filter;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, StatusPageId, SubscriptionId, UserId};
use vedette_domain::source::Source;
use vedette_domain::status_pages::{PageAddress, Slug};
use vedette_store::{CopyConflict, CopyRules};
use vedette_testkit::channels::{add_channel, webhook};
use vedette_testkit::{Client, Fault, Member, TestApp, new_team};

use crate::scene::{Scene, URL};

const SLUG: &str = "meridian";
const SUBSCRIBER: &str = "kate@example.com";

fn order(teams: &[&Member]) -> CopyOrder {
    let teams = teams.iter().map(|member| member.team).collect();
    CopyOrder { teams, is_stopped: true, reason: "copied".to_owned() }
}

async fn copy(from: &TestApp, to: &TestApp, order: &CopyOrder) -> Result<CopyDone, CopyError> {
    let now = from.now();
    to.set_clock(now);
    copy_teams(&from.app.store, &to.app.store, order, now, &|_| {}).await
}

/// A team with two sites, a channel, a resolved issue and an active one, more checks than fit into a page of the table,
/// expectations, a maintenance window, and a status page with an incident and a subscriber.
async fn history() -> Scene {
    let scene = Scene::start().await;
    let service = &scene.service;
    let filter = Filter::default();
    add_channel(&service.test.app, scene.owner.team, ("Hook", webhook()), filter).await;
    let site = scene.watch_down(&json!({})).await;
    let open = scene.issues("active").await;
    scene.acknowledge(&open[0]).await;
    scene.target.answer(200);
    service.advance_minutes(5);
    scene.run_timer(site).await;
    service.consume().await;
    for _ in 0..40 {
        service.advance_minutes(5);
        service.run_scheduled(site, Tool::Status).await;
    }
    scene.order(site).await;
    scene.target.answer(503);
    let other = scene.watch_url(&format!("{URL}/other")).await;
    service.advance_minutes(5);
    service.run_scheduled(other, Tool::Status).await;
    scene.run_timer(other).await;
    service.waiting();
    add_what_the_specification_lacks(&scene, site).await;
    scene
}

async fn add_what_the_specification_lacks(scene: &Scene, site: SiteId) {
    let (client, team) = (scene.client(), scene.owner.team);
    let body = json!({ "expectations": [{ "kind": "response_time", "max_ms": 2000 }] });
    let put = client.put(&format!("/sites/{site}/expectations"), &body).await;
    assert_eq!(put.status, 200, "{put:?}");
    let body = json!({ "name": "Updates", "sites": null, "starts_at": "2030-01-06T02:00", "duration_minutes": 60 });
    let window = client.post(&format!("/teams/{team}/maintenance-windows"), &body).await;
    assert_eq!(window.status, 201, "{window:?}");
    let path = format!("/teams/{team}/status-pages");
    let components = json!([{ "site": site, "name": "Shop" }]);
    let groups = json!([{ "name": "Meridian", "components": components }]);
    let body = json!({ "slug": SLUG, "name": "Meridian", "groups": groups, "subscriptions": true });
    let page = client.post(&path, &body).await;
    assert_eq!(page.status, 201, "{page:?}");
    let body = json!({ "title": "The shop is down", "text": "We are looking into it." });
    let path = format!("{path}/{}/incidents", page.data("uuid"));
    assert_eq!(client.post(&path, &body).await.status, 201);

    let app = &scene.service.test.app;
    let page = StatusPageId::parse(&page.data("uuid")).expect("an id");
    let subscribed = subscribe(app, team, page, SUBSCRIBER, Source::Unknown).await;
    subscribed.expect("requested");
    let pending = app.store.subscription(page, SubscriptionId::of(SUBSCRIBER)).await;
    let pending = pending.expect("read").expect("pending");
    confirm_subscription(app, &pending, app.clock.now()).await.expect("confirmed");
    scene.service.consume().await;
    scene.service.waiting();
}

/// Everything that the API returns about a team, by path.
async fn answers(test: &TestApp, owner: &Member) -> BTreeMap<String, String> {
    let client = Client::new(&test.app, owner);
    let team = owner.team;
    let mut waiting = vec![
        "/me".to_owned(),
        "/teams".to_owned(),
        format!("/teams/{team}"),
        format!("/teams/{team}/monitoring"),
        format!("/teams/{team}/sites"),
        format!("/teams/{team}/maintenance-windows"),
        format!("/teams/{team}/status-pages"),
        "/issues?status=active&per_page=100".to_owned(),
        "/issues?status=resolved&per_page=100".to_owned(),
    ];
    let mut answers = BTreeMap::new();
    while let Some(path) = waiting.pop() {
        let answer = client.get(&path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let listed = answer.body["data"].as_array().cloned().unwrap_or_default();
        let ids = listed.iter().filter_map(|row| row["uuid"].as_str());
        if path.ends_with("/sites") {
            waiting.extend(ids.flat_map(|id| {
                let of_site = [
                    "",
                    "/checks?per_page=100",
                    "/reports/uptime",
                    "/reports/performance",
                    "/expectations",
                ];
                of_site.map(|rest| format!("/sites/{id}{rest}"))
            }));
        } else if path.contains("/checks?") {
            waiting.extend(ids.map(|id| format!("/checks/{id}")));
        } else if path.starts_with("/issues?") {
            waiting.extend(ids.map(|id| format!("/issues/{id}")));
        } else if path.ends_with("/status-pages") {
            waiting.extend(ids.map(|id| format!("{path}/{id}/incidents")));
        }
        answers.insert(path, answer.body.to_string());
    }
    // What readers are served, and who has subscribed.
    let slug = PageAddress::parse(SLUG).expect("an address");
    let published = test.app.store.published_by(&slug).await.expect("read").expect("published");
    let subscribers = test.app.store.subscriptions_after(published.0.1, None, 10).await;
    answers.insert(SLUG.to_owned(), format!("{published:?} {:?}", subscribers.expect("read")));
    answers
}

#[tokio::test]
async fn a_team_that_moves_and_comes_back_is_answered_for_as_before() {
    let scene = history().await;
    let (home, owner) = (&scene.service.test, &scene.owner);
    let (away, back) = (TestApp::start().await, TestApp::start().await);
    let before = answers(home, owner).await;
    let count = |part: &str| before.keys().filter(|path| path.starts_with(part)).count();
    assert_eq!((count("/sites/"), count("/issues/")), (10, 2));
    assert!(count("/checks/") > 40, "{}", count("/checks/"));

    let done = copy(home, &away, &order(&[owner])).await.expect("copied");
    assert_eq!((done.teams, done.users, done.resumed), (1, 1, false));
    assert_eq!((done.compared.sites, done.compared.issues), (2, 2));
    assert_eq!(done.compared.items, done.written, "all of it was new");
    copy(&away, &back, &order(&[])).await.expect("copied");
    for there in [&away, &back] {
        assert_eq!(answers(there, owner).await, before);
    }
    assert_eq!(away.table.dump().await, back.table.dump().await);

    let channels = back.app.store.channels(owner.team).await.expect("read");
    let disabled = channels[0].disabled.as_ref().expect("disabled");
    assert_eq!((disabled.at, disabled.reason.as_str()), (home.now(), "copied"));
    let ours = home.app.store.target_of(&channels[0]).await.expect("read");
    let theirs = back.app.store.target_of(&channels[0]).await.expect("read");
    assert_eq!(ours, theirs, "its secrets came along");
}

#[tokio::test]
async fn a_copy_that_is_cut_off_at_any_write_is_finished_by_the_next() {
    let scene = history().await;
    let (home, owner) = (&scene.service.test, &scene.owner);
    let whole = TestApp::start().await;
    let items = copy(home, &whole, &order(&[owner])).await.expect("copied").compared.items;
    let whole = whole.table.dump().await;
    let other = new_team(home, Plan::Growth).await;
    for write in 1.. {
        let to = TestApp::start().await;
        to.faults().on_write(write, Fault::CrashBefore);
        let whole_team = order(&[owner]);
        let copying = copy(home, &to, &whole_team);
        let Some(done) = to.faults().until_crash(copying).await else {
            let listed = to.app.store.all_teams().await.expect("read");
            let found = to.app.store.team(owner.team, home.now()).await.expect("read");
            let is_active = found.is_some_and(|team| team.team.plan_active);
            assert!(
                !is_active || listed.len() == 1,
                "write {write}: nothing runs on a part of a team"
            );
            if to.app.store.copy_mark().await.expect("read").is_some() {
                let refused = copy(home, &to, &order(&[&other])).await.expect_err("another copy");
                assert!(matches!(refused, CopyError::Unfinished(_)), "{refused}");
                let done = copy(home, &to, &order(&[owner])).await.expect("finished");
                assert_eq!((done.compared.items, done.resumed), (items, true));
            } else {
                // The copy was interrupted before it began.
                assert_eq!(write, 1);
                copy(home, &to, &order(&[owner])).await.expect("copied");
            }
            assert_eq!(to.table.dump().await, whole, "write {write}");
            continue;
        };
        done.expect("nothing was cut off");
        assert!(write > 5, "there are several writes");
        return;
    }
}

#[tokio::test]
async fn a_copy_never_overwrites_existing_items() {
    let scene = history().await;
    let (home, owner) = (&scene.service.test, &scene.owner);
    let there = TestApp::start().await;
    copy(home, &there, &order(&[owner])).await.expect("copied");
    let before = there.table.dump().await;
    let refused = copy(home, &there, &order(&[owner])).await.expect_err("it is there");
    let CopyError::Conflicts(conflicts) = &refused else { panic!("{refused}") };
    let slug = Slug::parse(SLUG).expect("a slug");
    let (team, user) = (CopyConflict::Team(owner.team), CopyConflict::User(owner.user));
    assert_eq!(conflicts[..], [team, CopyConflict::Slug(slug), user]);
    assert_eq!(there.table.dump().await, before, "nothing changed");

    let there = TestApp::start().await;
    let email = home.app.store.user(owner.user).await.expect("read").expect("a user").email;
    let namesake = User {
        id: UserId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("an id"),
        name: "Ada".to_owned(),
        email: email.to_uppercase(),
        email_verified_at: None,
        zone: None,
        created_at: there.now(),
    };
    there.app.store.create_user(&namesake).await.expect("a user");
    let refused = copy(home, &there, &order(&[owner])).await.expect_err("the address is taken");
    assert!(
        refused.to_string().ends_with(&format!("a user with the address {email}")),
        "{refused}"
    );
    assert!(there.app.store.copy_mark().await.expect("read").is_none());
}

#[tokio::test]
async fn a_status_page_of_another_team_keeps_its_slug() {
    let scene = history().await;
    let (home, owner) = (&scene.service.test, &scene.owner);
    let there = TestApp::start().await;
    let other = new_team(&there, Plan::Growth).await;
    let path = format!("/teams/{}/status-pages", other.team);
    let body = json!({ "slug": SLUG, "name": "Another page" });
    assert_eq!(Client::new(&there.app, &other).post(&path, &body).await.status, 201);
    let before = there.table.dump().await;
    let refused = copy(home, &there, &order(&[owner])).await.expect_err("the slug is taken");
    let CopyError::Conflicts(conflicts) = &refused else { panic!("{refused}") };
    assert!(conflicts.contains(&CopyConflict::Slug(Slug::parse(SLUG).expect("a slug"))));
    assert!(refused.to_string().contains("a status page with the slug meridian"), "{refused}");
    assert_eq!(there.table.dump().await, before, "nothing changed");
}

#[tokio::test]
async fn a_team_is_paused_before_it_is_copied_from_a_service_that_runs() {
    let scene = history().await;
    let (home, owner) = (&scene.service.test, &scene.owner);
    let there = TestApp::start().await;
    let running = CopyOrder { is_stopped: false, ..order(&[owner]) };
    let refused = copy(home, &there, &running).await.expect_err("active");
    assert!(matches!(refused, CopyError::Active(team) if team == owner.team), "{refused}");
    assert!(there.table.dump().await.is_empty());
    vedette_actions::change_plan(&home.app, owner.team, Plan::Agency, false).await.expect("paused");
    copy(home, &there, &running).await.expect("copied");
    let found = there.app.store.team(owner.team, home.now()).await.expect("read").expect("a team");
    assert!(!found.team.plan_active, "it is paused there as well");
}

#[tokio::test]
async fn items_deleted_during_a_copy_are_deleted_by_the_next_copy() {
    let scene = history().await;
    let (home, owner) = (&scene.service.test, &scene.owner);
    let there = TestApp::start().await;
    let now = home.now();
    let plan = home.app.store.copy_plan(&[owner.team], now).await.expect("read");
    let rules = CopyRules { now, started_at: now, reason: "copied", inactive: true };
    let (from, to) = (&home.app.store, &there.app.store);
    for part in &plan.parts {
        to.copy_part(from, part, &rules).await.expect("copied");
    }
    let listed = scene.client().get(&format!("/teams/{}/sites", owner.team)).await;
    let site =
        SiteId::parse(listed.body["data"][0]["uuid"].as_str().expect("an id")).expect("an id");
    let deleted = scene.client().delete(&format!("/sites/{site}")).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    let mut removed = 0;
    for part in &plan.parts {
        removed += to.copy_part(from, part, &rules).await.expect("copied").removed;
    }
    assert!(removed > 0);
    for part in &plan.parts {
        let same = to.copy_part(from, part, &rules).await.expect("compared");
        assert_eq!((same.written, same.removed), (0, 0), "{part:?}");
    }
}
