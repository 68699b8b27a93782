//! Settings change while sites are monitored: schedules follow them, and so do runs in progress.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use vedette_checker::Dropped;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::{Discard, ToolState};
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_runtime::Scheduler;
use vedette_store::{Audit, SiteWithTools};
use vedette_testkit::{ApiResponse, Fault, Member, WebServer};
use vedette_tests::Service;

use crate::scene::{Scene, dropped, is_finished};

/// Changes, as a client, how often status checks run in the team, and whether they run.
async fn patch_status(
    service: &Service,
    owner: &Member,
    enabled: bool,
    minutes: u32,
) -> ApiResponse {
    let status = json!({ "enabled": enabled, "cadence_minutes": minutes });
    patch_team(service, owner, &json!({ "tools": { "status": status } })).await
}

async fn patch_team(service: &Service, owner: &Member, settings: &Value) -> ApiResponse {
    let path = format!("/teams/{}/monitoring", owner.team);
    let answer =
        service.client(owner).patch(&path, &json!({ "monitoring_settings": settings })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

async fn create(service: &Service, owner: &Member, url: &str, settings: &Value) -> SiteId {
    let body = json!({ "url": url, "monitoring_settings": settings });
    let created = service.client(owner).post(&format!("/teams/{}/sites", owner.team), &body).await;
    SiteId::parse(&created.data("uuid")).expect("a site")
}

/// Takes the messages for the reconciler; messages for checkers are lost.
fn maintenance(service: &Service) -> Vec<Message> {
    let waiting = service.waiting().into_iter().map(|(message, _)| message);
    waiting.filter(|message| matches!(message, Message::Reconcile(_))).collect()
}

/// Lets the reconciler handle its messages, and the messages that these cause.
async fn keep(service: &Service) {
    loop {
        let messages = maintenance(service);
        if messages.is_empty() {
            return;
        }
        for message in messages {
            service.deliver(&message).await;
        }
    }
}

/// The sites for which schedules have fired a status check by now.
async fn fired(service: &Service) -> BTreeSet<SiteId> {
    let Scheduler::Local(scheduler) = &service.test.app.scheduler else { panic!("not local") };
    let mut fired = BTreeSet::new();
    let patience = Duration::from_millis(50);
    while let Ok(message) = tokio::time::timeout(patience, scheduler.next()).await {
        assert_eq!(message.tool, Tool::Status);
        fired.insert(message.site);
    }
    fired
}

/// The sites whose status checks have a schedule.
async fn scheduled(service: &Service) -> BTreeSet<SiteId> {
    let listed = service.test.app.scheduler.list().await.expect("schedules");
    listed.into_iter().filter(|(_, tool)| *tool == Tool::Status).map(|(site, _)| site).collect()
}

/// Whether, according to the table, all schedules of a team match its settings.
async fn is_synced(service: &Service, owner: &Member) -> bool {
    let team = service.test.app.store.team(owner.team, service.test.now()).await.expect("read");
    let team = team.expect("a team").team;
    let dump = service.test.table.dump().await;
    let item = &dump[&(format!("T#{}", owner.team), "A".to_owned())];
    assert_eq!(item["due"].is_null(), team.synced == team.cfg, "outstanding as long as it is not");
    team.synced == team.cfg
}

/// Waits as long as for a lost message, and runs the reconciler.
async fn redeliver(service: &Service) -> Vec<Message> {
    service.test.advance(SignedDuration::from_secs(121));
    service.redeliver().await;
    maintenance(service)
}

#[tokio::test]
async fn a_cadence_of_the_team_becomes_that_of_its_sites() {
    let (service, owner) = Service::with_team().await;
    patch_status(&service, &owner, true, 10080).await;
    let mut sites = BTreeSet::new();
    for n in 0..20 {
        let url = format!("https://example.com/{n}");
        sites.insert(create(&service, &owner, &url, &json!({})).await);
    }
    let own = json!({ "tools": { "status": { "cadence_minutes": 10080 } } });
    let weekly = create(&service, &owner, "https://example.org", &own).await;
    let off = json!({ "tools": { "status": { "enabled": false } } });
    let idle = create(&service, &owner, "https://example.net", &off).await;
    keep(&service).await;
    let watched = scheduled(&service).await;
    assert_eq!((watched.len(), watched.contains(&idle)), (21, false));

    patch_status(&service, &owner, true, 1).await;
    keep(&service).await;
    assert!(is_synced(&service, &owner).await);
    service.advance_minutes(1);
    let mut often = fired(&service).await;
    // This may be the one minute of the week in which it is due.
    often.remove(&weekly);
    assert_eq!(often, sites);

    patch_status(&service, &owner, false, 1).await;
    keep(&service).await;
    assert_eq!(scheduled(&service).await, BTreeSet::new());
    patch_status(&service, &owner, true, 1).await;
    keep(&service).await;
    assert_eq!(scheduled(&service).await, watched);
}

#[tokio::test]
async fn overrides_of_a_site_reach_its_schedules() {
    let (service, owner) = Service::with_team().await;
    let site = create(&service, &owner, "https://example.com", &json!({})).await;
    keep(&service).await;
    for (status, runs) in [
        (json!({ "enabled": false }), false),
        (json!({ "enabled": true, "cadence_minutes": 1 }), true),
    ] {
        let settings = json!({ "tools": { "status": status } });
        let body = json!({ "url": "https://example.com", "monitoring_settings": settings });
        let answer = service.client(&owner).patch(&format!("/sites/{site}"), &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        keep(&service).await;
        assert_eq!(scheduled(&service).await.contains(&site), runs);
    }
    service.advance_minutes(1);
    assert_eq!(fired(&service).await, BTreeSet::from([site]));
}

#[tokio::test]
async fn a_lost_message_is_made_good_by_redelivery() {
    let (service, owner) = Service::with_team().await;
    let site = create(&service, &owner, "https://example.com", &json!({})).await;
    keep(&service).await;

    patch_status(&service, &owner, false, 1440).await;
    service.waiting();
    assert!(!is_synced(&service, &owner).await);
    assert_eq!(
        redeliver(&service).await,
        [Message::Reconcile(ReconcileMessage::SyncTeam(owner.team))]
    );
    service.deliver(&Message::Reconcile(ReconcileMessage::SyncTeam(owner.team))).await;
    assert!(is_synced(&service, &owner).await);
    assert_eq!(scheduled(&service).await, BTreeSet::new());
    assert_eq!(redeliver(&service).await, []);

    let on = json!({ "tools": { "status": { "enabled": true } } });
    let body = json!({ "url": "https://example.com/shop", "monitoring_settings": on });
    service.client(&owner).patch(&format!("/sites/{site}"), &body).await;
    service.waiting();
    let sync = Message::Reconcile(ReconcileMessage::Sync { team: owner.team, site });
    assert_eq!(redeliver(&service).await, std::slice::from_ref(&sync));
    service.deliver(&sync).await;
    assert_eq!(scheduled(&service).await, BTreeSet::from([site]));
    assert_eq!(redeliver(&service).await, []);
}

#[tokio::test]
async fn changes_at_once_are_all_kept() {
    let (service, owner) = Service::with_team().await;
    let with = |tool: &str, minutes: u32, settings: Value| {
        let settings = json!({ "enabled": true, "cadence_minutes": minutes, "settings": settings });
        json!({ "tools": { tool: settings } })
    };
    let changes = [
        with("status", 15, json!({})),
        with("ssl", 720, json!({})),
        with("performance", 10080, json!({})),
        with("dns", 120, json!({ "hard_failures_only": true })),
        with("dns", 120, json!({ "failures_to_open": 9 })),
        with("dns", 120, json!({ "monitored_record_types": ["A"] })),
    ];
    join_all(changes.iter().map(|change| patch_team(&service, &owner, change))).await;
    let path = format!("/teams/{}/monitoring", owner.team);
    let read = service.client(&owner).get(&path).await;
    let tools = &read.body["data"]["settings"]["tools"];
    for (tool, minutes) in [("status", 15), ("ssl", 720), ("performance", 10080), ("dns", 120)] {
        assert_eq!(tools[tool]["cadence_minutes"], minutes, "{tool}");
    }
    let settings = &tools["dns"]["settings"];
    assert_eq!(settings["hard_failures_only"], true);
    assert_eq!(settings["failures_to_open"], 9);
    assert_eq!(settings["monitored_record_types"], json!(["A"]));
    let team = service.test.app.store.team(owner.team, service.test.now()).await.expect("read");
    assert_eq!(team.expect("a team").team.cfg, 1 + changes.len() as u64);
    keep(&service).await;
    assert!(is_synced(&service, &owner).await);
}

#[tokio::test]
async fn a_change_is_held_against_the_plan_that_the_team_has_when_it_is_saved() {
    let (service, owner) = Service::with_team().await;
    let store = &service.test.app.store;
    let settings = json!({ "tools": { "status": { "enabled": true, "cadence_minutes": 1 } } });
    let path = format!("/teams/{}/monitoring", owner.team);
    let client = service.client(&owner);
    let body = json!({ "monitoring_settings": settings });
    let (answer, downgraded) = tokio::join!(
        client.patch(&path, &body),
        store.set_plan(owner.team, Plan::Starter, true, service.test.now()),
    );
    downgraded.expect("a team");
    // Whichever request came first, the team then has what the plan allows.
    assert!([200, 422].contains(&answer.status), "{answer:?}");
    let read = client.get(&path).await;
    assert_eq!(read.body["data"]["settings"]["tools"]["status"]["cadence_minutes"], 30);
}

#[tokio::test]
async fn a_change_survives_what_goes_wrong_on_the_way_to_the_table() {
    for fault in [Fault::Conflict, Fault::Throttle, Fault::LoseAnswer] {
        let (service, owner) = Service::with_team().await;
        let site = create(&service, &owner, "https://example.com", &json!({})).await;
        keep(&service).await;
        // The use of the token is recorded once an hour, and is not part of the story.
        let faults = service.test.faults();
        faults.on_write(1, fault);
        patch_status(&service, &owner, true, 1).await;
        let body = json!({ "url": "https://example.com/shop", "notes": "x" });
        faults.on_write(1, fault);
        let answer = service.client(&owner).patch(&format!("/sites/{site}"), &body).await;
        assert_eq!((answer.status, answer.data("notes")), (200, "x".to_owned()), "{fault:?}");
        keep(&service).await;
        for message in redeliver(&service).await {
            service.deliver(&message).await;
        }
        assert!(is_synced(&service, &owner).await, "{fault:?}");
        service.advance_minutes(1);
        assert_eq!(fired(&service).await, BTreeSet::from([site]), "{fault:?}");
    }
}

/// Adds many sites without the API, so that the scheduler does not know them.
async fn crowd(service: &Service, owner: &Member, sites: usize) {
    let app = &service.test.app;
    let team = app.store.team(owner.team, app.clock.now()).await.expect("read").expect("a team");
    let now = app.clock.now();
    for n in 0..sites {
        let id = app.entropy.site_id().expect("an id");
        let url = SiteUrl::parse(&format!("https://example.com/{n}")).expect("a URL");
        let site = Site { synced: 1, ..Site::new(id, owner.team, url, now) };
        let tools = Tool::ALL.map(|tool| (tool, ToolState::of_new_site(now))).into();
        let stored = SiteWithTools { site, tools };
        app.store.create_site(&team.team, &stored, None, None, Audit::None).await.expect("a site");
    }
}

/// More sites than one message syncs.
const CROWD: usize = 260;
/// How many sites one message has synced.
const SLICE: usize = 256;

#[tokio::test]
async fn a_team_sync_goes_on_where_it_was_interrupted() {
    let (service, owner) = Service::with_team().await;
    crowd(&service, &owner, CROWD).await;
    patch_status(&service, &owner, true, 1).await;
    let sync = Message::Reconcile(ReconcileMessage::SyncTeam(owner.team));
    assert_eq!(maintenance(&service), std::slice::from_ref(&sync));
    service.deliver(&sync).await;
    assert_eq!(scheduled(&service).await.len(), SLICE);
    assert!(!is_synced(&service, &owner).await);
    // The message that would continue the work is lost. Redelivery looks for it only when the work should have
    // continued long ago.
    assert_eq!(maintenance(&service), std::slice::from_ref(&sync));
    service.test.advance(SignedDuration::from_secs(60));
    service.redeliver().await;
    assert_eq!(maintenance(&service), []);
    assert_eq!(redeliver(&service).await, std::slice::from_ref(&sync));
    // Sites that are done are not read again.
    for site in scheduled(&service).await {
        service.test.app.scheduler.delete(site, Tool::Status).await.expect("removed");
    }
    service.deliver(&sync).await;
    assert_eq!(scheduled(&service).await.len(), CROWD - SLICE);
    assert!(is_synced(&service, &owner).await);
    assert_eq!(maintenance(&service), []);
}

#[tokio::test]
async fn a_team_sync_that_is_delivered_twice_goes_on_once() {
    let (service, owner) = Service::with_team().await;
    crowd(&service, &owner, CROWD).await;
    patch_status(&service, &owner, true, 1).await;
    maintenance(&service);
    let sync = Message::Reconcile(ReconcileMessage::SyncTeam(owner.team));
    tokio::join!(service.deliver(&sync), service.deliver(&sync));
    assert_eq!(maintenance(&service), std::slice::from_ref(&sync));
    tokio::join!(service.deliver(&sync), service.deliver(&sync));
    assert_eq!(maintenance(&service), []);
    assert_eq!(scheduled(&service).await.len(), CROWD);
    assert!(is_synced(&service, &owner).await);
    // Another message finds nothing to do.
    let before = service.test.faults().writes();
    service.deliver(&sync).await;
    assert_eq!(service.test.faults().writes(), before);
}

#[tokio::test]
async fn a_team_sync_begins_anew_when_settings_change_again() {
    let (service, owner) = Service::with_team().await;
    crowd(&service, &owner, CROWD).await;
    patch_status(&service, &owner, true, 1).await;
    service.waiting();
    let sync = Message::Reconcile(ReconcileMessage::SyncTeam(owner.team));
    service.deliver(&sync).await;
    service.waiting();
    patch_status(&service, &owner, false, 1).await;
    keep(&service).await;
    assert_eq!(scheduled(&service).await, BTreeSet::new());
    assert!(is_synced(&service, &owner).await);
    // A change that does not affect schedules does not interrupt the work in progress.
    patch_status(&service, &owner, true, 1).await;
    service.waiting();
    service.deliver(&sync).await;
    service.waiting();
    patch_team(
        &service,
        &owner,
        &json!({
            "tools": { "status": { "enabled": true, "cadence_minutes": 1 } },
            "quiet_time": { "enabled": true },
        }),
    )
    .await;
    keep(&service).await;
    assert_eq!(scheduled(&service).await.len(), CROWD);
    assert!(is_synced(&service, &owner).await);
}

/// Syncs a site, and holds back the answer to its n-th read until something else is done.
async fn sync_around(
    service: &Service,
    (team, site): (TeamId, SiteId),
    n: u64,
    other: impl Future<Output = ()>,
) {
    let faults = service.test.faults();
    faults.hold_read(n);
    let sync = Message::Reconcile(ReconcileMessage::Sync { team, site });
    tokio::join!(service.deliver(&sync), async {
        faults.until_held().await;
        other.await;
        faults.release();
    });
}

/// The first read of a sync is of its site, the second of the team.
const READS: [u64; 2] = [1, 2];

#[tokio::test]
async fn the_last_to_write_schedules_has_read_the_settings_last() {
    for read in READS {
        let (service, owner) = Service::with_team().await;
        let site = create(&service, &owner, "https://example.com", &json!({})).await;
        keep(&service).await;
        sync_around(&service, (owner.team, site), read, async {
            patch_status(&service, &owner, false, 1).await;
            keep(&service).await;
        })
        .await;
        assert_eq!(scheduled(&service).await, BTreeSet::new(), "the team's");
        sync_around(&service, (owner.team, site), read, async {
            let on = json!({ "tools": { "status": { "enabled": true } } });
            let body = json!({ "url": "https://example.com", "monitoring_settings": on });
            let answer = service.client(&owner).patch(&format!("/sites/{site}"), &body).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            keep(&service).await;
        })
        .await;
        assert_eq!(scheduled(&service).await, BTreeSet::from([site]), "the site's");
        assert!(is_synced(&service, &owner).await);
    }
}

#[tokio::test]
async fn a_site_that_is_deleted_while_it_is_synced_leaves_no_schedule() {
    for read in READS {
        let (service, owner) = Service::with_team().await;
        let site = create(&service, &owner, "https://example.com", &json!({})).await;
        keep(&service).await;
        sync_around(&service, (owner.team, site), read, async {
            service.client(&owner).delete(&format!("/sites/{site}")).await;
            keep(&service).await;
        })
        .await;
        assert_eq!(service.test.app.scheduler.list().await.expect("schedules"), []);
    }
}

/// A web server that makes every client wait until it may answer.
struct Slow {
    url: String,
    asked: Arc<Notify>,
    notified: Arc<Notify>,
}

impl Slow {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (asked, notified) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let slow = Self { url, asked: Arc::clone(&asked), notified: Arc::clone(&notified) };
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let _ = connection.read(&mut [0; 4096]).await;
                asked.notify_one();
                notified.notified().await;
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                connection.write_all(answer).await.expect("answered");
            }
        });
        slow
    }
}

