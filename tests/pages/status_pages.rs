//! The pages on which members manage status pages.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::id::SiteId;
use vedette_domain::status_pages::StatusPage;
use vedette_testkit::{Member, TestApp, member_of};
use vedette_tests::Service;

use crate::support::{Browser, main_part, said, sent_to, text};

async fn new_site(service: &Service, owner: &Member, name: &str) -> SiteId {
    let body = json!({ "url": format!("https://{name}.example/"), "name": name });
    let path = format!("/teams/{}/sites", owner.team);
    let created = service.client(owner).post(&path, &body).await;
    SiteId::parse(&created.data("uuid")).expect("an id")
}

/// The only status page of a team.
async fn page(test: &TestApp, owner: &Member) -> StatusPage {
    let pages = test.app.store.status_pages(owner.team).await.expect("read");
    let [page] = <[_; 1]>::try_from(pages).expect("one page");
    page
}

#[tokio::test]
async fn a_page_is_created_filled_and_deleted_with_forms() {
    let (service, owner) = Service::with_team().await;
    let (test, shop) = (&service.test, new_site(&service, &owner, "shop-internal").await);
    let blog = new_site(&service, &owner, "blog-internal").await;
    let mut browser = Browser::of(test, owner.user).await;
    let path = format!("/teams/{}/status-pages", owner.team);
    let empty = browser.get(&path).await;
    assert!(said(&empty).contains("A status page shows people outside the team"));
    let created = browser.post(&path, "name=Meridian&slug=meridian").await;
    let of_page = format!("{path}/{}", page(test, &owner).await.id);
    assert_eq!(sent_to(&created), format!("{of_page}/edit?notice=created"));

    let form = browser.get(&format!("{of_page}/edit?notice=created")).await;
    for text in ["Status page created.", "shop-internal", "blog-internal", "value=\"meridian\""] {
        assert!(main_part(&form).contains(text), "{text}: {}", main_part(&form));
    }
    // A browser sends the fields of all lines, in the order of the page.
    let filled = format!(
        "name=Meridian&slug=meridian&message=Hello&maintenance_names=yes\
         &site%3A{blog}={blog}&show={blog}&name%3A{blog}=Blog&group%3A{blog}=Reading&place%3A{blog}=2\
         &site%3A{shop}={shop}&show={shop}&name%3A{shop}=Shop&group%3A{shop}=&place%3A{shop}=1&time={shop}"
    );
    let saved = browser.post(&format!("{of_page}/edit"), &filled).await;
    assert_eq!(sent_to(&saved), format!("{of_page}?notice=saved"));
    let stored = page(test, &owner).await;
    let shown: Vec<_> = stored
        .groups
        .iter()
        .flat_map(|group| {
            let name = group.name.as_deref();
            group.components.iter().map(move |of| (name, &*of.name, of.publishes_response_time))
        })
        .collect();
    assert_eq!(shown, [(None, "Shop", true), (Some("Reading"), "Blog", false)]);
    assert!(stored.names_windows);

    // The form shows what is stored, and saving it again changes nothing.
    let component = stored.groups[0].components[0].id;
    let form = browser.get(&format!("{of_page}/edit")).await;
    let fields = crate::support::fields_of(main_part(&form));
    assert!(fields.contains(&(format!("uuid:{component}"), component.to_string())), "{fields:?}");
    assert!(fields.contains(&(format!("name:{component}"), "Shop".to_owned())), "{fields:?}");

    let listed = browser.get(&path).await;
    for text in ["Meridian", "2 components", "/status/meridian"] {
        assert!(said(&listed).contains(text), "{text}: {}", said(&listed));
    }
    let deleted = browser.post(&format!("{of_page}/delete"), "").await;
    assert_eq!(sent_to(&deleted), format!("{path}?notice=removed"));
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    for text in ["Created the status page", "Edited the status page", "Deleted the status page"] {
        assert!(said(&log).contains(text), "{text}");
    }
}

