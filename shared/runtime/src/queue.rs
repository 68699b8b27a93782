//! Queues: SQS on AWS, timers in the process on one machine.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;
use vedette_domain::checks::concurrency::{Handling, Places};
use vedette_domain::checks::tool::Tool;
use vedette_domain::message::Message;

use crate::{Destination, QueueError, SqsQueue};

/// Where messages go: SQS, or this process.
#[derive(Debug, Clone)]
pub enum Queue {
    /// One SQS queue for each destination.
    Sqs(SqsQueue),
    /// Timers of this process.
    Local(LocalQueue),
}

impl Queue {
    /// The SQS queues; `None` if messages do not leave this process.
    pub const fn sqs(&self) -> Option<&SqsQueue> {
        match self {
            Self::Sqs(queue) => Some(queue),
            Self::Local(_) => None,
        }
    }

    /// Sends a message, which is delivered at least once, and not before the delay has passed. SQS delays by whole
    /// seconds, at most 15 minutes.
    ///
    /// # Errors
    ///
    /// When the queue does not accept it.
    pub async fn send(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        match self {
            Self::Sqs(queue) => queue.send(message, delay).await,
            Self::Local(queue) => {
                queue.send(message.clone(), delay);
                Ok(())
            }
        }
    }

    /// Sends many messages at once, each with its own delay.
    ///
    /// # Errors
    ///
    /// When the queue does not accept one of them; others may have been sent.
    pub async fn send_all(&self, messages: &[(Message, Duration)]) -> Result<(), QueueError> {
        match self {
            Self::Sqs(queue) => queue.send_all(messages).await,
            Self::Local(queue) => {
                messages.iter().for_each(|(message, delay)| queue.send(message.clone(), *delay));
                Ok(())
            }
        }
    }
}

/// Queues within this process. When it ends, their messages are lost, and are sent again from the table after a
/// restart. In each queue, the teams for which messages are sent take turns, and no team may use all places.
#[derive(Debug, Clone, Default)]
pub struct LocalQueue(Arc<Lanes>);

#[derive(Debug, Default)]
struct Lanes {
    /// Indexed by the tool's code.
    tools: [Lane; Tool::CODES],
    reconcile: Lane,
    alerts: Lane,
    mailer: Lane,
}

#[derive(Debug, Default)]
struct Lane {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    sent: u64,
    /// Messages whose delay had not passed when they were last looked at.
    delayed: BTreeMap<(Instant, u64), Envelope>,
    /// The other messages, by team.
    ready: HashMap<Uuid, VecDeque<Envelope>>,
    /// The teams of `ready`, in the order of their turns.
    turns: VecDeque<Uuid>,
    handling: Handling,
}

/// A message, how often it was delivered, and when it is due.
#[derive(Debug)]
struct Envelope {
    message: Message,
    deliveries: u32,
    due: Instant,
}

/// How far a queue is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Messages that are due and have not been started.
    pub waiting: usize,
    /// How long ago the first of them was due; zero if there is none.
    pub behind: Duration,
    /// The team, or the user, that sent it.
    pub sender: Option<Uuid>,
    /// Messages that were started and are slow.
    pub slow: usize,
}

/// A message that was taken from a queue. It counts as being handled until this is dropped.
#[derive(Debug)]
pub struct QueueDelivery {
    /// The message.
    pub message: Message,
    /// How often it was delivered, including this time.
    pub deliveries: u32,
    queue: LocalQueue,
    is_slow: AtomicBool,
}

impl QueueDelivery {
    /// Makes the queue deliver the message again after a delay. It no longer counts as being handled.
    pub fn retry(self, delay: Duration) {
        self.queue.put(self.message.clone(), self.deliveries, delay);
    }

    /// Records that the message only waits from now on. Others take its place, if the queue's [`Places`] have room for
    /// slow messages.
    pub fn slow(&self) {
        if !self.is_slow.swap(true, Ordering::Relaxed) {
            let lane = self.lane();
            lane.lock().handling.slow(self.message.sender());
            lane.changed.notify_one();
        }
    }

    fn lane(&self) -> &Lane {
        self.queue.lane(Destination::of(&self.message))
    }
}

impl Drop for QueueDelivery {
    fn drop(&mut self) {
        let lane = self.lane();
        lane.lock().handling.end(self.message.sender(), self.is_slow.load(Ordering::Relaxed));
        lane.changed.notify_one();
    }
}

