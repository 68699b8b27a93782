//! Puts results that arrive in any order back into the order in which they were requested.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How long other results wait for a late one, which is handed on when it arrives. The order makes results
/// reproducible, but one slow page must not hold up a crawl.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Identifies a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket(u64);

/// Slots of results that were requested and not yet handed on.
pub(super) struct ReorderBuffer<T> {
    /// The ticket of the first slot.
    first: u64,
    slots: VecDeque<Slot<T>>,
    /// Slots that are filled.
    arrived: usize,
}

enum Slot<T> {
    /// Since when it has been awaited; `None` while its request is in one of our own queues.
    Waiting(Option<Instant>),
    Arrived(T),
}

impl<T> ReorderBuffer<T> {
    pub(super) const fn new() -> Self {
        Self { first: 0, slots: VecDeque::new(), arrived: 0 }
    }

    /// Reserves the next slot, for a request that starts now.
    pub(super) fn reserve(&mut self, now: Instant) -> Ticket {
        self.slots.push_back(Slot::Waiting(Some(now)));
        Ticket(self.first + self.slots.len() as u64 - 1)
    }

    /// Restarts the clock of a slot, or stops it.
    pub(super) fn set_clock(&mut self, ticket: Ticket, since: Option<Instant>) {
        if let Some(slot @ Slot::Waiting(_)) = self.slot(ticket) {
            *slot = Slot::Waiting(since);
        }
    }

    /// Fills a slot. Returns the result if it came too late for its slot.
    pub(super) fn insert(&mut self, ticket: Ticket, result: T) -> Option<T> {
        let Some(slot) = self.slot(ticket) else {
            return Some(result);
        };
        *slot = Slot::Arrived(result);
        self.arrived += 1;
        None
    }

    /// The next result, if it is due.
    pub(super) fn pop(&mut self, now: Instant) -> Option<T> {
        while self.arrived > 0 {
            if self.front_deadline().is_some_and(|until| until.is_none_or(|until| now < until)) {
                return None;
            }
            self.first += 1;
            if let Some(Slot::Arrived(result)) = self.slots.pop_front() {
                self.arrived -= 1;
                return Some(result);
            }
        }
        None
    }

    /// When waiting results are handed on without a late one.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.front_deadline().flatten().filter(|_| self.arrived > 0)
    }

    /// Until when the first slot is awaited, if it is empty; `Some(None)` while its clock is
    /// stopped.
    fn front_deadline(&self) -> Option<Option<Instant>> {
        match self.slots.front()? {
            Slot::Waiting(since) => Some(since.map(|since| since + MAX_WAIT)),
            Slot::Arrived(_) => None,
        }
    }

    fn slot(&mut self, Ticket(number): Ticket) -> Option<&mut Slot<T>> {
        number.checked_sub(self.first).and_then(|at| self.slots.get_mut(at as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_out_as_they_were_requested() {
        let now = Instant::now();
        let mut buffer = ReorderBuffer::new();
        let tickets: Vec<_> = (0..4).map(|_| buffer.reserve(now)).collect();
        assert_eq!(buffer.pop(now), None);
        for number in [2, 1] {
            assert_eq!(buffer.insert(tickets[number], number), None);
            assert_eq!(buffer.pop(now), None);
        }
        assert_eq!(buffer.next_deadline(), Some(now + MAX_WAIT));
        buffer.insert(tickets[0], 0);
        let popped: Vec<_> = std::iter::from_fn(|| buffer.pop(now)).collect();
        assert_eq!(popped, [0, 1, 2]);
        assert_eq!(buffer.next_deadline(), None, "nothing waits for the last");
        buffer.insert(tickets[3], 3);
        assert_eq!(buffer.pop(now), Some(3));
    }

    #[test]
    fn results_do_not_wait_long_for_a_late_one() {
        let now = Instant::now();
        let mut buffer = ReorderBuffer::new();
        let [late, second, third] = [0, 0, 0].map(|_| buffer.reserve(now));
        buffer.insert(third, "third");
        buffer.insert(second, "second");
        assert_eq!(buffer.pop(now + MAX_WAIT - Duration::from_millis(1)), None);
        assert_eq!(buffer.pop(now + MAX_WAIT), Some("second"));
        assert_eq!(buffer.pop(now), Some("third"));
        assert_eq!(buffer.insert(late, "late"), Some("late"));
        assert_eq!(buffer.arrived, 0);
    }

    #[test]
    fn a_page_in_the_queue_for_a_tab_is_not_late() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut buffer = ReorderBuffer::new();
        let [first, second] = [0, 0].map(|_| buffer.reserve(start));
        buffer.set_clock(first, None);
        buffer.insert(second, "second");
        assert_eq!((buffer.pop(at(10_000)), buffer.next_deadline()), (None, None));
        buffer.set_clock(first, Some(at(10_000)));
        assert_eq!((buffer.pop(at(10_999)), buffer.next_deadline()), (None, Some(at(11_000))));
        assert_eq!(buffer.pop(at(11_000)), Some("second"));
        buffer.set_clock(first, None);
        assert_eq!(buffer.insert(first, "first"), Some("first"));
    }
}
