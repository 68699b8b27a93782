//! Status pages from the command line.

use serde_json::{Value, json};

use crate::testing::{Bench, SITE};

/// A team with a site and a status page.
async fn arranged() -> (Bench, String) {
    let bench = Bench::new().await;
    bench.user("ada").await;
    let team = bench.team("ada", "growth").await;
    bench.site(&team).await;
    let create = format!("status-page create {team} --slug meridian --name Meridian");
    let created = bench.json(&create).await;
    assert_eq!((&created["slug"], &created["unlisted"]), (&json!("meridian"), &json!(false)));
    (bench, team)
}

#[tokio::test]
async fn a_page_is_created_changed_and_deleted() {
    let (bench, team) = arranged().await;
    let page = format!("{team} meridian");
    let add = "--site shop.example.com --name Shop --group Public --response-time";
    let changed = bench.json(&format!("status-page add-component {page} {add}")).await;
    let component =
        changed["groups"][0]["components"][0]["uuid"].as_str().expect("a uuid").to_owned();
    assert_eq!(changed["groups"][0]["components"][0]["site"], SITE);
    let shown = bench.run(&format!("status-page show {page}")).await.out;
    for text in ["Meridian", "COMPONENT", "Public", "Shop", SITE] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let edited = bench.json(&format!("status-page edit {page} --slug goods --unlisted")).await;
    assert_eq!((&edited["slug"], &edited["unlisted"]), (&json!("goods"), &json!(true)));
    assert_eq!(edited["groups"][0]["components"][0]["uuid"], component, "it keeps its id");
    let listed = bench.json(&format!("status-page edit {team} goods --listed")).await;
    assert_eq!((&listed["slug"], &listed["unlisted"]), (&json!("goods"), &json!(false)));
    let refused = bench.refused(&format!("status-page show {page}")).await;
    assert_eq!(refused, "the team has no status page meridian");
    let page = format!("{team} goods");
    let removed = bench.json(&format!("status-page remove-component {page} {component}")).await;
    assert_eq!(removed["groups"], json!([]));
    let again = bench.refused(&format!("status-page remove-component {page} {component}")).await;
    assert_eq!(again, format!("the status page has no component {component}"));
    let listed = bench.run(&format!("status-page list {team}")).await.out;
    assert!(listed.contains("goods"), "{listed}");
    assert_eq!(bench.run(&format!("status-page delete {page}")).await.code, 0);
    let none = bench.run(&format!("status-page list {team}")).await.out;
    assert_eq!(none, "There are no status pages.\n");
}

#[tokio::test]
async fn an_incident_is_written_updated_and_deleted() {
    let (bench, team) = arranged().await;
    let page = format!("{team} meridian");
    let write = "--title Delays --text Looking --impact major";
    let written = bench.json(&format!("status-page incident write {page} {write}")).await;
    assert_eq!(written["status"], "investigating");
    let incident = written["uuid"].as_str().expect("a uuid").to_owned();
    let update = format!("status-page incident update {page} {incident} --text Fixed");
    assert_eq!(bench.json(&update).await["status"], "investigating", "it stays");
    assert_eq!(bench.json(&format!("{update} --status resolved")).await["status"], "resolved");
    let listed = bench.json(&format!("status-page incident list {page}")).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let shown = bench.run(&format!("status-page incident list {page}")).await.out;
    for text in ["INCIDENT", "Delays", "major", "resolved", "2026-11-20"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let delete = format!("status-page incident delete {page} {incident}");
    assert_eq!(bench.run(&delete).await.code, 0);
    let refused = bench.refused(&delete).await;
    assert_eq!(refused, format!("there is no incident {incident}"));
    let listed = bench.json(&format!("status-page incident list {page}")).await;
    assert_eq!(listed, Value::Array(Vec::new()));
}

#[tokio::test]
async fn invalid_arguments_are_refused() {
    let (bench, team) = arranged().await;
    let taken = format!("status-page create {team} --slug meridian --name Other");
    assert_eq!(bench.refused(&taken).await, "The slug is taken.");
    for slug in ["-a", "Ab", "ab"] {
        let wrong = format!("status-page create {team} --slug={slug} --name Other");
        assert_eq!(bench.run(&wrong).await.code, 2, "{slug}");
    }
    let other = bench.team("ada", "growth").await;
    let foreign = format!("status-page create {other} --slug other --name Other");
    assert_eq!(bench.run(&foreign).await.code, 0);
    for usage in [
        format!("edit {other} other --listed --unlisted"),
        format!("incident write {other} other --title Delays --text Looking --impact huge"),
        format!("incident write {other} other --title Delays --text Looking --component shop"),
        format!("incident update {other} other {SITE} --status resolved"),
    ] {
        assert_eq!(bench.run(&format!("status-page {usage}")).await.code, 2, "{usage}");
    }
    let add = format!("status-page add-component {other} other --site {SITE} --name Shop");
    assert_eq!(bench.refused(&add).await, format!("the site {SITE} belongs to the team {team}"));
}
