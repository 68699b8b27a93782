//! Targets that accept connections but never answer.

use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use vedette_local::process::prepare;
use vedette_testkit::WebServer;

use crate::process::{announced, command, kilobytes};

/// A server that sends something to each client that connects, and then nothing more. Returns its address, and how many
/// connections it has.
async fn silent_after(words: Vec<u8>) -> (String, watch::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (held, holds) = watch::channel(0);
    let words = Arc::new(words);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let (words, held) = (Arc::clone(&words), held.clone());
            tokio::spawn(async move {
                // This fails if the client has disconnected.
                let _ = stream.write_all(&words).await;
                held.send_modify(|held| *held += 1);
                std::future::pending::<()>().await;
            });
        }
    });
    (address, holds)
}

#[tokio::test]
async fn a_site_is_checked_while_hundreds_of_its_team_hang() {
    prepare();
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // Slow status checks can have a quarter of the files, and one team three quarters of these.
    let each = usize::try_from(files / 16).unwrap_or(usize::MAX).min(200);
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = command(folder.path());
    command.env("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8").env("VEDETTE_THROTTLE", "100000");
    command.env("VEDETTE_DOH", "none").env("VEDETTE_AUDITOR", "none");
    let (child, client) = announced(command, folder.path()).await;

    let sites = client.sites_path().await;
    let off = json!({ "enabled": false, "cadence_minutes": 1440 });
    let tools = json!({
        "status": { "enabled": true, "cadence_minutes": 1440 },
        "ssl": off, "dns": off, "broken-links": off, "performance": off,
    });
    let settings = json!({ "monitoring_settings": { "tools": tools } }).to_string();
    let monitoring = sites.replace("/sites", "/monitoring");
    let saved = client.send("PATCH", &monitoring, settings.as_bytes()).await;
    assert_eq!(saved.status, 200, "{saved:?}");

    let before = kilobytes(&child);
    let endless_head = [b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'x'; 60_000]].concat();
    let (nothing, mut silent) = silent_after(Vec::new()).await;
    let (no_handshake, mut silent_too) = silent_after(Vec::new()).await;
    let (half_a_head, mut endless) = silent_after(endless_head).await;
    for first in (0..each).step_by(10) {
        let urls = (first..(first + 10).min(each)).flat_map(|number| {
            [
                format!("http://{nothing}/{number}"),
                format!("https://{no_handshake}/{number}"),
                format!("http://{half_a_head}/{number}"),
            ]
        });
        let urls: Vec<Value> = urls.map(|url| json!({ "url": url })).collect();
        let body = json!({ "sites": urls }).to_string();
        let made = client.send("POST", &format!("{sites}/bulk"), body.as_bytes()).await;
        assert!(made.status < 300, "{made:?}");
    }
    let healthy = WebServer::start().await;
    let site = client.add_site(&healthy.url).await;
    client.ended_checks(&site, 1).await;
    for holds in [&mut silent, &mut silent_too, &mut endless] {
        holds.wait_for(|held| *held >= each).await.expect("a server");
    }
    let a_check = (kilobytes(&child) - before) / (3 * each as u64);
    assert!(a_check < 192, "{a_check} kB for each check that waits");
}
