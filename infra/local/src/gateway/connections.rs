//! Limits on connections and on the responses being sent. When a limit is reached, the connection that
//! has been idle the longest is closed, or the response that has been sending the longest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The most connections at once.
pub(super) const CONNECTIONS_MAX: u32 = 4_096;
/// Memory for all responses being sent, in bytes.
const RESPONSES_MAX: usize = 64 * 1024 * 1024;

/// The most connections at once in this process: half of its files are for checks and the table.
pub(super) fn most_connections() -> usize {
    (crate::places::files() / 2).clamp(1, CONNECTIONS_MAX.into()) as usize
}

/// The idle connections, and the responses being sent; each in the order in which they are evicted.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<Queues>);

#[derive(Debug, Default)]
struct Queues {
    last: u64,
    idle: BTreeMap<u64, CancellationToken>,
    sending: BTreeMap<u64, (usize, CancellationToken)>,
    /// Size of all responses being sent.
    bytes: usize,
}

impl Queues {
    const fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

impl Connections {
    /// Registers a new connection, which is idle until its first request.
    pub(super) fn register(self: &Arc<Self>) -> Arc<Connection> {
        let evicted = CancellationToken::new();
        let activity = Activity { turn: self.add_idle(&evicted), requests: 0 };
        Arc::new(Connection { all: Arc::clone(self), evicted, activity: Mutex::new(activity) })
    }

    /// Evicts the connection that has been idle the longest, if any is idle.
    pub(super) fn evict_idle(&self) {
        let mut queues = lock(&self.0);
        if let Some((_, evicted)) = queues.idle.pop_first() {
            evicted.cancel();
        }
    }

    fn add_idle(&self, evicted: &CancellationToken) -> u64 {
        let mut queues = lock(&self.0);
        let turn = queues.next();
        queues.idle.insert(turn, evicted.clone());
        turn
    }

    fn remove_idle(&self, turn: u64) {
        lock(&self.0).idle.remove(&turn);
    }

    /// Registers a response being sent. Those that have been sending the longest are cut off if there is
    /// not enough memory for all.
    fn add_response(&self, bytes: usize, evicted: &CancellationToken) -> u64 {
        let mut queues = lock(&self.0);
        while queues.bytes + bytes > RESPONSES_MAX
            && let Some((_, (freed, slow))) = queues.sending.pop_first()
        {
            queues.bytes -= freed;
            slow.cancel();
        }
        let turn = queues.next();
        queues.bytes += bytes;
        queues.sending.insert(turn, (bytes, evicted.clone()));
        turn
    }

    fn remove_response(&self, turn: u64) {
        let mut queues = lock(&self.0);
        if let Some((bytes, _)) = queues.sending.remove(&turn) {
            queues.bytes -= bytes;
        }
    }
}

/// A registered connection.
#[derive(Debug)]
pub(super) struct Connection {
    all: Arc<Connections>,
    evicted: CancellationToken,
    activity: Mutex<Activity>,
}

#[derive(Debug)]
struct Activity {
    /// Its place among the idle connections, when it is idle.
    turn: u64,
    /// Active requests: the next one may begin before the last response has been sent.
    requests: usize,
}

impl Connection {
    /// Completes when the connection is evicted and must be closed.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Begins a request. The connection is not idle until the request is handled and its response sent.
    /// `None` if the connection is evicted already: no request may begin that would be cut off.
    pub(super) fn begin_request(self: &Arc<Self>) -> Option<ActiveRequest> {
        let mut activity = lock(&self.activity);
        self.all.remove_idle(activity.turn);
        // An eviction cancels only connections that were still in the queue.
        if self.evicted.is_cancelled() {
            return None;
        }
        activity.requests += 1;
        Some(ActiveRequest(Arc::clone(self)))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.remove_idle(lock(&self.activity).turn);
    }
}

/// A request being handled.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<Connection>);

impl ActiveRequest {
    /// Begins its response, of this size in bytes.
    pub(super) fn respond(self, bytes: usize) -> OutgoingResponse {
        let Connection { all, evicted, .. } = &*self.0;
        OutgoingResponse { turn: all.add_response(bytes, evicted), request: self }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let Connection { all, evicted, activity } = &*self.0;
        let mut activity = lock(activity);
        activity.requests -= 1;
        if activity.requests == 0 {
            activity.turn = all.add_idle(evicted);
        }
    }
}

/// A response being sent.
#[derive(Debug)]
pub(super) struct OutgoingResponse {
    turn: u64,
    request: ActiveRequest,
}

impl Drop for OutgoingResponse {
    fn drop(&mut self) {
        self.request.0.all.remove_response(self.turn);
    }
}

/// Nothing that is done under these locks can be left half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_idle_for_longest_is_evicted_and_no_active_one() {
        let all = Arc::new(Connections::default());
        let [first, second, third] = [(); 3].map(|()| all.register());
        let evicted = || [&first, &second, &third].map(|one| one.evicted.is_cancelled());
        let request = first.begin_request();
        all.evict_idle();
        assert_eq!(evicted(), [false, true, false]);
        // Its request has ended, so it is idle from now on.
        drop(request);
        all.evict_idle();
        assert_eq!(evicted(), [false, true, true]);
        let request = first.begin_request();
        all.evict_idle();
        assert_eq!(evicted(), [false, true, true], "the only one left is active");
        drop(request);
        drop(first);
        assert!(lock(&all.0).idle.is_empty(), "{all:?}");
    }

    #[test]
    fn no_request_begins_on_an_evicted_connection() {
        let all = Arc::new(Connections::default());
        let connection = all.register();
        all.evict_idle();
        assert!(connection.begin_request().is_none());
    }

    #[test]
    fn a_connection_is_active_until_the_last_of_its_responses_is_sent() {
        let all = Arc::new(Connections::default());
        let connection = all.register();
        let request = || connection.begin_request().expect("not evicted");
        let response = request().respond(1);
        let next = request();
        drop(response);
        all.evict_idle();
        assert!(!connection.evicted.is_cancelled(), "the next request is being handled");
        let response = next.respond(1);
        all.evict_idle();
        assert!(!connection.evicted.is_cancelled(), "its response is being sent");
        drop(response);
        all.evict_idle();
        assert!(connection.evicted.is_cancelled());
    }

    #[test]
    fn the_response_that_has_been_sending_for_longest_is_cut_off() {
        let all = Arc::new(Connections::default());
        let [first, second, third] = [(); 3].map(|()| all.register());
        let evicted = || [&first, &second, &third].map(|one| one.evicted.is_cancelled());
        let respond =
            |one: &Arc<Connection>, bytes| one.begin_request().expect("not evicted").respond(bytes);
        let slow = respond(&first, 1);
        let long = respond(&second, RESPONSES_MAX - 1);
        assert_eq!(evicted(), [false; 3]);
        let last = respond(&third, 1);
        assert_eq!(evicted(), [true, false, false]);
        drop(slow);
        drop(long);
        assert_eq!(lock(&all.0).bytes, 1);
        drop(last);
        assert_eq!(lock(&all.0).bytes, 0);
    }
}
