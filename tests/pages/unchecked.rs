//! A site that can't be checked says so, with the reason and what to do.

use crate::failing::Watched;
use crate::sites::add;
use crate::support::{Browser, body, said, text};

#[tokio::test]
async fn a_site_that_cannot_be_checked_says_why_and_what_to_do() {
    let watched = Watched::start().await;
    let (service, team) = (&watched.service, watched.owner.team);
    let mut browser = Browser::of(&service.test, watched.owner.user).await;
    let site = watched.site(&mut browser, 200).await;
    let list = browser.get("/").await;
    assert!(!text(said(&list)).contains("Can’t check"), "no site is in this state");
    // The newest site is found by its time.
    service.advance_minutes(1);
    let forbidden = add(&mut browser, service, team, "http://10.1.2.3").await;
    service.consume().await;

    let list = browser.get("/").await;
    let shown = text(said(&list));
    for words in ["One of 2 sites can’t be checked", "One is up.", "Can’t check 1", "10.1.2.3"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(body(&list).contains("/assets/icon-up-"), "the other site is up");
    let filtered = browser.get("/?state=unchecked").await;
    let filtered = said(&filtered);
    assert!(filtered.contains(&format!("/sites/{forbidden}")), "{filtered}");
    assert!(!filtered.contains(&format!("/sites/{site}")), "{filtered}");

    let page = browser.get(&format!("/sites/{forbidden}")).await;
    let shown = text(said(&page));
    for words in [
        "Can’t check http://10.1.2.3",
        "Can’t be checked for ",
        "Tried ",
        "Can’t be checked: ",
        "VEDETTE_ALLOW_TARGETS",
        "the owners of the team are notified once",
        "View check",
        "Edit site",
        "Status Could not run Could not run: ",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(body(&page).contains("/assets/icon-unknown-"), "{}", body(&page));
    assert!(body(&page).contains("<title>10.1.2.3 can’t be checked · "), "{}", body(&page));

    // A paused site is only paused.
    browser.post(&format!("/sites/{forbidden}/pause"), "").await;
    let page = browser.get(&format!("/sites/{forbidden}")).await;
    assert!(!text(said(&page)).contains("Can’t be checked"), "{}", said(&page));
}
