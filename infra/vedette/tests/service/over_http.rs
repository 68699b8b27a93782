//! Commands that call a service over HTTP.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;
use tokio::process::Command;

use crate::start;

/// Runs a command: its exit code, standard output and standard error.
async fn vedette(config: &Path, token: Option<&str>, command: &str) -> (i32, String, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_vedette"));
    process.args(command.split(' ')).env("XDG_CONFIG_HOME", config).env_remove("VEDETTE_TOKEN");
    if let Some(token) = token {
        process.env("VEDETTE_TOKEN", token);
    }
    let ran = process.output().await.expect("run");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (ran.status.code().expect("a code"), text(ran.stdout), text(ran.stderr))
}

#[tokio::test]
async fn a_command_does_the_same_over_http_as_on_the_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let config = folder.path().join("config");
    let (data, file) = (folder.path().display(), folder.path().join("token"));
    let url = format!("http://{}", service.listen());
    let login = format!("login --url {url} --api-token-file {}", file.display());
    let (code, said, wrong) = vedette(&config, None, &login).await;
    assert_eq!(code, 0, "{wrong}");
    let token = fs::read_to_string(&file).expect("a token").trim().to_owned();
    assert!(!said.contains(&token), "{said}");
    let kept = config.join("vedette/tokens.json");
    assert!(fs::read_to_string(&kept).expect("kept").contains(&token));
    assert_eq!(fs::metadata(&kept).expect("kept").permissions().mode() & 0o777, 0o600);

    let team = client.get("/api/v1/teams").await.body["data"][0]["uuid"].clone();
    let team = team.as_str().expect("a uuid");
    let add =
        format!("--json maintenance add {team} --name Updates --start 2099-11-20T10:00 --for 90m");
    for from in [format!("--url {url}"), format!("--data {data}")] {
        let (code, added, wrong) = vedette(&config, None, &format!("{add} {from}")).await;
        assert_eq!(code, 0, "{wrong}");
        let added: Value = serde_json::from_str(&added).expect("JSON");
        assert_eq!(added["duration_minutes"], 90);
    }
    for command in [
        format!("maintenance list {team}"),
        format!("issue list --team {team} --all"),
        format!("status-page list {team}"),
        format!("api GET /teams/{team}/monitoring"),
        format!("maintenance end {team} 0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01"),
    ] {
        for form in ["", "--json "] {
            let remote = vedette(&config, None, &format!("{form}{command} --url {url}")).await;
            let local = vedette(&config, None, &format!("{form}{command} --data {data}")).await;
            assert_eq!(remote, local, "{command}");
        }
    }

    let list = format!("team list --url {url}");
    let (code, _, wrong) = vedette(&config, Some("vdt_0"), &list).await;
    assert_eq!((code, wrong.as_str()), (2, "vedette: what was given is not a token\n"));
    assert_eq!(vedette(&config, None, &format!("logout --url {url}")).await.0, 0);
    let (code, _, wrong) = vedette(&config, None, &list).await;
    assert!(code == 2 && wrong.contains("there is no token for http://127.0.0.1:"), "{wrong}");
    assert_eq!(vedette(&config, Some(&token), &list).await.0, 0);
    let (code, _, wrong) =
        vedette(&config, Some(&token), &format!("user show --email a@b.example --url {url}")).await;
    assert_eq!(code, 2, "{wrong}");
    service.stop().await;
    let (code, _, wrong) = vedette(&config, Some(&token), &list).await;
    assert!(code == 3 && wrong.contains(" does not answer: "), "{wrong}");
}
