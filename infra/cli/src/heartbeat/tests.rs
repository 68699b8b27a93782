//! Heartbeats from the command line.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::testing::Bench;

async fn arranged() -> (Bench, String) {
    let bench = Bench::new().await;
    bench.user("ada").await;
    let team = bench.team("ada", "growth").await;
    (bench, team)
}

#[tokio::test]
async fn a_heartbeat_is_created_shown_changed_paused_and_deleted() {
    let (bench, team) = arranged().await;
    let none = bench.run(&format!("heartbeat list {team}")).await;
    assert_eq!(none.out, "There are no heartbeats.\n");
    let create = vec![
        "heartbeat",
        "create",
        &team,
        "--name",
        "Nightly backup",
        "--cron",
        "30 2 * * *",
        "--time-zone",
        "Europe/Berlin",
        "--grace",
        "30m",
        "--json",
    ];
    let created = bench.run_words(create).await;
    let created: Value = serde_json::from_str(&created.out).expect("JSON");
    assert_eq!(created["slug"], "nightly-backup");
    assert_eq!((&created["cron"], &created["grace_minutes"]), (&json!("30 2 * * *"), &json!(30)));
    let by_default = bench.json(&format!("heartbeat create {team} --name Hourly --every 1h")).await;
    assert_eq!(by_default["grace_minutes"], 60);
    bench.run(&format!("heartbeat delete {team} hourly")).await;
    let shown = bench.run(&format!("heartbeat show {team} nightly-backup")).await.out;
    for text in ["Nightly backup", "new", "/ping/"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let edited = bench.json(&format!("heartbeat edit {team} nightly-backup --every 1h")).await;
    assert_eq!((&edited["period_minutes"], &edited["cron"]), (&json!(60), &Value::Null));
    let paused = bench.json(&format!("heartbeat pause {team} nightly-backup")).await;
    assert_eq!(paused["state"], "paused");
    let resumed = bench.json(&format!("heartbeat resume {team} nightly-backup")).await;
    assert_eq!(resumed["state"], "new");
    let none = bench.run(&format!("heartbeat runs {team} nightly-backup")).await;
    assert_eq!(none.out, "The job has not pinged yet.\n");
    let deleted = bench.run(&format!("heartbeat delete {team} nightly-backup")).await;
    assert_eq!((deleted.code, deleted.out.as_str()), (0, ""));
    let gone = bench.refused(&format!("heartbeat show {team} nightly-backup")).await;
    assert_eq!(gone, "the team has no heartbeat nightly-backup");
}

#[tokio::test]
async fn a_team_has_a_ping_key() {
    let (bench, team) = arranged().await;
    let none = bench.run(&format!("heartbeat key {team}")).await;
    assert_eq!(none.out, "The team has no ping key. --replace creates one.\n");
    let first = bench.json(&format!("heartbeat key {team} --replace")).await;
    assert_eq!(bench.json(&format!("heartbeat key {team}")).await, first);
    let second = bench.json(&format!("heartbeat key {team} --replace")).await;
    assert_ne!(first, second);
}

/// Answers so many requests with these statuses, and passes on their paths and bodies.
fn listen(statuses: &'static [&'static str]) -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/ping/key", listener.local_addr().expect("an address"));
    let (seen, requests) = channel();
    std::thread::spawn(move || {
        for status in statuses {
            let Ok((stream, _)) = listener.accept() else { return };
            let _ = seen.send(answer(stream, status));
        }
    });
    (address, requests)
}

fn answer(mut stream: TcpStream, status: &str) -> (String, String) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).expect("a request");
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).expect("sent");
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    (path, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn a_command_is_run_between_two_pings() {
    let bench = Bench::new().await;
    for (code, script) in [(0, "echo done"), (3, "echo broken >&2; exit 3")] {
        let (address, requests) = listen(&["200 OK", "503 Busy", "200 OK"]);
        let words = vec!["heartbeat", "run", &address, "--", "sh", "-c", script];
        assert_eq!(bench.run_words(words).await.code, code);
        let seen: Vec<_> = requests.iter().collect();
        let [(start, _), (refused, _), (end, body)] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!(refused, end, "it is tried again");
        let (start, run) = start.split_once("?rid=").expect("an id");
        assert_eq!(start, "/ping/key/start");
        assert_eq!(*end, format!("/ping/key/{code}?rid={run}"));
        assert_eq!(body.trim(), if code == 0 { "done" } else { "broken" });
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_run_has_failed() {
    let bench = Bench::new().await;
    let (address, requests) = listen(&["200 OK", "200 OK"]);
    let words = vec!["heartbeat", "run", &address, "--", "/nowhere/backup"];
    let ran = bench.run_words(words).await;
    assert_eq!(ran.code, 1);
    assert!(ran.said.starts_with("`/nowhere/backup` cannot be run: "), "{}", ran.said);
    let seen: Vec<_> = requests.iter().collect();
    assert!(seen.iter().any(|(path, _)| path.starts_with("/ping/key/fail?rid=")), "{seen:?}");
}

#[tokio::test]
async fn a_ping_that_is_refused_changes_nothing() {
    let bench = Bench::new().await;
    let (address, _requests) = listen(&["404 Not Found", "404 Not Found"]);
    let words = vec!["heartbeat", "run", &address, "--", "sh", "-c", "exit 7"];
    assert_eq!(bench.run_words(words).await.code, 7);
    let wrong = bench.run("heartbeat run ftp://example.com -- true").await;
    assert_eq!(wrong.code, 2, "{}", wrong.said);
}