/// A site at a slow server, which the reconciler knows. Its first run has not happened yet.
async fn slow_site(scene: &Scene) -> (Slow, SiteId) {
    let slow = Slow::start().await;
    let site = scene.create(&slow.url, &json!({})).await;
    (slow, site)
}

#[tokio::test]
async fn a_run_under_way_counts_nothing_once_the_site_has_moved() {
    let scene = Scene::start().await;
    let (slow, site) = slow_site(&scene).await;
    let elsewhere = WebServer::start().await;
    keep(&scene.service).await;
    let client = scene.client();
    let slot = scene.timer(site).await;
    let first = scene.timer_message(site, slot);
    let (run, moved) = tokio::join!(scene.service.check(&first), async {
        slow.asked.notified().await;
        let body = json!({ "url": elsewhere.url });
        let moved = client.patch(&format!("/sites/{site}"), &body).await;
        slow.notified.notify_one();
        moved
    });
    assert_eq!(moved.status, 200, "{moved:?}");
    assert_eq!(dropped(&run), Dropped::Discarded(Discard::Superseded));
    let history = client.get(&format!("/sites/{site}/checks")).await;
    assert_eq!(history.body["meta"]["total"], 0);

    // The run is still outstanding, and is sent again for the site's new URL.
    keep(&scene.service).await;
    let due = scene.timer(site).await.due;
    assert_eq!(due, slot.due);
    let over = Tool::Status.limits().run + SignedDuration::from_secs(1);
    scene.service.test.set_clock(due + over);
    let messages = scene.redeliver().await;
    let [(Message::Check(again), _)] = messages.as_slice() else { panic!("{messages:?}") };
    assert!(is_finished(&scene.service.check(again).await));
    assert_eq!(elsewhere.requests(), 1);
    let history = client.get(&format!("/sites/{site}/checks")).await;
    assert_eq!(history.body["data"][0]["result"]["url"], json!(elsewhere.url));
}

