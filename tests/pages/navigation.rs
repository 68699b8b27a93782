//! The links from each page of a team to the others.

use std::collections::BTreeSet;

use serde_json::json;
use vedette_dashboard::{PAGES, Page};
use vedette_domain::alerts::channel::Filter;
use vedette_domain::message::ReconcileMessage;
use vedette_routing::find;
use vedette_testkit::channels::{add_channel, chat};
use vedette_testkit::{Client, TestApp};

use crate::support::{Browser, body, head};

/// The path of the page that an address leads to, as in the table of pages.
fn page_at(address: &str) -> &'static str {
    let found = find(PAGES, &head("GET", address));
    found.unwrap_or_else(|| panic!("no page is at {address}")).route.path
}

/// Where the navigation of a page leads.
fn ways(page: &str) -> Vec<&str> {
    let parts = page.split("<nav").skip(1).filter_map(|part| part.split("</nav>").next());
    let links = parts.flat_map(|part| part.split("href=\"").skip(1));
    links.filter_map(|rest| rest.split('"').next()).collect()
}

#[tokio::test]
async fn each_page_of_a_team_leads_to_the_others() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let team = format!("/teams/{}", owner.team);
    let window = "name=Deployment&duration_minutes=60&starts_at=&time_zone=UTC&recurrence=&rule=";
    browser.post(&format!("{team}/maintenance"), window).await;
    let found = test.app.store.team(owner.team, test.now()).await.expect("read").expect("a team");
    let window = found.team.windows.iter().next().expect("a window").id;
    let window = format!("/maintenance/{window}/edit");
    let channel = add_channel(&test.app, owner.team, ("Ops", chat()), Filter::default()).await;
    let edit = format!("/channels/{}/edit", channel.id);
    let page = json!({ "slug": "meridian", "name": "Meridian" });
    let client = Client::new(&test.app, &owner);
    let page = client.post(&format!("{team}/status-pages"), &page).await.data("uuid");
    let of_page = format!("/status-pages/{page}");
    let edit_page = format!("{of_page}/edit");
    let incident = json!({ "title": "Delays", "text": "We know." });
    let incidents = format!("{of_page}/incidents");
    let backup = json!({ "name": "Backup" });
    let heartbeat = client.post(&format!("{team}/heartbeats"), &backup).await.data("uuid");
    let heartbeat = format!("/heartbeats/{heartbeat}");
    let incident = client.post(&format!("{team}{incidents}"), &incident).await.data("uuid");
    let of_incident = format!("{incidents}/{incident}");
    let now = test.now();
    test.set_clock("2026-11-23T06:00:00Z".parse().expect("a timestamp"));
    let reports = ReconcileMessage::Report(owner.team);
    vedette_reconciler::handle(&test.app, &reports).await.expect("made");
    test.set_clock(now);
    let here = |page: &str| format!("<a href=\"{page}\" aria-current=\"page\">");
    let (mut shown, mut linked) = (BTreeSet::new(), BTreeSet::new());
    for (path, parts) in [
        ("", &[""][..]),
        ("/sites/new", &[""]),
        ("/groups", &[""]),
        ("/issues", &["/issues"]),
        ("/outages", &["/issues"]),
        ("/events", &["/events"]),
        ("/channels", &["/channels"]),
        ("/channels/new", &["/channels"]),
        (&edit, &["/channels"]),
        ("/heartbeats", &["/heartbeats"]),
        ("/heartbeats/new", &["/heartbeats"]),
        (&heartbeat, &["/heartbeats"]),
        (&format!("{heartbeat}/edit"), &["/heartbeats"]),
        (&format!("{heartbeat}/delete"), &["/heartbeats"]),
        ("/reports", &["/reports"]),
        ("/reports/2026-W47", &["/reports"]),
        ("/status-pages", &["/status-pages"]),
        (&of_page, &["/status-pages"]),
        (&edit_page, &["/status-pages"]),
        (&of_incident, &["/status-pages"]),
        ("/settings", &["/settings", "/settings/status"]),
        ("/settings/quiet-time", &["/settings", "/settings/quiet-time"]),
        ("/maintenance", &["/settings", "/maintenance"]),
        (&window, &["/settings", "/maintenance"]),
        ("/time-zone", &["/settings", "/time-zone"]),
        ("/name", &["/settings", "/name"]),
        ("/members", &["/settings", "/members"]),
        ("/plan", &["/settings", "/plan"]),
        ("/audit-log", &["/settings", "/audit-log"]),
    ] {
        shown.insert(page_at(&format!("{team}{path}")));
        let response = browser.get(&format!("{team}{path}")).await;
        let page = body(&response);
        for part in parts {
            assert!(page.contains(&here(&format!("{team}{part}"))), "{path}: {page}");
        }
        assert_eq!(page.matches("aria-current=\"page\"").count(), parts.len(), "{path}");
        for word in [
            "Sites",
            "Heartbeats",
            "Issues",
            "Events",
            "Reports",
            "Status pages",
            "Channels",
            "Settings",
        ] {
            assert!(page.contains(&format!(">{word}<")), "{word} on {path}");
        }
        for own in ["/tokens", "/sessions", "/sign-out"] {
            assert!(page.contains(&format!("=\"{own}\"")), "{own} on {path}");
        }
        for address in ways(page) {
            assert_eq!(browser.get(address).await.status(), 200, "{address} on {path}");
            linked.insert(page_at(address));
        }
    }
    let of_team = |page: &&Page| page.method == "GET" && page.path.starts_with("/teams/{team}");
    let is_file = |page: &&Page| page.path.ends_with(".csv");
    let pages: BTreeSet<_> =
        PAGES.iter().filter(of_team).filter(|page| !is_file(page)).map(|page| page.path).collect();
    assert_eq!(shown, pages, "the pages of a team that are looked at here");
    // Forms and reports that another page leads to.
    let opened = [
        "/teams/{team}/channels/{channel}/edit",
        "/teams/{team}/groups",
        "/teams/{team}/heartbeats/new",
        "/teams/{team}/heartbeats/{heartbeat}/delete",
        "/teams/{team}/heartbeats/{heartbeat}/edit",
        "/teams/{team}/maintenance/{window}/edit",
        "/teams/{team}/reports/{period}",
        "/teams/{team}/sites/new",
        "/teams/{team}/status-pages/{status_page}/edit",
        "/teams/{team}/status-pages/{status_page}/incidents/{incident}",
    ];
    let unlinked: Vec<_> = pages.difference(&linked).collect();
    assert_eq!(unlinked, opened.each_ref(), "no navigation leads there");
}
