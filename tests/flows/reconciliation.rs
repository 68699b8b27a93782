//! Reconciliation with EventBridge Scheduler: what it requests, and how an unreadable entry affects the others.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::load::Load;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_reconciler::{Drift, Reconciled, Redelivered, drift, reconcile, redeliver};
use vedette_runtime::config::Schedules;
use vedette_testkit::aws::{Aws, SCHEDULES_OF_A_PAGE};
use vedette_testkit::{Member, new_team};

use crate::scene::{Scene, URL};

/// Teams of a story, and sites per team: more than fit into a batch.
const TEAMS: usize = 3;
const SITES: usize = 20;
/// Tools that run on each site.
const TOOLS: [Tool; 4] = [Tool::Status, Tool::Ssl, Tool::Dns, Tool::BrokenLinks];
/// Schedules of all sites.
const ALL: u64 = (TEAMS * SITES * TOOLS.len()) as u64;

/// Teams with sites that have no schedules yet.
struct Story {
    scene: Scene,
    aws: Aws,
    teams: Vec<(Member, Vec<SiteId>)>,
}

impl Story {
    async fn begin() -> Self {
        let mut scene = Scene::start().await;
        let aws = Aws::default();
        scene.service.test.app.service.tools = TOOLS.to_vec();
        scene.service.test.app.scheduler = scene.on_aws(&aws, Schedules::Each).scheduler;
        let mut teams = Vec::new();
        for _ in 0..TEAMS {
            let owner = new_team(&scene.service.test, Plan::Agency).await;
            let sites = (0..SITES).map(|number| json!({ "url": format!("{URL}/{number}") }));
            let body = json!({ "sites": sites.collect::<Vec<_>>() });
            let path = format!("/teams/{}/sites/bulk", owner.team);
            let created = scene.service.client(&owner).post(&path, &body).await.body;
            let ids = created["data"]["created"].as_array().expect("sites").iter();
            let ids = ids.map(|site| SiteId::parse(site["uuid"].as_str()?));
            teams.push((owner, ids.collect::<Option<Vec<_>>>().expect("ids")));
        }
        scene.service.waiting();
        Self { scene, aws, teams }
    }

    /// A story in which all schedules exist.
    async fn begin_reconciled() -> Self {
        let story = Self::begin().await;
        story.reconcile().await;
        story.forget_calls();
        story
    }

    async fn reconcile(&self) -> Reconciled {
        reconcile(&self.scene.service.test.app, &|_| {}).await.expect("reconciled")
    }

    async fn drift(&self) -> Drift {
        drift(&self.scene.service.test.app).await.expect("compared")
    }

    fn calls(&self, operation: &str) -> u64 {
        self.aws.account().calls_of(operation)
    }

    fn forget_calls(&self) {
        let mut account = self.aws.account();
        account.calls.clear();
        account.refused = 0;
        account.under_way = (0, 0);
    }

    /// Gives an item's attribute a value that no version writes.
    async fn spoil(&self, pk: &str, sk: &str, attribute: &str) {
        self.scene.service.test.table.set(pk, sk, attribute, "spoilt").await;
    }
}

fn name(site: SiteId, tool: Tool) -> String {
    format!("{site}-{tool}")
}

pub(crate) fn partition(site: SiteId) -> String {
    format!("S#{:016x}", site.partition().0)
}

#[tokio::test]
async fn nothing_is_created_that_is_there_and_calls_go_side_by_side() {
    let story = Story::begin().await;
    let all_new = Reconciled {
        sites: (TEAMS * SITES) as u64,
        put: ALL,
        missing: ALL,
        removed: 0,
        unreadable: 0,
        retired: 0,
    };
    assert_eq!(story.reconcile().await, all_new);
    assert_eq!(story.calls("CreateSchedule"), ALL);
    assert_eq!(story.calls("UpdateSchedule") + story.calls("DeleteSchedule"), 0);
    assert_eq!(story.aws.account().schedules.len() as u64, ALL);

    story.forget_calls();
    assert_eq!(story.reconcile().await, Reconciled { missing: 0, ..all_new });
    assert_eq!(story.calls("UpdateSchedule"), ALL, "each may have a wrong cadence");
    assert_eq!(story.calls("CreateSchedule") + story.calls("DeleteSchedule"), 0);
    assert_eq!(story.calls("ListSchedules"), ALL.div_ceil(SCHEDULES_OF_A_PAGE as u64));
    let account = story.aws.account();
    assert_eq!(account.refused, 0);
    assert_eq!(account.under_way, (0, 32), "as many at once as there are places, and no more");
}

