//! The socket of a service that systemd starts: it passes one, or keeps that of the service during a restart.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::Stdio;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::client::Client;
use crate::process::{announced, signal};
use crate::unread::free_address;

const LISTEN: &str = "VEDETTE_LISTEN";

/// The service, as systemd starts it with a socket.
fn passed(socket: impl Into<OwnedFd>, data: &Path) -> Command {
    let mut command = Command::new("sh");
    let start = "export LISTEN_PID=$$ LISTEN_FDS=1 && exec \"$0\" \"$@\" 3<&0 </dev/null";
    command.args(["-c", start, env!("CARGO_BIN_EXE_vedette"), "serve", "--token", "--data"]);
    command.arg(data).stdin(socket.into()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    command
}

/// The socket that a service has asked systemd to keep.
fn kept(systemd: &UnixDatagram) -> OwnedFd {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut text = [0; 64];
    let slices = &mut [IoSliceMut::new(&mut text)];
    let message = recvmsg(systemd, slices, &mut ancillary, RecvFlags::empty()).expect("received");
    assert_eq!(&text[..message.bytes], b"FDSTORE=1\n");
    let mut sockets = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
        _ => None,
    });
    sockets.next().and_then(|mut sockets| sockets.next()).expect("a socket")
}

#[tokio::test]
async fn a_ping_waits_in_the_socket_until_the_service_has_restarted() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = TcpListener::bind("127.0.0.1:0").expect("bound");
    let service = || passed(socket.try_clone().expect("cloned"), folder.path());
    let (mut child, client) = announced(service(), folder.path()).await;
    let path = client.sites_path().await.replace("sites", "heartbeats");
    let heartbeat = client.send("POST", &path, br#"{"name": "Nightly backup"}"#).await.body;
    let url = heartbeat["data"]["ping_url"].as_str().expect("a URL");
    let ping = client.head("POST", &url[url.find("/ping/").expect("a path")..], "");
    assert!(signal(&mut child, "-TERM").await.success());

    let mut waiting = client.connect().await;
    waiting.write_all(ping.as_bytes()).await.expect("sent");
    let (_child, _) = announced(service(), folder.path()).await;
    let answer = Client::receive(waiting).await.expect("an answer");
    assert_eq!((answer.status, &*answer.text), (200, "OK"));
}

#[tokio::test]
async fn systemd_keeps_the_socket_until_the_address_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let notify = folder.path().join("notify");
    let systemd = UnixDatagram::bind(&notify).expect("bound");
    let data = folder.path().join("data");
    let address = free_address();
    let mut first = Command::new(env!("CARGO_BIN_EXE_vedette"));
    first.args(["serve", "--token", "--data"]).arg(&data).env(LISTEN, address.to_string());
    first.env("NOTIFY_SOCKET", &notify).stdout(Stdio::piped()).kill_on_drop(true);
    let (mut child, client) = announced(first, &data).await;
    let socket = kept(&systemd);
    signal(&mut child, "-KILL").await;

    let request = client.head("GET", "/api/v1/me", "");
    let mut waiting = client.connect().await;
    waiting.write_all(request.as_bytes()).await.expect("sent");
    let again = |address: String| {
        let mut command = passed(socket.try_clone().expect("cloned"), &data);
        command.env("LISTEN_FDNAMES", "stored").env(LISTEN, address);
        command
    };
    let (mut child, _) = announced(again(address.to_string()), &data).await;
    assert_eq!(Client::receive(waiting).await.expect("an answer").status, 200);
    assert!(signal(&mut child, "-TERM").await.success());

    let (_child, moved) = announced(again("127.0.0.1:0".to_owned()), &data).await;
    assert_eq!(moved.get("/api/v1/me").await.status, 200);
    TcpStream::connect(address)
        .expect_err("the former address is free, although systemd has its socket");
}

#[tokio::test]
async fn a_socket_that_cannot_be_served_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("an address");
    let connection = TcpStream::connect(address).expect("connected");
    let datagrams = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let local = UnixListener::bind(folder.path().join("socket")).expect("bound");
    let contradiction =
        format!("listens on {address}, but --listen or VEDETTE_LISTEN says 127.0.0.1:1");
    for (socket, problem) in [
        (OwnedFd::from(datagrams), "what systemd passes is not a TCP socket"),
        (local.into(), "what systemd passes is not a TCP socket"),
        (connection.into(), "the TCP socket that systemd passes cannot listen"),
        (listener.into(), &contradiction),
    ] {
        let mut service = passed(socket, &folder.path().join("data"));
        let ended = service.env(LISTEN, "127.0.0.1:1").output().await.expect("ended");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(1) && said.contains(problem), "{problem}: {said}");
    }
    assert!(!folder.path().join("data").exists(), "nothing was begun");
}
