//! Memory for request bodies while they arrive: per user, for all strangers, and in total.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use vedette_api::BODY_MAX;
use vedette_domain::source::Source;
use vedette_http::body::{BodySender, STRANGERS_BODY_MAX};

/// Memory for all bodies together, in bytes. A body that does not fit waits.
const BODIES_MAX: usize = 16 * BODY_MAX;
/// One user's share: a user who sends slowly only delays their own requests.
const USER_MAX: usize = BODIES_MAX / 4;
/// How many bodies of strangers may be arriving from one peer: a sixteenth of those that fit. All strangers together
/// have the share of one user, and a client that announces bodies but sends nothing must not take all of it.
const PEER_BODIES: usize = USER_MAX / STRANGERS_BODY_MAX / 16;

/// The memory for request bodies.
pub(super) struct BodyMemory {
    all: Semaphore,
    /// The shares of the senders whose bodies are arriving; all strangers count as one sender.
    senders: Mutex<HashMap<BodySender, Weak<Semaphore>>>,
    /// How many bodies of strangers are expected from each peer.
    peers: Mutex<HashMap<Source, usize>>,
}

impl BodyMemory {
    pub(super) fn new() -> Self {
        Self { all: Semaphore::new(BODIES_MAX), senders: Mutex::default(), peers: Mutex::default() }
    }

    /// Reserves a sender's share for a body of up to this length, once it is free. The whole length is reserved at
    /// once: if bodies took their shares bit by bit, they could all wait for each other. Returns `None` if too many
    /// bodies of strangers are already expected from this peer.
    pub(super) async fn reserve(
        &self,
        sender: BodySender,
        peer: Source,
        length: u32,
    ) -> Option<Reservation<'_>> {
        let of_peer = match sender {
            BodySender::User(_) => None,
            BodySender::Stranger => Some(self.await_stranger(peer)?),
        };
        let of_sender = self.of_sender(sender).acquire_many_owned(length).await;
        Some(Reservation {
            memory: self,
            _of_peer: of_peer,
            _of_sender: of_sender.ok(),
            of_all: None,
        })
    }

    fn await_stranger(&self, peer: Source) -> Option<AwaitedStranger<'_>> {
        let mut peers = lock(&self.peers);
        let awaited = peers.entry(peer).or_default();
        if *awaited == PEER_BODIES {
            return None;
        }
        *awaited += 1;
        Some(AwaitedStranger { peers: &self.peers, peer })
    }

    fn of_sender(&self, sender: BodySender) -> Arc<Semaphore> {
        let mut senders = lock(&self.senders);
        if let Some(known) = senders.get(&sender).and_then(Weak::upgrade) {
            return known;
        }
        senders.retain(|_, known| known.strong_count() > 0);
        let new = Arc::new(Semaphore::new(USER_MAX));
        senders.insert(sender, Arc::downgrade(&new));
        new
    }
}

/// A stranger's body that is expected from a peer.
struct AwaitedStranger<'a> {
    peers: &'a Mutex<HashMap<Source, usize>>,
    peer: Source,
}

impl Drop for AwaitedStranger<'_> {
    fn drop(&mut self) {
        let mut peers = lock(self.peers);
        if let Some(awaited) = peers.get_mut(&self.peer) {
            *awaited -= 1;
            if *awaited == 0 {
                peers.remove(&self.peer);
            }
        }
    }
}

/// Locks a mutex. No change under these locks can be left half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The memory of one body.
pub(super) struct Reservation<'a> {
    memory: &'a BodyMemory,
    _of_peer: Option<AwaitedStranger<'a>>,
    _of_sender: Option<OwnedSemaphorePermit>,
    of_all: Option<SemaphorePermit<'a>>,
}

impl Reservation<'_> {
    /// Takes memory for the bytes that have arrived, once some is free.
    pub(super) async fn grow(&mut self, length: u32) {
        // The semaphore is never closed.
        let Ok(more) = self.memory.all.acquire_many(length).await else { return };
        match &mut self.of_all {
            Some(taken) => taken.merge(more),
            None => self.of_all = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use futures::FutureExt as _;
    use uuid::Uuid;
    use vedette_domain::id::UserId;

    use super::*;

    const LONGEST: u32 = BODY_MAX as u32;

    fn user(n: u128) -> BodySender {
        BodySender::User(UserId(Uuid::from_u128(n)))
    }

    fn peer(n: u8) -> Source {
        Source::of(IpAddr::from([192, 0, 2, n]))
    }

    #[test]
    fn a_peer_has_a_sixteenth_of_the_bodies_of_strangers() {
        let memory = BodyMemory::new();
        let length = STRANGERS_BODY_MAX as u32;
        let await_from = |n| {
            memory.reserve(BodySender::Stranger, peer(n), length).now_or_never().expect("memory")
        };
        let mut held: Vec<_> = (0..PEER_BODIES).map(|_| await_from(1)).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(await_from(1).is_none());
        let others = (2..=16).flat_map(|n| [n; PEER_BODIES]).map(await_from);
        assert!(others.collect::<Vec<_>>().iter().all(Option::is_some));
        // This limit does not apply to users.
        assert!(memory.reserve(user(1), peer(1), LONGEST).now_or_never().flatten().is_some());
        held.pop();
        assert!(await_from(1).is_some());
        drop(held);
        assert!(lock(&memory.peers).is_empty(), "forgotten once nothing is awaited");
    }

    fn reserve(memory: &BodyMemory, n: u128) -> Option<Reservation<'_>> {
        memory.reserve(user(n), peer(1), LONGEST).now_or_never().flatten()
    }

    #[test]
    fn a_user_who_sends_slowly_delays_only_their_own_requests() {
        let memory = BodyMemory::new();
        let mut slow: Vec<_> = (0..4).map(|_| reserve(&memory, 1).expect("memory")).collect();
        assert!(reserve(&memory, 1).is_none());
        // Another user has their own share.
        let mut other = reserve(&memory, 2).expect("memory");
        other.grow(LONGEST).now_or_never().expect("memory");
        slow.pop();
        assert!(reserve(&memory, 1).is_some());
    }

    #[test]
    fn bytes_that_have_not_arrived_take_nothing_from_the_budget_of_others() {
        let memory = BodyMemory::new();
        let announced: Vec<_> = (0..100).map(|n| reserve(&memory, n).expect("memory")).collect();
        assert_eq!(memory.all.available_permits(), BODIES_MAX);
        drop(announced);
        let full: Vec<_> = (0..16)
            .map(|n| {
                let mut reservation = reserve(&memory, n).expect("memory");
                for _ in 0..2 {
                    reservation.grow(LONGEST / 2).now_or_never().expect("memory");
                }
                reservation
            })
            .collect();
        let mut last = reserve(&memory, 16).expect("memory");
        assert!(last.grow(1).now_or_never().is_none());
        drop(full);
        last.grow(LONGEST).now_or_never().expect("memory");
    }

    #[test]
    fn users_without_bodies_are_forgotten() {
        let memory = BodyMemory::new();
        for n in 0..100 {
            assert!(reserve(&memory, n).is_some());
        }
        assert_eq!(lock(&memory.senders).len(), 1);
    }
}
