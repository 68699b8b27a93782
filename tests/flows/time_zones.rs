//! The zone of the times in alerts: that of the user who reads an email, and that of the team in chats.

use jiff::Timestamp;
use vedette_actions::{change_time_zone, change_user_time_zone};
use vedette_domain::accounts::audit::By;
use vedette_domain::alerts::channel::{Channel, Target};
use vedette_domain::time_zone::NamedZone;
use vedette_testkit::channels::{chat, mail};
use vedette_tests::receivers::{Message, Received};

use crate::scene::Scene;

/// The time since when, according to the message to a channel, something has been wrong.
fn since(received: &[Received], channel: &Channel) -> String {
    let of_channel = received.iter().find(|received| received.channel == channel.id);
    let Some(Message::Alert(alert)) = of_channel.map(|received| &received.message) else {
        panic!("no alert: {received:?}")
    };
    let since = alert.facts.iter().find(|fact| fact.label == "Since").expect("since when");
    since.value.clone()
}

impl Scene {
    /// Chooses the zone of the team or of its owner.
    async fn choose(&self, is_of_team: bool, zone: Option<NamedZone>) {
        let app = &self.service.test.app;
        let now = app.clock.now();
        if is_of_team {
            let team = app.store.team(self.owner.team, now).await.expect("read").expect("a team");
            let zone = zone.unwrap_or_default();
            change_time_zone(app, team.team, zone, By::operator(now)).await.expect("saved");
        } else {
            let user = app.store.user(self.owner.user).await.expect("read").expect("a user");
            change_user_time_zone(app, &user, zone.as_ref()).await.expect("saved");
        }
    }
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
    for (is_of_team, zone, at, of_owner, of_team) in [
        (true, None, "2026-12-01T10:00:00Z", "2026-12-01 10:00 UTC", "2026-12-01 10:00 UTC"),
        (
            true,
            Some("Europe/Berlin"),
            "2027-03-28T00:55:00Z",
            "2027-03-28 01:55 CET",
            "2027-03-28 01:55 CET",
        ),
        (
            false,
            Some("America/New_York"),
            "2027-03-28T01:30:00Z",
            "2027-03-27 21:30 EDT",
            "2027-03-28 03:30 CEST",
        ),
        (
            false,
            Some("Australia/Lord_Howe"),
            "2027-10-31T00:30:00Z",
            "2027-10-31 11:30 +11",
            "2027-10-31 02:30 CEST",
        ),
        (false, None, "2027-10-31T01:30:00Z", "2027-10-31 02:30 CET", "2027-10-31 02:30 CET"),
    ] {
        let zone = zone.map(|name| NamedZone::parse(name).expect("a zone"));
        scene.choose(is_of_team, zone).await;
        scene.service.test.set_clock(at.parse::<Timestamp>().expect("a timestamp"));
        scene.fail(site).await;
        let received = scene.service.receivers.take();
        let times = [&to_owner, &to_others, &to_chat].map(|channel| since(&received, channel));
        assert_eq!(times, [of_owner, of_team, of_team], "{at}");
        scene.turn(site, 200).await;
        scene.service.receivers.take();
    }
}
