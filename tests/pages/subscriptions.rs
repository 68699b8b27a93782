//! Subscriptions to a status page: readers ask for one, confirm it, and end it.

use jiff::SignedDuration;
use lambda_http::http::HeaderValue;
use vedette_domain::accounts::audit::By;
use vedette_domain::alerts::channel::LinkKey;
use vedette_domain::alerts::mail::TransactionalMailKind;
use vedette_domain::id::SubscriptionId;
use vedette_domain::status_pages::{SUBSCRIPTIONS_MAX, SUBSCRIPTIONS_OF_LIST, StatusPage};
use vedette_testkit::TestApp;
use vedette_testkit::status_pages::published_page;
use vedette_tests::receivers::Posted;

use crate::mail::{asked, only_mail, sent_mails, start};
use crate::support::{Browser, ask, body, main_part, said, text};

const PATH: &str = "/subscribe/meridian";

/// A test with a page at `/status/meridian` that offers subscriptions.
async fn offered() -> (TestApp, StatusPage) {
    let test = start().await;
    let page = publish(&test, "meridian", None).await;
    (test, page)
}

async fn publish(test: &TestApp, slug: &str, link: Option<LinkKey>) -> StatusPage {
    let mut published = published_page(test.now());
    published.offers_subscriptions = true;
    test.publish_page(slug, link, &published).await
}

/// Requests a subscription, and returns the path of the link that confirms it.
async fn requested(test: &TestApp, form: &str) -> String {
    said(&Browser::new(test).post(PATH, form).await);
    only_mail(test).await.1
}

#[tokio::test]
async fn a_reader_subscribes_confirms_and_unsubscribes() {
    let (test, page) = offered().await;
    let form = Browser::new(&test).get(PATH).await;
    insta::assert_snapshot!(text(said(&form)), @"Subscribe to updates Get an email when Meridian Goods posts an update about an incident. Email address Subscribe We’ll email you a link to confirm. Each email has a link to unsubscribe. Back to the status page");
    let answer = Browser::new(&test).post(PATH, "email=Kate%40example.com").await;
    insta::assert_snapshot!(text(said(&answer)), @"Check your email If Kate@example.com is not subscribed yet, an email with a link is on its way. Follow it to confirm. The link works for two days. If the email doesn’t arrive, look in your spam folder. Back to the status page");
    let (mail, path) = only_mail(&test).await;
    assert_eq!(mail.to, "Kate@example.com");
    let kind = TransactionalMailKind::Subscription { page: "Meridian Goods".to_owned() };
    assert_eq!(mail.mail.kind, kind);

    // A scanner that follows the link confirms nothing.
    insta::assert_snapshot!(text(said(&ask(&test, "GET", &path).await)), @"Confirm your subscription Send updates about incidents of Meridian Goods to Kate@example.com ? Confirm");
    assert_eq!(test.app.store.subscriptions(page.id).await.expect("read"), 0);
    for _ in 0..2 {
        let answer = ask(&test, "POST", &path).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(text(said(&answer)), @"You are subscribed From now on, updates about incidents of Meridian Goods are sent to Kate@example.com . Each of these emails has a link to unsubscribe.");
        }
        assert_eq!(test.app.store.subscriptions(page.id).await.expect("read"), 1);
    }
    assert_eq!(
        text(said(&ask(&test, "GET", &path).await)),
        text(said(&ask(&test, "POST", &path).await))
    );

    // Nobody learns that the address has subscribed, not even from how much is done.
    let mut spent = Vec::new();
    for email in ["Kate%40example.com", "nobody%40example.com"] {
        let meter = test.meter();
        meter.start();
        let again = Browser::new(&test).post(PATH, &format!("email={email}")).await;
        spent.push(meter.stop());
        assert_eq!(again.headers(), answer.headers());
        let shown = said(&again).replace("nobody@", "Kate@");
        assert_eq!(shown, said(&answer));
    }
    assert_eq!(spent[0], spent[1]);
    let [mail] = <[Posted; 1]>::try_from(sent_mails(&test).await).ok().expect("one email");
    assert_eq!(mail.to, "nobody@example.com");

    let end = path.replace("/confirm", "/unsubscribe");
    insta::assert_snapshot!(text(said(&ask(&test, "GET", &end).await)), @"Unsubscribe Stop sending updates about incidents of Meridian Goods to Kate@example.com ? Unsubscribe");
    assert_eq!(test.app.store.subscriptions(page.id).await.expect("read"), 1);
    // The second time, an email program asks.
    for _ in 0..2 {
        let answer = ask(&test, "POST", &end).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(text(said(&answer)), @"You are not subscribed No more of these emails are sent to your address. If you still get some, open the complete link in one of them.");
        }
        assert_eq!(test.app.store.subscriptions(page.id).await.expect("read"), 0);
    }
    let id = SubscriptionId::of("kate@example.com");
    assert_eq!(test.app.store.subscription(page.id, id).await.expect("read"), None);
    assert_eq!(ask(&test, "POST", &path).await.status(), 404, "the link works no more");
    requested(&test, "email=kate%40example.com").await;
}