impl Lane {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Moves the messages whose delay has passed to their teams.
    fn promote_due(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= now) {
            let envelope = first.remove();
            let team = envelope.message.sender();
            let of_team = self.ready.entry(team).or_default();
            if of_team.is_empty() {
                self.turns.push_back(team);
            }
            of_team.push_back(envelope);
        }
    }

    /// The next message: the oldest of the team that has waited longest for its turn and may have another one handled.
    fn take(&mut self, places: Places) -> Option<Envelope> {
        if !self.handling.has_room(places) {
            return None;
        }
        let may = |team: &Uuid| self.handling.has_room_for(*team, places);
        let turn = self.turns.iter().position(may)?;
        let team = self.turns.remove(turn)?;
        let of_team = self.ready.get_mut(&team)?;
        let envelope = of_team.pop_front()?;
        if of_team.is_empty() {
            self.ready.remove(&team);
        } else {
            self.turns.push_back(team);
        }
        self.handling.begin(team);
        Some(envelope)
    }

    fn backlog(&self, now: Instant) -> Backlog {
        // The messages of a team are in the order in which they became due.
        let firsts =
            self.ready.iter().filter_map(|(team, of_team)| Some((of_team.front()?.due, *team)));
        let first = firsts.min();
        Backlog {
            waiting: self.ready.values().map(VecDeque::len).sum(),
            behind: first.map_or(Duration::ZERO, |(due, _)| now.saturating_duration_since(due)),
            sender: first.map(|(_, team)| team),
            slow: self.handling.slow_count(),
        }
    }
}

impl LocalQueue {
    /// Empty queues.
    pub fn new() -> Self {
        Self::default()
    }

    fn lane(&self, destination: Destination) -> &Lane {
        match destination {
            Destination::Tool(tool) => &self.0.tools[usize::from(tool.code())],
            Destination::Reconcile => &self.0.reconcile,
            Destination::Alerts => &self.0.alerts,
            Destination::Mailer => &self.0.mailer,
        }
    }

    /// Puts a message into its queue. It is not delivered before the delay has passed.
    pub fn send(&self, message: Message, delay: Duration) {
        self.put(message, 0, delay);
    }

    fn put(&self, message: Message, deliveries: u32, delay: Duration) {
        let lane = self.lane(Destination::of(&message));
        let due = Instant::now() + delay;
        let mut waiting = lane.lock();
        waiting.sent += 1;
        let order = (due, waiting.sent);
        waiting.delayed.insert(order, Envelope { message, deliveries, due });
        drop(waiting);
        lane.changed.notify_one();
    }

    /// The next message of a queue whose delay has passed. Waits for a message, and for a free place for its team.
    pub async fn receive(&self, destination: Destination, places: Places) -> QueueDelivery {
        let lane = self.lane(destination);
        loop {
            let due = {
                let mut waiting = lane.lock();
                waiting.promote_due(Instant::now());
                if let Some(Envelope { message, deliveries, .. }) = waiting.take(places) {
                    let (queue, is_slow) = (self.clone(), AtomicBool::new(false));
                    return QueueDelivery { message, deliveries: deliveries + 1, queue, is_slow };
                }
                waiting.delayed.first_key_value().map(|((due, _), _)| *due)
            };
            match due {
                Some(due) => tokio::select! {
                    () = tokio::time::sleep_until(due) => {}
                    () = lane.changed.notified() => {}
                },
                None => lane.changed.notified().await,
            }
        }
    }

    /// How far a queue is behind.
    pub fn backlog(&self, destination: Destination) -> Backlog {
        let mut waiting = self.lane(destination).lock();
        let now = Instant::now();
        waiting.promote_due(now);
        waiting.backlog(now)
    }

    /// Takes everything that waits in a queue, with its remaining delay: first the ready messages, team by team, then
    /// the rest in the order of their delays.
    pub fn drain(&self, destination: Destination) -> Vec<(Message, Duration)> {
        let mut waiting = self.lane(destination).lock();
        let now = Instant::now();
        let turns = std::mem::take(&mut waiting.turns);
        let ready = turns.into_iter().filter_map(|team| waiting.ready.remove(&team)).flatten();
        let mut drained: Vec<_> =
            ready.map(|envelope| (envelope.message, Duration::ZERO)).collect();
        let delayed = std::mem::take(&mut waiting.delayed);
        drained.extend(
            delayed
                .into_iter()
                .map(|((due, _), envelope)| (envelope.message, due.saturating_duration_since(now))),
        );
        drained
    }
}

#[cfg(test)]
mod tests {
    use vedette_domain::id::{SiteId, TeamId};
    use vedette_domain::message::ReconcileMessage;

    use super::*;

    const PLACES: Places = Places::running(4);

    fn work(team: u8, last: u8) -> Message {
        let id = |last| format!("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e{last:02x}");
        let team = TeamId::parse(&id(team)).expect("a team id");
        let site = SiteId::parse(&id(last)).expect("a site id");
        Message::Reconcile(ReconcileMessage::Sync { team, site })
    }

    #[tokio::test(start_paused = true)]
    async fn messages_come_when_their_delay_has_passed() {
        let queue = LocalQueue::new();
        let receive =
            async |queue: &LocalQueue| queue.receive(Destination::Reconcile, PLACES).await;
        queue.send(work(0, 1), Duration::from_secs(120));
        queue.send(work(0, 2), Duration::ZERO);
        let started = Instant::now();
        assert_eq!(receive(&queue).await.message, work(0, 2));
        assert_eq!(started.elapsed(), Duration::ZERO);
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { receive(&queue).await.message.clone() }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        queue.send(work(0, 3), Duration::from_secs(10));
        assert_eq!(waiting.await.expect("received"), work(0, 3), "a sooner message overtakes");
        assert_eq!(started.elapsed(), Duration::from_secs(70));
        assert_eq!(queue.drain(Destination::Reconcile), [(work(0, 1), Duration::from_secs(50))]);
        assert_eq!(queue.drain(Destination::Reconcile), []);
    }

