//! Responses: JSON bodies in the API's envelope, in the form that the client prefers.

use lambda_http::Body;
use lambda_http::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use lambda_http::http::request::Parts;
use lambda_http::http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::task::{JoinError, spawn_blocking};

use crate::{gzip, header};

/// An answer to a client.
pub type Response = lambda_http::http::Response<Body>;

/// The header with a request's id in the answer to a fault.
pub const REQUEST_ID_HEADER: &str = "x-request-id";

/// A single resource or a plain list: `{ "data": … }`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Data<T> {
    /// The requested data.
    data: T,
}

/// A response that is never cached, and whose type browsers must not guess.
fn answer(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// An answer with a JSON body.
pub fn json<T: Serialize>(status: StatusCode, body: &T) -> Response {
    // Our bodies consist of strings, numbers and maps with string keys, so they can be written as JSON.
    let text = serde_json::to_string(body).unwrap_or_default();
    let mut response = answer(status, Body::Text(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// 200 with `{ "data": … }`.
pub fn ok<T: Serialize>(data: &T) -> Response {
    json(StatusCode::OK, &Data { data })
}

/// 200 with a text of this media type.
pub fn text(text: String, media_type: &'static str) -> Response {
    let mut response = answer(StatusCode::OK, Body::Text(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// 201 with `{ "data": … }` for a new resource at `location`.
pub fn created<T: Serialize>(data: &T, location: &str) -> Response {
    let mut response = json(StatusCode::CREATED, &Data { data });
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// 202 with `{ "data": … }`.
pub fn accepted<T: Serialize>(data: &T) -> Response {
    json(StatusCode::ACCEPTED, &Data { data })
}

/// 204 without a body.
pub fn no_content() -> Response {
    answer(StatusCode::NO_CONTENT, Body::Empty)
}

/// A shorter response is not worth compressing, because it fits into one packet anyway.
const COMPRESSED_MIN: usize = 1024;
/// The end of a compressed response's tag.
const COMPRESSED_TAG: &str = "-gzip";

/// The response as a Lambda function returns it. To HEAD, it has no body, but the length that the body of the response
/// to GET has (RFC 9110, 9.3.2). A server of HTTP leaves the body out itself.
pub fn for_method(method: &Method, mut response: Response) -> Response {
    if *method == Method::HEAD && !response.body().is_empty() {
        let length = response.body().len();
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        *response.body_mut() = Body::Empty;
    }
    response
}

/// What a client, and caches on the way to it, may do with a response.
#[derive(Debug, Clone, Copy)]
pub struct Caching {
    /// Whether and how long they may use it.
    control: &'static str,
    /// The request headers on which it depends.
    vary: &'static str,
}

impl Caching {
    /// The client alone may cache it, and revalidates it each time.
    pub const PRIVATE: Self =
        Self { control: "private, no-cache", vary: "authorization, accept-encoding" };
    /// Everybody gets the same, and may use it for half a minute.
    pub const PUBLIC: Self = Self { control: "public, max-age=30", vary: "accept-encoding" };
}

/// Responses above this size, in bytes, are hashed and compressed on a separate thread. On the runtime's threads, all
/// other work would wait, and checks would count the wait as their sites' response time.
pub const BRIEF_MAX: usize = 64 * 1024;

/// The response in the form that the client prefers, as [`negotiate`] writes it: a long one on a separate thread.
///
/// # Errors
///
/// When that thread has panicked.
pub async fn present(
    response: Response,
    head: &Parts,
    caching: Caching,
) -> Result<Response, JoinError> {
    if response.body().len() <= BRIEF_MAX {
        return Ok(negotiate(response, &head.method, &head.headers, caching));
    }
    let (method, asked) = (head.method.clone(), head.headers.clone());
    spawn_blocking(move || negotiate(response, &method, &asked, caching)).await
}

/// The response in the form that the client prefers: 304 if the client already has it, and compressed if the client
/// accepts that.
///
/// A client may cache what it reads. The tag identifies the bytes that are sent, so the compressed response has a tag
/// of its own (RFC 9110, 8.8.3.3). A client that has either form has the current resource.
pub fn negotiate(
    mut response: Response,
    method: &Method,
    asked: &HeaderMap,
    caching: Caching,
) -> Response {
    let Body::Text(text) = response.body() else { return response };
    let compressed = text.len() >= COMPRESSED_MIN && gzip::is_preferred(asked);
    if [Method::GET, Method::HEAD].contains(method) && response.status() == StatusCode::OK {
        let hash = format!("{:x}", Sha256::digest(text));
        let is_known = has(asked, &hash);
        let tag = format!("\"{hash}{}\"", if compressed { COMPRESSED_TAG } else { "" });
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching.control));
        headers.insert(VARY, HeaderValue::from_static(caching.vary));
        headers.extend(HeaderValue::try_from(tag).map(|tag| (ETAG, tag)));
        if is_known {
            headers.remove(CONTENT_TYPE);
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::Empty;
            return response;
        }
    }
    if compressed {
        pack(&mut response);
    }
    response
}

/// A response that clients either never cache or cache forever, compressed if the client prefers that.
pub fn compress(mut response: Response, asked: &HeaderMap) -> Response {
    if matches!(response.body(), Body::Text(text) if text.len() >= COMPRESSED_MIN) {
        response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
        if gzip::is_preferred(asked) {
            pack(&mut response);
        }
    }
    response
}

fn pack(response: &mut Response) {
    response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    let packed = gzip::pack(response.body());
    *response.body_mut() = Body::Binary(packed);
}

/// Whether the client has the resource, in either form with this hash.
fn has(asked: &HeaderMap, hash: &str) -> bool {
    header::list(asked, &IF_NONE_MATCH).any(|tag| {
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        let name = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        let is_alike = |name: &str| name.strip_suffix(COMPRESSED_TAG).unwrap_or(name) == hash;
        tag == "*" || name.is_some_and(is_alike)
    })
}

#[cfg(test)]
mod tests {
    use lambda_http::http::header::{ACCEPT_ENCODING, HeaderName};

    use super::*;

    fn asked(headers: &[(HeaderName, &str)]) -> HeaderMap {
        let value = |value: &str| HeaderValue::from_str(value).expect("a value");
        headers.iter().map(|(name, text)| (name.clone(), value(text))).collect()
    }

    fn text(response: &Response, name: &HeaderName) -> String {
        let value = response.headers().get(name).map(|value| value.to_str().expect("text"));
        value.unwrap_or_default().to_owned()
    }

    fn get(headers: &[(HeaderName, &str)], data: &str) -> Response {
        negotiate(ok(&data), &Method::GET, &asked(headers), Caching::PRIVATE)
    }

    #[test]
    fn responses_have_an_etag_for_revalidation() {
        let first = get(&[], "a");
        let tag = text(&first, &ETAG);
        assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag}");
        assert_eq!(text(&first, &CACHE_CONTROL), "private, no-cache");
        assert_eq!(text(&first, &VARY), "authorization, accept-encoding");
        assert_ne!(text(&get(&[], "b"), &ETAG), tag);
        for known in [&*tag, &format!("W/{tag}"), &format!("\"x\", {tag}"), "*"] {
            let again = get(&[(IF_NONE_MATCH, known)], "a");
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert!(again.body().is_empty());
            assert_eq!(text(&again, &ETAG), tag);
            assert_eq!(text(&again, &CACHE_CONTROL), "private, no-cache");
            assert_eq!(text(&again, &CONTENT_TYPE), "");
        }
        for unknown in ["", "\"x\"", tag.trim_matches('"'), "x*"] {
            assert_eq!(get(&[(IF_NONE_MATCH, unknown)], "a").status(), 200, "{unknown}");
        }
    }

    #[test]
    fn public_responses_may_be_cached() {
        for method in [Method::GET, Method::HEAD] {
            let first = negotiate(ok(&"a"), &method, &HeaderMap::new(), Caching::PUBLIC);
            assert_eq!(text(&first, &CACHE_CONTROL), "public, max-age=30");
            assert_eq!(text(&first, &VARY), "accept-encoding");
            let known = text(&first, &ETAG);
            let again =
                negotiate(ok(&"a"), &method, &asked(&[(IF_NONE_MATCH, &known)]), Caching::PUBLIC);
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
            assert_eq!(text(&again, &CACHE_CONTROL), "public, max-age=30");
        }
    }

    #[test]
    fn head_is_answered_with_the_length_of_the_body_alone() {
        let get = for_method(&Method::GET, get(&[], "a"));
        let head = for_method(&Method::HEAD, get.clone());
        assert_eq!(text(&get, &CONTENT_LENGTH), "", "the server knows it");
        assert_eq!(text(&head, &CONTENT_LENGTH), get.body().len().to_string());
        assert!(head.body().is_empty());
        for (name, value) in get.headers() {
            assert_eq!(head.headers()[name], value);
        }
        let nothing = for_method(&Method::HEAD, no_content());
        assert_eq!(text(&nothing, &CONTENT_LENGTH), "");
    }

    #[test]
    fn only_successful_reads_may_be_cached() {
        let known = asked(&[(IF_NONE_MATCH, "*")]);
        for (method, response) in [
            (Method::POST, created(&"a", "https://monitor.test/a")),
            (Method::PATCH, ok(&"a")),
            (Method::DELETE, no_content()),
            (Method::GET, json(StatusCode::NOT_FOUND, &"a")),
        ] {
            let status = response.status();
            let response = negotiate(response, &method, &known, Caching::PRIVATE);
            assert_eq!(response.status(), status);
            assert_eq!(text(&response, &CACHE_CONTROL), "no-store", "{method}");
            assert_eq!(text(&response, &X_CONTENT_TYPE_OPTIONS), "nosniff", "{method}");
            assert_eq!(text(&response, &ETAG), "");
        }
    }

    #[test]
    fn a_long_answer_is_compressed_and_has_a_tag_of_its_own() {
        let long = "x".repeat(2 * COMPRESSED_MIN);
        let plain = get(&[], &long);
        let packed = get(&[(ACCEPT_ENCODING, "gzip")], &long);
        assert_eq!(text(&packed, &CONTENT_ENCODING), "gzip");
        let Body::Binary(bytes) = packed.body() else { panic!("{packed:?}") };
        assert!(bytes.len() < long.len());
        assert_eq!(gzip::unpack(bytes, usize::MAX).expect("gzip"), plain.body().to_vec());
        let tag = text(&packed, &ETAG);
        assert_ne!(tag, text(&plain, &ETAG));
        // A client that has either form has the resource.
        for known in [tag, text(&plain, &ETAG)] {
            for more in [&[][..], &[(ACCEPT_ENCODING, "gzip")]] {
                let headers = [&[(IF_NONE_MATCH, &*known)], more].concat();
                assert_eq!(get(&headers, &long).status(), StatusCode::NOT_MODIFIED);
            }
        }
        let short = get(&[(ACCEPT_ENCODING, "gzip")], "x");
        assert_eq!(text(&short, &CONTENT_ENCODING), "");
        let refusal = negotiate(
            json(StatusCode::UNPROCESSABLE_ENTITY, &long),
            &Method::POST,
            &asked(&[(ACCEPT_ENCODING, "gzip")]),
            Caching::PRIVATE,
        );
        assert_eq!(text(&refusal, &CONTENT_ENCODING), "gzip");
    }
}