#[tokio::test]
async fn an_order_under_way_is_carried_out_where_the_site_has_moved_to() {
    let scene = Scene::start().await;
    let (slow, site) = slow_site(&scene).await;
    let elsewhere = WebServer::start().await;
    keep(&scene.service).await;
    let client = scene.client();
    scene.service.advance_minutes(1);
    let order = scene.order(site).await;
    let path = format!("/sites/{site}");
    let (run, moved) = tokio::join!(scene.service.check(&order), async {
        slow.asked.notified().await;
        let moved = client.patch(&path, &json!({ "url": elsewhere.url })).await;
        slow.notified.notify_one();
        moved
    });
    assert_eq!(moved.body["data"]["latest_checks"]["status"]["status"], "pending");
    assert_eq!(dropped(&run), Dropped::Discarded(Discard::Superseded));
    keep(&scene.service).await;
    scene.service.test.advance(SignedDuration::from_secs(41));
    for (message, _) in scene.redeliver().await {
        scene.service.deliver(&message).await;
    }
    let read = client.get(&path).await;
    let latest = &read.body["data"]["latest_checks"]["status"];
    assert_eq!((&latest["status"], &latest["automatic"]), (&json!("completed"), &json!(false)));
    assert_eq!(latest["result"]["url"], json!(elsewhere.url));
}

