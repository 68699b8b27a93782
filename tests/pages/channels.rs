//! The channels of a team: adding, testing, disabling and removing them.

use std::num::NonZeroU32;
use std::time::Duration;

use jiff::SignedDuration;
use url::form_urlencoded;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::{
    CHANNELS_MAX, Channel, ChannelKind, EventKind, Filter, SecretUrl,
};
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::Severity;
use vedette_notifier::send::SendOutcome;
use vedette_testkit::channels::{SecretDestination, add_channel, chat, mail};
use vedette_testkit::{Member, TestApp, WebServer, member_of, new_team};
use vedette_tests::Service;

use crate::issues::broken;
use crate::sites::add;
use crate::support::{Browser, body, fields_of, main_part, said, sent_to, text};
use vedette_store::Audit;

const SECRET: &str = "https%3A%2F%2Fhooks.slack.test%2Fservices%2FT%2FB%2Fpassword";

fn page(owner: &Member) -> String {
    format!("/teams/{}/channels", owner.team)
}

async fn channels(test: &TestApp, owner: &Member) -> Vec<Channel> {
    test.app.store.channels(owner.team).await.expect("read")
}

#[tokio::test]
async fn a_channel_is_added_with_what_it_is_told_and_its_url_is_never_shown() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    assert!(said(&browser.get(&page).await).contains("No channels yet"));
    let form = format!("kind=slack&to={SECRET}&name=Ops&events=opened&tools=ssl&tools=dns");
    assert_eq!(sent_to(&browser.post(&page, &form).await), format!("{page}?notice=added"));
    let [channel] = &channels(&test, &owner).await[..] else { panic!("one channel") };
    assert!(channel.is_on() && channel.name == "Ops");
    assert_eq!(channel.filter.tools, [Tool::Ssl, Tool::Dns].into());
    assert_eq!(channel.filter.events, [EventKind::Opened].into());
    let target = test.app.store.target_of(channel).await.expect("read");
    let url = target.url().expect("a URL").reveal();
    assert_eq!(url, "https://hooks.slack.test/services/T/B/password");
    for ((pk, _), item) in test.table.dump().await {
        let notifies = item.to_string().contains("password");
        assert_eq!(notifies, pk.starts_with("Z#"), "{pk}: pages cannot read where it is stored");
    }

    let listed = browser.get(&format!("{page}?notice=added")).await;
    for text in [
        "Channel added.",
        "<bdi>Ops</bdi>",
        "Slack · <bdi>https://hooks.slack.test/…</bdi>",
        "Opened; Certificate, DNS<span",
        "<h1>Your channel isn’t tested yet</h1>",
        "<span>Not tested yet</span>",
        "Nothing delivered yet",
    ] {
        assert!(said(&listed).contains(text), "{text}: {}", said(&listed));
    }
    let taken = browser.post(&page, &form.replace("password", "another")).await;
    for (response, field, why) in [
        (taken, "name", "The team already has a channel Ops."),
        (
            browser.post(&page, "kind=discord&to=http%3A%2F%2Fa.test%2Fpassword").await,
            "to",
            "Must start with https://.",
        ),
        (
            browser.post(&page, "kind=email&to=password&name=%07").await,
            "to",
            "Must be an address such as ada@example.com.",
        ),
        (browser.post(&page, "kind=pigeon&to=password").await, "kind", "Choose a kind."),
    ] {
        assert_eq!(response.status(), 422, "{field}");
        assert!(main_part(&response).contains("<b>Channel not added.</b>"));
        let problem = format!("id=\"{field}-problem\" role=\"alert\">{why}");
        assert!(main_part(&response).contains(&problem), "{problem}: {}", main_part(&response));
        let is_address = main_part(&response).contains("name=\"kind\" value=\"email\"");
        assert_eq!(main_part(&response).contains("password"), is_address, "an address is kept");
    }
    assert_eq!(channels(&test, &owner).await.len(), 1);
    for number in 1..CHANNELS_MAX {
        let name = number.to_string();
        add_channel(&test.app, owner.team, (&name, chat()), Filter::default()).await;
    }
    let full = form.replace("Ops", "One+more").replace("password", "another");
    let full = browser.post(&page, &full).await;
    assert!(main_part(&full).contains(
        "The team has 20 channels, which is the most that a team can have; remove one first."
    ));
}

