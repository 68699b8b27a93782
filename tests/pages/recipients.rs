//! Recipients of reports: members add and remove them, and their readers confirm and unsubscribe.

use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::mail::TransactionalMailKind;
use vedette_domain::message::{MailRequest, ReconcileMessage};
use vedette_domain::reports::{ReportKind, ReportList};
use vedette_testkit::{Member, TestApp, member_of, new_team};

use crate::mail::{asked, email_of, only_mail, sent_mails, start};
use crate::support::{Browser, ask, main_part, said, text};

/// A service that sends email, a team, and the page of its reports.
async fn team() -> (TestApp, Member, String) {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let path = format!("/teams/{}/reports", owner.team);
    (test, owner, path)
}

/// What the page says about recipients.
async fn shown(browser: &Browser<'_>, path: &str) -> String {
    let page = browser.get(path).await;
    let content = text(said(&page));
    content.split_once("Recipients").map(|(_, rest)| rest.trim().to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn a_recipient_is_added_confirms_and_unsubscribes() {
    let (test, owner, path) = team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let add = format!("/teams/{}/recipients", owner.team);
    let form = "email=Kate%40example.com&kind=month&group=Shops+%3Cb%3E";
    let refused = browser.post(&add, form).await;
    assert_eq!(refused.status(), 400);
    insta::assert_snapshot!(text(main_part(&refused)), @"Something went wrong The team has no such group.");
    let groups = format!("/teams/{}/groups", owner.team);
    browser.post(&groups, "rev=0&groups.0.name=Shops+%3Cb%3E&groups.0.selector=shop").await;
    let refused = browser.post(&add, &form.replace("%40", "")).await;
    assert_eq!(refused.status(), 422);
    assert!(main_part(&refused).contains("Shops &lt;b&gt;"), "{}", main_part(&refused));
    let added = browser.post(&add, form).await;
    assert_eq!(added.headers()["location"], format!("{path}?notice=asked"));
    insta::assert_snapshot!(shown(&browser, &path).await, @"Recipients get each new report by email. They need not be members. Kate@example.com Monthly reports about “Shops <b>” · Waiting for confirmation Remove Kate@example.com Email address Reports Monthly Weekly About All sites Shops <b> Add recipient");
    let (mail, confirm) = only_mail(&test).await;
    assert_eq!(mail.to, "Kate@example.com");
    let reports = ReportList { kind: ReportKind::Month, group: Some("Shops <b>".to_owned()) };
    let TransactionalMailKind::Recipient { reports: asked, .. } = mail.mail.kind else {
        panic!("another email")
    };
    assert_eq!(asked, reports);
    insta::assert_snapshot!(text(said(&ask(&test, "GET", &confirm).await)), @"Confirm your subscription Send the monthly reports about “Shops <b>” of the team Observers to Kate@example.com ? Confirm");
    for _ in 0..2 {
        let answer = ask(&test, "POST", &confirm).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(text(said(&answer)), @"You are subscribed From now on, the monthly reports about “Shops <b>” of the team Observers are sent to Kate@example.com . Each of these emails has a link to unsubscribe.");
        }
    }
    insta::assert_snapshot!(shown(&browser, &path).await, @"Recipients get each new report by email. They need not be members. Kate@example.com Monthly reports about “Shops <b>” Remove Kate@example.com Email address Reports Monthly Weekly About All sites Shops <b> Add recipient");
    // Who is added again is not asked again.
    browser.post(&add, form).await;
    assert!(sent_mails(&test).await.is_empty());
    browser.post(&groups, "rev=1").await;
    insta::assert_snapshot!(shown(&browser, &path).await, @"Recipients get each new report by email. They need not be members. Kate@example.com Monthly reports about “Shops <b>” · There is no such group, so nothing is sent Remove Kate@example.com Email address Reports Monthly Weekly Add recipient");
    let end = confirm.replace("/confirm", "/unsubscribe");
    insta::assert_snapshot!(text(said(&ask(&test, "GET", &end).await)), @"Unsubscribe Stop sending the monthly reports about “Shops <b>” of the team Observers to Kate@example.com ? Unsubscribe");
    // An email program asks without cookies, the second time in vain.
    for _ in 0..2 {
        let answer = ask(&test, "POST", &end).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(text(said(&answer)), @"You are not subscribed No more of these emails are sent to your address. If you still get some, open the complete link in one of them.");
        }
    }
    assert_eq!(shown(&browser, &path).await.matches("kate").count(), 0);
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    let log = text(said(&log));
    for entry in ["Added the recipient", "Confirmed the recipient", "Unsubscribed the recipient"] {
        let entry = format!("{entry} Kate@example.com , for monthly reports about “Shops <b>”");
        assert!(log.contains(&entry), "{entry}: {log}");
    }
}

