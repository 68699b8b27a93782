//! The evidence of an issue.

use std::net::SocketAddr;

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::checks::evidence::{
    CheckEvidence, Evidence, EvidenceHeader, EvidenceRequest, Timing, milliseconds,
};
use vedette_domain::id::CheckId;
use vedette_store::IssueEvidence;

use super::wire_time;

/// Requests and responses of an issue's checks; null where none are kept, as for issues of tools other than `status`.
/// The value of the site's request header and cookies are `[redacted]`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "IssueEvidence"))]
pub struct EvidenceResource {
    /// The evidence of the check that last opened the issue.
    first: Option<CheckEvidenceResource>,
    /// The evidence of the newest failing check whose response differed from that of the previous failing check; the
    /// same as `first` if there was none.
    newest: Option<CheckEvidenceResource>,
    /// The evidence of a successful check, without the text of the body. It is refreshed once a day, and after 6 hours
    /// if the response has changed.
    last_good: Option<CheckEvidenceResource>,
}

/// Requests and response of a check, cut to 4 KB after compression.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Evidence"))]
struct CheckEvidenceResource {
    /// The check. It is available as long as its history is kept.
    check_uuid: CheckId,
    /// When the check was due.
    #[serde(serialize_with = "wire_time")]
    checked_at: Timestamp,
    /// The requests, including redirects. The response belongs to the last request.
    requests: Vec<EvidenceRequest>,
    /// Address and port of the last connection; null without one.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    address: Option<SocketAddr>,
    /// Version, code and reason of the response; null without one.
    status_line: Option<String>,
    /// Headers of the response, in their order; the first 4 KB.
    headers: Vec<EvidenceHeader>,
    /// The body of the response; null without one.
    body: Option<BodyResource>,
    /// Why there is no complete response.
    error: Option<String>,
    /// How long each phase took, including redirects.
    timing: TimingResource,
}

/// The body of a response.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "EvidenceBody"))]
struct BodyResource {
    /// The beginning of the body; null if the body is not text, or the check was successful.
    text: Option<String>,
    /// Whether `text` is only a part of the body.
    is_cut: bool,
    /// Bytes that were read, at most 64 KB.
    bytes: u64,
    /// SHA-256 of the bytes that were read, in hex. If the site has a request header or gets a POST, it is the SHA-256
    /// of the text without these secrets; null if the body is not text.
    sha256: Option<String>,
}

/// Durations of a check's phases, in milliseconds; null for a phase that did not begin.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Timing"))]
struct TimingResource {
    /// The lookup of the host's name.
    lookup: Option<f64>,
    /// The TCP connection.
    connect: Option<f64>,
    /// The TLS handshake.
    tls: Option<f64>,
    /// From the request to the head of the response.
    first_byte: Option<f64>,
}

impl From<Timing> for TimingResource {
    fn from(Timing { lookup, connect, tls, first_byte }: Timing) -> Self {
        let [lookup, connect, tls, first_byte] =
            [lookup, connect, tls, first_byte].map(|phase| phase.map(milliseconds));
        Self { lookup, connect, tls, first_byte }
    }
}

impl From<CheckEvidence> for CheckEvidenceResource {
    fn from(of: CheckEvidence) -> Self {
        let checked_at = of.at();
        let Evidence { requests, address, status_line, headers, body, error, timing, .. } =
            of.evidence;
        let body = body.map(|body| BodyResource {
            sha256: body.sha256_hex(),
            text: body.text,
            is_cut: body.is_cut,
            bytes: body.bytes,
        });
        Self {
            check_uuid: of.check,
            checked_at,
            requests,
            address,
            status_line,
            headers,
            body,
            error,
            timing: timing.into(),
        }
    }
}

impl From<IssueEvidence> for EvidenceResource {
    fn from(IssueEvidence { first, newest, good }: IssueEvidence) -> Self {
        let newest = newest.or_else(|| first.clone());
        let [first, newest, last_good] =
            [first, newest, good].map(|of| of.map(CheckEvidenceResource::from));
        Self { first, newest, last_good }
    }
}
