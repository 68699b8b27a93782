//! The page that shows what happened to a team's sites.

use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;

use crate::results::{HARMLESS, end, status};
use crate::site::watched;
use crate::support::{Browser, said};

#[tokio::test]
async fn events_are_listed_newest_first() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/events", owner.team);
    assert!(said(&browser.get(&path).await).contains("No events yet."));
    // Two failed checks in a row open an issue, and the next good check resolves it.
    for minute in 0..90 {
        end(&service, site, status(if minute % 3 == 0 { 200 } else { 503 }, 9.0)).await;
        service.advance_minutes(1);
    }
    let page = browser.get(&path).await;
    let page = said(&page);
    assert_eq!(page.matches("<li class=\"w\"><span class=\"pill ").count(), 25);
    let rows: Vec<&str> = page.split("<li class=\"w\"><span class=\"pill ").skip(1).collect();
    // The last opening still lasts.
    assert!(
        rows[0].contains("11:23 UTC") && rows[0].contains("<span>Opened</span>"),
        "{}",
        rows[0]
    );
    assert!(
        rows[1].contains("11:21 UTC") && rows[1].contains("<span>Resolved</span>"),
        "{}",
        rows[1]
    );
    assert!(rows[1].contains(HARMLESS) && rows[1].contains("HTTP 503"), "{}", rows[1]);
    assert!(page.contains(&format!("rel=\"next\" href=\"{path}?page=2\"")), "{page}");
    let last = browser.get(&format!("{path}?page=3")).await;
    assert_eq!(said(&last).matches("<li class=\"w\"><span class=\"pill ").count(), 59 - 50);
    assert!(said(&last).contains("rel=\"prev\"") && !said(&last).contains("rel=\"next\""));

    let issue = service.test.app.store.issues_of_site(site.partition()).await.expect("read")[0].id;
    service.resolve(issue, owner.user).await;
    assert!(said(&browser.get(&path).await).contains("<span>Resolved manually</span>"));
    let stranger = new_team(&service.test, Plan::Agency).await;
    let other = Browser::of(&service.test, stranger.user).await;
    assert_eq!(other.get(&path).await.status(), 404);
}
