//! A status page across time: what readers are served follows what happens, and never shows more.

use jiff::Timestamp;
use serde_json::{Value, json};
use vedette_domain::accounts::audit::{Actor, AuditEvent};
use vedette_domain::checks::history::{DayUptime, Downtime};
use vedette_domain::checks::percentage::Percentage;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, StatusPageId};
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::status_pages::{
    ComponentChange, ComponentState, IncidentStatus, PageAddress, PageSummary, Publication,
    PublishedPage,
};
use vedette_runtime::Destination;

use crate::scene::{Scene, URL};

impl Scene {
    fn status_pages(&self) -> String {
        format!("/teams/{}/status-pages", self.owner.team)
    }

    /// Creates a page with a component for each site, and publishes it. Returns its path.
    async fn create_page(&self, slug: &str, sites: &[SiteId]) -> String {
        let components: Vec<Value> = sites
            .iter()
            .zip(1..)
            .map(|(site, number)| json!({ "name": format!("Part {number}"), "site": site }))
            .collect();
        let groups = json!([{ "name": "Shop", "components": components }]);
        let body = json!({ "slug": slug, "name": "Meridian", "groups": groups });
        let created = self.client().post(&self.status_pages(), &body).await;
        assert_eq!(created.status, 201, "{created:?}");
        self.service.consume().await;
        format!("{}/{}", self.status_pages(), created.data("uuid"))
    }

    async fn published(&self, address: &str) -> Option<PublishedPage> {
        let address = PageAddress::parse(address).expect("an address");
        self.service.test.app.store.published(&address).await.expect("read")
    }

    /// The states of the components that readers are served.
    async fn shown(&self, address: &str) -> Vec<ComponentState> {
        let page = self.published(address).await.expect("a page");
        page.components().map(|component| component.state).collect()
    }

    async fn publication(&self, page: &str) -> Option<Publication> {
        let (_, id) = page.rsplit_once('/').expect("an id");
        let id = StatusPageId::parse(id).expect("an id");
        self.service.test.app.store.publication(self.owner.team, id).await.expect("read")
    }

    /// Fails until an issue opens.
    async fn go_down(&self, site: SiteId) {
        self.target.answer(503);
        self.service.advance_minutes(5);
        self.service.run_scheduled(site, Tool::Status).await;
        self.run_timer(site).await;
        assert_eq!(self.issues("active").await.len(), 1);
    }

    /// Succeeds until the issue is resolved.
    async fn recover(&self, site: SiteId) {
        self.target.answer(200);
        while !self.issues("active").await.is_empty() {
            self.run_timer(site).await;
        }
    }

    /// Every minute until a time, overdue work is sent again and messages are handled.
    async fn pass_until(&self, until: &str) {
        let until: Timestamp = until.parse().expect("a time");
        while self.service.test.now() < until {
            self.service.advance_minutes(1);
            self.service.redeliver().await;
            let messages = self.service.waiting();
            for (message, _) in messages {
                // Checks are none of this story.
                if let Message::Reconcile(_) = message {
                    self.service.deliver(&message).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn readers_see_a_job_that_stops_and_is_paused() {
    use ComponentState::{Down, Operational, Unknown};
    let scene = Scene::start().await;
    let settings = json!({ "period_minutes": 5, "grace_minutes": 1 });
    let (path, key) = scene.add_heartbeat("Backup", settings).await;
    let (_, id) = path.rsplit_once('/').expect("an id");
    let groups = json!([{ "components": [{ "name": "Backups", "heartbeat": id }] }]);
    let body = json!({ "slug": "meridian", "name": "Meridian", "groups": groups });
    let created = scene.client().post(&scene.status_pages(), &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Unknown]);
    // What a job logs is no run.
    let logged = scene.service.ping_with(&format!("{key}/log"), "It begins soon.").await;
    assert_eq!(logged.status, 200, "{logged:?}");
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Unknown]);
    scene.ping(&key).await;
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Operational]);
    let page = scene.published("meridian").await.expect("a page");
    assert_eq!((page.cadences(), page.uptime().map(Percentage::value)), (None, Some(100.0)));
    scene.pass_until("2026-11-20T10:01:30Z").await;
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Down]);
    let page = scene.published("meridian").await.expect("a page");
    assert_eq!(page.uptime().map(Percentage::value), Some(50.0));

    for (paused, state) in [(true, Unknown), (false, Operational)] {
        let edited = scene.client().patch(&path, &json!({ "paused": paused })).await;
        assert_eq!(edited.status, 200, "{edited:?}");
        scene.service.consume().await;
        assert_eq!(scene.shown("meridian").await, [state]);
    }
    // A ping resumes it.
    let paused = scene.client().patch(&path, &json!({ "paused": true })).await;
    assert_eq!(paused.status, 200, "{paused:?}");
    scene.ping(&key).await;
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Operational]);
    let deleted = scene.client().delete(&path).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Unknown]);
}

