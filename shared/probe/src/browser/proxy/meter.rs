//! A connection with a byte budget and an idle timeout.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::send_limiter::SendLimiter;

/// The bytes that a group of connections may still transfer.
#[derive(Clone)]
pub(super) struct Budget(Arc<AtomicU64>);

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Deducts bytes already transferred; exceeding the budget by one buffer does not matter.
    fn spend(&self, bytes: usize) {
        let take = |left: u64| Some(left.saturating_sub(bytes as u64));
        // Never fails, as the closure always returns a value.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
    }
}

/// A connection to a target. Ends when the budget is spent, when the target was sent too much, or
/// when it was idle in both directions for `idle` while being read.
pub(super) struct Metered {
    stream: TcpStream,
    budget: Budget,
    /// The limiter and the address that sent bytes count for; `None` for the site's own host.
    sent: Option<(SendLimiter, IpAddr)>,
    idle: Duration,
    deadline: Pin<Box<Sleep>>,
}

impl Metered {
    pub(super) fn new(
        stream: TcpStream,
        budget: Budget,
        sent: Option<(SendLimiter, IpAddr)>,
        idle: Duration,
    ) -> Self {
        Self { stream, budget, sent, idle, deadline: Box::pin(sleep(idle)) }
    }

    fn moved(&mut self, bytes: usize) {
        self.budget.spend(bytes);
        let deadline = Instant::now() + self.idle;
        self.deadline.as_mut().reset(deadline);
    }

    fn check_budget(&self) -> io::Result<()> {
        if self.budget.is_spent() {
            return Err(io::Error::other("the budget of bytes is spent"));
        }
        Ok(())
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_budget()?;
        let before = buffer.filled().len();
        if let Poll::Ready(outcome) = Pin::new(&mut self.stream).poll_read(context, buffer) {
            self.moved(buffer.filled().len() - before);
            return Poll::Ready(outcome);
        }
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_budget()?;
        if self.sent.as_ref().is_some_and(|(sent, peer)| sent.is_exhausted(*peer, Instant::now())) {
            return Poll::Ready(Err(io::Error::other("the target was sent enough")));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        if let Some((sent, peer)) = &self.sent {
            sent.charge(*peer, written, Instant::now());
        }
        self.moved(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