#[tokio::test]
async fn a_signing_key_is_shown_once() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let added = browser.post(&page(&owner), "kind=webhook&to=https%3A%2F%2Fa.test%2Fhook").await;
    let [channel] = &channels(&test, &owner).await[..] else { panic!("one channel") };
    let target = test.app.store.target_of(channel).await.expect("read");
    let keys = target.keys().expect("keys");
    assert!(said(&added).contains(&keys.current.reveal()), "{}", said(&added));
    assert_eq!(added.headers()["cache-control"], "no-store");
    assert!(!body(&added).contains("data-live"), "the script does not ask for it again");
    assert!(!said(&browser.get(&page(&owner)).await).contains("whsec_"));
}

#[tokio::test]
async fn a_topic_of_ntfy_is_added_with_its_token() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    let form = browser.get(&format!("{page}/new?type=ntfy")).await;
    for part in ["<h2>ntfy</h2>", "autocomplete=\"off\" name=\"ntfy-token\""] {
        assert!(main_part(&form).contains(part), "{part}: {}", main_part(&form));
    }
    let refused = browser.post(&page, "kind=ntfy&to=password&ntfy-token=pass+word").await;
    assert_eq!(refused.status(), 422);
    let why = "Must not contain spaces or accented letters.";
    let problem = format!("id=\"ntfy-token-problem\" role=\"alert\">{why}");
    assert!(main_part(&refused).contains(&problem), "{}", main_part(&refused));
    assert!(!main_part(&refused).contains("password"), "{}", main_part(&refused));
    let form = "kind=ntfy&to=password&ntfy-token=tk_password";
    assert_eq!(sent_to(&browser.post(&page, form).await), format!("{page}?notice=added"));
    let [channel] = &channels(&test, &owner).await[..] else { panic!("one channel") };
    let target = test.app.store.target_of(channel).await.expect("read");
    assert_eq!(target.url().expect("a URL").reveal(), "https://ntfy.sh/password");
    for ((pk, _), item) in test.table.dump().await {
        assert_eq!(item.to_string().contains("password"), pk.starts_with("Z#"), "{pk}");
    }
}

#[tokio::test]
async fn a_channel_that_needs_a_token_is_added_with_it() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    for kind in ChannelKind::ALL.into_iter().filter(|kind| kind.needs_token()) {
        let SecretDestination { path, token, .. } = SecretDestination::new(kind, 7);
        let (token, to) = (token.expect("a token"), format!("https://127.0.0.1/{path}"));
        let control = format!("{kind}-token");
        let form = browser.get(&format!("{page}/new?type={kind}")).await;
        assert!(main_part(&form).contains(&format!("name=\"{control}\"")), "{kind}");
        let fields = |token: &str| {
            let mut fields = form_urlencoded::Serializer::new(String::new());
            let kind = kind.as_str();
            fields.extend_pairs([("kind", kind), ("name", kind), ("to", &*to), (&*control, token)]);
            fields.finish()
        };
        let refused = browser.post(&page, &fields("")).await;
        let problem = format!("id=\"{control}-problem\" role=\"alert\">");
        assert!(main_part(&refused).contains(&problem), "{kind}: {}", main_part(&refused));
        let added = browser.post(&page, &fields(token)).await;
        assert_eq!(sent_to(&added), format!("{page}?notice=added"), "{kind}");
        let all = channels(&test, &owner).await;
        let channel = all.iter().find(|channel| channel.name == kind.as_str()).expect("a channel");
        let stored = test.app.store.target_of(channel).await.expect("read");
        assert_eq!(stored.token().expect("a token").reveal(), token, "{kind}");
        assert!(stored.url().expect("a URL").reveal().ends_with(&path), "{kind}");
    }
}

#[tokio::test]
async fn an_address_is_asked_first_and_again() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.sends_mail = true;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = page(&owner);
    let added = browser.post(&page, "kind=email&to=ops%40example.com").await;
    assert_eq!(sent_to(&added), format!("{page}?notice=asked"));
    service.deliver_alerts().await;
    assert_eq!(service.receivers.take_lines(), ["confirmation"]);
    let listed = browser.get(&page).await;
    assert!(said(&listed).contains("Waiting for confirmation"), "{}", said(&listed));
    let [channel] = &channels(&service.test, &owner).await[..] else { panic!("one channel") };
    let refused = browser.post(&format!("{page}/{}/test", channel.id), "").await;
    assert_eq!(refused.status(), 422);
    let why = "ops@example.com is not confirmed yet: its recipient must follow the link in the confirmation email.";
    assert!(main_part(&refused).contains(why), "{}", main_part(&refused));
    let again = browser.post(&format!("{page}/{}/resend", channel.id), "").await;
    assert_eq!(sent_to(&again), format!("{page}?notice=resent"));
    service.deliver_alerts().await;
    assert_eq!(service.receivers.take_lines(), ["confirmation"]);
}

