//! The DevTools protocol over a pipe: JSON messages that end with a zero byte. There is no port for
//! other users of this machine to find, and the browser ends when the pipe does.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Take};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of a message, beyond which it is passed over: a page's elements are cut at two million
/// characters, of six bytes each at worst.
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
    waiting: HashMap<u64, oneshot::Sender<Option<Box<RawValue>>>>,
}

/// What a browser tells without being asked.
pub(super) struct Event {
    pub(super) method: String,
    /// Where it happened; empty for the browser as a whole.
    pub(super) session: String,
    params: Option<Box<RawValue>>,
}

impl Event {
    /// What it says, which pages have a part in: read only where it matters.
    pub(super) fn params(&self) -> Value {
        let read = |params: &RawValue| serde_json::from_str(params.get()).ok();
        self.params.as_deref().and_then(read).unwrap_or_default()
    }
}

/// What comes through the pipe: an answer, or an event. What pages have a part in is left as text,
/// which takes no more room than they have sent.
#[derive(Deserialize)]
struct Message {
    id: Option<u64>,
    method: Option<String>,
    #[serde(default, rename = "sessionId")]
    session: String,
    result: Option<Box<RawValue>>,
    params: Option<Box<RawValue>>,
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

    /// Sends a command and gives its result; none where the browser refuses, says nothing, or says
    /// something else than what is asked for.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        session: &str,
        method: &str,
        params: Value,
    ) -> Option<T> {
        timeout(PATIENCE, self.ask(session, method, params)).await.ok()?
    }

    /// The same, however long it takes.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        session: &str,
        method: &str,
        params: Value,
    ) -> Option<T> {
        let (sender, answer) = oneshot::channel();
        let id = self.send(session, method, params, Some(sender));
        let _forgotten = Forgotten { devtools: self, id };
        let result = answer.await.ok()??;
        serde_json::from_str(result.get()).ok()
    }

    fn send(
        &self,
        session: &str,
        method: &str,
        params: Value,
        sender: Option<oneshot::Sender<Option<Box<RawValue>>>>,
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
            while let Some(message) = next(&mut from, MESSAGE).await {
                let Ok(message) = serde_json::from_slice::<Message>(&message) else {
                    continue;
                };
                let Message { id, method, session, result, params } = message;
                if let Some(id) = id {
                    if let Some(waiting) = devtools.asked().waiting.remove(&id) {
                        let _ = waiting.send(result);
                    }
                } else if let Some(method) = method {
                    on_event(Event { method, session, params });
                }
            }
        };
        tokio::select! {
            () = send => {}
            () = receive => {}
        }
    }
}

/// The next message of fewer than `limit` bytes; longer ones are passed over, so that no page can
/// end a crawl with them. None at the end.
async fn next<R: AsyncBufRead + Unpin>(from: &mut Take<R>, limit: u64) -> Option<Vec<u8>> {
    loop {
        let mut message = Vec::new();
        from.set_limit(limit);
        from.read_until(0, &mut message).await.ok()?;
        if message.pop()? == 0 {
            return Some(message);
        }
        drop(message);
        pass_over(from.get_mut()).await?;
    }
}

/// Reads on to the end of a message; none where there is no end.
async fn pass_over(from: &mut (impl AsyncBufRead + Unpin)) -> Option<()> {
    loop {
        let bytes = from.fill_buf().await.ok().filter(|bytes| !bytes.is_empty())?;
        let end = bytes.iter().position(|&byte| byte == 0);
        let passed = end.map_or(bytes.len(), |at| at + 1);
        from.consume(passed);
        if end.is_some() {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_that_is_too_long_is_passed_over() {
        let bytes = b"ab\0abcdefgh\0\0c\0abcd\0abc\0cut";
        // However it arrives.
        for piece in [1, 3, 64] {
            let mut from = BufReader::with_capacity(piece, &bytes[..]).take(0);
            let mut messages = Vec::new();
            while let Some(message) = next(&mut from, 4).await {
                messages.push(String::from_utf8(message).expect("text"));
            }
            assert_eq!(messages, ["ab", "", "c", "abc"]);
        }
    }
}
