//! A stream that yields between reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes read before the stream yields to other tasks.
const READ_BUDGET: usize = 16 * 1024;

/// Yields to other tasks regularly. hyper reads as long as there is data, and does not return for what it skips, such
/// as interim responses and small frames: a server that sends them endlessly would block the very timer that ends the
/// request.
pub(super) struct Paced<S> {
    stream: S,
    /// Bytes read since it last yielded.
    taken: usize,
}

impl<S> Paced<S> {
    pub(super) const fn new(stream: S) -> Self {
        Self { stream, taken: 0 }
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
        self.taken += buffer.filled().len() - before;
        Poll::Ready(outcome)
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
        let mut stream = pin!(Paced::new(tokio::io::repeat(b'x')));
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
        Paced::new(tokio::io::repeat(b'x')).take(size).read_to_end(&mut all).await.expect("bytes");
        assert_eq!(all.len() as u64, size, "nothing is lost");
    }
}
