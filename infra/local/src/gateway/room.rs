//! Room for connections: whoever waits longest for nothing makes room for the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};
use tokio_util::sync::CancellationToken;

/// The most connections at once.
pub(super) const CONNECTIONS_MAX: u32 = 4_096;

/// The most connections at once in this process: half of its files are for checks and the table.
pub(super) fn most_connections() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (files / 2).clamp(1, CONNECTIONS_MAX.into()) as usize
}

/// The connections on which nothing is worked on, the longest waiting first.
#[derive(Debug, Default)]
pub(super) struct Room(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    turns: u64,
    places: BTreeMap<u64, CancellationToken>,
}

impl Room {
    /// A place for a new connection, which waits for its first request.
    pub(super) fn enter(self: &Arc<Self>) -> Place {
        let given_up = CancellationToken::new();
        let turn = self.wait(&given_up);
        Place { room: Arc::clone(self), given_up, turn: Mutex::new(turn) }
    }

    /// Has the longest waiting connection give up its place; where all are at work, none.
    pub(super) fn make(&self) {
        if let Some((_, given_up)) = self.lock().places.pop_first() {
            given_up.cancel();
        }
    }

    fn wait(&self, given_up: &CancellationToken) -> u64 {
        let mut waiting = self.lock();
        waiting.turns += 1;
        let turn = waiting.turns;
        waiting.places.insert(turn, given_up.clone());
        turn
    }

    fn leave(&self, turn: u64) {
        self.lock().places.remove(&turn);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.0)
    }
}

/// A connection's place.
#[derive(Debug)]
pub(super) struct Place {
    room: Arc<Room>,
    given_up: CancellationToken,
    /// Since when it waits.
    turn: Mutex<u64>,
}

impl Place {
    /// Ends when the place must be given up.
    pub(super) async fn given_up(&self) {
        self.given_up.cancelled().await;
    }

    /// Keeps the place for as long as a request is worked on; then it waits anew.
    pub(super) fn work(&self) -> Working<'_> {
        self.room.leave(*lock(&self.turn));
        Working(self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.leave(*lock(&self.turn));
    }
}

/// A request that is worked on.
#[derive(Debug)]
pub(super) struct Working<'a>(&'a Place);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        *lock(&self.0.turn) = self.0.room.wait(&self.0.given_up);
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
    fn the_longest_waiting_makes_room_and_none_that_works() {
        let room = Arc::new(Room::default());
        let [first, second, third] = [(); 3].map(|()| room.enter());
        let gone = || [&first, &second, &third].map(|place| place.given_up.is_cancelled());
        let working = first.work();
        room.make();
        assert_eq!(gone(), [false, true, false]);
        // Having worked, it waits from now on.
        drop(working);
        room.make();
        assert_eq!(gone(), [false, true, true]);
        let working = first.work();
        room.make();
        assert_eq!(gone(), [false, true, true], "all are at work");
        drop(working);
        drop(first);
        assert!(lock(&room.0).places.is_empty(), "{room:?}");
    }
}
