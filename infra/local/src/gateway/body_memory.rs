//! Memory for request bodies while they arrive, of each user and of all together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use vedette_api::BODY_MAX;
use vedette_domain::id::UserId;

/// Memory for all bodies together, in bytes; a body for which none is left waits.
const BODIES_MAX: usize = 16 * BODY_MAX;
/// A user's share of it: a user who sends slowly delays their own requests, and nobody else's.
const USER_MAX: usize = BODIES_MAX / 4;

/// The memory for arriving bodies.
pub(super) struct BodyMemory {
    all: Semaphore,
    /// The shares of users whose bodies are arriving.
    users: Mutex<HashMap<UserId, Weak<Semaphore>>>,
}

impl BodyMemory {
    pub(super) fn new() -> Self {
        Self { all: Semaphore::new(BODIES_MAX), users: Mutex::default() }
    }

    /// Reserves a user's share for a body of up to this length, once it is free. All of it at once:
    /// if bodies took their shares bit by bit, they could all wait for each other.
    pub(super) async fn reserve(&self, user: UserId, length: u32) -> Reservation<'_> {
        let of_user = self.of_user(user).acquire_many_owned(length).await;
        Reservation { memory: self, _of_user: of_user.ok(), of_all: None }
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

/// The memory of one body.
pub(super) struct Reservation<'a> {
    memory: &'a BodyMemory,
    _of_user: Option<OwnedSemaphorePermit>,
    of_all: Option<SemaphorePermit<'a>>,
}

impl Reservation<'_> {
    /// Takes memory for what has arrived, once some is free.
    pub(super) async fn grow(&mut self, length: u32) {
        // Never closed.
        let Ok(more) = self.memory.all.acquire_many(length).await else { return };
        match &mut self.of_all {
            Some(taken) => taken.merge(more),
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

    fn reserve(memory: &BodyMemory, n: u128) -> Option<Reservation<'_>> {
        memory.reserve(user(n), LONGEST).now_or_never()
    }

    #[test]
    fn a_user_who_sends_slowly_delays_only_their_own_requests() {
        let memory = BodyMemory::new();
        let mut slow: Vec<_> = (0..4).map(|_| reserve(&memory, 1).expect("memory")).collect();
        assert!(reserve(&memory, 1).is_none());
        // Another user has a share of their own.
        let mut other = reserve(&memory, 2).expect("memory");
        other.grow(LONGEST).now_or_never().expect("memory");
        slow.pop();
        assert!(reserve(&memory, 1).is_some());
    }

    #[test]
    fn what_has_not_arrived_takes_nothing_from_others() {
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
        assert_eq!(memory.users.lock().expect("users").len(), 1);
    }
}
