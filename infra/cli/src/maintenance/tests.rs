//! Maintenance windows from the command line.

use std::fs;

use serde_json::{Value, json};

use crate::testing::{Bench, SITE};

/// A team with a site.
async fn arranged() -> (Bench, String) {
    let bench = Bench::new().await;
    bench.user("ada").await;
    let team = bench.team("ada", "growth").await;
    bench.site(&team).await;
    (bench, team)
}

async fn listed(bench: &Bench, team: &str) -> Vec<Value> {
    let listed = bench.json(&format!("maintenance list {team}")).await;
    listed.as_array().expect("windows").clone()
}

#[tokio::test]
async fn a_window_is_added_listed_ended_and_removed() {
    let (bench, team) = arranged().await;
    let add = format!(
        "maintenance add {team} --name Updates --start 2026-11-20T10:00 --time-zone Europe/Berlin \
         --for 90m --repeat FREQ=DAILY --site shop.example.com"
    );
    let added = bench.json(&add).await;
    let window = added["uuid"].as_str().expect("a uuid").to_owned();
    assert_eq!(added["sites"], json!([SITE]));
    assert_eq!(added["active_until"], "2026-11-20T10:30:00+00:00");
    let shown = bench.run(&format!("maintenance list {team}")).await.out;
    for text in ["WINDOW", "Updates", "active until 2026-11-20 11:30 CET", "1h 30m", "every day"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let ended = bench.run(&format!("maintenance end {team} {window}")).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, ""));
    assert_eq!(listed(&bench, &team).await[0]["active_until"], Value::Null);
    let refused = bench.refused(&format!("maintenance end {team} {window}")).await;
    assert_eq!(refused, "The maintenance window is not active.");
    assert_eq!(bench.run(&format!("maintenance delete {team} {window}")).await.code, 0);
    assert!(listed(&bench, &team).await.is_empty());
    let refused = bench.refused(&format!("maintenance delete {team} {window}")).await;
    assert_eq!(refused, format!("there is no window {window}"));
    let none = bench.run(&format!("maintenance list {team}")).await;
    assert_eq!(none.out, "There are no maintenance windows.\n");
}