#[tokio::test]
async fn a_team_asks_an_address_three_times_a_day_whichever_way() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = page(&owner);
    let form = "kind=email&to=ops%40example.com";
    sent_to(&browser.post(&page, form).await);
    let [channel] = &channels(&service.test, &owner).await[..] else { panic!("one channel") };
    let of = |verb: &str| format!("{page}/{}/{verb}", channel.id);
    sent_to(&browser.post(&of("resend"), "").await);
    sent_to(&browser.post(&of("disable"), "").await);
    sent_to(&browser.post(&of("enable"), "").await);
    let why = "Ops@example.com was sent too many emails today; try again tomorrow.";
    sent_to(&browser.post(&of("disable"), "").await);
    sent_to(&browser.post(&of("remove"), "").await);
    let refused = browser.post(&page, "kind=email&to=Ops%40example.com").await;
    assert_eq!(refused.status(), 422);
    let problem = format!("id=\"to-problem\" role=\"alert\">{why}");
    assert!(main_part(&refused).contains(&problem), "{}", main_part(&refused));
    assert!(channels(&service.test, &owner).await.is_empty());
    service.test.advance(SignedDuration::from_hours(24));
    sent_to(&browser.post(&page, form).await);
}

#[tokio::test]
async fn one_channel_of_a_team_leads_to_a_url() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    let form = |kind: &str, name: &str| format!("kind={kind}&to={SECRET}&name={name}");
    sent_to(&browser.post(&page, &form("slack", "Ops")).await);
    // The same URL, written in another way and for another kind.
    let written = "kind=webhook&name=Twin&to=+HTTPS%3A%2F%2FHooks.Slack.test%3A443%2Fservices%2FT%2FB%2Fpassword%23top";
    for form in [&form("slack", "Twin"), &form("discord", "Twin"), written] {
        let refused = browser.post(&page, form).await;
        assert_eq!(refused.status(), 409, "{form}");
        let why =
            "id=\"to-problem\" role=\"alert\">The team's channel Ops already sends to this URL.";
        assert!(main_part(&refused).contains(why), "{}", main_part(&refused));
        assert!(!body(&refused).contains("password"));
    }
    // Two people add it at the same time. The second one finds that it exists.
    let [ops] = &channels(&test, &owner).await[..] else { panic!("one channel") };
    let twin = Channel { id: test.app.entropy.channel_id().expect("an id"), rev: 1, ..ops.clone() };
    let twice = test.app.store.create_channel(&twin, Audit::None).await;
    assert!(twice.expect_err("taken").is_conflict());
    // Another team can use the URL, and so can this team when the channel is gone.
    let other = new_team(&test, Plan::Agency).await;
    let mut stranger = Browser::of(&test, other.user).await;
    sent_to(
        &stranger.post(&format!("/teams/{}/channels", other.team), &form("slack", "Ops")).await,
    );
    sent_to(&browser.post(&format!("{page}/{}/remove", ops.id), "").await);
    let left = test.table.dump().await.into_keys().filter(|(pk, _)| {
        ["C#", "Z#"].iter().any(|prefix| *pk == format!("{prefix}{}", owner.team))
    });
    assert_eq!(left.count(), 0, "neither the claim nor the secret stays");
    sent_to(&browser.post(&page, &form("discord", "Twin")).await);
}

