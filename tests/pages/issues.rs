//! An issue, from the sign-in to its end.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::Filter;
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{IssueId, SiteId};
use vedette_domain::issues::IssueStatus;
use vedette_domain::issues::record::Issue;
use vedette_domain::locations::NoVote;
use vedette_notifier::send::SendOutcome;
use vedette_testkit::channels::{add_channel, chat, mail};
use vedette_testkit::{Member, TestLocations, WebServer, member_of, new_team};
use vedette_tests::Service;

use crate::results::{certificate, end};
use crate::site::watched;
use crate::sites::after;
use crate::support::{Browser, main_part, said, sent_to, text};

/// A site that has failed once, which opened an issue.
pub(crate) async fn broken(service: &Service, owner: &Member) -> (WebServer, IssueId) {
    let target = WebServer::start().await;
    target.answer(503);
    let body = json!({
        "url": target.url,
        "name": "<b onclick=x>\u{200f}",
        "notes": "<script>alert(1)</script>",
        "monitoring_settings": { "tools": { "status": { "settings": { "failures_to_open": 1 } } } },
    });
    let created = service.client(owner).post(&format!("/teams/{}/sites", owner.team), &body).await;
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    service.consume().await;
    let issues = service.test.app.store.issues_of_site(site.partition()).await.expect("read");
    (target, issues[0].id)
}

async fn stored(service: &Service, id: IssueId) -> Issue {
    let found = service.test.app.store.issue(id.partition(), id.fingerprint()).await;
    found.expect("read").expect("an issue")
}

#[tokio::test]
async fn a_member_signs_in_and_handles_an_issue() {
    let (service, owner) = Service::with_team().await;
    let (_target, id) = broken(&service, &owner).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let list = browser.get("/").await;
    let site = browser.get(&format!("/sites/{}", after(said(&list), "href=\"/sites/"))).await;
    let path = format!("/issues/{}", after(said(&site), "href=\"/issues/"));
    assert_eq!(path, format!("/issues/{id}"));
    let page = browser.get(&path).await;
    for text in [
        "HTTP 503",
        "<span class=\"tag\">Critical</span>",
        "<b>A check</b> opened the issue",
        "Acknowledge</button>",
        "<th scope=\"row\">Response</th><td><span class=\"only\">At opening</span>503 Service Unavailable</td>",
    ] {
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }

    assert_eq!(sent_to(&browser.post(&format!("{path}/acknowledge"), "").await), path);
    let page = browser.get(&path).await;
    assert!(said(&page).contains("Acknowledged by Ada."));
    assert!(!said(&page).contains("Acknowledge</button>"));
    assert_eq!(stored(&service, id).await.status(), IssueStatus::Acknowledged);

    assert_eq!(sent_to(&browser.post(&format!("{path}/unacknowledge"), "").await), path);
    let page = browser.get(&path).await;
    assert!(text(said(&page)).contains("Not acknowledged"), "{}", said(&page));
    assert_eq!(stored(&service, id).await.status(), IssueStatus::Open);
    assert_eq!(browser.post(&format!("{path}/unacknowledge"), "").await.status(), 409);
    sent_to(&browser.post(&format!("{path}/acknowledge"), "").await);

    assert_eq!(sent_to(&browser.post(&format!("{path}/snooze"), "hours=4").await), path);
    assert!(said(&browser.get(&path).await).contains("No reminders until"));
    assert!(stored(&service, id).await.snoozed_until.is_some());
    for wrong in ["hours=5", "hours=-1", ""] {
        assert_eq!(browser.post(&format!("{path}/snooze"), wrong).await.status(), 400, "{wrong}");
    }
    sent_to(&browser.post(&format!("{path}/snooze"), "hours=0").await);
    assert_eq!(stored(&service, id).await.snoozed_until, None);

    sent_to(&browser.post(&format!("{path}/resolve"), "").await);
    let page = browser.get(&path).await;
    assert!(said(&page).contains("<b><bdi>Ada</bdi></b> resolved it"));
    assert!(said(&page).contains("Resolved by Ada after "), "{}", said(&page));
    assert!(said(&page).contains(" was down: HTTP 503") && !said(&page).contains(" is down: "));
    assert_eq!(said(&page).matches("<form").count(), 1, "a note may still be added");
    let stored = stored(&service, id).await;
    assert_eq!(stored.lifecycle.resolved_by(), Some(owner.user));
    // Somebody else was faster.
    for verb in ["acknowledge", "unacknowledge", "resolve", "snooze"] {
        let late = browser.post(&format!("{path}/{verb}"), "hours=1").await;
        assert_eq!(late.status(), 409, "{verb}");
        assert!(main_part(&late).contains("Nothing was changed: an issue that is resolved"));
    }
}

