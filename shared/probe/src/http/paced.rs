//! A stream that yields between reads, and that gives up on a server that sends nothing of use.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes read before the stream yields to other tasks.
const READ_BUDGET: usize = 16 * 1024;

/// The most bytes that a stream may bring before its requests get something. It has room for what an HTTP/2 server may
/// have sent to several requests when they are read: bodies, up to the window of the connection (512 KiB), and heads.
const OVERHEAD_BYTES: usize = 1024 * 1024;

/// Bytes read from a stream since its requests last got something: the head of a final response, or a part of a body.
/// They are heads, or what hyper skips, such as interim responses and frames without content.
#[derive(Clone, Default)]
pub(super) struct Overhead(Arc<AtomicUsize>);

impl Overhead {
    /// Counts from zero again.
    pub(super) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn add(&self, bytes: usize) -> io::Result<()> {
        if self.0.fetch_add(bytes, Ordering::Relaxed) + bytes > OVERHEAD_BYTES {
            // No system call on a socket fails with this kind.
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        Ok(())
    }
}

/// Yields to other tasks regularly. hyper reads as long as there is data, and does not return for what it skips, such
/// as interim responses and small frames: a server that sends them endlessly would block the very timer that ends the
/// request.
pub(super) struct Paced<S> {
    stream: S,
    /// Bytes read since it last yielded.
    taken: usize,
    overhead: Overhead,
}

impl<S> Paced<S> {
    pub(super) const fn new(stream: S, overhead: Overhead) -> Self {
        Self { stream, taken: 0, overhead }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.taken >= READ_BUDGET {
            self.taken = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let outcome = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        let read = buffer.filled().len() - before;
        self.taken += read;
        Poll::Ready(match outcome {
            // Many servers end TLS without saying so (`close_notify`), and browsers accept that.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            outcome => outcome.and_then(|()| self.overhead.add(read)),
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn an_endless_stream_yields_to_other_tasks() {
        let mut stream = pin!(Paced::new(tokio::io::repeat(b'x'), Overhead::default()));
        let mut context = Context::from_waker(Waker::noop());
        let mut bytes = vec![0; 4 * 1024];
        let mut turns = Vec::new();
        for _ in 0..10 {
            let mut buffer = ReadBuf::new(&mut bytes);
            turns.push(stream.as_mut().poll_read(&mut context, &mut buffer).is_ready());
        }
        let turn = [true, true, true, true, false];
        assert_eq!(turns, [turn, turn].concat());

        let mut all = Vec::new();
        let size = 10 * READ_BUDGET as u64;
        let stream = Paced::new(tokio::io::repeat(b'x'), Overhead::default());
        stream.take(size).read_to_end(&mut all).await.expect("bytes");
        assert_eq!(all.len() as u64, size, "nothing is lost");
    }
}
