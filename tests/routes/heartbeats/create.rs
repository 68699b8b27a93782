//! `POST /teams/{team}/heartbeats`: what is a heartbeat, and how many there may be.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::{added, path, post};
use crate::support::{assert_invalid, new_site, rows};

/// The key of a job that comes from Healthchecks.
const KEY: &str = "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278";

#[tokio::test]
async fn a_heartbeat_needs_only_a_name() {
    let (service, owner) = Service::with_team().await;
    let answer = post(&service, &owner, &json!({ "name": " Nightly backup " })).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    201 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "cron": null,
        "deadline": null,
        "expected_at": null,
        "failure_keywords": null,
        "grace_minutes": 60,
        "last_ping_at": null,
        "listening_since": null,
        "longest_run_minutes": null,
        "median_seconds": null,
        "name": "Nightly backup",
        "notes": null,
        "paused": false,
        "period_minutes": 1440,
        "ping_url": "https://monitor.test/ping/00000000-0000-8005-8000-000000000004",
        "running_since": null,
        "slug": "nightly-backup",
        "start_keywords": null,
        "state": "new",
        "success_keywords": null,
        "tags": [],
        "team_uuid": "00000000-0000-4000-8000-000000000001",
        "time_zone": null,
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "00000000-0000-4000-8000-000000000004"
      }
    }
    "#);
    let place = format!("https://monitor.test/api/v1{}/{}", path(&owner), answer.data("uuid"));
    assert_eq!(answer.header("location"), place);
}

#[tokio::test]
async fn a_heartbeat_has_what_was_asked_for() {
    let (service, owner) = Service::with_team().await;
    let body = json!({
        "name": "Nightly backup",
        "slug": "db_dump-1",
        "notes": "See the wiki.",
        "tags": ["Env:prod", "db"],
        "cron": "30  2 * * mon-fri",
        "time_zone": "europe/berlin",
        "grace_minutes": 15,
        "longest_run_minutes": 90,
        "failure_keywords": "ERROR, failed",
        "success_keywords": "done",
        "start_keywords": "begin",
        "ping_uuid": KEY.to_uppercase(),
    });
    let answer = post(&service, &owner, &body).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    201 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "cron": "30 2 * * mon-fri",
        "deadline": null,
        "expected_at": null,
        "failure_keywords": "ERROR, failed",
        "grace_minutes": 15,
        "last_ping_at": null,
        "listening_since": null,
        "longest_run_minutes": 90,
        "median_seconds": null,
        "name": "Nightly backup",
        "notes": "See the wiki.",
        "paused": false,
        "period_minutes": null,
        "ping_url": "https://monitor.test/ping/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278",
        "running_since": null,
        "slug": "db_dump-1",
        "start_keywords": "begin",
        "state": "new",
        "success_keywords": "done",
        "tags": ["db", "env:prod"],
        "team_uuid": "00000000-0000-4000-8000-000000000001",
        "time_zone": "Europe/Berlin",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "00000000-0000-4000-bcc8-b8d8a82ea278"
      }
    }
    "#);
}

#[tokio::test]
async fn a_cron_expression_is_in_the_zone_of_the_team_unless_it_has_another() {
    let (service, owner) = Service::with_team().await;
    let zone = json!({ "time_zone": "Asia/Kathmandu" });
    service.client(&owner).patch(&format!("/teams/{}/time-zone", owner.team), &zone).await;
    let answer = post(&service, &owner, &json!({ "name": "Report", "cron": "@daily" })).await;
    let data = &answer.body["data"];
    assert_eq!((&data["cron"], &data["time_zone"]), (&json!("@daily"), &zone["time_zone"]));
}