#[tokio::test]
async fn a_heartbeat_is_a_component_without_a_response_time() {
    let (service, owner) = Service::with_team().await;
    let test = &service.test;
    let heartbeats = format!("/teams/{}/heartbeats", owner.team);
    let added = service.client(&owner).post(&heartbeats, &json!({ "name": "Backup" })).await;
    let job = added.data("uuid");
    let mut browser = Browser::of(test, owner.user).await;
    let path = format!("/teams/{}/status-pages", owner.team);
    browser.post(&path, "name=Meridian&slug=meridian").await;
    let edit = format!("{path}/{}/edit", page(test, &owner).await.id);
    let form = browser.get(&edit).await;
    let sent = crate::support::fields_of(main_part(&form));
    assert!(sent.contains(&(format!("heartbeat:{job}"), job.clone())), "{sent:?}");
    assert!(!main_part(&form).contains(&format!("time.{job}")));
    assert!(text(said(&form)).contains("Backup Heartbeat"), "{}", text(said(&form)));

    // With many, they can be searched, and what is selected stays selected.
    for number in 0..30 {
        let body = json!({ "name": format!("Job {number}") });
        service.client(&owner).post(&heartbeats, &body).await;
    }
    let search =
        format!("do=find&find=job+2&show={job}&heartbeat%3A{job}={job}&name%3A{job}=Backups");
    let found = browser.post(&edit, &search).await;
    let words = text(said(&found));
    assert!(words.contains("Selected sites and heartbeats stay selected."), "{words}");
    assert!(words.contains("Job 2 ") && !words.contains("Job 3 "), "{words}");
    let sent = crate::support::fields_of(main_part(&found));
    assert!(sent.contains(&("show".to_owned(), job.clone())), "{sent:?}");

    let fields = "name=Meridian&slug=meridian&message=&selector=";
    let line = format!("&show={job}&heartbeat%3A{job}={job}&name%3A{job}=Backups&place%3A{job}=1");
    sent_to(&browser.post(&edit, &format!("{fields}{line}")).await);
    let stored = page(test, &owner).await;
    let [component] = &stored.groups[0].components[..] else { panic!("{stored:?}") };
    let monitor = component.monitor.to_string();
    assert_eq!((component.is_heartbeat, &*component.name, monitor), (true, "Backups", job.clone()));
    let sent = crate::support::fields_of(main_part(&browser.get(&edit).await));
    assert!(sent.contains(&(format!("heartbeat:{}", component.id), job)), "{sent:?}");
}

#[tokio::test]
async fn what_a_selector_has_added_is_hidden_until_it_is_ticked() {
    let (service, owner) = Service::with_team().await;
    let test = &service.test;
    let shop = new_site(&service, &owner, "shop-internal").await;
    let body = json!({ "url": "https://shop-internal.test", "tags": ["env:prod"] });
    let mut browser = Browser::of(test, owner.user).await;
    let path = format!("/teams/{}/status-pages", owner.team);
    browser.post(&path, "name=Meridian&slug=meridian").await;
    let edit = format!("{path}/{}/edit", page(test, &owner).await.id);
    let fields = "name=Meridian&slug=meridian&message=&selector=Env:prod";
    sent_to(&browser.post(&edit, fields).await);
    let tagged = service.client(&owner).patch(&format!("/sites/{shop}"), &body).await;
    assert_eq!(tagged.status, 200, "{tagged:?}");
    service.consume().await;
    let component = page(test, &owner).await.groups[0].components[0].clone();
    assert_eq!((component.monitor, component.is_hidden), (shop, true));

    let form = browser.get(&edit).await;
    let sent = crate::support::fields_of(main_part(&form));
    assert!(sent.contains(&("hidden".to_owned(), component.id.to_string())), "{sent:?}");
    assert!(sent.contains(&("selector".to_owned(), "env:prod".to_owned())), "{sent:?}");
    let id = component.id;
    let line = format!(
        "&hidden={id}&uuid%3A{id}={id}&site%3A{id}={shop}&name%3A{id}=Shop&group%3A{id}=&place%3A{id}=1"
    );
    for (ticked, is_hidden) in
        [(String::new(), true), (format!("&show={id}"), false), (String::new(), true)]
    {
        sent_to(&browser.post(&edit, &format!("{fields}{line}{ticked}")).await);
        let stored = page(test, &owner).await;
        let [stored] = &stored.groups[0].components[..] else { panic!("{stored:?}") };
        assert_eq!(
            (stored.is_hidden, &*stored.name, stored.is_selected),
            (is_hidden, "Shop", true)
        );
    }
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    let words = text(said(&log));
    assert!(
        words.contains("the service Added shop-internal to the status page Meridian , because the selector matches it"),
        "{words}"
    );
}