#[tokio::test]
async fn a_test_is_queued_once_and_its_outcome_is_shown_later() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = page(&owner);
    let ops = ("Ops", chat());
    let channel = add_channel(&service.test.app, owner.team, ops, Filter::default()).await;
    let path = format!("{page}/{}/test", channel.id);
    assert!(!said(&browser.get(&page).await).contains("Last test"));
    for _ in 0..3 {
        assert_eq!(sent_to(&browser.post(&path, "").await), format!("{page}?notice=tested"));
    }
    assert!(said(&browser.get(&page).await).contains("Last test is on its way"));
    service.deliver_alerts().await;
    assert_eq!(service.receivers.take().len(), 1, "a second request does not send a second test");
    let listed = browser.get(&page).await;
    assert!(said(&listed).contains("Last test delivered <time"), "{}", said(&listed));

    service.test.advance(SignedDuration::from_mins(1));
    let why = "HTTP 400: <b>no</b>".to_owned();
    service.receivers.answer(channel.id, SendOutcome::Refused { why });
    sent_to(&browser.post(&path, "").await);
    service.deliver_alerts().await;
    let listed = browser.get(&page).await;
    for text in [
        "Last test failed <time",
        "<bdi>HTTP 400: &lt;b&gt;no&lt;/b&gt;</bdi>",
        "<span>Not delivering</span>",
        "<h1>Your channel isn’t delivering</h1>",
    ] {
        assert!(said(&listed).contains(text), "{text}: {}", said(&listed));
    }
    // A test that fails temporarily is not sent hours later, either.
    service.test.advance(SignedDuration::from_mins(1));
    let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    service.receivers.answer(channel.id, down);
    sent_to(&browser.post(&path, "").await);
    service.deliver_alerts().await;
    assert!(said(&browser.get(&page).await).contains("<bdi>HTTP 500</bdi>"));
    let store = &service.test.app.store;
    assert!(store.deliveries((&channel).into()).await.expect("read").queued.is_empty());
}

#[tokio::test]
async fn a_new_channel_is_tested_and_the_next_page_shows_the_result() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = page(&owner);
    let form = browser.get(&format!("{page}/new")).await;
    for part in
        ["<h2>Slack</h2>", "placeholder=\"https://hooks.slack.com/", ">Add without a test</button>"]
    {
        assert!(said(&form).contains(part), "{part}: {}", said(&form));
    }
    let test = "<button class=\"main\" name=\"test\" value=\"yes\">Send test and add</button>";
    assert!(said(&form).contains(test), "{}", said(&form));
    for (number, outcome, pill, answer) in [
        (1, SendOutcome::DELIVERED, "Working", "Last test delivered <time"),
        (
            2,
            SendOutcome::Refused { why: "HTTP 400: no_text".to_owned() },
            "Not delivering",
            "no_text",
        ),
        (
            3,
            SendOutcome::Gone { why: "HTTP 404: no_service".to_owned() },
            "Disabled by its receiver",
            "no_service",
        ),
    ] {
        let form = format!("kind=slack&to={SECRET}{number}&name=Ops+{number}&test=yes");
        assert_eq!(sent_to(&browser.post(&page, &form).await), format!("{page}?notice=trying"));
        let listed = browser.get(&format!("{page}?notice=trying")).await;
        for part in [
            "The result of its test appears below.",
            "<span>Not tested yet</span>",
            "Last test is on its way",
        ] {
            assert!(said(&listed).contains(part), "{part}: {}", said(&listed));
        }
        let all = channels(&service.test, &owner).await;
        let channel = all.iter().find(|one| one.name == format!("Ops {number}")).expect("added");
        service.receivers.answer(channel.id, outcome);
        service.deliver_alerts().await;
        service.receivers.take();
        let listed = browser.get(&page).await;
        let (_, row) = said(&listed).split_once(&format!("id=\"{}\"", channel.id)).expect("a row");
        let (row, _) = row.split_once("</li>").expect("its end");
        for part in [pill, answer] {
            assert!(row.contains(part), "{part}: {row}");
        }
        // A channel that has never worked may be wrong.
        let is_wrong = number > 1;
        let edit = format!("<a class=\"btn s\" href=\"{page}/{}/edit\">Edit</a>", channel.id);
        assert_eq!(row.contains(&edit), is_wrong, "{row}");
        assert_eq!(row.contains("<button class=\"s\">Delete</button>"), is_wrong, "{row}");
    }
    // Without a test, nothing is sent.
    let form = format!("kind=slack&to={SECRET}4&name=Quiet");
    sent_to(&browser.post(&page, &form).await);
    service.deliver_alerts().await;
    assert!(service.receivers.take().is_empty());
    // What needs attention comes first, and only what has delivered something works.
    let listed = text(said(&browser.get(&page).await));
    let lead = "One isn’t delivering, one was disabled by its receiver and one was never tested.";
    let heading = format!("One of 4 channels is working {lead}");
    assert!(listed.contains(&heading), "{listed}");
    let places = ["Ops 2", "Ops 3", "Quiet", "Ops 1"].map(|name| listed.find(name));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{listed}");
}

