//! Runs scripts as the documentation of Healthchecks shows them, with no other change than the host.

use serde_json::{Value, json};
use tokio::process::Command;
use vedette_domain::checks::schedule::TimeScale;
use vedette_local::{Options, Service};

use crate::client::Client;
use crate::{config, mail, options};

/// The key of a project at Healthchecks, which the team takes along.
const KEY: &str = "fqOOd6-F4MMNuCEnzTU01w";

/// Each with the runs that it reports, oldest first, and the state in which the heartbeat is then. `UUID` stands for
/// the end of the heartbeat's address. Scripts with `KEY`, the team's ping key, create the heartbeat.
const EXAMPLES: [(&str, &[&str], &str); 18] = [
    ("curl -m 10 --retry 5 https://hc-ping.com/UUID", &["success"], "on_time"),
    (
        "true && curl -fsS -m 10 --retry 5 -o /dev/null https://hc-ping.com/UUID",
        &["success"],
        "on_time",
    ),
    ("true; curl -fsS -m 10 --retry 5 https://hc-ping.com/UUID/$?", &["success 0"], "on_time"),
    ("(exit 3); curl -fsS -m 10 --retry 5 https://hc-ping.com/UUID/$?", &["failure 3"], "failed"),
    (
        r#"m=$(echo 'copied 3 files' 2>&1)
        curl -fsS -m 10 --retry 5 --data-raw "$m" https://hc-ping.com/UUID/$?"#,
        &["success 0: copied 3 files"],
        "on_time",
    ),
    (
        "(echo '@disk: no space left' >&2; exit 28) 2> error.log
        curl -fsS -m 10 --retry 5 --data-binary @error.log https://hc-ping.com/UUID/$?",
        &["failure 28: @disk: no space left\n"],
        "failed",
    ),
    (
        "curl -m 10 --retry 5 https://hc-ping.com/UUID/start
        false || curl -m 10 --retry 5 https://hc-ping.com/UUID/fail",
        &["failure, timed"],
        "failed",
    ),
    (
        "URL=https://hc-ping.com/UUID
        curl -fsS -m 10 --retry 5 -X POST $URL/start
        curl -fsS -m 10 --retry 5 --data-raw 'half done' $URL/log
        curl -fsS -m 10 --retry 5 -X POST $URL/",
        &["log: half done", "success, timed"],
        "on_time",
    ),
    (
        // Two runs at a time; the second one ends first.
        r#"CHECK=UUID
        FIRST=$(cat /proc/sys/kernel/random/uuid) SECOND=$(cat /proc/sys/kernel/random/uuid)
        curl -fsS -m 10 --retry 5 "https://hc-ping.com/$CHECK/start?rid=$FIRST"
        curl -fsS -m 10 --retry 5 "https://hc-ping.com/$CHECK/start?rid=$SECOND"
        curl -fsS -m 10 --retry 5 "https://hc-ping.com/$CHECK/fail?rid=$SECOND"
        curl -fsS -m 10 --retry 5 "https://hc-ping.com/$CHECK?rid=$FIRST""#,
        &["failure, timed", "success, timed"],
        "on_time",
    ),
    (
        r#"curl -m 10 --retry 5 "https://hc-ping.com/KEY/database-backup?create=1"
        curl -m 10 --retry 5 "https://hc-ping.com/KEY/database-backup/2?create=1"
        curl -m 10 --retry 5 https://hc-ping.com/KEY/database-backup"#,
        &["success", "failure 2", "success"],
        "on_time",
    ),
    ("curl --head -m 10 https://hc-ping.com/UUID", &["success"], "on_time"),
    ("curl --http1.0 -m 10 https://hc-ping.com/UUID/fail", &["failure"], "failed"),
    // As small devices do it, without a Host header.
    (
        r#"exec 3<> "/dev/tcp/${ADDRESS/:/\/}"
        printf 'GET /ping/UUID HTTP/1.0\r\n\r\n' >&3
        grep '^OK' <&3"#,
        &["success"],
        "on_time",
    ),
    ("wget https://hc-ping.com/UUID -T 10 -t 5 -O /dev/null", &["success"], "on_time"),
    ("wget --spider -T 10 -t 5 https://hc-ping.com/UUID", &["success"], "on_time"),
    (
        "wget --post-data 'no space left' -T 10 -t 5 -O /dev/null https://hc-ping.com/UUID/fail",
        &["failure: no space left"],
        "failed",
    ),
    (
        r#"python3 -c '
import socket, urllib.request
try:
    urllib.request.urlopen("https://hc-ping.com/UUID", timeout=10)
except socket.error as e:
    print("Ping failed: %s" % e)
'"#,
        &["success"],
        "on_time",
    ),
    (
        r#"python3 -c '
import traceback, urllib.request
url = "https://hc-ping.com/UUID"
urllib.request.urlopen(url + "/start", timeout=10)
try:
    1 / 0
except ZeroDivisionError as e:
    urllib.request.urlopen(url + "/fail", data=str(e).encode(), timeout=10)
'"#,
        &["failure, timed: division by zero"],
        "failed",
    ),
];

