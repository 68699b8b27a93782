//! Runs the commands of the tutorial in a shell, as a reader does, and compares their output.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::sleep;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::id::SiteId;
use vedette_local::{Options, Service};

use crate::{config, mail, options};

const TUTORIAL: &str = include_str!("../../../../docs/tutorial.md");

/// Longer than an issue takes to open or resolve at a second a minute, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// If a command prints more documents than this, they are a history, whose length and order depend on the time.
const STORY: usize = 2;

#[tokio::test]
async fn every_example_of_the_tutorial_answers_as_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let minute = TimeScale::new(Duration::from_secs(1)).expect("a time scale");
    let options = Options { minute, ..options(&folder.path().join("data")) };
    let mail = mail(&options.data);
    let service = Service::start(options, config(), mail, None).await.expect("started");
    let mut server = WebServer::start().await;
    let mut shell = Shell {
        folder: folder.path(),
        said: String::new(),
        addresses: [("127.0.0.1:8787", service.listen()), ("127.0.0.1:9000", server.address)],
    };

    let mut examples = 0;
    for (index, part) in TUTORIAL.split("```").enumerate() {
        // Text and code blocks take turns. The service and the web server are already running.
        match part.split_once('\n') {
            Some(("console", block)) => {
                for (command, shown) in commands(block) {
                    shell.replay(command, &documents(&shown)).await;
                    examples += 1;
                }
            }
            Some(("sh", block)) if block.contains("make run") || block.contains("http.server") => {}
            Some(("sh", block)) => shell.said.push_str(block),
            _ => {
                assert_eq!(index % 2, 0, "a block of another kind: {part}");
                if part.contains("Stop the web server") {
                    server.stop();
                }
                if part.contains("Start the web server again") {
                    server.serve().await;
                }
            }
        }
    }
    assert!(examples > 8, "{examples} examples");
    service.stop().await;
}

/// The commands of a console block, each with the output in the tutorial.
fn commands(block: &str) -> Vec<(&str, String)> {
    let mut commands: Vec<(&str, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, String::new())),
            (None, Some((_, shown))) => shown.push_str(line),
            (None, None) => panic!("output before a command: {line}"),
        }
    }
    commands
}

/// Parses JSON documents, and masks what is different in every run.
fn documents(text: &str) -> Vec<Value> {
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    documents.map(|document| masked(document.unwrap_or_else(|_| text.into()))).collect()
}

fn masked(value: Value) -> Value {
    match value {
        Value::String(text) if SiteId::parse(&text).is_some() => "a uuid".into(),
        Value::String(text) if text.parse::<Timestamp>().is_ok() => "a time".into(),
        Value::Array(values) => values.into_iter().map(masked).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| match name.as_str() {
                "response_time" | "lookup" | "connect" => (name, "a time".into()),
                _ => (name, masked(value)),
            });
            fields.collect()
        }
        value => value,
    }
}

/// The line of the tutorial with a command.
fn place(command: &str) -> String {
    let line = TUTORIAL.lines().position(|line| line.ends_with(command));
    format!("docs/tutorial.md:{}", line.map_or(0, |line| line + 1))
}

/// The reader's shell.
struct Shell<'a> {
    folder: &'a Path,
    /// The functions and variables that were defined so far.
    said: String,
    /// Addresses in the tutorial, and those that this test uses instead.
    addresses: [(&'static str, SocketAddr); 2],
}

impl Shell<'_> {
    /// Runs a command until it prints what the tutorial shows. A reader also waits.
    async fn replay(&mut self, command: &str, shown: &[Value]) {
        if let Some((name, _)) = command.split_once("=$(") {
            let (value, errors) = self.run(&format!("{command}; printf %s \"${name}\"")).await;
            let is_set = !value.is_empty() && value != "null";
            assert!(is_set, "{}: `{command}` sets no value\n{errors}", place(command));
            self.said.push_str(&format!("{name}='{value}'\n"));
            return;
        }
        let asked = Instant::now();
        loop {
            let (printed, errors) = self.run(command).await;
            let printed = documents(&printed);
            let matches = if shown.len() > STORY {
                !printed.is_empty() && printed.iter().all(|document| shown.contains(document))
            } else {
                printed == shown
            };
            if matches {
                return;
            }
            assert!(
                asked.elapsed() < PATIENCE,
                "{}: `{command}` prints\n{printed:#?}\nand the tutorial shows\n{shown:#?}\n{errors}",
                place(command)
            );
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Runs a command. Returns its output and its errors.
    async fn run(&self, command: &str) -> (String, String) {
        let mut script = format!("{}\n{command}", self.said);
        for (written, here) in self.addresses {
            script = script.replace(written, &here.to_string());
        }
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", &script]).current_dir(self.folder);
        let output = bash.output().await.expect("bash");
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        for (written, here) in self.addresses {
            printed = printed.replace(&here.to_string(), written);
        }
        (printed, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Answers with the shop's page, or with 404.
async fn answer(mut stream: TcpStream) {
    let mut request = [0; 4_096];
    let Ok(length) = stream.read(&mut request).await else { return };
    let (status, body) = match request[..length].split(|byte| *byte == b' ').nth(1) {
        Some(b"/") => ("200 OK", "<h1>Shop</h1><a href=\"/gone\">Gone</a>"),
        _ => ("404 Not Found", ""),
    };
    let head = format!("Content-Type: text/html\r\nContent-Length: {}", body.len());
    let answer = format!("HTTP/1.1 {status}\r\n{head}\r\nConnection: close\r\n\r\n{body}");
    let _ = stream.write_all(answer.as_bytes()).await;
}

/// The web server of the tutorial, which can stop and start again on the same port.
pub(crate) struct WebServer {
    address: SocketAddr,
    task: JoinSet<()>,
}

impl WebServer {
    pub(crate) async fn start() -> Self {
        let mut server = Self { address: ([127, 0, 0, 1], 0).into(), task: JoinSet::new() };
        server.serve().await;
        server
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    async fn serve(&mut self) {
        let listener = TcpListener::bind(self.address).await.expect("the port");
        self.address = listener.local_addr().expect("an address");
        self.task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(answer(stream));
            }
        });
    }

    fn stop(&mut self) {
        self.task = JoinSet::new();
    }
}