#[tokio::test]
async fn a_window_starts_now_for_sites_or_for_a_team() {
    let (bench, team) = arranged().await;
    let started = bench.json(&format!("maintenance start {SITE} --for 90s --name Release")).await;
    assert_eq!(started["duration_minutes"], 2, "rounded up");
    assert_eq!(started["active_until"], "2026-11-20T09:56:00+00:00");
    let all = bench.json(&format!("maintenance start --team {team} --for 7d")).await;
    assert_eq!((&all["sites"], &all["name"]), (&Value::Null, &json!("Maintenance")));
    let shown = bench.run(&format!("maintenance start --team {team} --for 1h")).await.out;
    for text in ["Maintenance", "all", "active until 2026-11-20 10:54 UTC", "1h", "once"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    bench.pass(120);
    assert_eq!(listed(&bench, &team).await.len(), 2, "the first is over");
}

#[tokio::test]
async fn a_window_is_for_the_sites_that_a_selector_matches() {
    let (bench, team) = arranged().await;
    for command in [
        format!("maintenance start --team {team} --selector env:prod --for 30m"),
        format!("maintenance add {team} --selector env:prod --start 2026-11-29T02:00 --for 30m"),
    ] {
        let shown = bench.run(&command).await.out;
        assert!(shown.contains("sites     env:prod\n"), "{shown}");
    }
    for window in listed(&bench, &team).await {
        assert_eq!((&window["selector"], &window["sites"]), (&json!("env:prod"), &Value::Null));
    }
    let both = format!("maintenance start {SITE} --selector env:prod --for 30m");
    let why = "A maintenance window can have sites or a selector, but not both. Clear one of them.";
    assert_eq!(bench.refused(&both).await, why);
}

#[tokio::test]
async fn a_window_ends_with_its_command_which_says_the_exit_code() {
    let (bench, team) = arranged().await;
    let folder = tempfile::tempdir().expect("a folder");
    let seen = folder.path().join("seen");
    let script = format!("touch {}; exit $1", seen.display());
    for code in [0, 3] {
        let code_text = code.to_string();
        let words = vec![
            "maintenance",
            "start",
            SITE,
            "--for",
            "30m",
            "--",
            "sh",
            "-c",
            &script,
            "sh",
            &code_text,
        ];
        let ran = bench.run_words(words).await;
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{}", ran.said);
        assert!(fs::remove_file(&seen).is_ok(), "it ran");
        assert!(listed(&bench, &team).await.is_empty());
    }
    let killed = vec!["maintenance", "start", SITE, "--for", "30m", "--", "sh", "-c", "kill -9 $$"];
    assert_eq!(bench.run_words(killed).await.code, 137);
    let ran = bench.run(&format!("maintenance start {SITE} --for 30m -- /nowhere/deploy")).await;
    assert_eq!(ran.code, 1);
    assert!(ran.said.starts_with("`/nowhere/deploy` cannot be run: "), "{}", ran.said);
    assert!(listed(&bench, &team).await.is_empty(), "nothing is left active");
}

#[tokio::test]
async fn invalid_arguments_are_refused() {
    let (bench, team) = arranged().await;
    let other = SITE.replace('7', "8");
    for (command, code, why) in [
        (format!("maintenance start {other} --for 5m"), 1, format!("there is no site {other}")),
        (
            "maintenance start other.example --for 5m".to_owned(),
            1,
            "no team monitors https://other.example".to_owned(),
        ),
        (
            format!("maintenance add {team} --start 2026-11-20T08:00 --for 5m"),
            1,
            "The maintenance window would already be over. Choose a later start.".to_owned(),
        ),
    ] {
        let ran = bench.run(&command).await;
        assert_eq!((ran.code, ran.said), (code, why), "{command}");
    }
    let long = bench.run(&format!("maintenance start {SITE} --for 8d")).await;
    assert!(long.said.contains("'8d' for '--for <DURATION>': at most 7 days"), "{}", long.said);
    for usage in [
        format!("maintenance start {SITE} --for 8d"),
        format!("maintenance start {SITE} --for 5m --start 2026-11-29T02:00"),
        "maintenance start --for 5m".to_owned(),
        format!("maintenance start {SITE}"),
        format!("maintenance start {SITE} --team {team} --for 5m"),
        format!("maintenance add {team} --start tomorrow --for 5m"),
        format!("maintenance add {team} --start 2026-11-29T02:00 --for 5m --repeat FREQ=YEARLY"),
    ] {
        assert_eq!(bench.run(&usage).await.code, 2, "{usage}");
    }
}

#[tokio::test]
async fn the_calendar_has_an_address_that_is_replaced_and_revoked() {
    let (bench, team) = arranged().await;
    let ask = async |verb: &str| {
        bench.json(&format!("maintenance calendar {verb} {team}")).await["url"].clone()
    };
    assert_eq!(ask("show").await, Value::Null);
    let first = ask("create").await;
    assert_eq!(ask("show").await, first);
    let second = ask("create").await;
    assert_ne!(first, second);
    let path = format!("/calendars/{team}/maintenance.ics?key=");
    assert!(second.as_str().expect("an address").contains(&path), "{second}");
    let shown = bench.run(&format!("maintenance calendar show {team}")).await;
    assert_eq!(shown.out, format!("{}\n", second.as_str().expect("an address")));
    for _ in 0..2 {
        let revoked = bench.run(&format!("maintenance calendar revoke {team}")).await;
        assert_eq!((revoked.code, revoked.out.as_str()), (0, ""));
    }
    ask("create").await;
    bench.run(&format!("maintenance calendar revoke {team}")).await;
    let none = bench.run(&format!("maintenance calendar show {team}")).await;
    assert_eq!(none.out, "The calendar feed has no address.\n");
}

#[tokio::test]
async fn a_name_is_as_short_as_the_api_wants_it() {
    let (bench, team) = arranged().await;
    for (length, code) in [(100, 0), (101, 2)] {
        let name = "n".repeat(length);
        let start = format!("maintenance start --team {team} --for 5m --name {name}");
        assert_eq!(bench.run(&start).await.code, code, "{length}");
    }
}
