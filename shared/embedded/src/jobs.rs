//! Work that waits for a thread.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Who waits for the table's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// A person, at a browser, a terminal or a client of the API. These jobs go first.
    Interactive,
    /// Checks, alerts and maintenance.
    Background,
}

/// How many interactive jobs may overtake a background job that waits. Without a limit, clients of the API could keep
/// checks from being saved.
const IN_A_ROW: usize = 4;

/// Jobs for one or more threads.
pub(crate) struct Jobs<Job> {
    waiting: Mutex<Waiting<Job>>,
    changed: Condvar,
}

struct Waiting<Job> {
    interactive: VecDeque<Job>,
    background: VecDeque<Job>,
    /// Interactive jobs that have overtaken the first background job.
    overtakes: usize,
    is_closed: bool,
}

impl<Job> Waiting<Job> {
    fn next(&mut self) -> Option<Job> {
        let may_overtake = self.overtakes < IN_A_ROW || self.background.is_empty();
        if may_overtake && let Some(job) = self.interactive.pop_front() {
            self.overtakes = if self.background.is_empty() { 0 } else { self.overtakes + 1 };
            return Some(job);
        }
        self.overtakes = 0;
        self.background.pop_front()
    }
}

impl<Job> Jobs<Job> {
    pub(crate) fn new() -> Self {
        let waiting = Waiting {
            interactive: VecDeque::new(),
            background: VecDeque::new(),
            overtakes: 0,
            is_closed: false,
        };
        Self { waiting: Mutex::new(waiting), changed: Condvar::new() }
    }

    /// Adds a job. After the queue is closed, the job is dropped.
    pub(crate) fn push(&self, priority: Priority, job: Job) {
        let mut waiting = self.lock();
        if waiting.is_closed {
            return;
        }
        match priority {
            Priority::Interactive => waiting.interactive.push_back(job),
            Priority::Background => waiting.background.push_back(job),
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// Waits for the next job; `None` if there will be no more.
    pub(crate) fn next(&self) -> Option<Job> {
        let mut waiting = self.lock();
        loop {
            if let Some(job) = waiting.next() {
                return Some(job);
            }
            if waiting.is_closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Accepts no more jobs. Jobs that wait are still handed out.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Accepts no more jobs, and drops those that wait.
    pub(crate) fn abandon(&self) {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        let dropped =
            (std::mem::take(&mut waiting.interactive), std::mem::take(&mut waiting.background));
        drop(waiting);
        drop(dropped);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<Job>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interactive_jobs_go_first_and_let_a_background_job_through_now_and_then() {
        let jobs = Jobs::new();
        for number in 0..3 {
            jobs.push(Priority::Background, format!("background {number}"));
        }
        for number in 0..7 {
            jobs.push(Priority::Interactive, format!("interactive {number}"));
        }
        jobs.close();
        jobs.push(Priority::Interactive, "too late".to_owned());
        let order: Vec<_> = std::iter::from_fn(|| jobs.next()).collect();
        let expected = [
            "interactive 0",
            "interactive 1",
            "interactive 2",
            "interactive 3",
            "background 0",
            "interactive 4",
            "interactive 5",
            "interactive 6",
            "background 1",
            "background 2",
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn abandoned_jobs_are_dropped() {
        let jobs = Jobs::new();
        jobs.push(Priority::Background, ());
        jobs.push(Priority::Interactive, ());
        jobs.abandon();
        assert_eq!(jobs.next(), None);
    }
}