#[tokio::test]
async fn readers_see_an_outage_its_incident_and_its_end() {
    use ComponentState::{Degraded, Down, Operational};
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let other = scene.watch_url(&format!("{URL}/other")).await;
    let path = scene.create_page("meridian", &[site, other]).await;
    assert_eq!(scene.shown("meridian").await, [Operational; 2]);

    // One failure is not news for readers.
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Operational; 2]);
    scene.run_timer(site).await;
    let down_at = scene.service.test.now();
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Down, Operational]);
    let page = scene.published("meridian").await.expect("a page");
    assert_eq!(page.summary(), PageSummary::PartialOutage);
    assert_eq!(page.unchanged_since, Some(down_at));

    // People write about it.
    let component = page.components().next().expect("a component").id;
    let body = json!({
        "title": "The shop is down",
        "impact": "major",
        "components": [component],
        "text": "We are looking into it.",
    });
    let written = scene.client().post(&format!("{path}/incidents"), &body).await;
    assert_eq!(written.status, 201, "{written:?}");
    let incident = format!("{path}/incidents/{}", written.data("uuid"));
    scene.service.consume().await;
    let page = scene.published("meridian").await.expect("a page");
    assert_eq!(page.incidents[0].title, "The shop is down");

    // It is up again, and the incident lasts until people end it.
    scene.recover(site).await;
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Degraded, Operational]);
    let update = json!({ "status": "resolved", "text": "It was a release." });
    assert_eq!(scene.client().patch(&incident, &update).await.status, 200);
    scene.service.consume().await;
    let page = scene.published("meridian").await.expect("a page");
    assert_eq!(page.summary(), PageSummary::Operational);
    assert_eq!(page.incidents[0].status, IncidentStatus::Resolved);
    let first = page.components().next().expect("a component");
    let down = DayUptime::Down(Downtime::Minutes);
    assert_eq!(first.days[89], down, "today's bar");

    // The day turns, and the bar moves.
    scene.pass_until("2026-11-21T00:01:00Z").await;
    let page = scene.published("meridian").await.expect("a page");
    assert_eq!(page.today.to_string(), "2026-11-21");
    let first = page.components().next().expect("a component");
    assert_eq!(first.days[88..], [down, DayUptime::Unknown]);

    // Whatever was found, readers see none of it.
    let document = serde_json::to_string(&page).expect("JSON");
    for secret in ["site.test", "http", "503", "status:down", "Service Unavailable"] {
        assert!(!document.contains(secret), "{secret} in {document}");
    }
    for id in [site.to_string(), other.to_string(), scene.owner.team.to_string()] {
        assert!(!document.contains(&id), "{id} in {document}");
    }
}