#[tokio::test]
async fn a_sync_of_a_known_site_updates_and_that_of_a_new_one_creates() {
    let story = Story::begin().await;
    let (owner, sites) = &story.teams[0];
    let service = &story.scene.service;
    let sync = Message::Reconcile(ReconcileMessage::Sync { team: owner.team, site: sites[0] });
    service.deliver(&sync).await;
    assert_eq!(story.calls("CreateSchedule"), TOOLS.len() as u64);
    assert_eq!(story.calls("UpdateSchedule"), 0);

    story.forget_calls();
    let body = json!({
        "url": format!("{URL}/0"),
        "monitoring_settings": { "tools": { "ssl": { "enabled": false } } },
    });
    let path = format!("/sites/{}", sites[0]);
    let patched = service.client(owner).send("PATCH", &path, body.to_string().into()).await;
    assert_eq!(patched.status, 200, "{patched:?}");
    service.deliver(&sync).await;
    assert_eq!(story.calls("UpdateSchedule"), TOOLS.len() as u64 - 1);
    assert_eq!(story.calls("CreateSchedule"), 0);
    assert!(!story.aws.account().schedules.contains_key(&name(sites[0], Tool::Ssl)));
    assert!(story.aws.account().schedules.contains_key(&name(sites[0], Tool::Dns)));

    // A lost schedule is created again.
    story.aws.account().schedules.clear();
    let path = format!("/sites/{}", sites[0]);
    let body = json!({ "url": format!("{URL}/0"), "monitoring_settings": {} });
    service.client(owner).send("PATCH", &path, body.to_string().into()).await;
    service.deliver(&sync).await;
    assert_eq!(story.aws.account().schedules.len(), TOOLS.len());
}

#[tokio::test]
async fn drift_is_reported_and_reconciled() {
    let story = Story::begin().await;
    let none_is_due = Drift::default();
    assert_eq!(story.drift().await, none_is_due, "syncs are on their way");
    story.reconcile().await;
    let mut load = Load::default();
    for tool in TOOLS {
        let cadence = tool.definition().default_cadence_minutes;
        (0..TEAMS * SITES).for_each(|_| load.add(tool, cadence));
    }
    let whole = Drift { sites: (TEAMS * SITES) as u64, wanted: ALL, load, ..Drift::default() };
    assert_eq!(story.drift().await, whole);

    let [first, second] = [story.teams[0].1[3], story.teams[1].1[17]];
    let unknown = story.scene.service.test.app.entropy.site_id().expect("an id");
    let mut schedules = std::mem::take(&mut story.aws.account().schedules);
    schedules.remove(&name(first, Tool::Status)).expect("a schedule");
    let stray = [name(second, Tool::Performance), name(unknown, Tool::Status)];
    let strange = stray.into_iter().chain(["somebody-elses".to_owned()]);
    schedules.extend(strange.map(|name| (name, Value::Null)));
    story.aws.account().schedules = schedules;
    story.forget_calls();
    assert_eq!(story.drift().await, Drift { missing: 1, stray: 2, ..whole.clone() });
    let calls = story.aws.account().calls.clone();
    assert_eq!(calls.keys().collect::<Vec<_>>(), ["ListSchedules"], "nothing is changed");

    let reconciled = story.reconcile().await;
    assert_eq!((reconciled.missing, reconciled.removed), (1, 2));
    assert_eq!(story.drift().await, whole);
    assert!(story.aws.account().schedules.contains_key("somebody-elses"));
}

