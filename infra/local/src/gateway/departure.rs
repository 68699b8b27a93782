//! An answer on its way out, which has to leave in time.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::Bytes;
use lambda_http::Body;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use vedette_http::response::Response;

use super::DEPARTURE;
use super::room::{Sending, Working};

/// The answer, which keeps its connection at work until its last byte has been taken.
pub(super) fn depart(response: Response, working: Working) -> hyper::Response<Full<Bytes>> {
    response.map(|body| {
        let sending = working.send(body.len());
        Full::new(Bytes::from_owner(Departing { body, _sending: sending }))
    })
}

struct Departing {
    body: Body,
    _sending: Sending,
}

impl AsRef<[u8]> for Departing {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// A connection that ends where its client does not take what it asked for: from the first write
/// that has to wait, all that is to be said must leave in a bounded time.
pub(super) struct Departure<S> {
    stream: S,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Departure<S> {
    pub(super) const fn new(stream: S) -> Self {
        Self { stream, deadline: None }
    }

    fn in_time<T>(
        &mut self,
        context: &mut Context<'_>,
        done: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if done.is_pending() {
            self.deadline.get_or_insert_with(|| Box::pin(sleep(DEPARTURE)));
        }
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Departure<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.in_time(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Asked for when all is written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.deadline = None;
        }
        self.in_time(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Departure<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}
