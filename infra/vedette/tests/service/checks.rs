//! Sites are checked, now and after a restart.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use vedette_testkit::WebServer;

use crate::process::{announced, command, send, stop};
use crate::start;

/// A web server that does the same with every connection.
async fn target<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

async fn healthy(mut stream: TcpStream) {
    let mut request = [0; 4_096];
    if stream.read(&mut request).await.is_ok() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
        let _ = stream.write_all(answer).await;
    }
}

async fn hanging(mut stream: TcpStream) {
    // Waits until the other side closes the connection.
    while matches!(stream.read(&mut [0; 4_096]).await, Ok(1..)) {}
}

#[tokio::test]
async fn a_site_is_checked_and_all_of_it_survives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("http://{}/", target(healthy).await);
    let (service, client) = start(folder.path()).await;
    let site = client.add_site(&url).await;
    let first = client.ended_checks(&site, 1).await;
    let first = first.last().expect("a check");
    assert_eq!(first["status"], "completed");
    assert_eq!(first["result"]["up"], true);
    service.stop().await;

    let (service, client) = start(folder.path()).await;
    let kept =
        client.get(&format!("/api/v1/checks/{}", first["uuid"].as_str().expect("an id"))).await;
    assert_eq!(kept.status, 200);
    assert_eq!(kept.body["data"]["completed_at"], first["completed_at"]);
    let before = client.ended_checks(&site, 1).await.len();
    client.ended_checks(&site, before + 2).await;
    service.stop().await;
}

#[tokio::test]
async fn a_target_that_hangs_delays_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_service, client) = start(folder.path()).await;
    for _ in 0..4 {
        client.add_site(&format!("http://{}/", target(hanging).await)).await;
    }
    let site = client.add_site(&format!("http://{}/", target(healthy).await)).await;
    let checks = client.ended_checks(&site, 2).await;
    assert!(checks.iter().all(|check| check["result"]["up"] == true), "{checks:?}");
}

#[tokio::test]
async fn the_service_does_not_check_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let site = client.add_site(&format!("http://{}/", service.listen())).await;
    let checks = client.ended_checks(&site, 1).await;
    assert_eq!(checks[0]["status"], "failed", "{checks:?}");
    assert_eq!(checks[0]["error"]["code"], "target_forbidden", "{checks:?}");
    service.stop().await;
}

#[tokio::test]
async fn a_process_that_was_stopped_during_a_check_blames_no_site() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = command(folder.path());
    command.env("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8").env("VEDETTE_THROTTLE", "100000");
    command.env("VEDETTE_DOH", "none").env("VEDETTE_AUDITOR", "none");
    let (child, client) = announced(command, folder.path()).await;
    let server = WebServer::start().await;
    server.hang();
    let site = client.add_site(&server.url).await;
    server.asked(1).await;
    stop(&child).await;
    server.answer(503);
    sleep(Duration::from_secs(7)).await;
    server.answer(200);
    send(&child, "-CONT").await;
    let checks = client.ended_checks(&site, 1).await;
    let first = checks.last().expect("a check");
    assert_eq!(first["result"]["up"], true, "{first}");
}