#[tokio::test]
async fn what_is_wrong_is_shown_beside_its_field_and_kept() {
    let (service, owner) = Service::with_team().await;
    let test = &service.test;
    let mut browser = Browser::of(test, owner.user).await;
    let path = format!("/teams/{}/status-pages", owner.team);
    let refused = browser.post(&path, "name=Meridian&slug=Not+a+slug").await;
    assert_eq!(refused.status(), 422);
    for text in
        ["Must consist of lowercase letters", "value=\"Not a slug\"", "Status page not created."]
    {
        assert!(main_part(&refused).contains(text), "{text}: {}", main_part(&refused));
    }
    browser.post(&path, "name=Meridian&slug=meridian").await;
    let again = browser.post(&path, "name=Meridian&slug=meridian").await;
    assert!(main_part(&again).contains("The slug is taken."), "{}", main_part(&again));
    let of_page = format!("{path}/{}", page(test, &owner).await.id);
    let refused = browser.post(&format!("{of_page}/edit"), "name=&slug=meridian&message=x").await;
    assert_eq!(refused.status(), 422);
    assert!(main_part(&refused).contains("Must not be empty."), "{}", main_part(&refused));
    let refused = browser.post(&format!("{of_page}/incidents"), "title=Delays&text=").await;
    assert_eq!(refused.status(), 422);
    for text in ["Is required.", "value=\"Delays\"", "Incident not created."] {
        assert!(main_part(&refused).contains(text), "{text}: {}", main_part(&refused));
    }
}

#[tokio::test]
async fn an_incident_is_written_updated_and_deleted_with_forms() {
    let (service, owner) = Service::with_team().await;
    let (test, site) = (&service.test, new_site(&service, &owner, "shop").await);
    let client = service.client(&owner);
    let zone = json!({ "time_zone": "Europe/Berlin" });
    client.patch(&format!("/teams/{}/time-zone", owner.team), &zone).await;
    let groups = json!([{ "components": [{ "name": "Orders", "site": site }] }]);
    let body = json!({ "slug": "meridian", "name": "Meridian", "groups": groups });
    client.post(&format!("/teams/{}/status-pages", owner.team), &body).await;
    let stored = page(test, &owner).await;
    let component = stored.groups[0].components[0].id;
    let of_page = format!("/teams/{}/status-pages/{}", owner.team, stored.id);
    let member = member_of(test, owner.team, Role::Member, &Scope::ALL).await;
    let mut browser = Browser::of(test, member.user).await;
    let form = format!(
        "title=Orders+are+delayed&impact=major&status=investigating&text=First%0D%0Asecond\
         &next_update_by=2026-11-20T12%3A00&components={component}"
    );
    let written = browser.post(&format!("{of_page}/incidents"), &form).await;
    assert_eq!(sent_to(&written), format!("{of_page}?notice=written"));
    let shown = browser.get(&format!("{of_page}?notice=written")).await;
    for text in
        ["Incident published.", "Orders are delayed", "Investigating", "Next update by", "11:00"]
    {
        assert!(said(&shown).contains(text), "{text}: {}", said(&shown));
    }
    let incidents = test.app.store.incidents(owner.team, stored.id).await.expect("read");
    assert_eq!(incidents[0].updates[0].text, "First\nsecond");
    let of_incident = format!("{of_page}/incidents/{}", incidents[0].id);
    let refused = browser.post(&of_incident, "status=resolved&text=").await;
    assert_eq!(refused.status(), 422);
    assert!(main_part(&refused).contains("Must not be empty."), "{}", main_part(&refused));
    let over = browser.post(&of_incident, "status=resolved&text=Fixed&next_update_by=").await;
    assert_eq!(sent_to(&over), format!("{of_page}?notice=updated"));
    let shown = browser.get(&of_page).await;
    assert!(said(&shown).contains("Past incidents"), "{}", said(&shown));
    let deleted = browser.post(&format!("{of_incident}/delete"), "").await;
    assert_eq!(sent_to(&deleted), format!("{of_page}?notice=removed"));
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    for text in ["Wrote the incident", "Resolved the incident", "Deleted the incident"] {
        assert!(said(&log).contains(text), "{text}");
    }
}

#[tokio::test]
async fn viewers_read_and_members_do_not_change_what_a_page_shows() {
    let (service, owner) = Service::with_team().await;
    let test = &service.test;
    let path = format!("/teams/{}/status-pages", owner.team);
    let body = json!({ "slug": "meridian", "name": "Meridian" });
    service.client(&owner).post(&path, &body).await;
    let of_page = format!("{path}/{}", page(test, &owner).await.id);
    let viewer = member_of(test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut browser = Browser::of(test, viewer.user).await;
    let shown = browser.get(&of_page).await;
    assert_eq!(shown.status(), 200);
    for text in ["Write incident", "Edit page"] {
        assert!(!said(&shown).contains(text), "{text}");
    }
    assert_eq!(browser.post(&format!("{of_page}/incidents"), "title=X&text=Y").await.status(), 403);
    let member = member_of(test, owner.team, Role::Member, &Scope::ALL).await;
    let mut browser = Browser::of(test, member.user).await;
    assert!(!said(&browser.get(&path).await).contains("<form class=\"card\""));
    assert_eq!(browser.post(&path, "name=X&slug=other").await.status(), 403);
    assert_eq!(browser.get(&format!("{of_page}/edit")).await.status(), 403);
}