#[tokio::test]
async fn a_component_that_is_down_or_unknown_has_no_response_time_and_one_whose_checks_stop_is_unknown()
 {
    use ComponentState::{Down, Operational, Unknown};
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let path = scene.create_page("meridian", &[site]).await;
    let timed =
        json!([{ "components": [{ "name": "Shop", "site": site, "response_time": true }] }]);
    let groups = json!({ "groups": timed });
    assert_eq!(scene.client().patch(&path, &groups).await.status, 200);
    scene.service.consume().await;
    let shown = async || {
        let page = scene.published("meridian").await.expect("a page");
        let component = page.components().next().expect("a component").clone();
        (component.state, component.response_ms.is_some())
    };
    assert_eq!(shown().await, (Operational, true));
    // No check comes for three cadences of five minutes, and nobody asks for a publication.
    scene.pass_until("2026-11-20T10:08:00Z").await;
    assert_eq!(shown().await, (Operational, true));
    scene.pass_until("2026-11-20T10:11:00Z").await;
    assert_eq!(shown().await, (Unknown, false));
    // They come again.
    scene.service.run_scheduled(site, Tool::Status).await;
    scene.pass_until("2026-11-20T10:17:00Z").await;
    assert_eq!(shown().await, (Operational, true));
    scene.go_down(site).await;
    scene.service.consume().await;
    assert_eq!(shown().await, (Down, false));
}

#[tokio::test]
async fn maintenance_begins_and_ends_on_the_page_by_itself() {
    use ComponentState::{Maintenance, Operational};
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "cadence_minutes": 60 })).await;
    scene.create_page("meridian", &[site]).await;
    let window = json!({
        "name": "Secret project",
        "sites": [site],
        "starts_at": "2026-11-20T10:10",
        "duration_minutes": 20,
    });
    let windows = format!("/teams/{}/maintenance-windows", scene.owner.team);
    assert_eq!(scene.client().post(&windows, &window).await.status, 201);
    scene.service.consume().await;
    let page = scene.published("meridian").await.expect("a page");
    assert_eq!(page.windows.len(), 1, "it is announced");
    assert!(!serde_json::to_string(&page).expect("JSON").contains("Secret"));
    for (until, state) in [
        ("2026-11-20T10:09:00Z", Operational),
        ("2026-11-20T10:11:00Z", Maintenance),
        ("2026-11-20T10:29:00Z", Maintenance),
        ("2026-11-20T10:31:00Z", Operational),
    ] {
        scene.pass_until(until).await;
        assert_eq!(scene.shown("meridian").await, [state], "{until}");
    }
}

#[tokio::test]
async fn a_component_is_in_maintenance_while_the_tags_of_its_site_match() {
    use ComponentState::{Maintenance, Operational};
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let other = scene.watch_url(&format!("{URL}/other")).await;
    scene.create_page("meridian", &[site, other]).await;
    let window = json!({ "selector": "env:prod", "duration_minutes": 20 });
    let windows = format!("/teams/{}/maintenance-windows", scene.owner.team);
    assert_eq!(scene.client().post(&windows, &window).await.status, 201);
    scene.service.consume().await;
    for (tags, state, shown) in [
        (&["env:test"][..], Operational, 0),
        (&["env:prod"], Maintenance, 1),
        (&["env:prod", "legacy"], Maintenance, 1),
        (&[], Operational, 0),
    ] {
        scene.tag(site, tags).await;
        scene.service.consume().await;
        assert_eq!(scene.shown("meridian").await, [state, Operational], "{tags:?}");
        let page = scene.published("meridian").await.expect("a page");
        assert_eq!(page.windows.len(), shown, "{tags:?}");
        assert!(page.windows.iter().all(|window| window.components.len() == 1));
    }
}

