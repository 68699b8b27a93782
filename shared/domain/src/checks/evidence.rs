//! Evidence: requests and response of a status check, kept for an issue.
//!
//! An issue has the evidence of the check that opened it and of the newest failing check with a different response. It
//! also has the evidence of a successful check, without the body's text. [`EvidenceMarks`] in the tool's state say what
//! is stored, so a check decides what to write without reading it.

mod marks;
mod redaction;

use std::net::SocketAddr;

use crc32fast::Hasher;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteArray;

use crate::id::CheckId;

pub(crate) use marks::Seen;
pub use marks::{EvidenceKind, EvidenceMarks, EvidenceWrite};
pub use redaction::{REDACTED, Redaction};

/// The most bytes of a body that are kept.
pub const BODY_KEPT: usize = 8 * 1024;
/// The most bytes of header names and values that are kept.
pub const HEADERS_KEPT: usize = 4 * 1024;

/// Headers whose values differ in every response, so they do not show whether it has changed.
const VOLATILE: [&str; 6] = ["age", "date", "etag", "expires", "last-modified", "set-cookie"];

/// Requests and response of a status check, without the value of the site's request header and without cookies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The requests, including redirects. The response belongs to the last request.
    pub requests: Vec<EvidenceRequest>,
    /// Address and port of the last connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<SocketAddr>,
    /// Version, code and reason of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_line: Option<String>,
    /// The headers of the response, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<EvidenceHeader>,
    /// Whether headers were left out because there were too many.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_headers: bool,
    /// The body of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<EvidenceBody>,
    /// Why there is no complete response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long each phase took.
    pub timing: Timing,
}

/// A request, and the code of its response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceRequest {
    /// The URL.
    pub url: String,
    /// The HTTP status of the response; null without a response.
    pub code: Option<u16>,
}

/// A header of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceHeader {
    /// Its name, in lower case.
    pub name: String,
    /// Its value, with `[redacted]` in place of secrets.
    pub value: String,
}

/// The body of a response, or its beginning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceBody {
    /// The beginning of the body, if it is text and is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether `text` is shorter than what was read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Bytes that were read, at most 64 KB.
    pub bytes: u64,
    /// SHA-256 of the bytes that were read. If the site is sent a secret, which the bytes might repeat, it is the
    /// SHA-256 of the text without the secret, and `None` if there is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<ByteArray<32>>,
}

/// The phases in the order in which they happen, as people know them.
pub const PHASE_NAMES: [&str; 4] = ["DNS", "TCP", "TLS", "First byte"];

/// Durations of a check's phases, including redirects, in hundredths of a millisecond; `None` for a phase that did not
/// begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Timing {
    /// The lookup of the host's name.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<u32>,
    /// The TCP connection.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<u32>,
    /// The TLS handshake.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<u32>,
    /// From the request to the head of the response.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<u32>,
}

/// Evidence, and the check that it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckEvidence {
    /// The check.
    pub check: CheckId,
    /// What it saw.
    pub evidence: Evidence,
}

impl EvidenceBody {
    /// `sha256` in hexadecimal digits.
    pub fn sha256_hex(&self) -> Option<String> {
        Some(HEXLOWER.encode(self.sha256.as_ref()?.as_ref()))
    }
}

impl CheckEvidence {
    /// When the check was due.
    pub fn at(&self) -> Timestamp {
        self.check.created_at()
    }
}

impl Evidence {
    /// A digest that two equal responses share. It covers status, errors, codes of redirects, and the words of URLs,
    /// headers and body. It leaves out words with a digit and headers that differ each time, so that times, counters
    /// and request ids do not make a response look changed.
    pub fn digest(&self) -> u32 {
        let mut hasher = Hasher::new();
        for text in [&self.status_line, &self.error] {
            hasher.update(text.as_deref().unwrap_or_default().as_bytes());
            hasher.update(&[0]);
        }
        for EvidenceRequest { url, code } in &self.requests {
            hasher.update(&code.unwrap_or_default().to_be_bytes());
            update_with_words(&mut hasher, url);
        }
        for EvidenceHeader { name, value } in &self.headers {
            if !VOLATILE.contains(&name.as_str()) {
                hasher.update(name.as_bytes());
                update_with_words(&mut hasher, value);
            }
        }
        match &self.body {
            Some(EvidenceBody { text: Some(text), .. }) => update_with_words(&mut hasher, text),
            Some(EvidenceBody { sha256: Some(sha256), .. }) => hasher.update(sha256.as_ref()),
            _ => {}
        }
        hasher.finalize()
    }

    /// The evidence that is kept for a successful check: everything except the body's text.
    #[must_use]
    pub fn without_text(mut self) -> Self {
        if let Some(body) = &mut self.body {
            body.is_cut |= body.text.take().is_some();
        }
        self
    }