#[tokio::test]
async fn an_issue_is_acknowledged_where_it_stands_above_the_sites() {
    let (service, owner) = Service::with_team().await;
    let (_target, id) = broken(&service, &owner).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}", owner.team);
    let list = browser.get(&path).await;
    let shown = text(said(&list));
    assert!(shown.contains("Not acknowledged Acknowledge"), "{shown}");
    let form = format!(
        "action=\"/issues/{id}/acknowledge\"><input type=\"hidden\" name=\"then\" value=\"list\">"
    );
    assert!(said(&list).contains(&form), "{}", said(&list));
    let taken = browser.post(&format!("/issues/{id}/acknowledge"), "then=list").await;
    let list = browser.get(sent_to(&taken)).await;
    let shown = text(said(&list));
    for words in ["Issue acknowledged.", "A Acknowledged by Ada"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!said(&list).contains("/acknowledge\""), "{}", said(&list));
    // A refusal does not redirect the browser to the list.
    let late = browser.post(&format!("/issues/{id}/acknowledge"), "then=list").await;
    assert_eq!(late.status(), 409);
}

#[tokio::test]
async fn a_team_lists_its_issues_by_whether_they_are_open() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/issues", owner.team);
    assert!(
        text(said(&browser.get(&path).await))
            .starts_with("No open issues Open 0 Resolved 0 Outages")
    );
    let (_target, id) = broken(&service, &owner).await;
    let is_shown = async |browser: &Browser<'_>, state: &str| {
        let page = browser.get(&format!("{path}?state={state}")).await;
        said(&page).contains(&format!("href=\"/issues/{id}\""))
    };
    let page = browser.get(&path).await;
    let page = text(said(&page));
    assert!(
        page.starts_with("1 open issue Open 1 Resolved 0 Outages Open <b onclick=x>"),
        "{page}"
    );
    assert!(page.contains("· Not acknowledged"), "{page}");
    assert!(is_shown(&browser, "open").await && !is_shown(&browser, "resolved").await);
    sent_to(&browser.post(&format!("/issues/{id}/resolve"), "").await);
    assert!(!is_shown(&browser, "open").await && is_shown(&browser, "resolved").await);
    let page = browser.get(&format!("{path}?state=resolved")).await;
    assert!(text(said(&page)).contains(" was down: HTTP 503"), "{}", text(said(&page)));
    assert!(is_shown(&browser, "resolved&page=2").await, "the last page");
}

#[tokio::test]
async fn a_note_stays_with_its_issue_and_tells_no_channel() {
    let (service, owner) = Service::with_team().await;
    let (target, id) = broken(&service, &owner).await;
    add_channel(&service.test.app, owner.team, ("Ops", chat()), Filter::default()).await;
    service.deliver_alerts().await;
    service.receivers.take();
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/issues/{id}");
    let form = "note=+The+<b>database</b>+is+full.%0D%0AGrace+is+at+it.+";
    assert_eq!(sent_to(&browser.post(&format!("{path}/note"), form).await), path);
    let page = browser.get(&path).await;
    let text = "<bdi>Ada</bdi></b> added a note</p><p class=\"quote text\">The &lt;b&gt;database&lt;/b&gt; is full.\nGrace is at it.</p>";
    assert!(said(&page).contains(text), "{}", said(&page));
    service.deliver_alerts().await;
    assert!(service.receivers.take_lines().is_empty());
    for (form, why) in [
        ("note=+%0A+".to_owned(), "Is required"),
        (format!("note={}", "x".repeat(501)), "Must not be longer than 500 characters"),
    ] {
        let refused = browser.post(&format!("{path}/note"), &form).await;
        assert_eq!(refused.status(), 422);
        let problem = format!("id=\"note-problem\" role=\"alert\">{why}.");
        assert!(main_part(&refused).contains(&problem), "{}", main_part(&refused));
    }
    // It remains when the issue is resolved, and when it opens again.
    target.answer(200);
    service.consume().await;
    sent_to(&browser.post(&format!("{path}/resolve"), "").await);
    assert_eq!(stored(&service, id).await.notes.len(), 1);
    for number in 0..12 {
        sent_to(&browser.post(&format!("{path}/note"), &format!("note=number+{number}")).await);
    }
    let notes = stored(&service, id).await.notes;
    let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!((texts.len(), texts[0], texts[9]), (10, "number 2", "number 11"));
}

