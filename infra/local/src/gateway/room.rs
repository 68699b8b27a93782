//! Room for connections and their answers: whoever waits longest for nothing makes room for the
//! next, and so does the answer that has been leaving for longest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};
use tokio_util::sync::CancellationToken;

/// The most connections at once.
pub(super) const CONNECTIONS_MAX: u32 = 4_096;
/// What all answers that are on their way out may hold, in bytes.
const ANSWERS_MAX: usize = 64 * 1024 * 1024;

/// The most connections at once in this process: half of its files are for checks and the table.
pub(super) fn most_connections() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (files / 2).clamp(1, CONNECTIONS_MAX.into()) as usize
}

/// The connections on which nothing is worked on, the longest waiting first; and the answers that
/// are on their way out, the longest leaving first.
#[derive(Debug, Default)]
pub(super) struct Room(Mutex<Turns>);

#[derive(Debug, Default)]
struct Turns {
    last: u64,
    waiting: BTreeMap<u64, CancellationToken>,
    leaving: BTreeMap<u64, (usize, CancellationToken)>,
    /// What all leaving answers hold together.
    bytes: usize,
}

impl Turns {
    const fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

impl Room {
    /// A place for a new connection, which waits for its first request.
    pub(super) fn enter(self: &Arc<Self>) -> Arc<Place> {
        let given_up = CancellationToken::new();
        let standing = Standing { turn: self.wait(&given_up), works: 0 };
        Arc::new(Place { room: Arc::clone(self), given_up, standing: Mutex::new(standing) })
    }

    /// Has the longest waiting connection give up its place; where all are at work, none.
    pub(super) fn make(&self) {
        let mut turns = lock(&self.0);
        if let Some((_, given_up)) = turns.waiting.pop_first() {
            given_up.cancel();
        }
    }

    fn wait(&self, given_up: &CancellationToken) -> u64 {
        let mut turns = lock(&self.0);
        let turn = turns.next();
        turns.waiting.insert(turn, given_up.clone());
        turn
    }

    fn leave(&self, turn: u64) {
        lock(&self.0).waiting.remove(&turn);
    }

    /// Lets an answer out, for which the longest leaving ones are cut off where it must be.
    fn send(&self, bytes: usize, given_up: &CancellationToken) -> u64 {
        let mut turns = lock(&self.0);
        while turns.bytes + bytes > ANSWERS_MAX
            && let Some((_, (freed, slow))) = turns.leaving.pop_first()
        {
            turns.bytes -= freed;
            slow.cancel();
        }
        let turn = turns.next();
        turns.bytes += bytes;
        turns.leaving.insert(turn, (bytes, given_up.clone()));
        turn
    }

    fn sent(&self, turn: u64) {
        let mut turns = lock(&self.0);
        if let Some((bytes, _)) = turns.leaving.remove(&turn) {
            turns.bytes -= bytes;
        }
    }
}

/// A connection's place.
#[derive(Debug)]
pub(super) struct Place {
    room: Arc<Room>,
    given_up: CancellationToken,
    standing: Mutex<Standing>,
}

#[derive(Debug)]
struct Standing {
    /// Since when it waits.
    turn: u64,
    /// What is worked on: the next request may begin before the last answer has left.
    works: usize,
}

impl Place {
    /// Ends when the place must be given up.
    pub(super) async fn given_up(&self) {
        self.given_up.cancelled().await;
    }

    /// Keeps the place for as long as a request is worked on and its answer leaves; then it waits
    /// anew. None where it is given up already: nothing must begin that would be cut off.
    pub(super) fn work(self: &Arc<Self>) -> Option<Working> {
        let mut standing = lock(&self.standing);
        self.room.leave(standing.turn);
        // Whoever has it give up its place does so before it could leave.
        if self.given_up.is_cancelled() {
            return None;
        }
        standing.works += 1;
        Some(Working(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.leave(lock(&self.standing).turn);
    }
}

/// A request that is worked on.
#[derive(Debug)]
pub(super) struct Working(Arc<Place>);

impl Working {
    /// Goes on until an answer of so many bytes has left.
    pub(super) fn send(self, bytes: usize) -> Sending {
        let Place { room, given_up, .. } = &*self.0;
        Sending { turn: room.send(bytes, given_up), working: self }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let Place { room, given_up, standing } = &*self.0;
        let mut standing = lock(standing);
        standing.works -= 1;
        if standing.works == 0 {
            standing.turn = room.wait(given_up);
        }
    }
}

/// An answer that is on its way out.
#[derive(Debug)]
pub(super) struct Sending {
    turn: u64,
    working: Working,
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.working.0.room.sent(self.turn);
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
        assert!(lock(&room.0).waiting.is_empty(), "{room:?}");
    }

    #[test]
    fn nothing_begins_on_a_place_that_is_given_up() {
        let room = Arc::new(Room::default());
        let place = room.enter();
        room.make();
        assert!(place.work().is_none());
    }

    #[test]
    fn a_place_is_kept_until_the_last_of_its_answers_has_left() {
        let room = Arc::new(Room::default());
        let place = room.enter();
        let working = || place.work().expect("a place");
        let sending = working().send(1);
        let next = working();
        drop(sending);
        room.make();
        assert!(!place.given_up.is_cancelled(), "the next request is worked on");
        let sending = next.send(1);
        room.make();
        assert!(!place.given_up.is_cancelled(), "its answer is on its way out");
        drop(sending);
        room.make();
        assert!(place.given_up.is_cancelled());
    }

    #[test]
    fn the_longest_leaving_answer_makes_room() {
        let room = Arc::new(Room::default());
        let [first, second, third] = [(); 3].map(|()| room.enter());
        let gone = || [&first, &second, &third].map(|place| place.given_up.is_cancelled());
        let send = |place: &Arc<Place>, bytes| place.work().expect("a place").send(bytes);
        let slow = send(&first, 1);
        let long = send(&second, ANSWERS_MAX - 1);
        assert_eq!(gone(), [false; 3]);
        let last = send(&third, 1);
        assert_eq!(gone(), [true, false, false]);
        drop(slow);
        drop(long);
        assert_eq!(lock(&room.0).bytes, 1);
        drop(last);
        assert_eq!(lock(&room.0).bytes, 0);
    }
}
