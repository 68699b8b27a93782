//! What a browser proves itself with to the proxy that is its own.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{Either, Empty};
use hyper::header::{HeaderMap, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION};
use hyper::{Response, StatusCode};
use ring::hmac;
use ring::rand::{self, SystemRandom};
use serde_json::{Value, json};

use super::Answer;

/// There is one user, whom only the password proves.
const USERNAME: &str = "vedette";

/// The credentials of one run: a password of 256 random bits, and the header that it makes. Not
/// `Debug`.
pub(crate) struct Credentials {
    password: String,
    /// The header is compared by its tag, which takes the same time whatever differs.
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

    /// As DevTools and puppeteer name them.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "username": USERNAME, "password": self.password })
    }

    /// Whether a request brings them.
    pub(super) fn are_in(&self, headers: &HeaderMap) -> bool {
        let is_ours = |value: &HeaderValue| {
            hmac::verify(&self.key, value.as_bytes(), self.tag.as_ref()).is_ok()
        };
        headers.get(PROXY_AUTHORIZATION).is_some_and(is_ours)
    }

    /// The answer to who brings none, or others.
    pub(super) fn demand() -> Answer {
        let mut answer = Response::new(Either::Right(Empty::new()));
        *answer.status_mut() = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        let realm = HeaderValue::from_static("Basic realm=\"vedette\"");
        answer.headers_mut().insert(PROXY_AUTHENTICATE, realm);
        answer
    }
}
