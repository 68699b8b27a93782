//! Puts what comes in whatever order back into the order in which it was asked for.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How long the others wait for one that is late. It then comes in when it comes: order is for the
/// sake of equal results, and one slow page must not hold up a crawl.
const PATIENCE: Duration = Duration::from_secs(1);

/// Names what was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket(u64);

/// Things that were asked for and have not been handed on.
pub(super) struct InOrder<T> {
    /// The ticket of the first slot.
    first: u64,
    slots: VecDeque<Slot<T>>,
    /// Slots that are filled.
    arrived: usize,
}

enum Slot<T> {
    Waiting(Instant),
    Arrived(T),
}

impl<T> InOrder<T> {
    pub(super) const fn new() -> Self {
        Self { first: 0, slots: VecDeque::new(), arrived: 0 }
    }

    /// Something is asked for.
    pub(super) fn expect(&mut self, now: Instant) -> Ticket {
        self.slots.push_back(Slot::Waiting(now));
        Ticket(self.first + self.slots.len() as u64 - 1)
    }

    /// It is there; it comes back at once where it was too late to be waited for.
    pub(super) fn arrive(&mut self, Ticket(number): Ticket, thing: T) -> Option<T> {
        let slot = number.checked_sub(self.first).and_then(|at| self.slots.get_mut(at as usize));
        match slot {
            Some(slot) => {
                *slot = Slot::Arrived(thing);
                self.arrived += 1;
                None
            }
            None => Some(thing),
        }
    }

    /// The next thing, if it is its turn.
    pub(super) fn pop(&mut self, now: Instant) -> Option<T> {
        while self.arrived > 0 {
            if let Some(Slot::Waiting(since)) = self.slots.front()
                && now.duration_since(*since) < PATIENCE
            {
                return None;
            }
            self.first += 1;
            if let Some(Slot::Arrived(thing)) = self.slots.pop_front() {
                self.arrived -= 1;
                return Some(thing);
            }
        }
        None
    }

    /// When to look again, if things wait for one that is late.
    pub(super) fn look_again(&self) -> Option<Instant> {
        match self.slots.front() {
            Some(Slot::Waiting(since)) if self.arrived > 0 => Some(*since + PATIENCE),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_out_as_they_were_asked_for() {
        let now = Instant::now();
        let mut order = InOrder::new();
        let tickets: Vec<_> = (0..4).map(|_| order.expect(now)).collect();
        assert_eq!(order.pop(now), None);
        for number in [2, 1] {
            assert_eq!(order.arrive(tickets[number], number), None);
            assert_eq!(order.pop(now), None);
        }
        assert_eq!(order.look_again(), Some(now + PATIENCE));
        order.arrive(tickets[0], 0);
        let popped: Vec<_> = std::iter::from_fn(|| order.pop(now)).collect();
        assert_eq!(popped, [0, 1, 2]);
        assert_eq!(order.look_again(), None, "nothing waits for the last");
        order.arrive(tickets[3], 3);
        assert_eq!(order.pop(now), Some(3));
    }

    #[test]
    fn nothing_waits_long_for_what_is_late() {
        let now = Instant::now();
        let mut order = InOrder::new();
        let [late, second, third] = [0, 0, 0].map(|_| order.expect(now));
        order.arrive(third, "third");
        order.arrive(second, "second");
        assert_eq!(order.pop(now + PATIENCE - Duration::from_millis(1)), None);
        assert_eq!(order.pop(now + PATIENCE), Some("second"));
        assert_eq!(order.pop(now), Some("third"));
        assert_eq!(order.arrive(late, "late"), Some("late"));
        assert_eq!(order.arrived, 0);
    }
}