#[tokio::test]
async fn without_the_key_there_is_no_subscription() {
    let (test, page) = offered().await;
    let path = requested(&test, "email=kate%40example.com").await;
    let (place, key) = path.split_once('=').expect("a key");
    let other = SubscriptionId::of("ada@example.com");
    let unknown = format!("/subscriptions/{}/{other}/confirm?key={key}", page.id);
    let wrong = [format!("{place}={}", "0".repeat(32)), format!("{place}="), unknown];
    let mut answers = Vec::new();
    for path in &wrong {
        for (method, path) in [
            ("GET", path.clone()),
            ("POST", path.clone()),
            ("GET", path.replace("/confirm", "/unsubscribe")),
            ("POST", path.replace("/confirm", "/unsubscribe")),
        ] {
            let answer = ask(&test, method, &path).await;
            answers.push((answer.status().as_u16(), main_part(&answer).to_owned()));
        }
    }
    let (first, others) = answers.split_at(4);
    assert!(others.chunks(4).all(|other| other == first));
    assert_eq!(first.iter().map(|(status, _)| *status).collect::<Vec<_>>(), [404, 404, 200, 200]);
    said(&ask(&test, "POST", &path).await);
    for wrong in wrong {
        ask(&test, "POST", &wrong.replace("/confirm", "/unsubscribe")).await;
    }
    assert_eq!(test.app.store.subscriptions(page.id).await.expect("read"), 1);
}

#[tokio::test]
async fn a_request_that_is_repeated_keeps_its_link_until_it_expires() {
    let (test, _) = offered().await;
    let first = requested(&test, "email=kate%40example.com").await;
    test.advance(SignedDuration::from_hours(24));
    assert_eq!(requested(&test, "email=KATE%40example.com").await, first);
    test.advance(SignedDuration::from_hours(47));
    assert_eq!(ask(&test, "GET", &first).await.status(), 200);
    test.advance(SignedDuration::from_hours(1));
    for method in ["GET", "POST"] {
        assert_eq!(ask(&test, method, &first).await.status(), 404);
    }
    assert_ne!(requested(&test, "email=kate%40example.com").await, first);
}

