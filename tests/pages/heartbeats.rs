//! The heartbeats of a team: their list, the page of one, and their forms.

use vedette_domain::accounts::account::Role;
use vedette_testkit::{Member, member_of};
use vedette_tests::Service;

use crate::support::{Browser, body, main_part, said, sent_to, text};

const FORM: &str = "name=Nightly+backup&slug=&notes=Runs+on+db1&tags=team%3Adata+env%3Aprod&schedule=cron&period_minutes=\
                    &cron=0+2+*+*+*&time_zone=Europe%2FBerlin&grace_minutes=30&longest_run_minutes=60&failure_keywords=\
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
    let form = browser.get(&format!("{path}/edit")).await;
    for value in ["45", "env:prod team:data"] {
        assert!(body(&form).contains(&format!("value=\"{value}\"")), "{value}: {}", body(&form));
    }
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
async fn the_form_says_what_a_schedule_means() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let list = format!("/teams/{}/heartbeats", owner.team);
    let preview = format!("{FORM}&do=preview");
    let period = preview
        .replace("schedule=cron&period_minutes=", "schedule=period_minutes&period_minutes=90");
    for (form, meaning, notified) in [
        (
            &preview.replace("Nightly+backup", ""),
            "Every day at 02:00, Europe/Berlin. Next: 21 Nov at 02:00, 22 Nov at 02:00, 23 Nov at 02:00.",
            "If no ping comes for the run on 21 Nov at 02:00, you are notified on 21 Nov at 02:30, 30 min after it should have run.",
        ),
        (
            &preview.replace("0+2+*+*+*", "*/7+*+1+*+*"),
            "At `*/7 * 1 * *`, Europe/Berlin. Next: 1 Dec at 00:00, 1 Dec at 00:07, 1 Dec at 00:14.",
            "you are notified on 1 Dec at 00:30,",
        ),
        (&period, "Every 90 minutes.", "If no ping comes for 2 h, you are notified."),
    ] {
        let page = browser.post(&list, form).await;
        for says in [meaning, notified] {
            assert!(text(said(&page)).contains(says), "{says}: {}", text(said(&page)));
        }
    }
    for (form, why) in [
        (preview.replace("0+2+*+*+*", "%3Cb%3E"), "Must have five fields,"),
        (preview.replace("0+2+*+*+*", ""), "Is required."),
        (period.replace("=90", "="), "Is required."),
        (period.replace("=90", "=0"), "Must be at least 1."),
    ] {
        let page = browser.post(&list, &form).await;
        assert_eq!(page.status(), 422, "{form}");
        let says = text(main_part(&page));
        assert!(says.contains(why) && !says.contains("When you are notified"), "{says}");
        assert!(!body(&page).contains("<b>\""), "{}", body(&page));
    }
    assert!(said(&browser.get(&list).await).contains("No heartbeats yet."), "nothing is saved");

    browser.post(&list, FORM).await;
    let (path, _) = only(&service, &owner).await;
    let edit = format!("{path}/edit");
    assert!(text(said(&browser.get(&edit).await)).contains("Next: 21 Nov at 02:00,"));
    assert!(text(said(&browser.post(&edit, &period).await)).contains("Every 90 minutes."));
    assert_eq!(
        sent_to(&browser.post(&edit, &period.replace("do=", "")).await),
        format!("{path}?notice=saved")
    );
    assert!(said(&browser.get(&path).await).contains("Every 90 minutes"));
    let page = browser.get(&edit).await;
    assert!(text(said(&page)).contains("Every 90 minutes."), "{}", said(&page));
    assert!(said(&page).contains("value=\"period_minutes\" checked"), "{}", said(&page));
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
    let page = text(said(&browser.get(&path).await));
    for says in ["On time", "21 Nov , 01:30 Ping expected 21 Nov , 01:00"] {
        assert!(page.contains(says), "{says}: {page}");
    }
}

#[tokio::test]
async fn members_replace_the_ping_key_and_viewers_only_look() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let list = format!("/teams/{}/heartbeats", owner.team);
    let key = format!("/teams/{}/ping-key", owner.team);
    browser.post(&list, FORM).await;
    let replaced = browser.post(&key, "").await;
    assert_eq!(sent_to(&replaced), format!("{list}?notice=key"));
    assert!(said(&browser.get(&list).await).contains("Replace ping key"));
    let viewer = member_of(&service.test, owner.team, Role::Viewer, &[]).await;
    let mut browser = Browser::of(&service.test, viewer.user).await;
    let page = browser.get(&list).await;
    assert!(said(&page).contains("Nightly backup"));
    assert!(!body(&page).contains("<form method=\"post\" action=\"/teams"), "{}", body(&page));
    assert_eq!(browser.post(&key, "").await.status(), 403);
}
