//! How much all teams together send to one host, and what is stored about the hosts of channels.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::accounts::audit::By;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{
    Channel, EventKind, Filter, SecretUrl, SigningKey, SigningKeys, Target,
};
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_domain::alerts::host_limit::{MESSAGES_TO_HOST, ReceivingHost};
use vedette_domain::id::{IssueId, SiteId, TeamId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::message::{AlertMessage, Message, ReconcileMessage};
use vedette_store::Audit;
use vedette_testkit::channels::{add_channel, chat};
use vedette_testkit::new_team;
use vedette_tests::Service;
use vedette_tests::receivers::{self, Received};

const EVENTS: u32 = 20;

/// A program at this URL, and this many events of one issue for it.
async fn flooded(service: &Service, team: TeamId, name: &str, url: String) -> Channel {
    let keys = SigningKeys::new(SigningKey::from_random([7; SigningKey::BYTES]));
    let target = Target::Webhook(Webhook { url: SecretUrl::new(url), keys });
    let app = &service.test.app;
    let channel = add_channel(app, team, (name, target), Filter::default()).await;
    let site = SiteId(channel.id.as_uuid());
    let issue = IssueId::new(site, Fingerprint::StatusDown, service.test.now());
    for number in 0..EVENTS {
        let content = Content::Event {
            id: format!("{name}-{number:03}"),
            event: EventKind::Opened,
            body: "{}".to_owned(),
        };
        let event = Queued::event(issue, format!("{number:03}"), content, service.test.now());
        app.store.put_queued((&channel).into(), &event).await.expect("queued");
    }
    channel
}

/// Runs a delivery for every channel, and returns what arrived.
async fn look(service: &Service, channels: &[Channel]) -> Vec<Received> {
    for Channel { team, id, .. } in channels {
        service.notify(&AlertMessage::Channel { team: *team, channel: *id }).await;
    }
    service.deliver_alerts().await;
    service.receivers.take()
}

fn by_team(received: &[Received], channels: &[Channel]) -> BTreeMap<TeamId, u32> {
    let mut counts = BTreeMap::new();
    for Received { channel, .. } in received {
        let team = channels.iter().find(|one| one.id == *channel).expect("a channel").team;
        *counts.entry(team).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn a_host_gets_so_much_a_minute_of_all_teams_and_the_rest_later_and_in_order() {
    let service = Service::start().await;
    let mut channels = Vec::new();
    for team in 0..3 {
        let owner = new_team(&service.test, Plan::Agency).await;
        for number in 0..5 {
            let name = format!("{team}-{number}");
            let url = format!("https://victim.test/{name}");
            channels.push(flooded(&service, owner.team, &name, url).await);
        }
    }
    let late = new_team(&service.test, Plan::Agency).await.team;
    let first = look(&service, &channels).await;
    let counts = by_team(&first, &channels);
    assert_eq!(counts.into_values().sum::<u32>(), first.len() as u32);
    let [_, second, third, fourth] = [1, 2, 3, 4].map(|teams| MESSAGES_TO_HOST.share(teams));
    assert_eq!(first.len() as u32, MESSAGES_TO_HOST.of_team + second + third);
    // A team that has sent nothing does not have to wait for those that have sent the most.
    let newcomer = flooded(&service, late, "late", "https://victim.test/late".to_owned()).await;
    let share = look(&service, std::slice::from_ref(&newcomer)).await;
    assert_eq!(share.len() as u32, fourth, "its share");
    channels.push(newcomer);

    let mut all: Vec<Received> = first.into_iter().chain(share).collect();
    let mut minutes = 1;
    while all.len() < channels.len() * EVENTS as usize {
        service.test.advance(SignedDuration::from_secs(65));
        let more = look(&service, &channels).await;
        assert!(
            !more.is_empty() && more.len() as u32 <= MESSAGES_TO_HOST.total(),
            "{}",
            more.len()
        );
        all.extend(more);
        minutes += 1;
    }
    assert!(minutes <= 5, "{minutes} minutes");
    for channel in &channels {
        let ids: Vec<String> = all
            .iter()
            .filter(|received| received.channel == channel.id)
            .map(|received| match &received.message {
                receivers::Message::Event { id, .. } => id.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected: Vec<String> =
            (0..EVENTS).map(|number| format!("{}-{number:03}", channel.name)).collect();
        assert_eq!(ids, expected, "each once, in its order");
        let state = service.test.app.store.channel_state(channel.into()).await.expect("read");
        assert!(state.log.is_empty(), "no attempt has failed: {:?}", state.log);
    }
}

#[tokio::test]
async fn sends_of_a_minute_are_counted_up_to_each_limit_and_no_further() {
    let service = Service::start().await;
    let app = &service.test.app;
    let teams: [TeamId; 6] =
        std::array::from_fn(|_| TeamId(app.entropy.site_id().expect("an id").0));
    let host = |name: &str, is_apart| ReceivingHost {
        name: name.to_owned(),
        is_apart,
        limit: MESSAGES_TO_HOST,
    };
    // How many of this many messages of a team are sent there.
    let send = async |host: &ReceivingHost, team: TeamId, second: i64, count: u32| {
        let at = Timestamp::from_second(1_795_000_020 + second).expect("a timestamp");
        let mut went = Vec::new();
        for _ in 0..count {
            went.push(app.store.count_send(host, team, at).await.expect("counted"));
        }
        assert!(went.is_sorted_by(|one, other| one >= other), "first those that go: {went:?}");
        went.into_iter().filter(|goes| *goes).count() as u32
    };
    let victim = host("victim.test", false);
    let [first, second, third, fourth, fifth, sixth] = teams;
    let tries = MESSAGES_TO_HOST.of_team + 1;
    for (team, expected) in
        [(first, 60), (second, 30), (third, 20), (fourth, 15), (fifth, 12), (sixth, 10), (first, 0)]
    {
        assert_eq!(send(&victim, team, 0, tries).await, expected, "{team}");
    }
    assert_eq!(send(&victim, sixth, 59, 1).await, 0, "the minute's last second");
    assert_eq!(send(&victim, sixth, 60, 1).await, 1, "the next minute");
    assert_eq!(send(&host("other.test", false), sixth, 0, 1).await, 1, "another host");
    let everybody = host("discord.com", true);
    for team in teams {
        assert_eq!(send(&everybody, team, 0, tries).await, MESSAGES_TO_HOST.of_team, "{team}");
    }
}

#[tokio::test]
async fn a_service_for_everybody_takes_of_each_team_what_that_may_send() {
    let service = Service::start().await;
    let mut channels = Vec::new();
    for team in 0..3 {
        let owner = new_team(&service.test, Plan::Agency).await;
        for number in 0..4 {
            let name = format!("{team}-{number}");
            let url = format!("https://discord.com/{name}");
            channels.push(flooded(&service, owner.team, &name, url).await);
        }
    }
    let first = look(&service, &channels).await;
    assert_eq!(
        by_team(&first, &channels).into_values().collect::<Vec<_>>(),
        [MESSAGES_TO_HOST.of_team; 3]
    );
}

#[tokio::test]
async fn a_test_that_the_host_has_no_room_for_is_sent_later() {
    let service = Service::start().await;
    let team = new_team(&service.test, Plan::Agency).await.team;
    let mut channels = Vec::new();
    for number in 0..3 {
        let (name, url) = (number.to_string(), format!("https://victim.test/{number}"));
        channels.push(flooded(&service, team, &name, url).await);
    }
    assert_eq!(look(&service, &channels).await.len() as u32, MESSAGES_TO_HOST.of_team);
    let target = Target::Slack(Slack { url: SecretUrl::new("https://victim.test/chat") });
    let app = &service.test.app;
    let chat = add_channel(app, team, ("Chat", target), Filter::default()).await;
    vedette_actions::queue_test(app, &chat).await.expect("queued");
    service.deliver_alerts().await;
    assert!(service.receivers.take().is_empty());
    let state = app.store.channel_state((&chat).into()).await.expect("read");
    assert_eq!((state.last_test, state.log), (None, Vec::new()), "nothing has failed");
    service.test.advance(SignedDuration::from_secs(65));
    assert_eq!(look(&service, std::slice::from_ref(&chat)).await.len(), 1);
    let state = app.store.channel_state((&chat).into()).await.expect("read");
    assert_eq!(state.last_test.expect("an outcome").failed, None);
}

#[tokio::test]
async fn what_earlier_versions_stored_with_a_channel_is_sent_to_and_moved_at_night() {
    const SECRET: &str = "https://hooks.slack.test/services/T/B/former";
    let (service, owner) = Service::with_team().await;
    let app = &service.test.app;
    let mut former = Vec::new();
    for name in ["One", "Two"] {
        let channel = add_channel(app, owner.team, (name, chat()), Filter::default()).await;
        service.test.table.store_url_with_channel(&channel, SECRET).await;
        former.push(channel);
        service.test.advance(SignedDuration::from_secs(1));
    }
    let read = app.store.channels(owner.team).await.expect("read");
    assert!(read.iter().all(|channel| channel.target.leads_to() == "https://hooks.slack.test/…"));
    for channel in &read {
        let target = app.store.target_of(channel).await.expect("read");
        assert_eq!(target.url().expect("a URL").reveal(), SECRET);
    }
    vedette_actions::queue_test(app, &former[0]).await.expect("queued");
    service.deliver_alerts().await;
    assert_eq!(service.receivers.take().len(), 1, "it works before it is moved");

    let night = Message::Reconcile(ReconcileMessage::Rebuild { team: owner.team, after: None });
    for _ in 0..2 {
        app.queue.send(&night, Duration::ZERO).await.expect("sent");
        service.consume().await;
        let (moved, claims) = app.store.channels_and_claims(owner.team).await.expect("read");
        assert!(moved.iter().all(|channel| channel.secret.is_none() && channel.rev == 2));
        let [claim] = &claims[..] else { panic!("{claims:?}") };
        assert_eq!(claim.channel, former[0].id, "the oldest has it, and the other one stays");
        for channel in &moved {
            let target = app.store.target_of(channel).await.expect("read");
            assert_eq!(target.url().expect("a URL").reveal(), SECRET);
        }
    }
    for ((pk, sk), item) in service.test.table.dump().await {
        assert!(pk.starts_with("Z#") || !item.to_string().contains("former"), "{pk} {sk}");
    }
    let by = By::operator(app.clock.now());
    let target = Target::Slack(Slack { url: SecretUrl::new(SECRET) });
    let another = |name| {
        let (app, target) = (app, target.clone());
        async move {
            vedette_actions::add_channel(app, owner.team, Some(name), target, Filter::default(), by)
                .await
        }
    };
    let channels = app.store.channels(owner.team).await.expect("read");
    for channel in &channels {
        another("Three").await.expect_err("taken");
        vedette_actions::remove_channel(app, channel, by).await.expect("removed");
    }
    another("Three").await.expect("nobody has it any more");
}

#[tokio::test]
async fn the_url_of_a_deleted_channel_can_be_used_again() {
    const LOST: &str = "https://hooks.slack.test/services/T/B/lost";
    const KEPT: &str = "https://hooks.slack.test/services/T/B/kept";
    let (service, owner) = Service::with_team().await;
    let app = &service.test.app;
    let by = By::operator(app.clock.now());
    let add = async |name: &str, url: &str| {
        let target = Target::Slack(Slack { url: SecretUrl::new(url) });
        vedette_actions::add_channel(app, owner.team, Some(name), target, Filter::default(), by)
            .await
    };
    let claims = async || app.store.channels_and_claims(owner.team).await.expect("read").1;
    let (lost, kept) = (add("Lost", LOST).await.expect("added"), add("Kept", KEPT).await);
    let kept = kept.expect("added");
    // A channel without a URL does not change the claim.
    let elsewhere = Target::Email { address: "ops@example.com".to_owned() }.public();
    let without_url = Channel { target: elsewhere, ..lost };
    app.store.delete_channel(&without_url, Audit::None).await.expect("deleted");
    assert_eq!(claims().await.len(), 2);
    add("Again", LOST).await.expect_err("claimed");

    let night = Message::Reconcile(ReconcileMessage::Rebuild { team: owner.team, after: None });
    app.queue.send(&night, Duration::ZERO).await.expect("sent");
    service.consume().await;
    let left = claims().await;
    assert_eq!(left.iter().map(|claim| claim.channel).collect::<Vec<_>>(), [kept.id]);
    app.store.delete_claim(owner.team, &left[0]).await.expect_err("its channel is there");
    add("Again", LOST).await.expect("nobody has it any more");
}
