//! Nobody reads the output of the process, and the system gives it few threads.

use std::io::{PipeReader, PipeWriter, Write as _, pipe};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::geteuid;
use tokio::process::Command;
use tokio::time::{sleep, timeout};
use vedette_testkit::WebServer;

use crate::client::Client;
use crate::process::{limited, signal};

const PATIENCE: Duration = Duration::from_secs(30);

/// A full pipe, which nobody reads.
fn full() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().expect("a pipe");
    fcntl_setfl(&writer, OFlags::NONBLOCK).expect("set");
    // At the end, it is filled byte by byte, so that not even one byte fits.
    for text in [&[b'x'; 4_096][..], b"x"] {
        while writer.write(text).is_ok() {}
    }
    fcntl_setfl(&writer, OFlags::empty()).expect("set");
    (reader, writer)
}

/// An address that is free at the moment.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|taken| taken.local_addr()).expect("an address")
}

/// A service that listens there.
fn on(address: SocketAddr, data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vedette"));
    command.args(["serve", "--data"]).arg(data).arg("--listen").arg(address.to_string());
    command.args(["--minute", "50ms", "--token"]).stdin(Stdio::null()).kill_on_drop(true);
    command
}

#[tokio::test]
async fn a_service_whose_output_nobody_reads_checks_answers_and_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = WebServer::start().await;
    let ((_out, stdout), (_err, stderr)) = (full(), full());
    let address = free_address();
    let mut command = on(address, folder.path());
    command
        .env("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8")
        .env("VEDETTE_DOH", "nobody=https://127.0.0.1:1/dns-query")
        .env("VEDETTE_LOG", "debug")
        .stdout(stdout)
        .stderr(stderr);
    let mut child = command.spawn().expect("started");
    drop(command);
    let token = folder.path().join("token");
    let listens = async {
        while !token.exists() || tokio::net::TcpStream::connect(address).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, listens).await.expect("it listens");

    let client = Client::with_token_file(address, &token);
    client.add_site(&target.url).await;
    timeout(PATIENCE, target.asked(20)).await.expect("checks go on");
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    assert_eq!(signal(&mut child, "-TERM").await.code(), Some(0));
}

#[tokio::test]
async fn an_error_that_nobody_reads_ends_the_process_all_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let (_err, stderr) = full();
    let mut child = on(address, folder.path()).stderr(stderr).spawn().expect("started");
    let ended = timeout(PATIENCE, child.wait()).await.expect("it ends").expect("ended");
    assert_eq!(ended.code(), Some(1));
}

#[tokio::test]
async fn too_few_threads_are_an_error_and_no_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = limited("{ ulimit -u 1 2>&- || ulimit -p 1; }", folder.path());
    if geteuid().is_root() {
        // This limit does not apply to root. The other user has no other processes.
        command.uid(54_321);
    }
    let refused = command.output().await.expect("ended");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("raise the limit of processes (`ulimit -u`"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