#[tokio::test]
async fn a_program_is_tested_once_it_knows_its_key_and_an_address_confirmed_first() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.sends_mail = true;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = page(&owner);
    for kind in ["email", "webhook"] {
        let form = browser.get(&format!("{page}/new?type={kind}")).await;
        assert!(said(&form).contains("<button class=\"main\">Add channel</button>"), "{kind}");
        assert!(!said(&form).contains("Send test"), "{kind}");
    }
    let hook = "kind=webhook&to=https%3A%2F%2Fa.test%2Fhook&test=yes";
    let added = browser.post(&page, hook).await;
    let [channel] = &channels(&service.test, &owner).await[..] else { panic!("one channel") };
    let test = format!("{page}/{}/test", channel.id);
    assert!(
        said(&added).contains(&format!("method=\"post\" action=\"{test}\"")),
        "{}",
        said(&added)
    );
    let asked = browser.post(&page, "kind=email&to=ada%40example.com&test=yes").await;
    assert_eq!(sent_to(&asked), format!("{page}?notice=asked"));
    service.deliver_alerts().await;
    assert_eq!(service.receivers.take_lines(), ["confirmation"], "and no test");
}

#[tokio::test]
async fn a_service_without_a_mail_server_says_so() {
    let (mut service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = page(&owner);
    let says = "<b>This service can’t send email.</b>";
    let form = browser.get(&format!("{page}/new")).await;
    assert!(said(&form).contains("<h2>Slack</h2>"), "email is not the default");
    assert!(said(&form).contains("Email <small class=\"quiet\">Not set up here</small>"));
    assert!(!said(&form).contains(says));
    let form = browser.get(&format!("{page}/new?type=email")).await;
    assert!(said(&form).contains(says), "{}", said(&form));
    sent_to(&browser.post(&page, "kind=email&to=ada%40example.com").await);
    let listed = browser.get(&page).await;
    for part in ["<span>This service can’t send email</span>", says] {
        assert!(said(&listed).contains(part), "{part}: {}", said(&listed));
    }
    service.test.app.service.sends_mail = true;
    let browser = Browser::of(&service.test, owner.user).await;
    let form = browser.get(&format!("{page}/new")).await;
    assert!(said(&form).contains("<h2>Email</h2>") && !said(&form).contains("Not set up here"));
    assert!(!said(&browser.get(&page).await).contains(says));
}

#[tokio::test]
async fn a_refused_form_keeps_what_was_typed_except_secrets() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    let form = "kind=slack&to=https%3A%2F%2Fdiscord.com%2Fapi%2Fwebhooks%2F1%2Fpassword&name=Ops&tools=ssl&severities=critical";
    let refused = browser.post(&page, form).await;
    assert_eq!(refused.status(), 422);
    let why = "id=\"to-problem\" role=\"alert\">Belongs to Discord; add a channel of that type.";
    assert!(main_part(&refused).contains(why), "{}", main_part(&refused));
    assert!(!body(&refused).contains("password"));
    let kept = fields_of(main_part(&refused));
    for (name, value) in [
        ("kind", "slack"),
        ("to", ""),
        ("name", "Ops"),
        ("tools", "ssl"),
        ("severities", "critical"),
    ] {
        assert!(kept.contains(&(name.to_owned(), value.to_owned())), "{name}: {kept:?}");
    }
    let refused = browser.post(&page, "kind=email&to=ada%40&name=Ada&events=opened").await;
    let kept = fields_of(main_part(&refused));
    for (name, value) in [("to", "ada@"), ("name", "Ada"), ("events", "opened")] {
        assert!(kept.contains(&(name.to_owned(), value.to_owned())), "{name}: {kept:?}");
    }
}

#[tokio::test]
async fn a_channel_that_is_enabled_again_learns_what_it_has_missed() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    target.answer(503);
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = page(&owner);
    let ops = ("Ops", chat());
    let channel = add_channel(&service.test.app, owner.team, ops, Filter::default()).await;
    let act = |verb: &str| format!("{page}/{}/{verb}", channel.id);
    assert_eq!(
        sent_to(&browser.post(&act("disable"), "").await),
        format!("{page}?notice=disabled")
    );
    let listed = browser.get(&page).await;
    assert!(said(&listed).contains("disabled by Ada"), "{}", said(&listed));
    let site = add(&mut browser, &service, owner.team, &target.url).await;
    service.consume().await;
    service.advance_minutes(2);
    service.run_scheduled(site, Tool::Status).await;
    service.consume().await;
    service.deliver_alerts().await;
    assert!(service.receivers.take().is_empty(), "it is disabled");

    assert_eq!(sent_to(&browser.post(&act("enable"), "").await), format!("{page}?notice=enabled"));
    service.deliver_alerts().await;
    let notified = service.receivers.take_lines();
    assert!(notified.len() == 1 && notified[0].starts_with("DOWN"), "{notified:?}");
    assert_eq!(sent_to(&browser.post(&act("remove"), "").await), format!("{page}?notice=removed"));
    assert!(channels(&service.test, &owner).await.is_empty());
    assert_eq!(browser.post(&act("test"), "").await.status(), 404);
}