#[tokio::test]
async fn a_member_adds_their_own_address_without_an_email_and_removes_it() {
    let (test, owner, path) = team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let email = email_of(&test, &owner).await.replace('@', "%40");
    let added = browser
        .post(&format!("/teams/{}/recipients", owner.team), &format!("email={email}&kind=week"))
        .await;
    assert_eq!(added.headers()["location"], format!("{path}?notice=added"));
    assert!(asked(&test).is_empty());
    let page = browser.get(&path).await;
    let page = said(&page);
    assert!(page.contains("Weekly reports") && !page.contains("Waiting for"), "{page}");
    let action = page.split("action=\"").find(|form| form.contains("/remove\"")).expect("a form");
    let remove = action.split('"').next().expect("a path");
    let removed = browser.post(remove, "").await;
    assert_eq!(removed.headers()["location"], format!("{path}?notice=removed"));
    assert_eq!(browser.post(remove, "").await.status(), 404);
    let recipients = vedette_actions::recipients(&test.app, owner.team).await.expect("read");
    assert_eq!(recipients, []);
}

#[tokio::test]
async fn only_who_manages_channels_changes_recipients() {
    let (test, owner, path) = team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let add = format!("/teams/{}/recipients", owner.team);
    for wrong in ["", "email=kate", "email=kate%40example.com%0d%0aBcc:x%40y"] {
        let refused = browser.post(&add, wrong).await;
        assert_eq!(refused.status(), 422, "{wrong}");
        assert!(main_part(&refused).contains("Expected an address"), "{}", main_part(&refused));
    }
    browser.post(&add, "email=kate%40example.com").await;
    let viewer = member_of(&test, owner.team, Role::Viewer, &[]).await;
    let mut other = Browser::of(&test, viewer.user).await;
    let page = other.get(&path).await;
    let page = said(&page);
    assert!(page.contains("kate@example.com") && !page.contains("Remove"), "{page}");
    assert_eq!(other.post(&add, "email=ada%40example.com").await.status(), 403);
    // A mailbox is asked six times a day, for all lists together.
    for number in 0..5 {
        let form = format!("email=kate%2B{number}%40example.com");
        assert_eq!(browser.post(&add, &form).await.status(), 303, "{number}");
    }
    let refused = browser.post(&add, "email=kate%2B9%40example.com").await;
    assert_eq!(refused.status(), 422);
    assert!(main_part(&refused).contains("Too many emails were sent to this address"));
}

#[tokio::test]
async fn a_member_has_a_report_sent_to_their_address() {
    let (mut test, owner, path) = team().await;
    test.set_clock("2026-11-30T06:00:00Z".parse().expect("a timestamp"));
    let message = ReconcileMessage::Report(owner.team);
    vedette_reconciler::handle(&test.app, &message).await.expect("made");
    let viewer = member_of(&test, owner.team, Role::Viewer, &[]).await;
    let mut browser = Browser::of(&test, viewer.user).await;
    let page = format!("{path}/2026-W48");
    assert!(said(&browser.get(&page).await).contains("Send me this report now"));
    let sent = browser.post(&format!("{page}/send"), "").await;
    assert_eq!(sent.headers()["location"], format!("{page}?notice=sent"));
    assert!(said(&browser.get(&format!("{page}?notice=sent")).await).contains("on its way"));
    let (mail, link) = only_mail(&test).await;
    assert_eq!((mail.to, link), (email_of(&test, &viewer).await, page.clone()));
    assert!(matches!(mail.mail.kind, TransactionalMailKind::Report(_)));
    let sent = browser.post(&format!("{page}/send"), "group=Shops+%26").await;
    assert_eq!(sent.headers()["location"], format!("{page}?group=Shops+%26&notice=sent"));
    let group = Some("Shops &".to_owned());
    assert!(matches!(&asked(&test)[..], [MailRequest::Report { group: of, .. }] if *of == group));
    for _ in 2..20 {
        browser.post(&format!("{page}/send"), "").await;
    }
    assert_eq!(browser.post(&format!("{page}/send"), "").await.status(), 429);
    assert_eq!(asked(&test).len(), 18);
    test.app.service.sends_mail = false;
    let mut browser = Browser::of(&test, owner.user).await;
    assert!(!said(&browser.get(&page).await).contains("Send me"));
    assert_eq!(browser.post(&format!("{page}/send"), "").await.status(), 404);
    let form = "email=kate%40example.com";
    assert_eq!(
        browser.post(&format!("/teams/{}/recipients", owner.team), form).await.status(),
        404
    );
}