    /// Cuts the evidence until it `fits`: first the end of the body, then the whole body, then headers, then redirects.
    #[must_use]
    pub fn cut_until(mut self, fits: impl Fn(&Self) -> bool) -> Self {
        /// A shorter text is not worth keeping.
        const SHORT: usize = 128;
        while !fits(&self) {
            match &mut self.body {
                Some(body) if body.text.is_some() => {
                    body.is_cut = true;
                    body.text = body.text.take().filter(|text| text.len() > SHORT).map(|text| {
                        text[..text.floor_char_boundary(text.len() / 4 * 3)].to_owned()
                    });
                }
                _ if !self.headers.is_empty() => {
                    self.lacks_headers = true;
                    self.headers.truncate(self.headers.len() / 2);
                }
                _ if self.requests.len() > 1 => drop(self.requests.remove(0)),
                _ => break,
            }
        }
        self
    }
}

fn update_with_words(hasher: &mut Hasher, text: &str) {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '+' | '.');
    for word in text.split(|c| !is_word(c)) {
        if !word.is_empty() && !word.contains(|c: char| c.is_ascii_digit()) {
            hasher.update(word.as_bytes());
            hasher.update(b" ");
        }
    }
    hasher.update(&[0]);
}

impl Timing {
    /// The phases in order, in milliseconds.
    pub fn phases(self) -> [Option<f64>; PHASE_NAMES.len()] {
        let Self { lookup, connect, tls, first_byte } = self;
        [lookup, connect, tls, first_byte].map(|phase| phase.map(milliseconds))
    }
}

/// Converts hundredths of a millisecond into milliseconds.
pub fn milliseconds(hundredths: u32) -> f64 {
    f64::from(hundredths) / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn answered(status_line: &str, body: &str) -> Evidence {
        Evidence {
            requests: vec![EvidenceRequest {
                url: "https://shop.example/".to_owned(),
                code: Some(503),
            }],
            address: None,
            status_line: Some(status_line.to_owned()),
            headers: vec![
                header("server", "nginx/1.27"),
                header("date", "Tue, 24 Nov 2026 02:46:00 GMT"),
                header("x-request-id", "7f3a-9c"),
            ],
            lacks_headers: false,
            body: Some(EvidenceBody {
                text: Some(body.to_owned()),
                is_cut: false,
                bytes: body.len() as u64,
                sha256: Some(ByteArray::new([0; 32])),
            }),
            error: None,
            timing: Timing::default(),
        }
    }

    fn header(name: &str, value: &str) -> EvidenceHeader {
        EvidenceHeader { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn times_and_ids_do_not_change_a_response() {
        let first =
            answered("HTTP/1.1 503 Service Unavailable", "Try again. Request 7f3a-9c at 02:46.");
        let mut later =
            answered("HTTP/1.1 503 Service Unavailable", "Try again. Request 08b1-2d at 02:51.");
        later.headers[1].value = "Mon, 30 Mar 2026 02:51:00 GMT".to_owned();
        later.headers[2].value = "08b1-2d".to_owned();
        later.timing.first_byte = Some(7);
        later.address = Some(([203, 0, 113, 7], 443).into());
        assert_eq!(first.digest(), later.digest());
    }

    #[test]
    fn status_error_redirects_headers_and_words_change_it() {
        let first = answered("HTTP/1.1 503 Service Unavailable", "Try again.");
        let mut digests = vec![first.digest()];
        let mut other = |change: &dyn Fn(&mut Evidence)| {
            let mut changed = first.clone();
            change(&mut changed);
            digests.push(changed.digest());
        };
        other(&|evidence| {
            evidence.status_line = Some("HTTP/1.1 500 Service Unavailable".to_owned());
        });
        other(&|evidence| evidence.error = Some("connection refused".to_owned()));
        other(&|evidence| evidence.requests[0].code = Some(502));
        other(&|evidence| evidence.requests[0].url.push_str("login"));
        other(&|evidence| evidence.headers[0].value = "awselb/2.0".to_owned());
        other(&|evidence| evidence.headers[0].name = "via".to_owned());
        other(&|evidence| {
            evidence.body.as_mut().expect("a body").text = Some("Maintenance.".to_owned());
        });
        let all = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), all);
    }

    #[test]
    fn long_evidence_loses_the_end_of_its_body_first() {
        let long = answered("HTTP/1.1 500", &"é".repeat(1_000));
        let body = |evidence: &Evidence| {
            let body = evidence.body.clone().expect("a body");
            (body.text.map(|text| text.len()), body.is_cut, evidence.headers.len())
        };
        let size = |evidence: &Evidence| body(evidence).0.unwrap_or_default();
        assert_eq!(body(&long.clone().cut_until(|_| true)), (Some(2_000), false, 3));
        let cut = long.clone().cut_until(|evidence| size(evidence) <= 1_000);
        assert_eq!(body(&cut), (Some(842), true, 3));
        let bare = long.cut_until(|evidence| evidence.headers.len() <= 1);
        assert_eq!((body(&bare), bare.lacks_headers), ((None, true, 1), true));
    }
}