#[tokio::test]
async fn what_cannot_be_read_stops_no_other_reconciliation() {
    let story = Story::begin_reconciled().await;
    let test = &story.scene.service.test;
    let dump = test.table.dump().await;
    let [(_, of_first), (_, of_second), (third, of_third)] = story.teams.as_slice() else {
        panic!("three teams")
    };
    // A tool of a site, a site, and the row of a third in the directory.
    let sites = [of_first[4], of_second[19], of_second[7]];
    story.spoil(&partition(sites[0]), "T#dns", "doc").await;
    story.spoil(&partition(sites[1]), "A", "cfg").await;
    let is_row = |(pk, _): &&(String, String), row: &Value| {
        pk.starts_with("L#") && row["id"] == sites[2].to_string()
    };
    let (row, _) = dump.iter().find(|(key, row)| is_row(key, row)).expect("a row");
    story.spoil(&row.0, &row.1, "doc").await;
    // A whole team, and an entry in the list of teams.
    story.spoil(&format!("T#{}", third.team), "A", "plan").await;
    story.spoil("G", &format!("T#{}", story.scene.owner.team), "team").await;

    // The schedules of entries that cannot be read are still there.
    let unread = |name: &String| {
        [sites[0], sites[1]].iter().chain(of_third).any(|site| name.starts_with(&site.to_string()))
    };
    story.aws.account().schedules.retain(|name, _| unread(name));
    let kept = story.aws.account().schedules.len() as u64;
    assert_eq!(kept, ((2 + SITES) * TOOLS.len()) as u64);

    let reconciled = story.reconcile().await;
    let readable = (TEAMS * SITES - SITES - 3) as u64;
    let tools = TOOLS.len() as u64;
    let expected = Reconciled {
        sites: readable,
        put: readable * tools,
        missing: readable * tools,
        removed: 0,
        unreadable: (SITES + 4) as u64,
        retired: 0,
    };
    assert_eq!(reconciled, expected);
    assert_eq!(story.aws.account().schedules.len() as u64, kept + readable * tools);
    let drift = story.drift().await;
    assert_eq!((drift.sites, drift.missing, drift.stray), (readable, 0, 0));
    assert_eq!(drift.unreadable, expected.unreadable);
}

#[tokio::test]
async fn work_that_cannot_be_read_stops_no_other_and_is_put_aside() {
    let story = Story::begin().await;
    let test = &story.scene.service.test;
    // First runs and syncs are outstanding. One of each cannot be read.
    let [first, second] = [story.teams[0].1[0], story.teams[1].1[1]];
    story.spoil(&partition(first), "T#status", "doc").await;
    story.spoil(&partition(second), "A", "cfg").await;
    // There is also an item that no version writes.
    test.table.set("X#stranger", "A", "w", "W#0").await;
    test.table.set("X#stranger", "A", "due", "1").await;
    story.scene.service.advance_minutes(60);
    let dump = test.table.dump().await;
    let outstanding = dump.values().filter(|item| !item["w"].is_null()).count() as u64;
    let of_second =
        dump.iter().filter(|((pk, _), item)| *pk == partition(second) && !item["w"].is_null());
    // Everything of a site that cannot be read, a tool of another site, the sync of both, and the unknown item.
    let unreadable = of_second.count() as u64 + 3;
    let redelivered = redeliver(&test.app).await.expect("a pass");
    let expected = Redelivered { sent: outstanding - unreadable, failed: 0, unreadable };
    assert_eq!(redelivered, expected);
    assert!(expected.sent > 200, "{expected:?}");
    story.scene.service.waiting();
    let again = redeliver(&test.app).await.expect("a pass");
    assert_eq!(again, Redelivered::default(), "nothing stands in the way of what comes");
    story.scene.service.advance_minutes(60);
    let later = redeliver(&test.app).await.expect("a pass");
    assert_eq!(later.unreadable, unreadable, "it is not forgotten");
}
