//! The maintenance windows of a team, with a form, and where else pages show them.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::team::Team;
use vedette_domain::id::SiteId;
use vedette_testkit::{Member, TestApp, member_of};
use vedette_tests::Service;

use crate::support::{Browser, ask, body, main_part, said, sent_to};

async fn new_site(service: &Service, owner: &Member, name: &str) -> SiteId {
    tagged_site(service, owner, name, &[]).await
}

async fn tagged_site(service: &Service, owner: &Member, name: &str, tags: &[&str]) -> SiteId {
    let body = json!({ "url": format!("https://{name}.example/"), "name": name, "tags": tags });
    let path = format!("/teams/{}/sites", owner.team);
    let created = service.client(owner).post(&path, &body).await;
    SiteId::parse(&created.data("uuid")).expect("an id")
}

async fn team(test: &TestApp, owner: &Member) -> Team {
    let found = test.app.store.team(owner.team, test.now()).await.expect("read");
    found.expect("a team").team
}

#[tokio::test]
async fn a_window_is_added_with_the_form_ended_and_removed() {
    let (service, owner) = Service::with_team().await;
    let (test, site) = (&service.test, new_site(&service, &owner, "shop").await);
    let mut browser = Browser::of(test, owner.user).await;
    let path = format!("/teams/{}/maintenance", owner.team);
    let page = browser.get(&path).await;
    for text in ["No maintenance is planned.", "<option value=\"UTC\" selected>", ">shop<"] {
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }
    // A browser sends every field.
    let form = format!(
        "name=Updates&duration_minutes=120&starts_at=2026-11-21T02%3A00&time_zone=Europe%2FBerlin\
         &recurrence=FREQ%3DDAILY&rule=&sites={site}"
    );
    let added = browser.post(&path, &form).await;
    assert_eq!(sent_to(&added), format!("{path}?notice=added"));
    let now = "name=&duration_minutes=60&starts_at=&time_zone=UTC&recurrence=&rule=";
    let started = browser.post(&path, now).await;
    assert_eq!(sent_to(&started), format!("{path}?notice=started"));
    let page = browser.get(&format!("{path}?notice=started")).await;
    let page = said(&page);
    for text in [
        "Maintenance window started.",
        "Updates",
        "every day at 02:00 (Europe/Berlin)",
        "Active",
        "All sites",
        "End now",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert_eq!(page.matches(">End now<").count(), 1, "one is active");

    let windows = team(test, &owner).await.windows;
    let ids: Vec<_> = windows.current_ones(test.now()).iter().map(|window| window.id).collect();
    let ended = browser.post(&format!("{path}/{}/end", ids[0]), "").await;
    assert_eq!(sent_to(&ended), format!("{path}?notice=ended"));
    let removed = browser.post(&format!("{path}/{}/remove", ids[1]), "").await;
    assert_eq!(sent_to(&removed), format!("{path}?notice=removed"));
    assert!(team(test, &owner).await.windows.is_empty());
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    for text in [
        "Added the maintenance window",
        "Started the maintenance window",
        "Ended the maintenance window",
        "Deleted the maintenance window",
    ] {
        assert!(said(&log).contains(text), "{text}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_shown_beside_its_field_and_kept() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let path = format!("/teams/{}/maintenance", owner.team);
    for (form, why) in [
        (
            "name=Night&duration_minutes=60&starts_at=&time_zone=UTC&recurrence=&rule=FREQ%3DYEARLY",
            "Must have FREQ=DAILY, FREQ=WEEKLY or FREQ=MONTHLY.",
        ),
        (
            "name=Night&duration_minutes=long&starts_at=&time_zone=UTC&recurrence=&rule=",
            "Must be an integer.",
        ),
        (
            "name=Night&duration_minutes=60&starts_at=2026-11-19T02%3A00&time_zone=UTC&recurrence=&rule=",
            "The maintenance window would already be over. Choose a later start.",
        ),
        (
            "name=Night&duration_minutes=60&starts_at=2026-11-21T02%3A00&time_zone=UTC&recurrence=&rule=FREQ%3DWEEKLY%3BBYDAY%3DMO",
            "The maintenance window must start on a day of its recurrence.",
        ),
    ] {
        let refused = browser.post(&path, form).await;
        assert_eq!(refused.status(), 422);
        for text in [why, "value=\"Night\"", "Maintenance window not created."] {
            let page = main_part(&refused);
            assert!(page.contains(text), "{text}: {page}");
        }
    }
    assert!(team(&test, &owner).await.windows.is_empty());
}

#[tokio::test]
async fn one_click_starts_maintenance_of_a_site_and_its_pages_say_so() {
    let (service, owner) = Service::with_team().await;
    let (test, site) = (&service.test, new_site(&service, &owner, "shop").await);
    let other = new_site(&service, &owner, "blog").await;
    let mut browser = Browser::of(test, owner.user).await;
    let page = browser.get(&format!("/sites/{site}")).await;
    assert!(said(&page).contains("Start maintenance for"));
    let started = browser.post(&format!("/sites/{site}/maintenance"), "minutes=240").await;
    assert_eq!(sent_to(&started), format!("/sites/{site}"));
    let windows = team(test, &owner).await.windows;
    let window = windows.iter().next().expect("a window");
    assert_eq!(
        (window.minutes, window.covers(site, []), window.covers(other, [])),
        (240, true, false)
    );
    let page = browser.get(&format!("/sites/{site}")).await;
    let page = said(&page);
    assert!(page.contains("Under maintenance until"), "{page}");
    assert!(page.contains("2026-11-20T13:54:00"), "{page}");
    assert!(!page.contains("Start maintenance for"));
    let elsewhere = browser.get(&format!("/sites/{other}")).await;
    assert!(!said(&elsewhere).contains("Under maintenance until"));
    let list = browser.get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(said(&list).matches(">Maintenance<").count(), 1);
}

#[tokio::test]
async fn a_window_is_for_the_sites_with_some_tags_and_their_pages_say_so() {
    let (service, owner) = Service::with_team().await;
    let shop = tagged_site(&service, &owner, "shop", &["env:prod"]).await;
    let blog = tagged_site(&service, &owner, "blog", &["env:prod", "legacy"]).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/maintenance", owner.team);
    for text in
        ["Sites with tags", "placeholder=\"env:prod, !legacy\"", "Tags that a site must have"]
    {
        let page = browser.get(&path).await;
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }
    let form = |rest: &str| {
        format!("name=Updates&duration_minutes=60&starts_at=&time_zone=UTC&recurrence=&rule={rest}")
    };
    let both = form(&format!("&selector=env%3Aprod&sites={shop}"));
    for (form, why) in [
        (form("&selector=env%3D1"), "Must be a selector such as env:prod"),
        (both.clone(), "A maintenance window can have sites or a selector, but not both."),
    ] {
        let refused = browser.post(&path, &form).await;
        let problem = format!("id=\"selector-problem\" role=\"alert\">{why}");
        assert!(main_part(&refused).contains(&problem), "{problem}: {}", main_part(&refused));
    }
    sent_to(&browser.post(&path, &form("&selector=Env%3Aprod,%21legacy")).await);
    let list = browser.get(&path).await;
    assert!(said(&list).contains("Sites with env:prod, !legacy<"), "{}", said(&list));
    for (site, is_covered) in [(shop, true), (blog, false)] {
        let page = browser.get(&format!("/sites/{site}")).await;
        assert_eq!(said(&page).contains("Under maintenance until"), is_covered);
        assert_eq!(said(&page).contains("Start maintenance for"), !is_covered);
    }
    let sites = browser.get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(said(&sites).matches(">Maintenance<").count(), 1);

    let window = team(&service.test, &owner).await.windows.iter().next().expect("a window").id;
    let edit = format!("{path}/{window}/edit");
    let page = browser.get(&edit).await;
    assert!(said(&page).contains("value=\"env:prod, !legacy\""), "{}", said(&page));
    sent_to(&browser.post(&edit, &form(&format!("&selector=&sites={blog}"))).await);
    let windows = team(&service.test, &owner).await.windows;
    let window = windows.iter().next().expect("a window");
    assert_eq!((&window.selector, &window.sites), (&None, &Some([blog].into())));
}

#[tokio::test]
async fn viewers_read_and_members_manage() {
    let (test, owner) = TestApp::with_team().await;
    let path = format!("/teams/{}/maintenance", owner.team);
    let form = "name=Now&duration_minutes=60&starts_at=&time_zone=UTC&recurrence=&rule=";
    let viewer = member_of(&test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut viewer = Browser::of(&test, viewer.user).await;
    assert!(!said(&viewer.get(&path).await).contains("Add window"));
    assert_eq!(viewer.post(&path, form).await.status(), 403);
    let member = member_of(&test, owner.team, Role::Member, &Scope::ALL).await;
    let mut member = Browser::of(&test, member.user).await;
    sent_to(&member.post(&path, form).await);
    assert!(!said(&viewer.get(&path).await).contains("End now"));
}

#[tokio::test]
async fn a_calendar_program_reads_the_windows_by_an_address_that_can_be_withdrawn() {
    let (service, owner) = Service::with_team().await;
    let test = &service.test;
    let path = format!("/teams/{}/maintenance", owner.team);
    let mut browser = Browser::of(test, owner.user).await;
    let form = "name=Deployment&duration_minutes=60&starts_at=&time_zone=UTC&recurrence=&rule=";
    browser.post(&path, form).await;
    let mut addresses = Vec::new();
    for _ in 0..2 {
        assert_eq!(
            sent_to(&browser.post(&format!("{path}/share"), "").await),
            format!("{path}?notice=shared")
        );
        let page = browser.get(&path).await;
        let (_, rest) =
            said(&page).split_once("https://monitor.test/calendars/").expect("an address");
        let address = rest.split_once('<').expect("its end").0;
        addresses.push(format!("/calendars/{address}"));
    }
    let [before, address] = &addresses[..] else { panic!("{addresses:?}") };
    // Programs are not signed in.
    let feed = ask(test, "GET", address).await;
    assert_eq!(feed.status(), 200);
    assert_eq!(feed.headers()["content-type"], "text/calendar; charset=utf-8");
    for line in [
        "BEGIN:VCALENDAR",
        "SUMMARY:Deployment",
        "DTSTART:20261120T095400Z",
        "DTEND:20261120T105400Z",
    ] {
        assert!(body(&feed).contains(&format!("{line}\r\n")), "{line}: {}", body(&feed));
    }
    let wrong = format!("{}0", &address[..address.len() - 1]);
    let keyless = address.split_once('?').expect("a key").0;
    for other in [before.as_str(), &wrong, keyless, &address.replace(&owner.team.to_string(), "x")]
    {
        assert_eq!(ask(test, "GET", other).await.status(), 404, "{other}");
    }
    let viewer = member_of(test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut viewer = Browser::of(test, viewer.user).await;
    assert!(!said(&viewer.get(&path).await).contains("/calendars/"));
    assert_eq!(viewer.post(&format!("{path}/share"), "").await.status(), 403);

    browser.post(&format!("{path}/unshare"), "").await;
    assert_eq!(ask(test, "GET", address).await.status(), 404);
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    assert!(said(&log).contains("Revoked the address of the calendar"));
}

#[tokio::test]
async fn a_window_is_edited_and_keeps_what_is_not_changed() {
    let (service, owner) = Service::with_team().await;
    let test = &service.test;
    let [shop, blog] =
        [new_site(&service, &owner, "shop").await, new_site(&service, &owner, "blog").await];
    let body = json!({
        "name": "Updates",
        "sites": [shop],
        "starts_at": "2026-11-29T02:00",
        "time_zone": "Europe/Berlin",
        "duration_minutes": 95,
        "recurrence": "FREQ=MONTHLY;BYDAY=-1SU",
    });
    let windows = format!("/teams/{}/maintenance-windows", owner.team);
    let added = service.client(&owner).post(&windows, &body).await;
    let mut browser = Browser::of(test, owner.user).await;
    let path = format!("/teams/{}/maintenance", owner.team);
    let edit = format!("{path}/{}/edit", added.data("uuid"));
    assert!(said(&browser.get(&path).await).contains(&format!("href=\"{edit}\"")));
    let page = browser.get(&edit).await;
    for text in [
        "value=\"Updates\"",
        "value=\"2026-11-29T02:00:00\"",
        "<option value=\"Europe/Berlin\" selected>",
        "<option value=\"95\" selected>1 h 35 min</option>",
        "value=\"FREQ=MONTHLY;BYDAY=-1SU\"",
        &format!("value=\"{shop}\" checked"),
    ] {
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }
    assert_eq!(said(&page).matches(" checked").count(), 1, "not the other site");

    let form = |rest: &str| {
        format!(
            "name=Updates&time_zone=Europe%2FBerlin&recurrence=&rule=FREQ%3DMONTHLY%3BBYDAY%3D-1SU{rest}"
        )
    };
    // Nothing differs.
    let same = form(&format!("&duration_minutes=95&starts_at=2026-11-29T02%3A00&sites={shop}"));
    let saved = browser.post(&edit, &same).await;
    assert_eq!(sent_to(&saved), format!("{path}?notice=saved"));
    assert_eq!(service.client(&owner).get(&windows).await.body["data"][0], added.body["data"]);
    // Without a start, the window keeps its start. Without sites, it covers all of them.
    let changed = form("&duration_minutes=120&starts_at=");
    sent_to(&browser.post(&edit, &changed).await);
    let window = &service.client(&owner).get(&windows).await.body["data"][0];
    assert_eq!(window["duration_minutes"], 120);
    assert_eq!(window["starts_at"], "2026-11-29T02:00:00");
    assert_eq!(window["sites"], json!(null));
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    assert!(said(&log).contains("Edited the maintenance window"));

    let refused =
        browser.post(&edit, &form("&duration_minutes=60&starts_at=2026-11-30T02%3A00")).await;
    assert_eq!(refused.status(), 422);
    assert!(main_part(&refused).contains("Changes not saved."), "{}", main_part(&refused));
    assert!(main_part(&refused).contains("value=\"2026-11-30T02:00\""), "what was typed");
    let viewer = member_of(test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut viewer = Browser::of(test, viewer.user).await;
    assert_eq!(viewer.post(&edit, &changed).await.status(), 403);
    assert!(!said(&viewer.get(&path).await).contains("/edit"));
    assert_eq!(
        browser.get(&edit.replace(&added.data("uuid"), &blog.to_string())).await.status(),
        404
    );
}

#[tokio::test]
async fn a_window_whose_sites_are_gone_says_so_before_it_is_for_all() {
    let (service, owner) = Service::with_team().await;
    let shop = new_site(&service, &owner, "shop").await;
    let windows = format!("/teams/{}/maintenance-windows", owner.team);
    let body = json!({ "sites": [shop], "starts_at": "2026-11-29T02:00", "duration_minutes": 60 });
    let added = service.client(&owner).post(&windows, &body).await;
    let edit = format!("/teams/{}/maintenance/{}/edit", owner.team, added.data("uuid"));
    let browser = Browser::of(&service.test, owner.user).await;
    let lost = "The sites of this window were deleted.";
    assert!(!said(&browser.get(&edit).await).contains(lost));
    service.client(&owner).delete(&format!("/sites/{shop}")).await;
    assert!(said(&browser.get(&edit).await).contains(lost));
}