#[tokio::test]
async fn a_selector_adds_sites_that_somebody_publishes_and_removes_them() {
    use ComponentChange::{Joined, Left};
    use ComponentState::Operational;
    let scene = Scene::start().await;
    let first = scene.watch().await;
    let second = scene.watch_url(&format!("{URL}/second")).await;
    scene.tag(first, &["env:prod"]).await;
    let body = json!({ "slug": "meridian", "name": "Meridian", "selector": "env:prod" });
    let created = scene.client().post(&scene.status_pages(), &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let path = format!("{}/{}", scene.status_pages(), created.data("uuid"));
    let page = async || scene.client().get(&path).await.body["data"].clone();
    let sites = async || {
        let page = page().await;
        let groups = page["groups"].as_array().expect("groups").clone().into_iter();
        let components =
            groups.flat_map(|group| group["components"].as_array().expect("some").clone());
        let of = |component: Value| (component["site"].clone(), component["hidden"] == json!(true));
        components.map(of).collect::<Vec<_>>()
    };
    scene.service.consume().await;
    assert_eq!(sites().await, [(json!(first), true)]);
    assert_eq!(scene.shown("meridian").await, [], "nobody has published it");

    let mut groups = page().await["groups"].clone();
    groups[0]["components"][0]["hidden"] = json!(false);
    scene.client().patch(&path, &json!({ "groups": groups })).await;
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [Operational]);
    // A site joins when its tags match.
    scene.tag(second, &["env:prod"]).await;
    scene.service.consume().await;
    assert_eq!(sites().await, [(json!(first), false), (json!(second), true)]);
    assert_eq!(scene.shown("meridian").await, [Operational]);

    // From now on, new sites are published. Nothing says that one was added, so it takes five minutes.
    scene.client().patch(&path, &json!({ "publish_new_sites": true })).await;
    scene.service.consume().await;
    let new = json!({ "url": format!("{URL}/third"), "tags": ["env:prod"] });
    let sites_of_team = format!("/teams/{}/sites", scene.owner.team);
    let third = scene.client().post(&sites_of_team, &new).await.data("uuid");
    scene.pass_until("2026-11-20T10:10:00Z").await;
    assert_eq!(
        sites().await,
        [(json!(first), false), (json!(second), true), (json!(third), false)]
    );
    assert_eq!(scene.shown("meridian").await.len(), 2);

    // A site leaves when its tags no longer match, and without the selector, all stay.
    scene.tag(first, &[]).await;
    scene.service.consume().await;
    assert_eq!(sites().await, [(json!(second), true), (json!(third), false)]);
    assert_eq!(scene.shown("meridian").await.len(), 1);
    scene.client().patch(&path, &json!({ "selector": null })).await;
    scene.tag(second, &[]).await;
    scene.service.consume().await;
    assert_eq!(sites().await.len(), 2);

    let store = &scene.service.test.app.store;
    let log = store.audit_log(scene.owner.team, None, 100).await.expect("read");
    let changes = log.entries.iter().rev().filter_map(|entry| match &entry.event {
        AuditEvent::Component { change, .. } => Some((entry.actor, *change)),
        _ => None,
    });
    let expected = [Joined, Joined, Joined, Left].map(|change| (Actor::Service, change));
    assert_eq!(changes.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_lost_message_delays_a_publication_and_loses_nothing() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let path = scene.create_page("meridian", &[site]).await;
    scene.go_down(site).await;
    assert!(!scene.service.waiting().is_empty(), "the message is lost");
    assert_eq!(scene.shown("meridian").await, [ComponentState::Operational]);
    scene.service.advance_minutes(2);
    scene.service.redeliver().await;
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [ComponentState::Down]);

    // Without anything outstanding, a message changes nothing.
    let before = scene.publication(&path).await.expect("a publication");
    let message = ReconcileMessage::Publish { team: scene.owner.team, page: before.page };
    scene.service.deliver(&Message::Reconcile(message)).await;
    assert_eq!(scene.publication(&path).await, Some(before));

    // A change of the page, too.
    let message = json!({ "message": "We know." });
    assert_eq!(scene.client().patch(&path, &message).await.status, 200);
    scene.service.test.queue.drain(Destination::Reconcile);
    scene.service.advance_minutes(2);
    scene.service.redeliver().await;
    scene.service.consume().await;
    let page = scene.published("meridian").await.expect("a page");
    assert_eq!(page.message.as_deref(), Some("We know."));
}

