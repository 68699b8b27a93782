//! Limits on connections and on the responses being sent. When a limit is reached, a connection is closed: for
//! connections, the one that has been idle the longest, of the peer that has the most; for responses, the one that has
//! been sending the longest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use vedette_domain::source::Source;

/// The most connections at once.
pub(super) const CONNECTIONS_MAX: u32 = 4_096;
/// Memory for all responses being sent, in bytes.
const RESPONSES_MAX: usize = 64 * 1024 * 1024;

/// The most connections at once in this process. Half of its files are reserved for checks and the table.
pub(super) fn most_connections() -> usize {
    (crate::places::files() / 2).clamp(1, CONNECTIONS_MAX.into()) as usize
}

/// The connections of each peer, and the responses being sent in the order in which they are evicted.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<Queues>);

#[derive(Debug, Default)]
struct Queues {
    last: u64,
    /// Evicted connections that are not closed yet.
    evicted: usize,
    peers: HashMap<Source, Connected>,
    sending: BTreeMap<u64, (usize, CancellationToken)>,
    /// Size of all responses that are being sent.
    bytes: usize,
}

/// The connections of a peer.
#[derive(Debug, Default)]
struct Connected {
    /// All of its connections, in any state.
    count: usize,
    /// The idle connections, in the order in which they became idle.
    idle: BTreeMap<u64, CancellationToken>,
}

impl Queues {
    const fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Closes a connection, and counts it until it is closed.
    fn evict(&mut self, evicted: &CancellationToken) {
        self.evicted += usize::from(!evicted.is_cancelled());
        evicted.cancel();
    }
}

impl Connections {
    /// Registers a new connection, which is idle until its first request.
    pub(super) fn register(self: &Arc<Self>, peer: Source) -> Arc<Connection> {
        let evicted = CancellationToken::new();
        lock(&self.0).peers.entry(peer).or_default().count += 1;
        let activity = Activity { turn: self.add_idle(peer, &evicted), requests: 0 };
        let all = Arc::clone(self);
        Arc::new(Connection { all, peer, evicted, activity: Mutex::new(activity) })
    }

    /// How many evicted connections are not closed yet.
    pub(super) fn evicted(&self) -> usize {
        lock(&self.0).evicted
    }

    /// Evicts an idle connection, if there is one: of the peer with the most connections, the one that has been idle
    /// the longest. So a client that opens thousands does not shut out anybody else.
    pub(super) fn evict_idle(&self) {
        let mut queues = lock(&self.0);
        let crowd = queues.peers.values_mut().filter_map(|connected| {
            let longest = *connected.idle.keys().next()?;
            Some((connected.count, Reverse(longest), connected))
        });
        let most = crowd.max_by_key(|(count, longest, _)| (*count, *longest));
        if let Some((.., connected)) = most
            && let Some((_, evicted)) = connected.idle.pop_first()
        {
            queues.evict(&evicted);
        }
    }

    fn add_idle(&self, peer: Source, evicted: &CancellationToken) -> u64 {
        let mut queues = lock(&self.0);
        let turn = queues.next();
        queues.peers.entry(peer).or_default().idle.insert(turn, evicted.clone());
        turn
    }

    fn remove_idle(&self, peer: Source, turn: u64) {
        if let Some(connected) = lock(&self.0).peers.get_mut(&peer) {
            connected.idle.remove(&turn);
        }
    }

    /// Removes a closed connection, and its peer if that has no other connection.
    fn remove(&self, peer: Source, turn: u64, evicted: &CancellationToken) {
        let mut queues = lock(&self.0);
        queues.evicted -= usize::from(evicted.is_cancelled());
        if let Some(connected) = queues.peers.get_mut(&peer) {
            connected.idle.remove(&turn);
            connected.count -= 1;
            if connected.count == 0 {
                queues.peers.remove(&peer);
            }
        }
    }

