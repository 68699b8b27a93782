//! Tests with a disk that is really full: a small one in memory, in a separate mount namespace.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use clap::Parser as _;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use vedette_cli::Cli;
use vedette_embedded::{Reached, Report, reach};
use vedette_testkit::WebServer;

use crate::client::Client;
use crate::process::signal;
use crate::unread::free_address;

const PATIENCE: Duration = Duration::from_secs(60);

/// A small disk, which exists as long as a process holds it.
struct Disk {
    _folder: TempDir,
    /// Where it is in its namespace.
    at: PathBuf,
    holder: Child,
}

impl Disk {
    /// `None` if this user may not mount a disk.
    async fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().to_owned();
        let script =
            "mount -t tmpfs -o size=16m,mode=700 tmpfs \"$0\" && echo mounted && exec sleep 600";
        let mut holder = Command::new("unshare");
        holder.args(["-m", "sh", "-c", script]).arg(&at).stdin(Stdio::null());
        holder.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut holder = holder.spawn().ok()?;
        let mut said = [0; 7];
        let out = holder.stdout.as_mut().expect("piped");
        out.read_exact(&mut said).await.ok()?;
        Some(Self { _folder: folder, at, holder })
    }

    fn holder(&self) -> u32 {
        self.holder.id().expect("it holds")
    }

    /// A path on it, as this process sees it.
    fn path(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder()));
        root.join(self.at.strip_prefix("/").expect("absolute")).join(name)
    }

    /// Mounts it again, `ro` or `rw`.
    async fn remount(&self, how: &str) {
        let mut mount = Command::new("nsenter");
        mount.args(["-m", "-t", &self.holder().to_string(), "mount", "-o"]);
        let done = mount.arg(format!("remount,{how}")).arg(&self.at).status().await;
        assert!(done.expect("started").success());
    }

    fn fill(&self) {
        let mut file = File::create(self.path("fill")).expect("a file");
        for size in [65_536, 4_096, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    fn free(&self) {
        fs::remove_file(self.path("fill")).expect("freed");
    }
}

/// An operator's webhook: the bodies that it gets.
async fn webhook() -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sent, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"}")
                && stream.read_buf(&mut request).await.is_ok_and(|n| n > 0)
            {}
            let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(answer).await;
            let _ = sent.send(String::from_utf8_lossy(&request).into_owned());
        }
    });
    (address, received)
}

/// A service on the disk.
struct Running {
    child: Child,
    client: Client,
    data: PathBuf,
}

