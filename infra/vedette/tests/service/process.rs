//! Tests of the binary: folders, exit codes and signals.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use vedette_embedded::FolderError;
use vedette_local::{Service, StartError};

use crate::client::Client;
use crate::{config, mail, options, start};

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn command(data: &Path) -> Command {
    command_of(env!("CARGO_BIN_EXE_vedette"), data)
}

/// The service that a program runs.
pub(crate) fn command_of(program: impl AsRef<OsStr>, data: &Path) -> Command {
    let mut command = Command::new(program);
    with_arguments(&mut command, data);
    command
}

fn with_arguments(command: &mut Command, data: &Path) {
    command
        .args(["serve", "--data"])
        .arg(data)
        .args(["--listen", "127.0.0.1:0", "--minute", "1s", "--token"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
}

/// A command whose process may have this many files open, set by `ulimit`.
pub(crate) fn limited(ulimit: &str, data: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{ulimit} && exec \"$0\" \"$@\""));
    command.arg(env!("CARGO_BIN_EXE_vedette"));
    with_arguments(&mut command, data);
    command
}

/// A process that has printed its address.
async fn running(data: &Path) -> (Child, Client) {
    announced(command(data), data).await
}

pub(crate) async fn announced(mut command: Command, data: &Path) -> (Child, Client) {
    let mut child = command.arg("--quiet").spawn().expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let said = async {
        loop {
            let line = lines.next_line().await.expect("readable").expect("an address");
            if let Some((_, rest)) = line.split_once("http://")
                && let Some(address) = rest.strip_suffix("/api/v1")
            {
                return address.parse::<SocketAddr>().expect("an address");
            }
        }
    };
    let address = timeout(PATIENCE, said).await.expect("in time");
    (child, Client::with_token_file(address, &data.join("token")))
}

/// A figure that the system reports about a process, from the line that begins with this text.
pub(crate) fn figure(child: &Child, file: &str, line: &str) -> String {
    let path = format!("/proc/{}/{file}", child.id().expect("running"));
    let text = fs::read_to_string(path).expect("readable");
    let found = text.lines().find_map(|found| found.strip_prefix(line));
    found.expect("a line").trim().to_owned()
}

/// The memory that a process uses, without the pages of its binary, which are many in a dev build.
pub(crate) fn kilobytes(child: &Child) -> u64 {
    let kilobytes = figure(child, "status", "RssAnon:");
    kilobytes.trim_end_matches(" kB").parse().expect("a number")
}

/// Sends a signal to a process.
pub(crate) async fn send(child: &Child, signal: &str) {
    let id = child.id().expect("running").to_string();
    let sent = Command::new("kill").args([signal, &id]).status().await.expect("kill");
    assert!(sent.success());
}

/// Stops a process, and waits until it has stopped: on a busy machine, its threads go on for a while.
pub(crate) async fn stop(child: &Child) {
    send(child, "-STOP").await;
    let id = child.id().expect("running").to_string();
    loop {
        let state = Command::new("ps").args(["-o", "stat=", "-p", &id]).output().await.expect("ps");
        if state.stdout.trim_ascii_start().starts_with(b"T") {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Sends a process a signal that ends it.
pub(crate) async fn signal(child: &mut Child, signal: &str) -> ExitStatus {
    send(child, signal).await;
    timeout(PATIENCE, child.wait()).await.expect("in time").expect("ended")
}

#[tokio::test]
async fn it_stops_when_asked_and_loses_nothing_when_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut child, client) = running(folder.path()).await;
    let token = fs::read(folder.path().join("token")).expect("a token");
    let site = client.add_site("https://192.0.2.1/").await;
    let site = format!("/api/v1/sites/{site}");
    assert!(!signal(&mut child, "-KILL").await.success());

    for stop in ["-TERM", "-INT"] {
        let (mut child, client) = running(folder.path()).await;
        assert_eq!(client.get(&site).await.status, 200);
        assert_eq!(signal(&mut child, stop).await.code(), Some(0), "{stop}");
    }
    assert_eq!(fs::read(folder.path().join("token")).expect("a token"), token);
}

/// What the service prints when it starts, up to the line that contains `last`.
async fn welcome(mut command: Command, last: &str) -> String {
    let mut child = command.spawn().expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut said = String::new();
    let read = async {
        while !said.contains(last) {
            said += &lines.next_line().await.expect("readable").expect("a line");
            said.push('\n');
        }
    };
    timeout(PATIENCE, read).await.expect("in time");
    child.kill().await.expect("killed");
    said
}

#[tokio::test]
async fn only_a_terminal_gets_secrets_except_for_the_first_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    let example = "/me";
    let said = welcome(command(folder.path()), example).await;
    let token = fs::read_to_string(&file).expect("a token");
    assert!(!said.contains(token.trim()) && !said.contains("/sign-in/"), "{said}");
    for hint in ["`vedette sign-in EMAIL` prints a link", "/token\n", "$(cat '"] {
        assert!(said.contains(hint), "{hint}: {said}");
    }

    fs::remove_file(&file).expect("removed");
    let service = command(folder.path());
    let words = [service.as_std().get_program()].into_iter().chain(service.as_std().get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--command", &words.join(" "), "/dev/null"]);
    terminal.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let said = welcome(terminal, example).await;
    let token = fs::read_to_string(&file).expect("a token");
    assert!(said.contains(token.trim()) && said.contains("/sign-in/"), "{said}");

    let folder = tempfile::tempdir().expect("a folder");
    let mut first = Command::new(env!("CARGO_BIN_EXE_vedette"));
    first.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path());
    first.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let said = welcome(first, "API  ").await;
    assert!(said.contains("/setup/"), "{said}");
}

