//! Request bodies: their limits and their encoding.

use std::borrow::Cow;

use lambda_http::http::HeaderMap;
use lambda_http::http::header::CONTENT_ENCODING;
use vedette_domain::id::UserId;

use crate::error::ApiError;
use crate::{gzip, header};

/// The largest request body of a user, in bytes, before and after decoding.
pub const BODY_MAX: usize = 1024 * 1024;

/// The largest request body of somebody who is not signed in: an address, or a name and the answer to an invitation.
pub const STRANGERS_BODY_MAX: usize = 4 * 1024;

/// Who sends a body, known before the body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodySender {
    /// Somebody with a valid token or session.
    User(UserId),
    /// Anybody else.
    Stranger,
}

impl BodySender {
    /// The largest body that they may send, in bytes.
    pub const fn body_max(self) -> usize {
        match self {
            Self::User(_) => BODY_MAX,
            Self::Stranger => STRANGERS_BODY_MAX,
        }
    }
}

/// The body for the handlers: within the limit, and decoded.
///
/// # Errors
///
/// 413 if it is too large, before or after decoding; 415 if it has an encoding other than gzip; 400 if it does not have
/// the encoding that it claims.
pub fn decode<'a>(
    headers: &HeaderMap,
    body: &'a [u8],
    sender: BodySender,
) -> Result<Cow<'a, [u8]>, ApiError> {
    let most = sender.body_max();
    let within_limit = |body: Cow<'a, [u8]>| {
        if body.len() > most { Err(ApiError::PayloadTooLarge) } else { Ok(body) }
    };
    let body = within_limit(Cow::Borrowed(body))?;
    // An empty body is empty in every encoding.
    if body.is_empty() {
        return Ok(body);
    }
    let mut encodings = header::list(headers, &CONTENT_ENCODING)
        .filter(|encoding| !encoding.eq_ignore_ascii_case("identity"));
    match (encodings.next(), encodings.next()) {
        (None, _) => Ok(body),
        (Some(encoding), None) if gzip::is(encoding) => {
            let malformed = |_| ApiError::BadRequest("The request body must be valid gzip.");
            gzip::unpack(&body, most + 1).map_err(malformed).map(Cow::Owned).and_then(within_limit)
        }
        _ => Err(ApiError::UnsupportedEncoding),
    }
}

#[cfg(test)]
mod tests {
    use lambda_http::http::HeaderValue;
    use uuid::Uuid;

    use super::*;

    const USER: BodySender = BodySender::User(UserId(Uuid::nil()));

    fn read(encodings: &[&'static str], body: &[u8]) -> Result<Vec<u8>, u16> {
        read_of(USER, encodings, body)
    }

    fn read_of(
        sender: BodySender,
        encodings: &[&'static str],
        body: &[u8],
    ) -> Result<Vec<u8>, u16> {
        let mut headers = HeaderMap::new();
        for encoding in encodings {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        let read = decode(&headers, body, sender);
        read.map(Cow::into_owned).map_err(|refusal| refusal.status().as_u16())
    }

    #[test]
    fn a_body_is_read_without_its_encoding() {
        let packed = gzip::pack(b"{}");
        for (encodings, body, found) in [
            (&[][..], &b"{}"[..], Ok(b"{}".to_vec())),
            (&["identity"], b"{}", Ok(b"{}".to_vec())),
            (&["gzip"], &packed, Ok(b"{}".to_vec())),
            (&["X-GZip"], &packed, Ok(b"{}".to_vec())),
            (&["identity, gzip"], &packed, Ok(b"{}".to_vec())),
            (&["gzip"], b"", Ok(Vec::new())),
            (&["gzip"], b"{}", Err(400)),
            (&["gzip"], &packed[..packed.len() - 1], Err(400)),
            (&["gzip, gzip"], &packed, Err(415)),
            (&["gzip", "gzip"], &packed, Err(415)),
            (&["br"], b"{}", Err(415)),
            (&["deflate"], b"{}", Err(415)),
        ] {
            assert_eq!(read(encodings, body), found, "{encodings:?}");
        }
        assert_eq!(read(&[], &packed), Ok(packed), "as it was sent");
    }

    #[test]
    fn a_stranger_sends_no_more_than_a_form() {
        let of_stranger = |encodings: &[&'static str], body: &[u8]| {
            read_of(BodySender::Stranger, encodings, body).map(|body| body.len())
        };
        let [most, beyond] =
            [STRANGERS_BODY_MAX, STRANGERS_BODY_MAX + 1].map(|size| vec![b'x'; size]);
        assert_eq!(of_stranger(&[], &most), Ok(STRANGERS_BODY_MAX));
        assert_eq!(of_stranger(&[], &beyond), Err(413));
        assert_eq!(of_stranger(&["gzip"], &gzip::pack(&most)), Ok(STRANGERS_BODY_MAX));
        assert_eq!(of_stranger(&["gzip"], &gzip::pack(&beyond)), Err(413));
    }

    #[test]
    fn a_body_is_no_larger_unpacked_than_it_may_be() {
        let packed = |size: usize| gzip::pack(&vec![b'x'; size]);
        assert_eq!(read(&[], &vec![b'x'; BODY_MAX]).map(|body| body.len()), Ok(BODY_MAX));
        assert_eq!(read(&[], &vec![b'x'; BODY_MAX + 1]), Err(413));
        assert_eq!(read(&["gzip"], &packed(BODY_MAX)).map(|body| body.len()), Ok(BODY_MAX));
        assert_eq!(read(&["gzip"], &packed(BODY_MAX + 1)), Err(413));
        // Several small bombs in a row are one bomb.
        let bomb = packed(100 * BODY_MAX);
        assert!(bomb.len() < BODY_MAX);
        assert_eq!(read(&["gzip"], &bomb), Err(413));
        assert_eq!(read(&["gzip"], &packed(1_000).repeat(2_000)), Err(413));
    }
}