    /// Registers a response that is being sent. If there is not enough memory for all responses, those that have been
    /// sending the longest are cut off.
    fn add_response(&self, bytes: usize, evicted: &CancellationToken) -> u64 {
        let mut queues = lock(&self.0);
        while queues.bytes + bytes > RESPONSES_MAX
            && let Some((_, (freed, slow))) = queues.sending.pop_first()
        {
            queues.bytes -= freed;
            queues.evict(&slow);
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
    peer: Source,
    evicted: CancellationToken,
    activity: Mutex<Activity>,
}

#[derive(Debug)]
struct Activity {
    /// Its place among the idle connections, if it is idle.
    turn: u64,
    /// Active requests: the next one may begin before the last response has been sent.
    requests: usize,
}

impl Connection {
    /// Where it comes from.
    pub(super) const fn peer(&self) -> Source {
        self.peer
    }

    /// Completes when the connection is evicted and must be closed.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Begins a request. The connection is not idle until the request is handled and its response sent. Returns `None`
    /// if the connection is already evicted, because the request would be cut off.
    pub(super) fn begin_request(self: &Arc<Self>) -> Option<ActiveRequest> {
        let mut activity = lock(&self.activity);
        self.all.remove_idle(self.peer, activity.turn);
        // An eviction only cancels connections that are still in the queue.
        if self.evicted.is_cancelled() {
            return None;
        }
        activity.requests += 1;
        Some(ActiveRequest(Arc::clone(self)))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.remove(self.peer, lock(&self.activity).turn, &self.evicted);
    }
}

/// A request that is being handled.
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
        let Connection { all, peer, evicted, activity } = &*self.0;
        let mut activity = lock(activity);
        activity.requests -= 1;
        if activity.requests == 0 {
            activity.turn = all.add_idle(*peer, evicted);
        }
    }
}

/// A response that is being sent.
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

/// Locks a mutex. No change under these locks can be left half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn peer(n: u8) -> Source {
        Source::of(std::net::IpAddr::from(Ipv4Addr::new(192, 0, 2, n)))
    }

    #[test]
    fn the_peer_with_the_most_connections_loses_its_longest_idle_one() {
        let all = Arc::new(Connections::default());
        let lone = all.register(peer(1));
        let crowd: Vec<_> = (0..4).map(|_| all.register(peer(2))).collect();
        let others: Vec<_> = (0..2).map(|_| all.register(peer(3))).collect();
        // Connections that are being read or answered count for their peer, but are not evicted.
        let active = crowd[0].begin_request();
        let evicted = || {
            let all = [&lone].into_iter().chain(&crowd).chain(&others);
            all.map(|one| u8::from(one.evicted.is_cancelled())).collect::<Vec<_>>()
        };
        all.evict_idle();
        assert_eq!(evicted(), [0, 0, 1, 0, 0, 0, 0]);
        all.evict_idle();
        all.evict_idle();
        assert_eq!(evicted(), [0, 0, 1, 1, 1, 0, 0]);
        // No connection of the crowd is idle any more.
        all.evict_idle();
        assert_eq!(evicted(), [0, 0, 1, 1, 1, 1, 0]);
        drop(active);
        all.evict_idle();
        assert_eq!(evicted(), [0, 1, 1, 1, 1, 1, 0]);
        drop(crowd);
        drop(others);
        assert_eq!(lock(&all.0).peers.len(), 1, "who is gone is forgotten");
    }

    #[test]
    fn between_peers_with_as_many_the_longest_idle_one_is_evicted() {
        let all = Arc::new(Connections::default());
        let [first, second] = [2, 1].map(|n| all.register(peer(n)));
        all.evict_idle();
        assert!(first.evicted.is_cancelled() && !second.evicted.is_cancelled());
    }

    #[test]
    fn the_connection_idle_for_longest_is_evicted_and_no_active_one() {
        let all = Arc::new(Connections::default());
        let [first, second, third] = [(); 3].map(|()| all.register(peer(1)));
        let evicted = || [&first, &second, &third].map(|one| one.evicted.is_cancelled());
        let request = first.begin_request();
        all.evict_idle();
        assert_eq!(evicted(), [false, true, false]);
        // Its request has ended, so it is idle again.
        drop(request);
        all.evict_idle();
        assert_eq!(evicted(), [false, true, true]);
        let request = first.begin_request();
        all.evict_idle();
        assert_eq!(evicted(), [false, true, true], "the only one left is active");
        drop(request);
        drop(first);
        assert!(lock(&all.0).peers[&peer(1)].idle.is_empty(), "{all:?}");
    }

    #[test]
    fn no_request_begins_on_an_evicted_connection() {
        let all = Arc::new(Connections::default());
        let connection = all.register(peer(1));
        all.evict_idle();
        assert!(connection.begin_request().is_none());
    }

    #[test]
    fn a_connection_is_active_until_the_last_of_its_responses_is_sent() {
        let all = Arc::new(Connections::default());
        let connection = all.register(peer(1));
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
        let [first, second, third] = [(); 3].map(|()| all.register(peer(1)));
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
