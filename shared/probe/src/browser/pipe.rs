//! The DevTools protocol over a pipe: JSON messages that end with a zero byte. There is no port for
//! other users of this machine to find, and the browser ends when the pipe does.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of a message: a page's elements are cut at two million characters, of six bytes each at
/// worst.
const MESSAGE: u64 = 32 * 1024 * 1024;

/// Bytes read at a time.
const PIECE: usize = 64 * 1024;

/// Speaks to a browser while a [`Wire`] carries what is said.
pub(super) struct DevTools {
    outbox: mpsc::UnboundedSender<String>,
    asked: Mutex<Asked>,
}

/// Commands sent so far, and who waits for their answers.
#[derive(Default)]
struct Asked {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<Value>>,
}

/// What a browser tells without being asked.
pub(super) struct Event {
    pub(super) method: String,
    /// Where it happened; empty for the browser as a whole.
    pub(super) session: String,
    pub(super) params: Value,
}

/// The two ends of the pipe.
pub(super) struct Wire {
    to: ChildStdin,
    from: ChildStdout,
    outbox: mpsc::UnboundedReceiver<String>,
}

impl DevTools {
    pub(super) fn over(to: ChildStdin, from: ChildStdout) -> (Self, Wire) {
        let (sender, outbox) = mpsc::unbounded_channel();
        (Self { outbox: sender, asked: Mutex::default() }, Wire { to, from, outbox })
    }

    /// Sends a command whose answer does not matter; to the browser as a whole where `session` is
    /// empty.
    pub(super) fn post(&self, session: &str, method: &str, params: Value) {
        self.send(session, method, params, None);
    }

    /// Sends a command and gives its result; none where the browser refuses or says nothing.
    pub(super) async fn call(&self, session: &str, method: &str, params: Value) -> Option<Value> {
        timeout(PATIENCE, self.ask(session, method, params)).await.ok()?
    }

    /// The same, however long it takes.
    pub(super) async fn ask(&self, session: &str, method: &str, params: Value) -> Option<Value> {
        let (sender, answer) = oneshot::channel();
        let id = self.send(session, method, params, Some(sender));
        let _forgotten = Forgotten { devtools: self, id };
        match answer.await.ok()? {
            Value::Object(mut answer) => answer.remove("result"),
            _ => None,
        }
    }

    fn send(
        &self,
        session: &str,
        method: &str,
        params: Value,
        sender: Option<oneshot::Sender<Value>>,
    ) -> u64 {
        let mut asked = self.asked();
        asked.last += 1;
        let id = asked.last;
        asked.waiting.extend(sender.map(|sender| (id, sender)));
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        // Fails where nothing is carried any more; then there is no answer either.
        let _ = self.outbox.send(format!("{message}\0"));
        id
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command whose answer nobody waits for once the value ends.
struct Forgotten<'a> {
    devtools: &'a DevTools,
    id: u64,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.devtools.asked().waiting.remove(&self.id);
    }
}

impl Wire {
    /// Carries commands and answers, and hands events to `on_event`, until the browser has left.
    pub(super) async fn carry(self, devtools: &DevTools, mut on_event: impl FnMut(Event)) {
        let Self { mut to, from, mut outbox } = self;
        let send = async {
            while let Some(message) = outbox.recv().await {
                if to.write_all(message.as_bytes()).await.is_err() {
                    return;
                }
            }
        };
        let receive = async {
            let mut from = BufReader::with_capacity(PIECE, from).take(MESSAGE);
            loop {
                let mut message = Vec::new();
                from.set_limit(MESSAGE);
                let read = from.read_until(0, &mut message).await;
                if read.is_err() || message.pop() != Some(0) {
                    return;
                }
                // One that is no JSON (half of a surrogate pair is none) goes without an answer.
                let Ok(mut message) = serde_json::from_slice::<Value>(&message) else {
                    continue;
                };
                if let Some(id) = message["id"].as_u64() {
                    if let Some(waiting) = devtools.asked().waiting.remove(&id) {
                        let _ = waiting.send(message);
                    }
                } else if let Some(method) = message["method"].as_str() {
                    on_event(Event {
                        method: method.to_owned(),
                        session: message["sessionId"].as_str().unwrap_or_default().to_owned(),
                        params: message["params"].take(),
                    });
                }
            }
        };
        tokio::select! {
            () = send => {}
            () = receive => {}
        }
    }
}
