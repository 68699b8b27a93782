//! The operator's command line, while the service is running and while it is not.

use std::path::Path;
use std::time::Duration;

use clap::Parser as _;
use futures::future::join_all;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::{sleep, timeout};
use vedette_cli::{Cli, Failure};
use vedette_embedded::{Database, Folder, Fsync, Reached, Report, reach};

use crate::client::Client;
use crate::process::{announced, command};
use crate::start;

/// Runs a command on a data folder.
pub(crate) async fn vedette(data: &Path, command: &str) -> Result<(), Failure> {
    let data = data.to_str().expect("text");
    let words = ["vedette", "--json", "--data", data].into_iter().chain(command.split(' '));
    Cli::try_parse_from(words).expect("a command").execute().await
}

async fn team(client: &Client) -> Value {
    client.get("/api/v1/teams").await.body["data"][0].clone()
}

async fn plan(client: &Client) -> Value {
    team(client).await["limits"]["plan"].clone()
}

#[tokio::test]
async fn the_supervisor_learns_whether_the_service_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let failure = vedette(&data, "health").await.expect_err("nothing was begun");
    assert_eq!(failure.exit_code(), 3);
    let (service, _) = start(&data).await;
    vedette(&data, "health").await.expect("it runs");
    service.stop().await;
    let failure = vedette(&data, "health").await.expect_err("it has ended");
    assert!(
        failure.to_string().starts_with("no service is running on the data folder"),
        "{failure}"
    );
}

#[tokio::test]
async fn a_service_that_does_not_answer_is_not_healthy() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, client) = announced(command(folder.path()), folder.path()).await;
    let process = child.id().expect("running").to_string();
    let kill = async |signal: &str| {
        let sent = Command::new("kill").args([signal, &process]).status().await;
        assert!(sent.expect("kill").success());
    };
    kill("-STOP").await;
    let commands = ["health", "doctor", "team list"];
    let said = commands.map(|command| vedette(folder.path(), command));
    for (said, command) in join_all(said).await.into_iter().zip(commands) {
        let failure = said.expect_err("it is stopped");
        assert_eq!(failure.exit_code(), 4, "{command}: {failure}");
        assert!(
            failure.to_string().ends_with("has not answered for 5 seconds"),
            "{command}: {failure}"
        );
    }
    kill("-CONT").await;
    vedette(folder.path(), "health").await.expect("it runs");
    assert_eq!(client.get("/api/v1/me").await.status, 200);
}

#[tokio::test]
async fn commands_reach_the_table_whether_the_service_runs_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let id = team(&client).await["uuid"].as_str().expect("a uuid").to_owned();
    vedette(folder.path(), &format!("plan set {id} growth")).await.expect("done by the service");
    assert_eq!(plan(&client).await, "growth");
    service.stop().await;

    vedette(folder.path(), &format!("plan set {id} starter")).await.expect("done on the file");
    let (service, client) = start(folder.path()).await;
    assert_eq!(plan(&client).await, "starter");
    service.stop().await;
}

#[tokio::test]
async fn a_service_does_at_once_what_a_command_leaves_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let id = team(&client).await["uuid"].as_str().expect("a uuid").to_owned();
    let create = format!("status-page create {id} --slug meridian --name Meridian");
    vedette(folder.path(), &create).await.expect("created");
    // Without its message, the page would be published after two minutes.
    let published = async {
        while client.get("/status/meridian").await.status != 200 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(60), published).await.expect("published");
    service.stop().await;
}

#[tokio::test]
async fn a_sign_in_link_leads_to_the_service_that_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, _) = start(folder.path()).await;
    vedette(folder.path(), "user create --name Bo --email bo@example.com --verified")
        .await
        .expect("created");
    let program = env!("CARGO_BIN_EXE_vedette");
    let data = folder.path().to_str().expect("text");
    let printed = Command::new(program)
        .args(["--data", data, "sign-in", "bo@example.com"])
        .output()
        .await
        .expect("run");
    let printed = String::from_utf8(printed.stdout).expect("text");
    let base = format!("http://vedette.localhost:{}/sign-in/", service.listen().port());
    assert!(printed.starts_with(&base), "{printed}");
    service.stop().await;
}

#[tokio::test]
async fn a_service_without_a_connection_to_the_internet_is_degraded() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let path = client.sites_path().await;
    // The only resolver of these tests does not answer, which is noticed when a check fails.
    assert_eq!(client.send("POST", &path, br#"{"url":"https://shop.invalid"}"#).await.status, 201);
    let Ok(Reached::Served(socket)) = reach(folder.path()).await else { panic!("it runs") };
    let degraded = async {
        loop {
            let said = socket.report(Report::Health).await.expect("an answer").expect("a report");
            if String::from_utf8_lossy(&said).contains("no connection to the internet") {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(60), degraded).await.expect("reported");
    service.stop().await;
}

#[tokio::test]
async fn a_service_waits_for_a_command_that_works_on_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    start(folder.path()).await.0.stop().await;
    let Ok(Reached::Free(alone)) = reach(folder.path()).await else { panic!("nobody has it") };
    let database = Database::open(&alone, Fsync::Always).await.expect("opened");
    let path = folder.path().to_owned();
    let starting = tokio::spawn(async move { start(&path).await });
    database.store().all_teams().await.expect("an answer");
    assert!(!starting.is_finished());
    database.close().await;
    drop(alone);
    let (service, client) =
        timeout(Duration::from_secs(30), starting).await.expect("in time").expect("started");
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    service.stop().await;
}

#[tokio::test]
async fn a_command_does_not_create_a_data_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let refused = vedette(&data, "team list").await.expect_err("no table");
    assert_eq!(refused.exit_code(), 3);
    assert!(
        refused.to_string().ends_with(
            "has no table; `vedette serve` creates one, and --data names another folder"
        ),
        "{refused}"
    );
    assert!(!data.exists());
    Folder::make(&data).expect("made");
    assert_eq!(vedette(&data, "doctor").await.expect_err("no table").exit_code(), 3);
}