#[tokio::test]
async fn invalid_heartbeats_are_refused_and_change_nothing() {
    let (service, owner) = Service::with_team().await;
    for (field, value, why) in [
        ("name", Value::Null, "is required"),
        ("name", json!("x".repeat(256)), "must not be longer than 255 characters"),
        (
            "name",
            json!("a\nb"),
            "must not contain control characters or characters that change the direction of text",
        ),
        (
            "slug",
            json!("DB backup"),
            "must consist of lowercase letters, digits, hyphens and underscores",
        ),
        ("slug", json!("x".repeat(101)), "must not be longer than 100 characters"),
        ("tags", json!("prod"), "must be an array"),
        ("period_minutes", json!(0), "must be at least 1"),
        ("period_minutes", json!(525_601), "must not be greater than 525600"),
        ("period_minutes", json!("5"), "must be an integer"),
        ("grace_minutes", json!(0), "must be at least 1"),
        ("grace_minutes", json!(525_601), "must not be greater than 525600"),
        ("longest_run_minutes", json!(0), "must be at least 1"),
        (
            "cron",
            json!("30 2 * *"),
            "must have five fields, separated by spaces: minute, hour, day of month, month and day of week",
        ),
        ("cron", json!("0 30 2 * * *"), "must have five fields, without seconds and years"),
        ("cron", json!("@reboot"), "must not be @reboot, because nobody knows when that is"),
        ("cron", json!("0 0 30 2 *"), "must have a date that exists; the job would never run"),
        ("cron", json!("60 0 * * *"), "must have minutes from 0 to 59"),
        (
            "time_zone",
            json!("Europe/Atlantis"),
            "must be an IANA time zone name, such as Europe/Berlin",
        ),
        ("failure_keywords", json!("x".repeat(201)), "must not be longer than 200 characters"),
        ("ping_uuid", json!("1"), "must be a uuid of version 4"),
        ("ping_uuid", json!("00000000-0000-8005-8000-000000000004"), "must be a uuid of version 4"),
        ("paused", json!(true), "is not known"),
        ("url", json!("https://example.com"), "is not known"),
    ] {
        let mut body = json!({ "name": "Backup" });
        body[field] = value;
        let refused = post(&service, &owner, &body).await;
        assert_invalid(&refused, field, &format!("The {field} field {why}."));
    }
    let both = json!({ "name": "Backup", "cron": "@daily", "period_minutes": 5 });
    let message = "The cron field cannot be combined with period_minutes.";
    assert_invalid(&post(&service, &owner, &both).await, "cron", message);
    let message = "The time_zone field can be chosen only with a cron expression.";
    for period in [json!(5), Value::Null] {
        let zone = json!({ "name": "Backup", "period_minutes": period, "time_zone": "UTC" });
        assert_invalid(&post(&service, &owner, &zone).await, "time_zone", message);
    }
    assert!(rows(&service.client(&owner).get(&path(&owner)).await).is_empty());
}

#[tokio::test]
async fn a_slug_stands_for_one_heartbeat_of_a_team() {
    let (service, owner) = Service::with_team().await;
    let message = "The slug is taken by another heartbeat of the team.";
    added(&service, &owner, &json!({ "name": "DB backup" })).await;
    let again = json!({ "name": "db_backup", "slug": "db-backup" });
    assert_invalid(&post(&service, &owner, &again).await, "slug", message);
    let other = json!({ "name": "DB backup", "slug": "second" });
    assert_eq!(post(&service, &owner, &other).await.data("slug"), "second");
    // A name whose slug is taken, or that has no letters of slugs, stands for no slug.
    for name in ["DB Backup", "DB backup", "夜", "夜"] {
        let answer =
            post(&service, &owner, &json!({ "name": name, "slug": null, "time_zone": null })).await;
        assert_eq!((answer.status, answer.data("slug")), (201, String::new()), "{name}");
    }
    let stranger = new_team(&service.test, Plan::Starter).await;
    added(&service, &stranger, &json!({ "name": "DB backup" })).await;
}

#[tokio::test]
async fn of_two_heartbeats_that_are_created_at_once_one_gets_the_slug() {
    let (service, owner) = Service::with_team().await;
    let new = json!({ "name": "DB backup" });
    let (one, other) =
        futures::future::join(post(&service, &owner, &new), post(&service, &owner, &new)).await;
    assert_eq!((one.status, other.status), (201, 201));
    let mut slugs = [one.data("slug"), other.data("slug")];
    slugs.sort();
    assert_eq!(slugs, ["", "db-backup"]);
}

#[tokio::test]
async fn a_ping_address_leads_to_one_heartbeat() {
    let (service, owner) = Service::with_team().await;
    let stranger = new_team(&service.test, Plan::Starter).await;
    added(&service, &owner, &json!({ "name": "One", "ping_uuid": KEY })).await;
    // The other bits do not say where it is.
    for key in [KEY, "00000000-0000-4000-bcc8-b8d8a82ea278"] {
        for member in [&owner, &stranger] {
            let refused = post(&service, member, &json!({ "name": "Two", "ping_uuid": key })).await;
            assert_invalid(&refused, "ping_uuid", "The ping_uuid is taken.");
        }
    }
    let site = new_site(&service, &owner, "https://example.com").await;
    let refused = post(&service, &owner, &json!({ "name": "Two", "ping_uuid": site })).await;
    assert_invalid(&refused, "ping_uuid", "The ping_uuid is taken.");
}

#[tokio::test]
async fn a_team_has_as_many_heartbeats_as_its_plan_allows_besides_its_sites() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let mut last = String::new();
    for n in 1..=20 {
        last = added(&service, &owner, &json!({ "name": format!("Job {n}") })).await.0;
    }
    let more = json!({ "name": "More" });
    let message = "The team's plan allows no more heartbeats.";
    assert_invalid(&post(&service, &owner, &more).await, "heartbeat", message);
    for n in 1..=5 {
        new_site(&service, &owner, &format!("https://example.com/{n}")).await;
    }
    assert_eq!(service.client(&owner).delete(&last).await.status, 204);
    added(&service, &owner, &more).await;
    assert_invalid(&post(&service, &owner, &json!({ "name": "21" })).await, "heartbeat", message);
}