#[tokio::test]
async fn what_waits_for_a_channel_that_fails_is_shown_with_when_it_is_due() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = page(&owner);
    let ops = ("Ops", chat());
    let channel = add_channel(&service.test.app, owner.team, ops, Filter::default()).await;
    let down = SendOutcome::Retry { after: None, why: "HTTP 500".to_owned() };
    service.receivers.answer(channel.id, down);
    assert!(!said(&browser.get(&page).await).contains("Waiting: "));
    let (_target, _) = broken(&service, &owner).await;
    service.deliver_alerts().await;
    let listed = browser.get(&page).await;
    let waiting = said(&listed).split_once("Waiting: ").expect("a message waits").1;
    assert!(waiting.contains("DOWN: &lt;b onclick=x&gt;"), "{waiting}");
    assert!(waiting.contains("</bdi>, next attempt <time"), "{waiting}");
    sent_to(&browser.post(&format!("{page}/{}/disable", channel.id), "").await);
    let listed = browser.get(&page).await;
    assert!(said(&listed).contains("</bdi>, until the channel is enabled"), "{}", said(&listed));
}

#[tokio::test]
async fn the_reason_why_nothing_arrives_is_shown_once() {
    for is_held in [false, true] {
        let (service, owner) = Service::with_team().await;
        let mut browser = Browser::of(&service.test, owner.user).await;
        let page = page(&owner);
        let ops = ("Ops", chat());
        let channel = add_channel(&service.test.app, owner.team, ops, Filter::default()).await;
        let fail = || {
            let (after, why) = (Duration::from_secs(60), "no route to the server".to_owned());
            let outcome = match is_held {
                true => SendOutcome::Held { after, was_tried: true, why },
                false => SendOutcome::Retry { after: Some(after), why },
            };
            service.receivers.answer(channel.id, outcome);
        };
        fail();
        let (_target, _) = broken(&service, &owner).await;
        service.deliver_alerts().await;
        let listed = browser.get(&page).await;
        let reasons = |listed| said(listed).matches("no route to the server").count();
        assert_eq!(reasons(&listed), 1, "{is_held}: {}", said(&listed));
        fail();
        sent_to(&browser.post(&format!("{page}/{}/test", channel.id), "").await);
        service.deliver_alerts().await;
        let listed = browser.get(&page).await;
        assert!(said(&listed).contains("Last test failed <time"), "{}", said(&listed));
        assert!(said(&listed).contains("<p>Failed: "), "{}", said(&listed));
        assert_eq!(reasons(&listed), 1, "{is_held}: {}", said(&listed));
    }
}

#[tokio::test]
async fn only_who_may_manage_channels_is_offered_anything() {
    let (test, owner) = TestApp::with_team().await;
    let page = page(&owner);
    let channel = add_channel(&test.app, owner.team, ("Ops", chat()), Filter::default()).await;
    let mut posts: Vec<String> = ["test", "enable", "disable", "resend", "remove"]
        .map(|verb| format!("{page}/{}/{verb}", channel.id))
        .into();
    posts.push(page.clone());
    let form = format!("kind=slack&to={SECRET}");
    for role in [Role::Viewer, Role::Member] {
        let member = member_of(&test, owner.team, role, &Scope::ALL).await;
        let mut browser = Browser::of(&test, member.user).await;
        let listed = browser.get(&page).await;
        assert!(said(&listed).contains("<bdi>Ops</bdi>"));
        assert!(!said(&listed).contains("<form") && !body(&listed).contains("password"));
        for path in &posts {
            assert_eq!(browser.post(path, &form).await.status(), 403, "{path}");
        }
        test.app
            .store
            .remove_member(owner.team, member.user, role, Audit::None)
            .await
            .expect("removed");
        for path in &posts {
            assert_eq!(browser.post(path, &form).await.status(), 404, "{path}");
        }
        assert_eq!(browser.get(&page).await.status(), 404);
    }
    // A channel is looked up only in the team that is in the path.
    let stranger = new_team(&test, Plan::Agency).await;
    let mut browser = Browser::of(&test, stranger.user).await;
    for path in posts {
        assert_eq!(browser.post(&path, &form).await.status(), 404, "{path}");
        let own = path.replace(&owner.team.to_string(), &stranger.team.to_string());
        if own.contains(&channel.id.to_string()) {
            assert_eq!(browser.post(&own, &form).await.status(), 404, "{own}");
        }
    }
    assert_eq!(browser.get(&page).await.status(), 404);
    assert_eq!(channels(&test, &owner).await, [channel]);
}