#[tokio::test]
async fn only_a_page_that_offers_subscriptions_has_them() {
    let (mut test, page) = offered().await;
    test.publish_page("closed", None, &published_page(test.now())).await;
    let key = LinkKey::from_random([9; LinkKey::BYTES]);
    publish(&test, "hidden", Some(key.clone())).await;
    let mut browser = Browser::new(&test);
    for path in ["/subscribe/closed", "/subscribe/hidden", "/subscribe/none", "/subscribe/-"] {
        assert_eq!(browser.get(path).await.status(), 404, "{path}");
        let form = "email=kate%40example.com";
        assert_eq!(browser.post(path, form).await.status(), 404, "{path}");
    }
    assert_eq!(browser.get(&format!("/subscribe/{}", key.reveal())).await.status(), 200);
    for wrong in ["", "email=kate", "email=kate%40example.com%0d%0aBcc:x%40y"] {
        let refused = browser.post(PATH, wrong).await;
        assert_eq!(refused.status(), 422, "{wrong}");
        let problem = "id=\"email-problem\" role=\"alert\">Expected an address";
        assert!(main_part(&refused).contains(problem), "{}", main_part(&refused));
    }
    let elsewhere = ask(&test, "POST", PATH).await;
    assert_eq!(elsewhere.status(), 403, "a form of another site");
    assert!(asked(&test).is_empty());
    let path = requested(&test, "email=kate%40example.com").await;
    test.app.service.sends_mail = false;
    assert_eq!(Browser::new(&test).get(PATH).await.status(), 404);
    // A page that is gone has no subscriptions.
    let team = test.app.store.team(page.team, test.now()).await.expect("read").expect("a team");
    vedette_actions::delete_status_page(&test.app, &team.team, &page, By::operator(test.now()))
        .await
        .expect("deleted");
    for method in ["GET", "POST"] {
        assert_eq!(ask(&test, method, &path).await.status(), 404, "{method}");
    }
}

#[tokio::test]
async fn a_source_a_mailbox_and_a_page_have_limits() {
    let (test, page) = offered().await;
    let ask = async |number: usize, source: &str| {
        let form = format!("email=user{number}%40example.com");
        let response = Browser::at(&test, source).post(PATH, &form).await;
        let wait = response.headers().get("retry-after").cloned();
        (response.status().as_u16(), wait)
    };
    for number in 0..20 {
        assert_eq!(ask(number, "203.0.113.7").await, (200, None));
    }
    // The clock shows 09:54.
    let wait = HeaderValue::from_static("360");
    assert_eq!(ask(20, "203.0.113.7").await, (429, Some(wait)));
    assert_eq!(sent_mails(&test).await.len(), 20);
    test.advance(SignedDuration::from_mins(6));
    assert_eq!(ask(20, "203.0.113.7").await, (200, None));
    assert_eq!(sent_mails(&test).await.len(), 1);

    // Tags lead to the same mailbox.
    for number in 0..8 {
        let form = format!("email=kate%2B{number}%40example.com");
        said(&Browser::at(&test, "198.51.100.1").post(PATH, &form).await);
    }
    assert_eq!(sent_mails(&test).await.len(), 6);

    let subject = format!("subscribed-page#{}", page.id);
    let window = SUBSCRIPTIONS_OF_LIST.window;
    while test.app.store.count(&subject, window, test.now()).await.expect("counted")
        < SUBSCRIPTIONS_OF_LIST.times
    {}
    let (status, wait) = ask(30, "198.51.100.2").await;
    assert!(status == 429 && wait.is_some());
    assert!(asked(&test).is_empty());
    test.advance(window);
    assert_eq!(ask(30, "198.51.100.2").await, (200, None));
    assert_eq!(sent_mails(&test).await.len(), 1);
}

#[tokio::test]
async fn a_page_has_room_for_a_number_of_subscribers() {
    let (test, page) = offered().await;
    let all_but_one = (SUBSCRIPTIONS_MAX - 1).to_string();
    test.table.set(&format!("F#{}", page.id), "A", "n", &all_but_one).await;
    let last = requested(&test, "email=ada%40example.com").await;
    said(&ask(&test, "POST", &last).await);
    let path = requested(&test, "email=kate%40example.com").await;
    let full = ask(&test, "POST", &path).await;
    assert_eq!(full.status(), 409);
    insta::assert_snapshot!(text(main_part(&full)), @"You are not subscribed A status page has at most 1000 subscribers.");
    assert_eq!(test.app.store.subscriptions(page.id).await.expect("read"), SUBSCRIPTIONS_MAX);
    assert!(!body(&full).contains("kate"));
}
