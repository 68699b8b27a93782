//! A request's body, read when it is asked for.

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use lambda_http::Body;
use lambda_http::http::HeaderMap;
use lambda_http::http::header::CONTENT_ENCODING;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use vedette_api::BODY_MAX;
use vedette_http::error::ApiError;

use super::ARRIVAL;

/// A body on its way, and its share of what all bodies may hold, until the request is answered.
pub(super) struct Arrival<'a> {
    incoming: Incoming,
    bodies: &'a Semaphore,
    share: Option<SemaphorePermit<'a>>,
    is_over: bool,
}

impl<'a> Arrival<'a> {
    pub(super) fn new(incoming: Incoming, bodies: &'a Semaphore) -> Self {
        let is_over = incoming.is_end_stream();
        Self { incoming, bodies, share: None, is_over }
    }

    /// Whether the client has sent all of it.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Reads it, once there is room for it.
    pub(super) async fn body(&mut self, headers: &HeaderMap) -> Result<Body, ApiError> {
        let announced = self.incoming.size_hint();
        if announced.lower() > BODY_MAX as u64 {
            return Err(ApiError::PayloadTooLarge);
        }
        // What is not announced, or grows when it is decoded, may become as long as is allowed.
        let is_plain = !headers.contains_key(CONTENT_ENCODING);
        let length =
            announced.exact().filter(|_| is_plain).and_then(|length| length.try_into().ok());
        let arrived = timeout(ARRIVAL, async {
            let share = self.bodies.acquire_many(length.unwrap_or(BODY_MAX as u32)).await;
            self.share = share.ok();
            self.read().await
        });
        arrived.await.map_err(|_| match self.share {
            Some(_) => ApiError::RequestTimeout,
            None => ApiError::Unavailable("too many bodies at once".to_owned()),
        })?
    }

    async fn read(&mut self) -> Result<Body, ApiError> {
        let mut body = Vec::new();
        while let Some(frame) = self.incoming.frame().await {
            let frame =
                frame.map_err(|_| ApiError::BadRequest("The request body could not be read."))?;
            // Trailers are not for us.
            let Ok(data) = frame.into_data() else { continue };
            if body.len() + data.len() > BODY_MAX {
                return Err(ApiError::PayloadTooLarge);
            }
            body.extend_from_slice(&data);
        }
        self.is_over = true;
        Ok(Body::Binary(body))
    }
}