#[tokio::test]
async fn a_link_with_the_former_name_is_the_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("vedette-local");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_vedette"), &link).expect("linked");
    let data = folder.path().join("data");
    let mut command = Command::new(link);
    command.arg("--data").arg(&data).args(["--listen", "127.0.0.1:0", "--token"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let (mut child, client) = announced(command, &data).await;
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    assert!(signal(&mut child, "-TERM").await.success());
}

#[tokio::test]
async fn a_folder_is_for_one_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let mode = fs::metadata(service.token_file()).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let second = Service::start(options(folder.path()), config(), mail(folder.path()), None).await;
    assert!(matches!(second, Err(StartError::Folder(FolderError::InUse(_)))));
    let second = command(folder.path()).output().await.expect("ended");
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("in use by another process"), "{said}");

    assert_eq!(client.get("/api/v1/me").await.status, 200);
    service.stop().await;
    let (third, _) = start(folder.path()).await;
    third.stop().await;
}

#[tokio::test]
async fn nothing_but_the_api_listens_on_a_port() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, client) = running(folder.path()).await;
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    let process = format!("/proc/{}", child.id().expect("running"));
    let sockets: BTreeSet<String> = fs::read_dir(format!("{process}/fd"))
        .expect("open files")
        .filter_map(|file| fs::read_link(file.expect("a file").path()).ok())
        .filter_map(|link| {
            let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(inode.to_owned())
        })
        .collect();
    let listening = ["tcp", "tcp6", "udp", "udp6"].map(|protocol| {
        let table = fs::read_to_string(format!("{process}/net/{protocol}")).expect("sockets");
        let fields = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        // State 0A is LISTEN; sockets for datagrams are never in it.
        fields
            .filter(|fields| sockets.contains(fields[9]))
            .filter(|fields| protocol.starts_with("udp") || fields[3] == "0A")
            .count()
    });
    assert_eq!(listening, [1, 0, 0, 0]);
}

#[tokio::test]
async fn the_folder_is_shut_to_others_also_where_it_was_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("made");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("opened");
    let (mut child, _) = running(&data).await;
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for entry in fs::read_dir(&data).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    assert!(signal(&mut child, "-TERM").await.success());
}

#[tokio::test]
async fn a_wrong_start_says_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let wrong = command(&data).env("VEDETTE_THROTTLE", "many").output().await.expect("ended");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("VEDETTE_THROTTLE"));
    let half = command(&data).env("VEDETTE_OIDC_ISSUER", "https://id.example.com").output().await;
    let half = half.expect("ended");
    assert_eq!(half.status.code(), Some(2));
    let said = String::from_utf8_lossy(&half.stderr);
    assert!(
        said.contains("VEDETTE_OIDC_CLIENT_ID: is not set, while VEDETTE_OIDC_ISSUER is"),
        "{said}"
    );
    let wrong = command(&data).args(["--minute", "soon"]).output().await.expect("ended");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(!data.exists(), "nothing was begun");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let mut options = options(&data);
    options.listen = Some(address);
    let refused = Service::start(options, config(), mail(&data), None).await;
    assert!(matches!(refused, Err(StartError::Listen { .. })));
    assert!(!data.join("token").exists(), "nobody was made");
}
