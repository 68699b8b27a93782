//! Runs the real command with profiles of the AWS CLI against an emulator on loopback, and checks which credentials
//! sign its requests.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use vedette_testkit::aws::{Aws, SSO_TOKEN, STACK};

/// A home folder with its own AWS configuration, and the account that the configuration leads to.
struct Home {
    folder: TempDir,
    aws: Aws,
    endpoint: String,
}

impl Home {
    async fn with(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join(".aws")).expect("a folder");
        fs::write(folder.path().join(".aws/config"), config).expect("written");
        let aws = Aws::deployed("vedette");
        let endpoint = aws.serve().await;
        Self { folder, aws, endpoint }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Lists the dead letters of the stack. Nothing else is set in the environment.
    async fn list(&self) -> Output {
        self.run(&["--aws", "--stack", STACK, "dlq", "list"]).await
    }

    async fn list_is_refused(&self) {
        let ran = self.list().await;
        assert_eq!(ran.status.code(), Some(2));
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(said.starts_with("vedette: there are no valid AWS credentials: "), "{said}");
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vedette"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .env("AWS_PROFILE", "operator")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", &self.endpoint);
        tokio::task::spawn_blocking(move || command.output().expect("run")).await.expect("ended")
    }

    /// The access keys of all calls. The first call is to CloudFormation, which our own code signs.
    fn keys(&self) -> Vec<String> {
        let account = self.aws.account();
        let key = |header: &String| {
            let (_, scope) = header.split_once("Credential=").expect("a signature");
            scope.split('/').next().expect("a key").to_owned()
        };
        account.authorizations.iter().map(key).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_gives_credentials() {
    let home = Home::with(
        "[profile operator]\nregion = eu-central-1\ncredential_process = sh ${HOME}/credentials\n",
    )
    .await;
    let script = home.path().join("credentials");
    let config = home.path().join(".aws/config");
    let text = fs::read_to_string(&config).expect("read");
    fs::write(&config, text.replace("${HOME}/credentials", &script.to_string_lossy()))
        .expect("written");
    let answer = r#"{"Version": 1, "AccessKeyId": "AKIDPROCESS", "SecretAccessKey": "secret"}"#;
    let calls = home.path().join("calls");
    let count = format!("echo >> '{}'\n", calls.display());
    fs::write(&script, format!("{count}echo '{answer}'\n")).expect("written");
    let ran = home.list().await;
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&ran.stdout).starts_with("QUEUE"));
    let keys = home.keys();
    assert_eq!(keys.len(), 10, "the stack, and nine queues");
    assert_eq!(fs::read_to_string(&calls).expect("called").lines().count(), 1, "asked once");
    assert!(keys.iter().all(|key| key == "AKIDPROCESS"), "{keys:?}");

    fs::write(&script, "exit 3\n").expect("written");
    home.list_is_refused().await;
    assert_eq!(home.keys().len(), 10, "nobody was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_portal_gives_credentials_for_a_token() {
    let home = Home::with(
        "[profile operator]\nregion = eu-central-1\nsso_session = shop\n\
         sso_account_id = 123456789012\nsso_role_name = Operator\n\
         [sso-session shop]\nsso_region = eu-central-1\nsso_start_url = https://shop.test/start\n",
    )
    .await;
    let cache = home.path().join(".aws/sso/cache");
    fs::create_dir_all(&cache).expect("a folder");
    // The SHA-1 of the session's name.
    let file = cache.join("5042d146667518a1a5017644946b8650aafca44c.json");
    let token = |token: &str, expires: &str| {
        format!(
            r#"{{"accessToken": "{token}", "expiresAt": "{expires}", "region": "eu-central-1",
                "startUrl": "https://shop.test/start"}}"#
        )
    };
    fs::write(&file, token(SSO_TOKEN, "2099-01-01T00:00:00Z")).expect("written");
    let ran = home.list().await;
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    assert_eq!(home.aws.account().calls_of("GetRoleCredentials"), 1);
    let keys = home.keys();
    assert!(keys.len() == 10 && keys.iter().all(|key| key == "AKIDSSO"), "{keys:?}");

    // If the SSO token has expired, the command says that the user must log in again.
    fs::write(&file, token(SSO_TOKEN, "2020-01-01T00:00:00Z")).expect("written");
    home.list_is_refused().await;
    assert_eq!(home.keys().len(), 10, "nobody was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_stack_the_environment_must_say_which_tools_run() {
    let home = Home::with(
        "[profile operator]\nregion = eu-central-1\naws_access_key_id = AKID\n\
         aws_secret_access_key = secret\n",
    )
    .await;
    let ran = home.run(&["--aws", "reconcile"]).await;
    assert_eq!(ran.status.code(), Some(2));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.starts_with("vedette: VEDETTE_AUDITOR: must name the auditor"), "{said}");
    assert!(home.keys().is_empty(), "no schedule was touched");
}
