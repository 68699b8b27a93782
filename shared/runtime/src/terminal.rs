//! Lines for standard error and standard output of a process that must not stop because nobody reads them.
//!
//! A terminal that was stopped with Ctrl-S and a full pipe both block the writer. So a separate thread writes, and
//! lines that do not fit into the buffer are dropped and counted.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt;
use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The most bytes of lines that wait for a reader: several thousand lines.
const WAITING_MAX: usize = 1024 * 1024;

/// Lines that a thread writes. Clones go to the same thread, which ends with the last of them.
#[derive(Clone)]
pub struct Lines {
    jobs: mpsc::Sender<Job>,
    counters: Arc<Counters>,
}

enum Job {
    Write(Vec<u8>),
    Flush(mpsc::Sender<()>),
}

#[derive(Debug, Default)]
struct Counters {
    /// Bytes that are not written yet.
    waiting: AtomicUsize,
    /// Lines that were dropped and not reported yet.
    dropped: AtomicU64,
}

impl Lines {
    /// Starts a thread that writes lines.
    ///
    /// # Errors
    ///
    /// When the system cannot start a thread.
    pub fn start(name: &str, mut out: impl Write + Send + 'static) -> io::Result<Self> {
        let (jobs, waiting) = mpsc::channel();
        let counters = Arc::new(Counters::default());
        let of_thread = Arc::clone(&counters);
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || write_all(&waiting, &of_thread, &mut out))?;
        Ok(Self { jobs, counters })
    }

    /// Queues a line, or drops it if too much is waiting. Never waits itself.
    pub fn say(&self, line: impl fmt::Display) {
        self.push(format!("{line}\n").into_bytes());
    }

    fn push(&self, text: Vec<u8>) {
        let length = text.len();
        let waiting = self.counters.waiting.fetch_add(length, Ordering::AcqRel);
        if waiting + length > WAITING_MAX || self.jobs.send(Job::Write(text)).is_err() {
            self.counters.waiting.fetch_sub(length, Ordering::AcqRel);
            self.counters.dropped.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Waits until everything is written, but no longer than `patience`. Returns whether everything was.
    pub fn flush(&self, patience: Duration) -> bool {
        let (flushed, is_flushed) = mpsc::channel();
        let is_asked = self.jobs.send(Job::Flush(flushed)).is_ok();
        is_asked && is_flushed.recv_timeout(patience) != Err(RecvTimeoutError::Timeout)
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lines").field(&self.counters).finish()
    }
}

/// Each write is a whole line, as the log's formatter creates them.
impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_all(waiting: &mpsc::Receiver<Job>, counters: &Counters, out: &mut impl Write) {
    loop {
        let job = match waiting.try_recv() {
            Err(TryRecvError::Empty) => {
                // The dropped lines came after everything that has waited.
                report_dropped(counters, out);
                waiting.recv().ok()
            }
            job => job.ok(),
        };
        match job {
            Some(Job::Write(text)) => {
                // It may be closed; the process continues without it.
                let _ = out.write_all(&text).and_then(|()| out.flush());
                counters.waiting.fetch_sub(text.len(), Ordering::AcqRel);
            }
            Some(Job::Flush(flushed)) => {
                report_dropped(counters, out);
                let _ = flushed.send(());
            }
            None => return,
        }
    }
}

fn report_dropped(counters: &Counters, out: &mut impl Write) {
    let dropped = counters.dropped.swap(0, Ordering::AcqRel);
    if dropped > 0 {
        let note = format!("{dropped} lines were dropped here, since nobody was reading\n");
        let _ = out.write_all(note.as_bytes()).and_then(|()| out.flush());
    }
}

/// The thread that writes to this process's standard error. It is started on first use.
///
/// # Errors
///
/// When the system cannot start a thread.
pub fn stderr() -> io::Result<Lines> {
    static STDERR: Mutex<Option<Lines>> = Mutex::new(None);
    let mut started = STDERR.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lines) = &*started {
        return Ok(lines.clone());
    }
    let lines = Lines::start("stderr", io::stderr())?;
    *started = Some(lines.clone());
    Ok(lines)
}

/// Reports panics through these lines. Rust's own hook would wait for the reader of standard error.
pub fn report_panics(lines: Lines) {
    panic::set_hook(Box::new(move |what| {
        let thread = thread::current();
        let name = thread.name().unwrap_or("without a name");
        lines.say(format_args!("thread '{name}' {what}"));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            lines.say(backtrace);
        }
    }));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// A pipe that accepts nothing until somebody reads.
    struct Pipe(SyncSender<Vec<u8>>);

    impl Write for Pipe {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.send(text.to_vec()).map_err(io::Error::other)?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn unread() -> (Lines, Receiver<Vec<u8>>) {
        let (pipe, reader) = sync_channel(0);
        (Lines::start("test", Pipe(pipe)).expect("a thread"), reader)
    }

    #[test]
    fn lines_that_are_not_read_are_dropped_and_counted() {
        let (lines, reader) = unread();
        let line = "x".repeat(1_023);
        let fit = WAITING_MAX / 1_024;
        for _ in 0..fit + 7 {
            lines.say(&line);
        }
        assert!(!lines.flush(Duration::ZERO), "nobody reads");
        let mut read = Vec::new();
        let reading = thread::spawn(move || {
            while let Ok(text) = reader.recv() {
                read.push(String::from_utf8(text).expect("text"));
            }
            read
        });
        assert!(lines.flush(Duration::from_secs(30)));
        lines.say("later");
        assert!(lines.flush(Duration::from_secs(30)));
        drop(lines);
        let read = reading.join().expect("no panic");
        assert_eq!(read.len(), fit + 2);
        assert!(read[..fit].iter().all(|text| text.trim_end() == line));
        let expected = ["7 lines were dropped here, since nobody was reading\n", "later\n"];
        assert_eq!(read[fit..], expected);
    }

    #[test]
    fn a_closed_pipe_does_not_block_writers() {
        let (lines, reader) = unread();
        drop(reader);
        for _ in 0..3 * WAITING_MAX / 1_024 {
            lines.say("x".repeat(1_023));
        }
        assert!(lines.flush(Duration::from_secs(30)));
    }
}
