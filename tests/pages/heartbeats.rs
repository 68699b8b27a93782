//! The heartbeats of a team: their list, the page of one, and their forms.

use vedette_domain::accounts::account::Role;
use vedette_testkit::{Member, member_of};
use vedette_tests::Service;

use crate::support::{Browser, body, said, sent_to};

const FORM: &str = "name=Nightly+backup&slug=&notes=Runs+on+db1&tags=team%3Adata&period_minutes=&cron=0+2+*+*+*\
                    &time_zone=Europe%2FBerlin&grace_minutes=30&longest_run_minutes=60&failure_keywords=\
                    &success_keywords=&start_keywords=";

/// The path of the only heartbeat, and what follows the address in its ping URL.
async fn only(service: &Service, owner: &Member) -> (String, String) {
    let list = service.client(owner).get(&format!("/teams/{}/heartbeats", owner.team)).await;
    let heartbeat = &list.body["data"][0];
    let url = heartbeat["ping_url"].as_str().expect("an address");
    let key = url.rsplit('/').next().expect("a key").to_owned();
    let uuid = heartbeat["uuid"].as_str().expect("an id");
    (format!("/teams/{}/heartbeats/{uuid}", owner.team), key)
}

#[tokio::test]
async fn a_heartbeat_is_added_with_the_form_edited_paused_and_deleted() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let list = format!("/teams/{}/heartbeats", owner.team);
    assert!(said(&browser.get(&list).await).contains("No heartbeats yet."));
    let form = browser.get(&format!("{list}/new")).await;
    assert!(body(&form).contains("name=\"cron\""), "{}", body(&form));
    let refused = browser.post(&list, &FORM.replace("0+2+*+*+*", "never")).await;
    assert_eq!(refused.status(), 422);
    assert!(body(&refused).contains("value=\"never\""), "what was entered is kept");
    let added = browser.post(&list, FORM).await;
    let (path, key) = only(&service, &owner).await;
    assert_eq!(sent_to(&added), format!("{path}?notice=added"));

    let page = browser.get(&path).await;
    for text in
        ["Not pinged yet", "Waiting for the first ping", &key, "Runs on db1", "Every day at 02:00"]
    {
        assert!(body(&page).contains(text), "{text}: {}", said(&page));
    }
    let edited = browser
        .post(&format!("{path}/edit"), &FORM.replace("grace_minutes=30", "grace_minutes=45"))
        .await;
    assert_eq!(sent_to(&edited), format!("{path}?notice=saved"));
    assert!(body(&browser.get(&format!("{path}/edit")).await).contains("value=\"45\""));
    for (verb, text) in [("pause", "Paused"), ("resume", "Not pinged yet")] {
        let changed = browser.post(&format!("{path}/{verb}"), "").await;
        assert_eq!(changed.status(), 303, "{verb}");
        assert!(said(&browser.get(&list).await).contains(text), "{verb}");
    }
    assert!(said(&browser.get(&format!("{path}/delete")).await).contains("Nightly backup"));
    let deleted = browser.post(&format!("{path}/delete"), "").await;
    assert_eq!(sent_to(&deleted), format!("{list}?notice=deleted"));
    assert_eq!(browser.get(&path).await.status(), 404);
    assert_eq!(service.ping(&key).await.status, 404);
}

#[tokio::test]
async fn the_pages_show_what_a_job_reports() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let list = format!("/teams/{}/heartbeats", owner.team);
    browser.post(&list, FORM).await;
    let (path, key) = only(&service, &owner).await;
    service.ping(&format!("{key}/start")).await;
    service.advance_minutes(3);
    service.ping_with(&format!("{key}/1"), "connected\n<b>disk full</b>\n").await;
    let page = browser.get(&path).await;
    for text in ["Failed", "3 min", "disk full", "View issue", "Acknowledge"] {
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }
    assert!(!body(&page).contains("<b>disk"), "output is text");
    let all = browser.get(&list).await;
    for text in ["1 job failed", "Nightly backup", "Every day at 02:00"] {
        assert!(said(&all).contains(text), "{text}: {}", said(&all));
    }
    assert!(!said(&browser.get(&format!("{list}?state=late")).await).contains("Nightly backup"));
    let issues = browser.get(&format!("/teams/{}/issues", owner.team)).await;
    assert!(said(&issues).contains("Nightly backup"), "{}", said(&issues));
    service.ping(&key).await;
    assert!(said(&browser.get(&path).await).contains("On time"));
}

#[tokio::test]
async fn members_replace_the_ping_key_and_viewers_only_look() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let list = format!("/teams/{}/heartbeats", owner.team);
    browser.post(&list, FORM).await;
    let replaced = browser.post(&format!("{list}/key"), "").await;
    assert_eq!(sent_to(&replaced), format!("{list}?notice=key"));
    assert!(said(&browser.get(&list).await).contains("Replace ping key"));
    let viewer = member_of(&service.test, owner.team, Role::Viewer, &[]).await;
    let mut browser = Browser::of(&service.test, viewer.user).await;
    let page = browser.get(&list).await;
    assert!(said(&page).contains("Nightly backup"));
    assert!(!body(&page).contains("<form method=\"post\" action=\"/teams"), "{}", body(&page));
    assert_eq!(browser.post(&format!("{list}/key"), "").await.status(), 403);
}