#[tokio::test]
async fn a_change_during_a_publication_is_published_too() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let path = scene.create_page("meridian", &[site]).await;
    let store = &scene.service.test.app.store;
    let found = scene.publication(&path).await.expect("a publication");

    // One attempt has read the page, and is slower than the next one.
    let (team, page) = (found.team, found.page);
    let early = store.begin_publication(team, page).await.expect("begun").expect("a page");
    let old = scene.published("meridian").await.expect("a page");
    let rename = json!({ "name": "Meridian Goods" });
    assert_eq!(scene.client().patch(&path, &rename).await.status, 200);
    scene.service.consume().await;
    let stored = store.status_page(team, page).await.expect("read").expect("a page");
    let replaced = store.put_published(&stored, early.attempts, &old).await.expect("refused");
    assert!(!replaced, "what is older does not replace what is newer");
    let ended = store.end_publication(&early, Timestamp::MAX).await;
    assert!(ended.expect_err("too late").is_conflict());
    assert_eq!(scene.published("meridian").await.expect("a page").name, "Meridian Goods");

    // Two changes of the same state: the second one is refused or applied to the first.
    let both = ["One", "Two"].map(|name| json!({ "name": name }));
    let client = scene.client();
    let [one, two] = &both;
    let (one, two) = tokio::join!(client.patch(&path, one), client.patch(&path, two));
    assert_eq!((one.status, two.status), (200, 200), "{one:?} {two:?}");
    scene.service.consume().await;
    let name = scene.published("meridian").await.expect("a page").name;
    let stored = store.status_page(team, page).await.expect("read").expect("a page");
    assert_eq!(stored.name, name);
    let publication = scene.publication(&path).await.expect("a publication");
    assert_eq!(publication.done, publication.wanted);
}

#[tokio::test]
async fn a_page_moves_hides_and_is_deleted_with_its_incidents() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let path = scene.create_page("meridian", &[site]).await;
    let client = scene.client();
    let moved = client.patch(&path, &json!({ "slug": "goods" })).await;
    assert_eq!(moved.status, 200);
    scene.service.consume().await;
    assert_eq!(scene.published("meridian").await, None);
    assert!(scene.published("goods").await.is_some());

    let hidden = client.patch(&path, &json!({ "unlisted": true })).await;
    scene.service.consume().await;
    assert_eq!(scene.published("goods").await, None);
    let url = hidden.data("url");
    let (_, key) = url.rsplit_once('/').expect("a URL");
    assert_eq!(key.len(), 32);
    assert!(scene.published(key).await.expect("a page").is_unlisted);
    // The slug remains taken.
    let other = json!({ "slug": "goods", "name": "Other" });
    assert_eq!(client.post(&scene.status_pages(), &other).await.status, 422);

    let listed = client.patch(&path, &json!({ "unlisted": false })).await;
    assert_eq!(listed.status, 200);
    scene.service.consume().await;
    assert_eq!(scene.published(key).await, None);
    assert!(scene.published("goods").await.is_some());

    let body = json!({ "title": "Delays", "text": "We know." });
    assert_eq!(client.post(&format!("{path}/incidents"), &body).await.status, 201);
    assert_eq!(client.delete(&path).await.status, 204);
    assert_eq!(scene.published("goods").await, None, "at once");
    assert!(scene.publication(&path).await.expect("outstanding").is_deleted);
    scene.service.consume().await;
    assert_eq!(scene.publication(&path).await, None);
    let (_, id) = path.rsplit_once('/').expect("an id");
    let page = StatusPageId::parse(id).expect("an id");
    let store = &scene.service.test.app.store;
    assert!(store.incidents(scene.owner.team, page).await.expect("read").is_empty());
    assert_eq!(client.post(&scene.status_pages(), &other).await.status, 201, "the slug is free");
}

#[tokio::test]
async fn a_site_that_is_paused_or_deleted_is_unknown_to_readers() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.create_page("meridian", &[site]).await;
    let client = scene.client();
    let paused = json!({
        "url": URL,
        "monitoring_settings": { "tools": { "status": { "enabled": false } } },
    });
    assert_eq!(client.patch(&format!("/sites/{site}"), &paused).await.status, 200);
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [ComponentState::Unknown]);
    assert_eq!(client.delete(&format!("/sites/{site}")).await.status, 204);
    scene.service.consume().await;
    assert_eq!(scene.shown("meridian").await, [ComponentState::Unknown]);
}

#[tokio::test]
async fn a_team_without_a_page_has_nothing_outstanding() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.go_down(site).await;
    let messages = scene.service.waiting();
    let is_publication =
        |message: &Message| matches!(message, Message::Reconcile(ReconcileMessage::Publish { .. }));
    assert!(!messages.iter().any(|(message, _)| is_publication(message)), "{messages:?}");
}