    /// Takes everything that can be taken without waiting.
    async fn take(queue: &LocalQueue, places: Places) -> Vec<QueueDelivery> {
        let mut taken = Vec::new();
        while let Ok(delivery) =
            tokio::time::timeout(Duration::ZERO, queue.receive(Destination::Reconcile, places))
                .await
        {
            taken.push(delivery);
        }
        taken
    }

    fn messages(taken: &[QueueDelivery]) -> Vec<Message> {
        taken.iter().map(|delivery| delivery.message.clone()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_team_never_holds_the_last_place() {
        let queue = LocalQueue::new();
        for last in 0..12 {
            queue.send(work(1, last), Duration::ZERO);
        }
        let mut taken = take(&queue, PLACES).await;
        assert_eq!(messages(&taken), [0, 1, 2].map(|last| work(1, last)));
        queue.send(work(2, 0), Duration::ZERO);
        queue.send(work(2, 1), Duration::ZERO);
        let of_other = take(&queue, PLACES).await;
        assert_eq!(messages(&of_other), [work(2, 0)]);

        // The team whose turn it is gets the first free place.
        taken.remove(0);
        taken.extend(take(&queue, PLACES).await);
        assert_eq!(messages(&taken[2..]), [work(1, 3)]);
        drop(of_other);
        assert_eq!(messages(&take(&queue, PLACES).await), [work(2, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn teams_take_turns_at_a_single_place() {
        let queue = LocalQueue::new();
        for (team, last) in [(1, 0), (1, 1), (1, 2), (2, 0), (3, 0), (2, 1)] {
            queue.send(work(team, last), Duration::ZERO);
        }
        let mut order = Vec::new();
        for _ in 0..6 {
            let taken = take(&queue, Places::running(1)).await;
            order.extend(messages(&taken));
        }
        let expected = [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (1, 2)];
        assert_eq!(order, expected.map(|(team, last)| work(team, last)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_redelivered_message_has_freed_its_slot() {
        let queue = LocalQueue::new();
        queue.send(work(1, 0), Duration::ZERO);
        queue.send(work(1, 1), Duration::ZERO);
        let [first] =
            <[_; 1]>::try_from(take(&queue, Places::running(1)).await).expect("one place");
        first.retry(Duration::from_secs(10));
        let [second] =
            <[_; 1]>::try_from(take(&queue, Places::running(1)).await).expect("the place");
        assert_eq!((&second.message, second.deliveries), (&work(1, 1), 1));
        drop(second);
        let again = queue.receive(Destination::Reconcile, Places::running(1)).await;
        assert_eq!((&again.message, again.deliveries), (&work(1, 0), 2));
    }
    #[tokio::test(start_paused = true)]
    async fn slow_messages_let_others_of_their_team_begin() {
        let places = Places { running: 4, slow: 8 };
        let queue = LocalQueue::new();
        for last in 0..20 {
            queue.send(work(1, last), Duration::ZERO);
        }
        let mut taken = take(&queue, places).await;
        assert_eq!(taken.len(), 3);
        for begun in [6, 9, 9] {
            // The first ones report it again, which counts once.
            taken.iter().for_each(QueueDelivery::slow);
            taken.extend(take(&queue, places).await);
            assert_eq!(taken.len(), begun);
        }
        queue.send(work(2, 0), Duration::ZERO);
        let of_other = take(&queue, places).await;
        assert_eq!(messages(&of_other), [work(2, 0)], "there is always a place for another");

        taken.truncate(1);
        assert_eq!(take(&queue, places).await.len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_backlog_is_measured_from_when_its_first_message_was_due() {
        let queue = LocalQueue::new();
        let backlog = || queue.backlog(Destination::Reconcile);
        let none = Backlog { waiting: 0, behind: Duration::ZERO, sender: None, slow: 0 };
        queue.send(work(1, 0), Duration::from_secs(5));
        assert_eq!(backlog(), none);
        queue.send(work(1, 1), Duration::from_secs(9));
        queue.send(work(2, 0), Duration::from_secs(7));
        tokio::time::advance(Duration::from_secs(15)).await;
        let sender = |team| Some(work(team, 0).sender());
        let behind = Duration::from_secs(10);
        assert_eq!(backlog(), Backlog { waiting: 3, behind, sender: sender(1), ..none });
        let first = queue.receive(Destination::Reconcile, PLACES).await;
        first.slow();
        let behind = Duration::from_secs(8);
        assert_eq!(backlog(), Backlog { waiting: 2, behind, sender: sender(2), slow: 1 });
    }
}
