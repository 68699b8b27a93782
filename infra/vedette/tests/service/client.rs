//! A client that sends exactly the bytes that it is given.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep, timeout};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Client {
    address: SocketAddr,
    token: String,
}

#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
    /// The body as it was sent.
    pub(crate) text: String,
}

impl Client {
    pub(crate) fn with_token_file(address: SocketAddr, file: &Path) -> Self {
        let token = fs::read_to_string(file).expect("a token file").trim().to_owned();
        Self { address, token }
    }

    /// A client without credentials.
    pub(crate) fn without_token(address: SocketAddr) -> Self {
        Self { address, token: String::new() }
    }

    pub(crate) async fn get(&self, path: &str) -> HttpResponse {
        self.send("GET", path, b"").await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &[u8]) -> HttpResponse {
        let length = format!("Content-Length: {}\r\n", body.len());
        let mut request = self.head(method, path, &length).into_bytes();
        request.extend_from_slice(body);
        self.send_raw(&request).await.expect("an answer")
    }

    /// The head of a request with the token, which is the last request on its connection. `more` are whole header
    /// lines.
    pub(crate) fn head(&self, method: &str, path: &str, more: &str) -> String {
        let Self { token, .. } = self;
        format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}\
             Connection: close\r\n\r\n"
        )
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connected")
    }

    /// A connection from another address of this machine.
    pub(crate) async fn connect_from(&self, address: IpAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((address, 0).into()).expect("an address of this machine");
        socket.connect(self.address).await.expect("connected")
    }

    /// Sends bytes as they are; `None` if the connection is closed without a response.
    pub(crate) async fn send_raw(&self, request: &[u8]) -> Option<HttpResponse> {
        let mut stream = self.connect().await;
        stream.write_all(request).await.expect("sent");
        stream.shutdown().await.expect("said that this was all");
        Self::receive(stream).await
    }

    /// Everything that arrives until the connection is closed.
    pub(crate) async fn receive(mut stream: TcpStream) -> Option<HttpResponse> {
        let mut answer = Vec::new();
        let read = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("in time");
        read.expect("received");
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().expect("a status");
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let text = body.to_owned();
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        Some(HttpResponse { status, headers, body, text })
    }

    /// The path of the sites of the only team.
    pub(crate) async fn sites_path(&self) -> String {
        let teams = self.get("/api/v1/teams").await.body;
        let team = teams["data"][0]["uuid"].as_str().expect("a team");
        format!("/api/v1/teams/{team}/sites")
    }

    /// Adds a site to the only team, and returns the site's id.
    pub(crate) async fn add_site(&self, url: &str) -> String {
        let body = serde_json::json!({ "url": url }).to_string();
        let path = self.sites_path().await;
        let created = self.send("POST", &path, body.as_bytes()).await;
        assert_eq!(created.status, 201, "{created:?}");
        created.body["data"]["uuid"].as_str().expect("an id").to_owned()
    }

    /// Waits until the site has this many ended status checks, and returns them, newest first.
    pub(crate) async fn ended_checks(&self, site: &str, count: usize) -> Vec<Value> {
        let asked = Instant::now();
        loop {
            let answer = self.get(&format!("/api/v1/sites/{site}/checks?per_page=100")).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let checks = answer.body["data"].as_array().expect("a list").clone();
            let is_ended =
                |check: &Value| check["type"] == "status" && !check["completed_at"].is_null();
            let ended: Vec<Value> = checks.into_iter().filter(is_ended).collect();
            if ended.len() >= count {
                return ended;
            }
            assert!(asked.elapsed() < PATIENCE, "{} checks of {count}", ended.len());
            sleep(Duration::from_millis(20)).await;
        }
    }
}