impl Running {
    async fn start(disk: &Disk, operator: SocketAddr) -> Self {
        let (address, data) = (free_address(), disk.path("data"));
        let mut command = Command::new("nsenter");
        command.args(["-m", "-t", &disk.holder().to_string()]);
        command
            .arg(env!("CARGO_BIN_EXE_vedette"))
            .arg("serve")
            .arg("--data")
            .arg(disk.at.join("data"));
        command.args(["--minute", "50ms", "--token", "--listen", &address.to_string()]);
        command.args(["--operator-url", &format!("http://{operator}/hook")]);
        command.env("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8");
        command.env("VEDETTE_ALLOW_RECEIVERS", "127.0.0.0/8");
        command.env("VEDETTE_DOH", "nobody=https://127.0.0.1:1/dns-query");
        command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().expect("started");
        let listens = async {
            while TcpStream::connect(address).await.is_err() || !data.join("token").exists() {
                assert_eq!(child.try_wait().expect("a state"), None, "it runs");
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, listens).await.expect("it listens");
        let client = Client::with_token_file(address, &data.join("token"));
        Self { child, client, data }
    }

    /// What the service reports about its own health.
    async fn health(&self) -> String {
        let Ok(Reached::Served(socket)) = reach(&self.data).await else { panic!("it runs") };
        let said = socket.report(Report::Health).await.expect("an answer").expect("known");
        String::from_utf8(said.to_vec()).expect("text")
    }

    async fn until_health(&self, is: impl Fn(&str) -> bool) {
        let waits = async {
            while !is(&self.health().await) {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(PATIENCE, waits).await.expect("in time");
    }

    /// Waits until a service that could only read has restarted itself.
    async fn until_restarted(&self) {
        let writes = async {
            loop {
                // For a moment, nothing listens on the address.
                if let Ok(Reached::Served(socket)) = reach(&self.data).await
                    && let Ok(Some(said)) = socket.report(Report::Health).await
                    && said == "[]"
                {
                    return;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(PATIENCE, writes).await.expect("it begins again by itself");
    }

    async fn doctor(&self) -> u8 {
        let data: &Path = &self.data;
        let words = ["vedette", "--data", data.to_str().expect("text"), "doctor"];
        let ran = Cli::try_parse_from(words).expect("a command").execute().await;
        ran.map_or_else(|failure| failure.exit_code(), |()| 0)
    }
}

/// The exit code of a command on the disk, and what it prints.
async fn run(disk: &Disk, command: &str) -> (Option<i32>, String) {
    // SQLite resolves links in paths, so that it would look for the path of the disk in this namespace.
    let mut vedette = Command::new("nsenter");
    vedette.args(["-m", "-t", &disk.holder().to_string(), env!("CARGO_BIN_EXE_vedette"), "--data"]);
    vedette.arg(disk.at.join("data")).args(command.split(' '));
    let ran = vedette.output().await.expect("started");
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.code(), String::from_utf8_lossy(&said).trim().to_owned())
}

fn is_degraded(health: &str) -> bool {
    health.contains("Nothing can be saved")
}

fn is_well(health: &str) -> bool {
    health == "[]"
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
async fn a_full_disk_is_told_of_and_survived() {
    let Some(disk) = Disk::mount().await else {
        return eprintln!("skipped: this user may not mount a disk");
    };
    let target = WebServer::start().await;
    let (operator, mut told) = webhook().await;
    let mut running = Running::start(&disk, operator).await;
    let site = running.client.add_site(&target.url).await;
    running.client.ended_checks(&site, 1).await;
    assert_eq!(running.doctor().await, 0);

    disk.fill();
    let told_of = timeout(PATIENCE, told.recv()).await.expect("in time").expect("a report");
    assert!(told_of.contains("\"service.degraded\"") && told_of.contains("full"), "{told_of}");
    assert!(is_degraded(&running.health().await));
    assert_eq!(running.doctor().await, 1);
    assert_eq!(running.client.get("/api/v1/me").await.status, 200);
    disk.free();
    running.until_health(is_well).await;
    assert_eq!(running.doctor().await, 0);
    assert!(told.try_recv().is_err(), "told once");

    // If the service is killed while the disk is full, it can start again, because it can read its log.
    disk.fill();
    running.until_health(is_degraded).await;
    assert!(!signal(&mut running.child, "-KILL").await.success());
    let mut running = Running::start(&disk, operator).await;
    assert_eq!(running.client.get(&format!("/api/v1/sites/{site}")).await.status, 200);
    running.until_health(is_degraded).await;
    disk.free();
    running.until_health(is_well).await;
    let ended = running.client.ended_checks(&site, 1).await.len();
    running.client.ended_checks(&site, ended + 2).await;

    // If the service was stopped before the disk became full, there is no room for the files next to the table, so the
    // service can only read the table.
    assert_eq!(signal(&mut running.child, "-TERM").await.code(), Some(0));
    disk.fill();
    let mut running = Running::start(&disk, operator).await;
    assert_eq!(running.client.get(&format!("/api/v1/sites/{site}")).await.status, 200);
    assert!(is_degraded(&running.health().await));
    assert_eq!(running.doctor().await, 1);
    disk.free();
    running.until_restarted().await;
    assert_eq!(running.client.get(&format!("/api/v1/sites/{site}")).await.status, 200);
    let ended = running.client.ended_checks(&site, 1).await.len();
    running.client.ended_checks(&site, ended + 2).await;
    assert_eq!(signal(&mut running.child, "-TERM").await.code(), Some(0));
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
async fn a_first_start_on_a_full_disk_says_so() {
    let Some(disk) = Disk::mount().await else {
        return eprintln!("skipped: this user may not mount a disk");
    };
    disk.fill();
    let started = timeout(PATIENCE, run(&disk, "serve --listen 127.0.0.1:0")).await;
    let (code, said) = started.expect("it ends");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.ends_with("the disk is full"), "{said}");
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
async fn a_service_can_be_read_on_a_disk_that_cannot_be_written_however_it_ended() {
    let Some(disk) = Disk::mount().await else {
        return eprintln!("skipped: this user may not mount a disk");
    };
    let (operator, _told) = webhook().await;
    let mut running = Running::start(&disk, operator).await;
    let site = format!("/api/v1/sites/{}", running.client.add_site("https://192.0.2.1/").await);
    for how in ["-KILL", "-TERM"] {
        signal(&mut running.child, how).await;
        disk.remount("ro").await;
        let (code, said) = run(&disk, "doctor").await;
        assert_eq!(code, Some(1), "{how}: {said}");
        assert!(said.contains("Nothing can be saved (the data folder cannot"), "{how}: {said}");
        let (code, why) = run(&disk, "health").await;
        assert_eq!(code, Some(3), "{how}: {why}");
        assert!(why.ends_with("; the folder is read-only"), "{how}: {why}");

        running = Running::start(&disk, operator).await;
        assert_eq!(running.client.get(&site).await.status, 200, "{how}");
        for (command, expected) in [("health", 1), ("doctor", 1), ("team list", 3)] {
            let (code, why) = run(&disk, command).await;
            assert_eq!(code, Some(expected), "{how}: {why}");
            assert!(why.contains("but the folder is read-only"), "{how}: {why}");
        }
        disk.remount("rw").await;
        running.until_restarted().await;
        assert_eq!(running.client.get(&site).await.status, 200, "{how}");
    }
    assert_eq!(signal(&mut running.child, "-TERM").await.code(), Some(0));
}