#[tokio::test]
async fn a_run_under_way_counts_when_only_the_name_changes() {
    let scene = Scene::start().await;
    let (slow, site) = slow_site(&scene).await;
    keep(&scene.service).await;
    let client = scene.client();
    let first = scene.timer_message(site, scene.timer(site).await);
    let (run, named) = tokio::join!(scene.service.check(&first), async {
        slow.asked.notified().await;
        let body = json!({ "url": slow.url, "name": "Shop", "pinned": true });
        let named = client.patch(&format!("/sites/{site}"), &body).await;
        slow.notified.notify_one();
        named
    });
    assert_eq!(named.data("name"), "Shop");
    assert!(is_finished(&run));
    let read = client.get(&format!("/sites/{site}")).await;
    assert_eq!(read.data("name"), "Shop");
    assert_eq!(read.body["data"]["latest_checks"]["status"]["status"], "completed");
}

#[tokio::test]
async fn a_tool_that_is_switched_off_has_no_retry_to_come() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "failures_to_open": 3 })).await;
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    assert!(scene.state(site).await.timer.is_some(), "a retry");
    let off = json!({ "tools": { "status": { "enabled": false } } });
    let body = json!({ "url": crate::scene::URL, "monitoring_settings": off });
    scene.client().patch(&format!("/sites/{site}"), &body).await;
    keep(&scene.service).await;
    assert_eq!(scene.state(site).await.timer, None);
    assert_eq!(due(&scene.service).await, None, "nothing is outstanding");
}

/// When the reconciler has to run next.
async fn due(service: &Service) -> Option<Timestamp> {
    let dump = service.test.table.dump().await;
    let due = dump.values().filter_map(|item| item["due"].as_i64()).min();
    due.map(|due| Timestamp::from_millisecond(due).expect("an instant"))
}
