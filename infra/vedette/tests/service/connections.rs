//! More connections than the process may have open files, and more than any client needs.

use std::time::Duration;

use futures::future::ready;
use futures::stream::{self, FuturesUnordered, StreamExt as _};
use rustix::process::{Resource, getrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use vedette_local::process::prepare;

use crate::client::Client;
use crate::process::{announced, command, figure, kilobytes, limited};

/// Opens connections, a few at a time, and returns them in this order.
async fn many(client: &Client, count: usize) -> Vec<TcpStream> {
    stream::iter(0..count).map(|_| client.connect()).buffered(100).collect().await
}

/// Whether the service closes this many of them, which takes a moment on a busy machine. It does not matter which ones:
/// if more connections wait than the system's queue can hold, clients try again, which changes their order.
async fn are_closed(connections: &[TcpStream], count: usize) -> bool {
    let closed: FuturesUnordered<_> = connections.iter().map(is_closed).collect();
    let closed = closed.filter(|closed| ready(*closed)).take(count).count();
    timeout(Duration::from_secs(30), closed).await == Ok(count)
}

/// Whether the connection is closed; waits until there is something to read.
async fn is_closed(connection: &TcpStream) -> bool {
    connection.readable().await.expect("a connection");
    connection.try_read(&mut [0]).is_ok()
}

#[tokio::test]
async fn as_many_files_are_open_as_the_system_lets_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, _client) =
        announced(limited("ulimit -S -n 256", folder.path()), folder.path()).await;
    let limits = figure(&child, "limits", "Max open files");
    let limits: Vec<_> = limits.split_whitespace().collect();
    assert_eq!(limits[0], limits[1], "soft and hard");
}

#[tokio::test]
async fn the_longest_waiting_connection_makes_room_and_no_working_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_child, client) = announced(limited("ulimit -n 400", folder.path()), folder.path()).await;
    let path = client.sites_path().await;
    let mut working = client.connect().await;
    let head = client.head("POST", &path, "Content-Length: 2\r\nExpect: 100-continue\r\n");
    working.write_all(head.as_bytes()).await.expect("sent");
    working.readable().await.expect("told to go on");

    let idle = many(&client, 500).await;
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    assert!(are_closed(&idle, 300).await);
    working.write_all(b"{}").await.expect("sent");
    let answer = Client::receive(working).await.expect("an answer");
    assert_eq!(answer.status, 100, "told to go on, and then answered");
}

#[tokio::test]
async fn a_client_with_many_connections_shuts_out_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_child, client) = announced(limited("ulimit -n 400", folder.path()), folder.path()).await;
    // Another client has sent half of a request when many clients connect.
    let mut neighbor = client.connect_from([127, 0, 0, 2].into()).await;
    neighbor.write_all(b"GET /api/v1/me HTTP/1.1\r\n").await.expect("sent");
    let crowd = many(&client, 500).await;
    assert!(are_closed(&crowd, 300).await);
    neighbor.write_all(b"Host: localhost\r\nConnection: close\r\n\r\n").await.expect("sent");
    assert_eq!(Client::receive(neighbor).await.expect("an answer").status, 401);
}

#[tokio::test]
async fn ten_thousand_idle_connections_leave_the_api_answering() {
    prepare();
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let count = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(500).min(10_000);
    let folder = tempfile::tempdir().expect("a folder");
    let (child, client) = announced(command(folder.path()), folder.path()).await;
    let idle = many(&client, count).await;
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    let kilobytes = kilobytes(&child);
    assert!(kilobytes < 128 * 1024, "{kilobytes} kB");

    assert!(are_closed(&idle, count.saturating_sub(5_000)).await);
}
