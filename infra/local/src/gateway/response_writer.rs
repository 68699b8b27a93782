//! Writing a response, within a time limit.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::Bytes;
use lambda_http::Body;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use vedette_http::response::Response;

use super::WRITE_TIMEOUT;
use super::connections::{ActiveRequest, OutgoingResponse};

/// The response to a request. It keeps its connection active until the last byte is written.
pub(super) fn respond(response: Response, request: ActiveRequest) -> hyper::Response<Full<Bytes>> {
    response.map(|body| {
        let sending = request.respond(body.len());
        Full::new(Bytes::from_owner(SentBody { body, _sending: sending }))
    })
}

struct SentBody {
    body: Body,
    _sending: OutgoingResponse,
}

impl AsRef<[u8]> for SentBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// A stream that fails if its client does not read the response: once a write has to wait, everything that is buffered
/// must be written within the time limit.
pub(super) struct WriteTimeout<S> {
    stream: S,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(super) const fn new(stream: S) -> Self {
        Self { stream, deadline: None }
    }

    fn in_time<T>(
        &mut self,
        context: &mut Context<'_>,
        done: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if done.is_pending() {
            self.deadline.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        }
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
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

    /// Called when everything was written.
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

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}