#[tokio::test]
async fn a_channel_is_edited() {
    let (service, owner) = Service::with_team().await;
    let (test, app) = (&service.test, &service.test.app);
    let channel = add_channel(app, owner.team, ("Ops", chat()), Filter::default()).await;
    add_channel(app, owner.team, ("Pager", mail()), Filter::default()).await;
    let mut browser = Browser::of(test, owner.user).await;
    let (page, edit) = (page(&owner), format!("{}/{}/edit", page(&owner), channel.id));
    assert!(said(&browser.get(&page).await).contains(&format!("href=\"{edit}\"")));
    let form = browser.get(&edit).await;
    for part in ["value=\"Ops\"", "Slack · <bdi>https://hooks.slack.test/…</bdi>"] {
        assert!(said(&form).contains(part), "{part}: {}", said(&form));
    }
    for (form, why) in
        [("name=Pager", "The team already has a channel Pager."), ("name=+", "Must not be empty.")]
    {
        let refused = browser.post(&edit, form).await;
        assert_eq!(refused.status(), 422);
        let problem = format!("id=\"name-problem\" role=\"alert\">{why}");
        assert!(main_part(&refused).contains(&problem), "{problem}: {}", main_part(&refused));
    }
    let refused = browser.post(&edit, "name=Night&selector=env%3D1").await;
    let problem = "id=\"selector-problem\" role=\"alert\">Must be a selector such as env:prod";
    assert!(main_part(&refused).contains(problem), "{}", main_part(&refused));
    let refused = browser.post(&edit, "name=Night&delay_minutes=0").await;
    let problem = "id=\"delay_minutes-problem\" role=\"alert\">Must be at least 1.";
    assert!(main_part(&refused).contains(problem), "{}", main_part(&refused));
    let times = "delay_minutes=10&repeat_minutes=30";
    browser.post(&edit, &format!("name=Night&selector=Env:prod&{times}&to=")).await;
    let listed = browser.get(&page).await;
    let wanted = "All notifications; sites with env:prod; after 10 min; again every 30 min<";
    assert!(said(&listed).contains(wanted), "{}", said(&listed));
    assert!(said(&browser.get(&edit).await).contains("name=\"delay_minutes\" value=\"10\""));
    assert!(said(&browser.get(&edit).await).contains("value=\"env:prod\""));
    let rule = "events=resolved&severities=critical&selector=&delay_minutes=&repeat_minutes=";
    let saved = browser.post(&edit, &format!("name=Night&{rule}&to=")).await;
    assert_eq!(sent_to(&saved), format!("{page}?notice=saved"));
    let stored = channels(test, &owner).await;
    let stored = stored.iter().find(|one| one.id == channel.id).expect("the channel");
    assert_eq!((stored.name.as_str(), stored.since), ("Night", channel.since));
    assert_eq!(stored.filter.events, [EventKind::Resolved].into());
    let target = app.store.target_of(stored).await.expect("read");
    let before = app.store.target_of(&channel).await.expect("read");
    assert_eq!(target, before, "it leads where it did");
    let listed = browser.get(&format!("{page}?notice=saved")).await;
    for part in ["Channel saved.", "<bdi>Night</bdi>", "Resolved; Critical<span"] {
        assert!(said(&listed).contains(part), "{part}: {}", said(&listed));
    }
    let form = browser.get(&edit).await;
    assert!(said(&form).contains("value=\"resolved\" checked"), "{}", said(&form));
    for (to, why) in [
        ("https://ntfy.sh/x", "Belongs to ntfy; add a channel of that type."),
        ("http://hooks.slack.test/x", "Must start with https://."),
    ] {
        let refused = browser.post(&edit, &format!("name=Night&to={to}")).await;
        assert_eq!(refused.status(), 422);
        let problem = format!("id=\"to-problem\" role=\"alert\">{why}");
        assert!(main_part(&refused).contains(&problem), "{problem}: {}", main_part(&refused));
        assert!(!main_part(&refused).contains(to), "it is a secret: {}", main_part(&refused));
    }
    let other = "https://hooks.slack.test/other";
    let moved = format!("name=Night&events=resolved&severities=critical&to={other}");
    sent_to(&browser.post(&edit, &moved).await);
    let target = app.store.target_of(stored).await.expect("read");
    assert_eq!(target.url().map(SecretUrl::reveal), Some(other));
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    assert!(said(&log).contains("Changed the address of the channel"), "{}", said(&log));
    // The channel still gets resolutions only, so it gets nothing about an opening.
    let (_target, _issue) = broken(&service, &owner).await;
    service.deliver_alerts().await;
    let told = service.receivers.take();
    assert!(told.iter().all(|received| received.channel != channel.id), "{told:?}");
    let viewer = member_of(test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut viewing = Browser::of(test, viewer.user).await;
    assert_eq!(viewing.get(&edit).await.status(), 403);
    assert_eq!(viewing.post(&edit, "name=Mine").await.status(), 403);
}

#[tokio::test]
async fn two_channels_of_one_host_are_told_apart_and_a_question_is_no_delivery() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = page(&owner);
    for (name, path) in [("One", "one"), ("Two", "two")] {
        let form = format!("kind=slack&to=https%3A%2F%2Fhooks.slack.test%2F{path}&name={name}");
        sent_to(&browser.post(&page, &form).await);
    }
    let listed = browser.get(&page).await;
    let shown: Vec<&str> =
        said(&listed).split("https://hooks.slack.test/… (URL ").skip(1).collect();
    let digests: Vec<&str> = shown.iter().map(|rest| &rest[..6]).collect();
    assert!(digests.len() == 2 && digests[0] != digests[1], "{digests:?}");
    // The email that asks for confirmation is not the first notification.
    sent_to(&browser.post(&page, "kind=email&to=ada%40example.com").await);
    service.deliver_alerts().await;
    service.test.advance(SignedDuration::from_mins(5));
    let stored = channels(&service.test, &owner).await;
    let asked = stored.iter().find(|one| one.target.address().is_some()).expect("an address");
    let state = service.test.app.store.channel_state(asked.into()).await.expect("read");
    assert!(state.delivered_at.is_some(), "the question arrived");
    let confirmed = asked.confirmed(service.test.now()).expect("unconfirmed");
    service.test.app.store.put_channel(&confirmed, Audit::None).await.expect("saved");
    let listed = browser.get(&page).await;
    assert_eq!(said(&listed).matches("Nothing delivered yet").count(), 3, "{}", said(&listed));
}

