//! The zone of the times in alerts: that of the user who reads an email, and that of the team in chats.

use jiff::Timestamp;
use serde_json::json;
use vedette_domain::alerts::channel::{Channel, Target};
use vedette_testkit::channels::{chat, mail};
use vedette_tests::receivers::{Message, Received};

use crate::scene::Scene;

/// The time since when a channel was told that something is wrong.
fn since(received: &[Received], channel: &Channel) -> String {
    let of_channel = received.iter().find(|received| received.channel == channel.id);
    let Some(Message::Alert(alert)) = of_channel.map(|received| &received.message) else {
        panic!("no alert: {received:?}")
    };
    let since = alert.facts.iter().find(|fact| fact.label == "Since").expect("since when");
    since.value.clone()
}

#[tokio::test]
async fn an_email_has_the_zone_of_its_reader_and_everything_else_that_of_the_team() {
    let scene = Scene::start().await;
    let app = &scene.service.test.app;
    let owner = app.store.user(scene.owner.user).await.expect("read").expect("a user");
    // Addresses are the same in any case.
    let address = owner.email.to_uppercase();
    let to_owner = scene.add_channel("Ada", Target::email(&address).expect("an address")).await;
    let to_others = scene.add_channel("Others", mail()).await;
    let to_chat = scene.add_channel("Ops", chat()).await;
    let site = scene.watch().await;
    let team = format!("/teams/{}/time-zone", scene.owner.team);
    for (path, zone, at, of_owner, of_team) in [
        (
            &*team,
            json!(null),
            "2026-12-01T10:00:00Z",
            "2026-12-01 10:00 UTC",
            "2026-12-01 10:00 UTC",
        ),
        (
            &team,
            json!("Europe/Berlin"),
            "2027-03-28T00:55:00Z",
            "2027-03-28 01:55 CET",
            "2027-03-28 01:55 CET",
        ),
        (
            "/me/time-zone",
            json!("America/New_York"),
            "2027-03-28T01:00:00Z",
            "2027-03-27 21:00 EDT",
            "2027-03-28 03:00 CEST",
        ),
        (
            "/me/time-zone",
            json!("Australia/Lord_Howe"),
            "2027-10-31T00:30:00Z",
            "2027-10-31 11:30 +11",
            "2027-10-31 02:30 CEST",
        ),
        (
            "/me/time-zone",
            json!(null),
            "2027-10-31T01:30:00Z",
            "2027-10-31 02:30 CET",
            "2027-10-31 02:30 CET",
        ),
    ] {
        let chosen = scene.client().patch(path, &json!({ "time_zone": zone })).await;
        assert_eq!(chosen.status, 200, "{chosen:?}");
        scene.service.test.set_clock(at.parse::<Timestamp>().expect("a timestamp"));
        scene.fail(site).await;
        let received = scene.service.receivers.take();
        let times = [&to_owner, &to_others, &to_chat].map(|channel| since(&received, channel));
        assert_eq!(times, [of_owner, of_team, of_team], "{at}");
        scene.turn(site, 200).await;
        scene.service.receivers.take();
    }
}