#[tokio::test]
async fn texts_of_strangers_stay_texts() {
    let (service, owner) = Service::with_team().await;
    let (_target, id) = broken(&service, &owner).await;
    let browser = Browser::of(&service.test, owner.user).await;
    let site =
        service.test.app.store.issue_with_monitor(id).await.expect("read").expect("one").monitor;
    for path in ["/".to_owned(), format!("/sites/{}", site.id()), format!("/issues/{id}")] {
        // Every page is searched for anything that a browser could execute.
        let page = browser.get(&path).await;
        assert!(said(&page).contains("&lt;b onclick=x&gt;\u{200f}"), "{path}: {}", said(&page));
    }
}

#[tokio::test]
async fn an_issue_is_for_its_team_and_decided_by_who_may() {
    let (service, owner) = Service::with_team().await;
    let (_target, id) = broken(&service, &owner).await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    let viewer = member_of(&service.test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut other = Browser::of(&service.test, stranger.user).await;
    let mut viewing = Browser::of(&service.test, viewer.user).await;
    let before = stored(&service, id).await;
    let path = format!("/issues/{id}");
    assert_eq!(other.get(&path).await.status(), 404);
    assert!(!said(&viewing.get(&path).await).contains("<form"));
    for verb in ["acknowledge", "unacknowledge", "resolve", "snooze", "note"] {
        let path = format!("{path}/{verb}");
        assert_eq!(other.post(&path, "hours=1").await.status(), 404, "{verb}");
        assert_eq!(viewing.post(&path, "hours=1").await.status(), 403, "{verb}");
        let mut nobody = Browser::new(&service.test);
        assert_eq!(sent_to(&nobody.post(&path, "hours=1").await), "/sign-in", "{verb}");
    }
    assert_eq!(stored(&service, id).await, before);
}

#[tokio::test]
async fn the_page_shows_how_other_locations_voted() {
    let (mut service, owner) = Service::with_team().await;
    let locations = TestLocations::default();
    locations.sees("eu-west-1", Ok(503));
    locations.sees("us-east-1", Err(NoVote::Offline));
    service.test.app.remote_checks = locations.port();
    let (_target, id) = broken(&service, &owner).await;
    let browser = Browser::of(&service.test, owner.user).await;
    let page = browser.get(&format!("/issues/{id}")).await;
    for text in [
        "<h3 class=\"in\">From other locations</h3>",
        "<dt>eu-west-1</dt><dd>Down: <bdi>HTTP 503 in 41 ms</bdi></dd>",
        "<dt>us-east-1</dt><dd>No result: it <bdi>had no connection of its own</bdi></dd>",
    ] {
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }
}

/// Has the site of an issue answer with a status, and its status check run five minutes later.
async fn check(service: &Service, target: &WebServer, id: IssueId, status: u16) {
    let found =
        service.test.app.store.issue_with_monitor(id).await.expect("read").expect("an issue");
    target.answer(status);
    service.advance_minutes(5);
    service.run_scheduled(found.monitor.id(), Tool::Status).await;
}

#[tokio::test]
async fn an_issue_compares_its_checks_and_shows_their_responses() {
    let (service, owner) = Service::with_team().await;
    let (target, id) = broken(&service, &owner).await;
    // Two successes resolve it.
    check(&service, &target, id, 200).await;
    check(&service, &target, id, 200).await;
    assert_eq!(stored(&service, id).await.status(), IssueStatus::Resolved);
    check(&service, &target, id, 404).await;
    target.say("<script>alert(1)</script> closed");
    check(&service, &target, id, 500).await;
    let browser = Browser::of(&service.test, owner.user).await;
    let page = browser.get(&format!("/issues/{id}")).await;
    let shown = text(said(&page));
    for words in [
        "Last good At opening Now",
        "Newest response",
        "HTTP/1.1 500 Internal Server Error",
        "set-cookie: [redacted]",
        "Response at opening, ",
        "HTTP/1.1 404 Not Found",
        "An earlier good response, ",
        "Last good check : HTTP 200 in ",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let row = "At opening 404 Not Found Now 500 Internal Server Error";
    assert!(shown.contains(row), "{row}: {shown}");
    assert!(
        said(&page).contains("&lt;script&gt;alert(1)&lt;/script&gt; closed"),
        "{}",
        said(&page)
    );
    // The status line of the last good check is not marked as a failure.
    let (_, good) =
        said(&page).split_once("class=\"in rule good\">").expect("the last good response");
    assert!(text(good).contains("HTTP/1.1 200 OK"), "{good}");
    // The first opening keeps what it said, whatever the issue says now.
    assert!(shown.contains("A check opened the issue") && shown.contains("HTTP 503"), "{shown}");
    assert!(shown.contains("HTTP 404"), "{shown}");

    let events = browser.get(&format!("/teams/{}/events", owner.team)).await;
    let events = text(said(&events));
    assert!(events.contains("is down: HTTP 404"), "{events}");
    assert_eq!(events.matches("was down: HTTP 503").count(), 2, "{events}");
}

#[tokio::test]
async fn the_last_good_response_is_that_of_the_last_good_check() {
    let (service, owner) = Service::with_team().await;
    let (target, id) = broken(&service, &owner).await;
    // The first good response is kept.
    check(&service, &target, id, 200).await;
    check(&service, &target, id, 404).await;
    let browser = Browser::of(&service.test, owner.user).await;
    let shown = text(said(&browser.get(&format!("/issues/{id}")).await));
    assert!(shown.contains("Last good response, 20 Nov, 09:59:00 UTC"), "{shown}");
    assert!(!shown.contains("An earlier good response"), "{shown}");
}

#[tokio::test]
async fn headings_say_how_long_a_certificate_is_still_valid() {
    let (service, owner, site) = watched().await;
    let mut finish = certificate();
    let Finish::Completed(ToolResult::Ssl(result)) = &mut finish else { unreachable!() };
    (result.valid_to, result.days_left) = (Some("2026-11-25 12:00:00".to_owned()), 5);
    end(&service, site, finish.clone()).await;
    service.advance_minutes(5);
    end(&service, site, finish).await;
    let issues = service.test.app.store.issues_of_site(site.partition()).await.expect("read");
    let id = issues.iter().find(|issue| issue.lifecycle.is_active()).expect("an issue").id;
    let browser = Browser::of(&service.test, owner.user).await;
    let words = "The certificate of a.test expires in 5 days";
    for path in [
        format!("/issues/{id}"),
        format!("/sites/{site}"),
        format!("/teams/{}", owner.team),
        format!("/teams/{}/issues", owner.team),
    ] {
        let page = browser.get(&path).await;
        assert!(text(said(&page)).contains(words), "{path}: {}", text(said(&page)));
    }
    service.test.set_clock("2026-11-25T09:30:00Z".parse().expect("a timestamp"));
    let page = browser.get(&format!("/issues/{id}")).await;
    assert!(text(said(&page)).contains("expires in 2 hours"), "{}", text(said(&page)));
}

#[tokio::test]
async fn the_timeline_says_who_was_notified_and_what_people_did() {
    let (service, owner) = Service::with_team().await;
    let app = &service.test.app;
    add_channel(app, owner.team, ("Ops", chat()), Filter::default()).await;
    let pager = add_channel(app, owner.team, ("Pager", mail()), Filter::default()).await;
    service.receivers.answer(pager.id, SendOutcome::refused("HTTP 400 <b>"));
    let (_target, id) = broken(&service, &owner).await;
    service.deliver_alerts().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/issues/{id}");
    for (verb, form) in
        [("acknowledge", ""), ("unacknowledge", ""), ("snooze", "hours=4"), ("snooze", "hours=0")]
    {
        assert_eq!(sent_to(&browser.post(&format!("{path}/{verb}"), form).await), path, "{verb}");
    }
    let page = browser.get(&path).await;
    let shown = text(said(&page));
    for words in [
        "Vedette notified Ops",
        "Could not notify Pager : HTTP 400",
        "Ada acknowledged it",
        "Ada undid the acknowledgement",
        "Ada paused reminders until ",
        "Ada resumed reminders",
        "Not acknowledged",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(said(&page).contains("<h2>Notifications</h2>"), "{}", said(&page));
    let issue = stored(&service, id).await;
    assert_eq!((issue.status(), issue.acts.len()), (IssueStatus::Open, 3));
    // It can be acknowledged again.
    sent_to(&browser.post(&format!("{path}/acknowledge"), "").await);
    assert_eq!(stored(&service, id).await.status(), IssueStatus::Acknowledged);
}
