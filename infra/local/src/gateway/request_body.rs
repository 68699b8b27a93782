//! The body of a request, which is read when its route needs it.

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use lambda_http::Body;
use lambda_http::http::HeaderMap;
use lambda_http::http::header::CONTENT_ENCODING;
use tokio::time::timeout;
use vedette_domain::source::Source;
use vedette_http::body::BodySender;
use vedette_http::error::ApiError;

use super::READ_TIMEOUT;
use super::body_memory::BodyMemory;

/// The body of a request, as it arrives.
pub(super) struct RequestBody<'a> {
    incoming: Incoming,
    memory: &'a BodyMemory,
    peer: Source,
    is_complete: bool,
}

impl<'a> RequestBody<'a> {
    pub(super) fn new(incoming: Incoming, memory: &'a BodyMemory, peer: Source) -> Self {
        let is_complete = incoming.is_end_stream();
        Self { incoming, memory, peer, is_complete }
    }

    /// Whether the client has sent all of it.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Reads the whole body, once there is memory for it.
    pub(super) async fn read(
        &mut self,
        headers: &HeaderMap,
        sender: BodySender,
    ) -> Result<Body, ApiError> {
        let most = sender.body_max();
        let announced = self.incoming.size_hint();
        if announced.lower() > most as u64 {
            return Err(ApiError::PayloadTooLarge);
        }
        // A body without an announced length, or one that grows when it is decoded, may reach the maximum length.
        let is_plain = !headers.contains_key(CONTENT_ENCODING);
        let length =
            announced.exact().filter(|_| is_plain).and_then(|length| length.try_into().ok());
        let mut lacks_memory = true;
        let length = length.unwrap_or(most as u32);
        let read = timeout(READ_TIMEOUT, self.collect(sender, length, &mut lacks_memory)).await;
        read.unwrap_or_else(|_| {
            Err(if lacks_memory {
                ApiError::Unavailable("too many request bodies at once")
            } else {
                ApiError::RequestTimeout
            })
        })
    }

    /// Reads the body, and returns its end: at most so many bytes. What does not arrive in time is missing.
    pub(super) async fn read_end(&mut self, most: usize) -> Vec<u8> {
        let mut end = Vec::new();
        let read = async {
            while let Some(Ok(frame)) = self.incoming.frame().await {
                let Ok(data) = frame.into_data() else { continue };
                end.extend_from_slice(&data);
                end.drain(..end.len().saturating_sub(most));
            }
            self.is_complete = true;
        };
        // Whoever sends slowly still has reported.
        let _ = timeout(READ_TIMEOUT, read).await;
        end
    }

    /// Collects the whole body. Its memory is free for the next body at once, because throttles limit the requests
    /// being handled.
    async fn collect(
        &mut self,
        sender: BodySender,
        length: u32,
        lacks_memory: &mut bool,
    ) -> Result<Body, ApiError> {
        let reserved = self.memory.reserve(sender, self.peer, length).await;
        let Some(mut reservation) = reserved else {
            // By then every expected body has arrived or timed out.
            let retry_after = READ_TIMEOUT.as_secs() as u32;
            return Err(ApiError::TooManyRequests { retry_after });
        };
        *lacks_memory = false;
        let mut body = Vec::new();
        while let Some(frame) = self.incoming.frame().await {
            let frame =
                frame.map_err(|_| ApiError::BadRequest("The request body could not be read."))?;
            // Trailers are ignored.
            let Ok(data) = frame.into_data() else { continue };
            if body.len() + data.len() > sender.body_max() {
                return Err(ApiError::PayloadTooLarge);
            }
            *lacks_memory = true;
            reservation.grow(data.len() as u32).await;
            *lacks_memory = false;
            body.extend_from_slice(&data);
        }
        self.is_complete = true;
        Ok(Body::Binary(body))
    }
}
