//! No page says that a site is up if its newest status check failed, whether or not an issue is active.

use serde_json::json;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{IssueId, SiteId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::time;
use vedette_domain::time_zone::NamedZone;
use vedette_testkit::{Member, WebServer};
use vedette_tests::Service;

use crate::sites::add;
use crate::support::{Browser, said, sent_to, text};

/// A service that monitors one site, and a browser that looks at the pages.
pub(crate) struct Watched {
    pub(crate) service: Service,
    pub(crate) owner: Member,
    pub(crate) target: WebServer,
}

impl Watched {
    pub(crate) async fn start() -> Self {
        let (service, owner) = Service::with_team().await;
        Self { service, owner, target: WebServer::start().await }
    }

    /// Adds the site, which answers with this code, and runs its first check.
    pub(crate) async fn site(&self, browser: &mut Browser<'_>, code: u16) -> SiteId {
        self.target.answer(code);
        let site = add(browser, &self.service, self.owner.team, &self.target.url).await;
        self.service.consume().await;
        site
    }

    /// Runs the next scheduled check, which finds this code.
    pub(crate) async fn check(&self, site: SiteId, code: u16) {
        self.target.answer(code);
        self.service.advance_minutes(5);
        self.service.run_scheduled(site, Tool::Status).await;
        self.service.waiting();
    }

    /// The id of the site's status issue.
    pub(crate) async fn issue(&self, site: SiteId) -> IssueId {
        let store = &self.service.test.app.store;
        let issue = store.issue(site.partition(), Fingerprint::StatusDown).await.expect("read");
        issue.expect("an issue").id
    }
}

/// Asserts that the list and the site's page show it in the same state; the list counts it in that state only.
async fn assert_shown(browser: &Browser<'_>, site: SiteId, state: &str, on_page: &str) {
    let list = browser.get("/").await;
    let list = said(&list);
    for word in ["Down", "Failing", "Issues", "Up", "Paused"] {
        let count = format!("<span>{word}</span></span><b>{}</b>", u8::from(word == state));
        assert!(list.contains(&count), "{count}: {list}");
    }
    let filtered = browser.get(&format!("/?state={}", state.to_lowercase())).await;
    assert!(said(&filtered).contains(&format!("/sites/{site}")), "{}", said(&filtered));
    let page = browser.get(&format!("/sites/{site}")).await;
    let shown = text(said(&page));
    for words in [format!(" {state} http://"), on_page.to_owned()] {
        assert!(shown.contains(&words), "{words}: {shown}");
    }
}

#[tokio::test]
async fn a_site_that_fails_below_the_threshold_is_failing_until_the_issue_opens() {
    let watched = Watched::start().await;
    let mut browser = Browser::of(&watched.service.test, watched.owner.user).await;
    let site = watched.site(&mut browser, 200).await;
    assert_shown(&browser, site, "Up", "No issues so far.").await;

    watched.check(site, 503).await;
    assert_shown(&browser, site, "Failing", "Failing, 1 of 2, checks again at ").await;
    let list = browser.get("/").await;
    let list = text(said(&list));
    assert!(list.contains("Your site is failing"), "{list}");
    // This is the time of the check that will confirm it or not.
    let store = &watched.service.test.app.store;
    let stored = store.site(site.partition()).await.expect("read").expect("a site");
    let due = stored.tools[&Tool::Status].timer.expect("a retry").due;
    let said_of_it = format!("1 of 2, checks again at {} ·", time::clock(due, &NamedZone::utc()));
    assert!(list.contains(&said_of_it), "{said_of_it}: {list}");
    let page = browser.get(&format!("/sites/{site}")).await;
    assert!(!said(&page).contains("No issues so far."), "{}", said(&page));

    watched.check(site, 503).await;
    assert_shown(&browser, site, "Down", "Down for ").await;

    watched.check(site, 200).await;
    assert_shown(&browser, site, "Up", "Up for ").await;
}

#[tokio::test]
async fn every_page_counts_an_outage_from_its_first_failed_check() {
    let watched = Watched::start().await;
    let mut browser = Browser::of(&watched.service.test, watched.owner.user).await;
    let site = watched.site(&mut browser, 200).await;
    // The issue opens five minutes after the first failed check.
    watched.check(site, 503).await;
    watched.check(site, 503).await;
    watched.service.advance_minutes(10);
    let issue = watched.issue(site).await;
    let team = watched.owner.team;
    for (page, words) in [
        ("/".to_owned(), &["Down for 15 min", "For 15 min"][..]),
        (format!("/sites/{site}"), &["Down for 15 min", "for 15 min"]),
        (format!("/issues/{issue}"), &["15 min Since"]),
        (format!("/teams/{team}/issues"), &["15 min 15 min ago"]),
    ] {
        let shown = browser.get(&page).await;
        let shown = text(said(&shown));
        for words in words {
            assert!(shown.contains(words), "{page}: {words}: {shown}");
        }
    }
}

#[tokio::test]
async fn a_site_whose_issue_was_resolved_by_hand_is_failing_while_it_fails() {
    let watched = Watched::start().await;
    let mut browser = Browser::of(&watched.service.test, watched.owner.user).await;
    let site = watched.site(&mut browser, 503).await;
    watched.check(site, 503).await;
    let resolve = format!("/issues/{}/resolve", watched.issue(site).await);
    sent_to(&browser.post(&resolve, "").await);
    assert_shown(&browser, site, "Failing", "Failing for ").await;

    watched.check(site, 503).await;
    assert_shown(&browser, site, "Failing", "Failing, 1 of 2, checks again at ").await;
    watched.check(site, 200).await;
    assert_shown(&browser, site, "Up", "Up for ").await;
}

#[tokio::test]
async fn a_failing_site_that_is_paused_is_paused_and_failing_again_when_it_is_resumed() {
    let watched = Watched::start().await;
    let mut browser = Browser::of(&watched.service.test, watched.owner.user).await;
    let site = watched.site(&mut browser, 503).await;
    for (verb, state) in [("pause", "Paused"), ("resume", "Failing")] {
        sent_to(&browser.post(&format!("/sites/{site}/{verb}"), "").await);
        assert_shown(&browser, site, state, "").await;
    }
}

#[tokio::test]
async fn a_code_that_opens_no_issue_does_not_fail() {
    let watched = Watched::start().await;
    let mut browser = Browser::of(&watched.service.test, watched.owner.user).await;
    let site = watched.site(&mut browser, 404).await;
    assert_shown(&browser, site, "Failing", "").await;
    let codes =
        json!({ "tools": { "status": { "settings": { "incident_status_codes": [503] } } } });
    let body = json!({ "url": watched.target.url, "monitoring_settings": codes });
    let client = watched.service.client(&watched.owner);
    let changed = client.patch(&format!("/sites/{site}"), &body).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_shown(&browser, site, "Failing", "").await;
    // The next check decides: 404 is no success in the uptime report, and no failure here.
    watched.check(site, 404).await;
    assert_shown(&browser, site, "Up", "").await;
}
