//! What bodies may hold while they arrive, of each user and of all together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use vedette_api::BODY_MAX;
use vedette_domain::id::UserId;

/// What all bodies together may hold, in bytes; what there is no room for waits.
const BODIES_MAX: usize = 16 * BODY_MAX;
/// A user's part of it: whoever sends slowly has their own requests wait, and no one else's.
const USER_MAX: usize = BODIES_MAX / 4;

/// The room for bodies that arrive.
pub(super) struct Bodies {
    all: Semaphore,
    /// Of the users whose bodies are arriving.
    users: Mutex<HashMap<UserId, Weak<Semaphore>>>,
}

impl Bodies {
    pub(super) fn new() -> Self {
        Self { all: Semaphore::new(BODIES_MAX), users: Mutex::default() }
    }

    /// Room among the user's bodies for one that may become so long, once there is some. As a whole,
    /// so that not each of them waits for what another one has.
    pub(super) async fn enter(&self, user: UserId, length: u32) -> Room<'_> {
        let of_user = self.of_user(user).acquire_many_owned(length).await;
        Room { bodies: self, _of_user: of_user.ok(), of_all: None }
    }

    fn of_user(&self, user: UserId) -> Arc<Semaphore> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = users.get(&user).and_then(Weak::upgrade) {
            return known;
        }
        users.retain(|_, known| known.strong_count() > 0);
        let new = Arc::new(Semaphore::new(USER_MAX));
        users.insert(user, Arc::downgrade(&new));
        new
    }
}

/// A body's room.
pub(super) struct Room<'a> {
    bodies: &'a Bodies,
    _of_user: Option<OwnedSemaphorePermit>,
    of_all: Option<SemaphorePermit<'a>>,
}

impl Room<'_> {
    /// Room among all bodies for what has arrived of this one, once there is some.
    pub(super) async fn grow(&mut self, length: u32) {
        // Never closed.
        let Ok(more) = self.bodies.all.acquire_many(length).await else { return };
        match &mut self.of_all {
            Some(room) => room.merge(more),
            None => self.of_all = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use uuid::Uuid;

    use super::*;

    const LONGEST: u32 = BODY_MAX as u32;

    fn user(n: u128) -> UserId {
        UserId(Uuid::from_u128(n))
    }

    fn enter(bodies: &Bodies, n: u128) -> Option<Room<'_>> {
        bodies.enter(user(n), LONGEST).now_or_never()
    }

    #[test]
    fn who_sends_slowly_has_their_own_requests_wait() {
        let bodies = Bodies::new();
        let mut slow: Vec<_> = (0..4).map(|_| enter(&bodies, 1).expect("room")).collect();
        assert!(enter(&bodies, 1).is_none());
        // Another one has room, and for all of it.
        let mut other = enter(&bodies, 2).expect("room");
        other.grow(LONGEST).now_or_never().expect("room");
        slow.pop();
        assert!(enter(&bodies, 1).is_some());
    }

    #[test]
    fn what_has_not_arrived_takes_nothing_from_others() {
        let bodies = Bodies::new();
        let announced: Vec<_> = (0..100).map(|n| enter(&bodies, n).expect("room")).collect();
        assert_eq!(bodies.all.available_permits(), BODIES_MAX);
        drop(announced);
        let full: Vec<_> = (0..16)
            .map(|n| {
                let mut room = enter(&bodies, n).expect("room");
                for _ in 0..2 {
                    room.grow(LONGEST / 2).now_or_never().expect("room");
                }
                room
            })
            .collect();
        let mut last = enter(&bodies, 16).expect("room");
        assert!(last.grow(1).now_or_never().is_none());
        drop(full);
        last.grow(LONGEST).now_or_never().expect("room");
    }

    #[test]
    fn who_sends_nothing_is_forgotten() {
        let bodies = Bodies::new();
        for n in 0..100 {
            assert!(enter(&bodies, n).is_some());
        }
        assert_eq!(bodies.users.lock().expect("users").len(), 1);
    }
}