#[tokio::test]
async fn jobs_of_healthchecks_need_only_another_host() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    // No run becomes late here.
    let options = Options { minute: TimeScale::default(), ..options(&data) };
    let service = Service::start(options, config(), mail(&data), None).await.expect("started");
    let client = Client::with_token_file(service.listen(), &service.token_file());
    let teams = client.get("/api/v1/teams").await.body;
    let team = format!("/api/v1/teams/{}", teams["data"][0]["uuid"].as_str().expect("a team"));
    let key = json!({ "ping_key": KEY }).to_string();
    let taken = client.send("PUT", &format!("{team}/ping-key"), key.as_bytes()).await;
    assert_eq!(taken.status, 200, "{taken:?}");

    let (address, heartbeats) = (service.listen().to_string(), format!("{team}/heartbeats"));
    for (example, runs, state) in EXAMPLES {
        let host = format!("http://{address}/ping");
        let mut script = example.replace("https://hc-ping.com", &host).replace("KEY", KEY);
        if example.contains("UUID") {
            let created = client.send("POST", &heartbeats, br#"{"name": "Job"}"#).await;
            let url = created.body["data"]["ping_url"].as_str().expect("an address");
            let (_, uuid) = url.rsplit_once('/').expect("a UUID");
            script = script.replace("UUID", uuid);
        }
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).env("ADDRESS", &address).current_dir(folder.path());
        let output = bash.output().await.expect("bash");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success(), "{example}\n{said}");

        let found = client.get(&heartbeats).await.body;
        let [heartbeat] = found["data"].as_array().expect("a list").as_slice() else {
            panic!("{example}\n{found}");
        };
        let path = format!("{heartbeats}/{}", heartbeat["uuid"].as_str().expect("an id"));
        let reported = client.get(&format!("{path}/runs")).await.body;
        let reported = reported["data"].as_array().expect("a list").iter().rev();
        assert_eq!(reported.map(shown).collect::<Vec<_>>(), runs, "{example}\n{said}");
        assert_eq!(heartbeat["state"], state, "{example}\n{said}");
        assert!(heartbeat["running_since"].is_null(), "{example}\n{heartbeat}");
        assert_eq!(client.send("DELETE", &path, b"").await.status, 204);
    }
    service.stop().await;
}

/// A run in a line.
fn shown(run: &Value) -> String {
    let mut shown = run["outcome"].as_str().expect("an outcome").to_owned();
    if let Some(status) = run["exit_status"].as_u64() {
        shown += &format!(" {status}");
    }
    if run["duration_seconds"].is_number() {
        shown += ", timed";
    }
    if let Some(output) = run["output"].as_str() {
        shown += &format!(": {output}");
    }
    shown
}
