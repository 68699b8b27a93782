//! The credentials by which a browser authenticates with its proxy.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{Either, Empty};
use hyper::header::{HeaderMap, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION};
use hyper::{Response, StatusCode};
use ring::hmac;
use ring::rand::{self, SystemRandom};
use serde_json::{Value, json};

use super::ProxyResponse;

/// The only user; the password is the secret.
const USERNAME: &str = "vedette";

/// The credentials of one run: a password of 256 random bits, and the header made of it. Not
/// `Debug`.
pub(crate) struct Credentials {
    password: String,
    /// The header is compared by its HMAC tag, in constant time.
    key: hmac::Key,
    tag: hmac::Tag,
}

impl Credentials {
    pub(super) fn new() -> io::Result<Self> {
        let random = SystemRandom::new();
        let none = |_| io::Error::other("there is no randomness");
        let secret: [u8; 32] = rand::generate(&random).map_err(none)?.expose();
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random).map_err(none)?;
        let password = STANDARD.encode(secret);
        let header = format!("Basic {}", STANDARD.encode(format!("{USERNAME}:{password}")));
        let tag = hmac::sign(&key, header.as_bytes());
        Ok(Self { password, key, tag })
    }

    /// In the form of DevTools and Puppeteer.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "username": USERNAME, "password": self.password })
    }

    /// Whether a request has them.
    pub(super) fn authorize(&self, headers: &HeaderMap) -> bool {
        let is_ours = |value: &HeaderValue| {
            hmac::verify(&self.key, value.as_bytes(), self.tag.as_ref()).is_ok()
        };
        headers.get(PROXY_AUTHORIZATION).is_some_and(is_ours)
    }

    /// The response to a request without them.
    pub(super) fn challenge() -> ProxyResponse {
        let mut answer = Response::new(Either::Right(Empty::new()));
        *answer.status_mut() = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        let realm = HeaderValue::from_static("Basic realm=\"vedette\"");
        answer.headers_mut().insert(PROXY_AUTHENTICATE, realm);
        answer
    }
}