#[tokio::test]
async fn the_page_says_who_would_be_notified_of_an_issue_of_a_site() {
    let (service, owner) = Service::with_team().await;
    let (test, app) = (&service.test, &service.test.app);
    add_channel(app, owner.team, ("Chat", chat()), Filter::default()).await;
    let later = Filter { delay_minutes: NonZeroU32::new(10), ..Filter::default() };
    add_channel(app, owner.team, ("On call", chat()), later).await;
    let warnings = Filter { severities: [Severity::Warning].into(), ..Filter::default() };
    add_channel(app, owner.team, ("Others", chat()), warnings).await;
    let mut browser = Browser::of(test, owner.user).await;
    let site = add(&mut browser, &service, owner.team, "https://shop.example.com").await;
    let link = format!("{}?site={site}", page(&owner));
    assert!(said(&browser.get(&format!("/sites/{site}")).await).contains(&link));
    let asked = browser.get(&link).await;
    let answers = said(&asked);
    assert!(answers.contains("If an issue of <b><bdi>shop.example.com</bdi></b> opens"));
    let answers: Vec<_> = answers.match_indices("ould be notified").map(|(at, _)| at).collect();
    assert_eq!(answers.len(), 2, "{}", said(&asked));
    assert_eq!(said(&asked).matches("Would not be notified").count(), 1);
    assert_eq!(said(&asked).matches("Would be notified at once").count(), 1);
    let refused = browser.get(&format!("{link}&at=noon")).await;
    let problem = "id=\"at-problem\" role=\"alert\">Must be a date and time";
    assert!(main_part(&refused).contains(problem), "{}", main_part(&refused));
    assert!(!said(&refused).contains("ould be notified"));
}
