//! A request's body, read when it is asked for.

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use lambda_http::Body;
use lambda_http::http::HeaderMap;
use lambda_http::http::header::CONTENT_ENCODING;
use tokio::time::timeout;
use vedette_api::BODY_MAX;
use vedette_domain::id::UserId;
use vedette_http::error::ApiError;

use super::ARRIVAL;
use super::bodies::Bodies;

/// A body on its way.
pub(super) struct Arrival<'a> {
    incoming: Incoming,
    bodies: &'a Bodies,
    is_over: bool,
}

impl<'a> Arrival<'a> {
    pub(super) fn new(incoming: Incoming, bodies: &'a Bodies) -> Self {
        let is_over = incoming.is_end_stream();
        Self { incoming, bodies, is_over }
    }

    /// Whether the client has sent all of it.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Reads what the user sends, as there is room for it.
    pub(super) async fn body(
        &mut self,
        headers: &HeaderMap,
        user: UserId,
    ) -> Result<Body, ApiError> {
        let announced = self.incoming.size_hint();
        if announced.lower() > BODY_MAX as u64 {
            return Err(ApiError::PayloadTooLarge);
        }
        // What is not announced, or grows when it is decoded, may become as long as is allowed.
        let is_plain = !headers.contains_key(CONTENT_ENCODING);
        let length =
            announced.exact().filter(|_| is_plain).and_then(|length| length.try_into().ok());
        let mut lacks_room = true;
        let length = length.unwrap_or(BODY_MAX as u32);
        let arrived = timeout(ARRIVAL, self.read(user, length, &mut lacks_room)).await;
        arrived.unwrap_or_else(|_| {
            Err(if lacks_room {
                ApiError::Unavailable("too many bodies at once")
            } else {
                ApiError::RequestTimeout
            })
        })
    }

    /// The whole body; its room is free again for the next one, as the throttles bound what is
    /// worked on.
    async fn read(
        &mut self,
        user: UserId,
        length: u32,
        lacks_room: &mut bool,
    ) -> Result<Body, ApiError> {
        let mut room = self.bodies.enter(user, length).await;
        *lacks_room = false;
        let mut body = Vec::new();
        while let Some(frame) = self.incoming.frame().await {
            let frame =
                frame.map_err(|_| ApiError::BadRequest("The request body could not be read."))?;
            // Trailers are not for us.
            let Ok(data) = frame.into_data() else { continue };
            if body.len() + data.len() > BODY_MAX {
                return Err(ApiError::PayloadTooLarge);
            }
            *lacks_room = true;
            room.grow(data.len() as u32).await;
            *lacks_room = false;
            body.extend_from_slice(&data);
        }
        self.is_over = true;
        Ok(Body::Binary(body))
    }
}
