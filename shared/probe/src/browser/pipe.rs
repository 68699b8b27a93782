//! The DevTools protocol over a pipe: JSON messages that end with a zero byte. Unlike a port, a
//! pipe cannot be found by other users of this machine, and the browser ends when it closes.

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

/// Timeout of a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// Messages with more bytes than this are skipped. A page's elements are cut at two million characters, with at most
/// six bytes each.
const MAX_MESSAGE: u64 = 32 * 1024 * 1024;

/// Bytes read at a time.
const READ_BUFFER: usize = 64 * 1024;

/// Sends commands to a browser, while a [`Transport`] carries the messages.
pub(super) struct DevTools {
    outbox: mpsc::UnboundedSender<String>,
    commands: Mutex<Commands>,
}

/// The id of the last command, and the callers that wait for results.
#[derive(Default)]
struct Commands {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<Option<Box<RawValue>>>>,
}

/// An event of the browser.
pub(super) struct Event {
    pub(super) method: String,
    /// The session; empty for the browser as a whole.
    pub(super) session: String,
    params: Option<Box<RawValue>>,
}

impl Event {
    /// Its parameters. Pages influence them, so they are parsed only if they matter.
    pub(super) fn params(&self) -> Value {
        let read = |params: &RawValue| serde_json::from_str(params.get()).ok();
        self.params.as_deref().and_then(read).unwrap_or_default()
    }
}

/// A message from the browser: a result or an event. The parts that pages influence are kept as text, which takes no
/// more memory than they have sent.
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
pub(super) struct Transport {
    to: ChildStdin,
    from: ChildStdout,
    outbox: mpsc::UnboundedReceiver<String>,
}

impl DevTools {
    pub(super) fn new(to: ChildStdin, from: ChildStdout) -> (Self, Transport) {
        let (sender, outbox) = mpsc::unbounded_channel();
        (Self { outbox: sender, commands: Mutex::default() }, Transport { to, from, outbox })
    }

    /// Sends a command without waiting for its result; to the browser as a whole if `session` is
    /// empty.
    pub(super) fn post(&self, session: &str, method: &str, params: Value) {
        self.send(session, method, params, None);
    }

    /// Sends a command and waits for its result; `None` if it fails, times out, or has another
    /// shape.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        session: &str,
        method: &str,
        params: Value,
    ) -> Option<T> {
        timeout(COMMAND_TIMEOUT, self.call_untimed(session, method, params)).await.ok()?
    }

    /// Like `call`, without a timeout.
    pub(super) async fn call_untimed<T: DeserializeOwned>(
        &self,
        session: &str,
        method: &str,
        params: Value,
    ) -> Option<T> {
        let (sender, answer) = oneshot::channel();
        let id = self.send(session, method, params, Some(sender));
        let _pending = PendingCommand { devtools: self, id };
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
        let mut commands = self.commands();
        commands.last += 1;
        let id = commands.last;
        commands.waiting.extend(sender.map(|sender| (id, sender)));
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        // Fails once the transport has ended; then there is no result either.
        let _ = self.outbox.send(format!("{message}\0"));
        id
    }

    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a command when its caller no longer waits for the result.
struct PendingCommand<'a> {
    devtools: &'a DevTools,
    id: u64,
}

impl Drop for PendingCommand<'_> {
    fn drop(&mut self) {
        self.devtools.commands().waiting.remove(&self.id);
    }
}

impl Transport {
    /// Carries commands and results, and passes events to `on_event`, until the browser ends.
    pub(super) async fn run(self, devtools: &DevTools, mut on_event: impl FnMut(Event)) {
        let Self { mut to, from, mut outbox } = self;
        let send = async {
            while let Some(message) = outbox.recv().await {
                if to.write_all(message.as_bytes()).await.is_err() {
                    return;
                }
            }
        };
        let receive = async {
            let mut from = BufReader::with_capacity(READ_BUFFER, from).take(MAX_MESSAGE);
            while let Some(message) = next(&mut from, MAX_MESSAGE).await {
                let Ok(message) = serde_json::from_slice::<Message>(&message) else {
                    continue;
                };
                let Message { id, method, session, result, params } = message;
                if let Some(id) = id {
                    if let Some(waiting) = devtools.commands().waiting.remove(&id) {
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

/// The next message of fewer than `limit` bytes; longer ones are skipped, so that no page can end a
/// crawl with them. `None` at the end.
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

/// Skips to the end of a message; `None` if there is none.
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
        // In pieces of any size.
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
