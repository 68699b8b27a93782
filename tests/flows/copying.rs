//! A team moves to another table and back, with all its data.

use std::collections::BTreeMap;

use serde_json::json;
use vedette_actions::{CopyDone, CopyError, CopyOrder, copy_teams};
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::Filter;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, UserId};
use vedette_store::{CopyConflict, CopyRules};
use vedette_testkit::channels::{add_channel, webhook};
use vedette_testkit::{Client, Fault, Member, TestApp, new_team};

use crate::scene::{Scene, URL};

fn order(teams: &[&Member]) -> CopyOrder {
    let teams = teams.iter().map(|member| member.team).collect();
    CopyOrder { teams, is_stopped: true, reason: "copied".to_owned() }
}

async fn copy(from: &TestApp, to: &TestApp, order: &CopyOrder) -> Result<CopyDone, CopyError> {
    let now = from.now();
    to.set_clock(now);
    copy_teams(&from.app.store, &to.app.store, order, now, &|_| {}).await
}

/// A team with two sites, a channel, a resolved issue and an active one, and more checks than fit into a page of the
/// table.
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
    scene
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
                let of_site =
                    ["", "/checks?per_page=100", "/reports/uptime", "/reports/performance"];
                of_site.map(|rest| format!("/sites/{id}{rest}"))
            }));
        } else if path.contains("/checks?") {
            waiting.extend(ids.map(|id| format!("/checks/{id}")));
        } else if path.starts_with("/issues?") {
            waiting.extend(ids.map(|id| format!("/issues/{id}")));
        }
        answers.insert(path, answer.body.to_string());
    }
    answers
}

#[tokio::test]
async fn a_team_that_moves_and_comes_back_is_answered_for_as_before() {
    let scene = history().await;
    let (home, owner) = (&scene.service.test, &scene.owner);
    let (away, back) = (TestApp::start().await, TestApp::start().await);
    let before = answers(home, owner).await;
    let count = |part: &str| before.keys().filter(|path| path.starts_with(part)).count();
    assert_eq!((count("/sites/"), count("/issues/")), (8, 2));
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
async fn what_is_there_already_is_never_overwritten() {
    let scene = history().await;
    let (home, owner) = (&scene.service.test, &scene.owner);
    let there = TestApp::start().await;
    copy(home, &there, &order(&[owner])).await.expect("copied");
    let before = there.table.dump().await;
    let refused = copy(home, &there, &order(&[owner])).await.expect_err("it is there");
    let CopyError::Conflicts(conflicts) = &refused else { panic!("{refused}") };
    assert_eq!(conflicts[..], [CopyConflict::Team(owner.team), CopyConflict::User(owner.user)]);
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
async fn what_was_removed_meanwhile_is_removed_by_the_next_copy() {
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
