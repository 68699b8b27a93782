//! PageSpeed Insights, version 5: Lighthouse as a service, with the Chrome UX Report's field data.

use std::fmt;

use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, USER_AGENT};
use serde_json::{Value, json};
use url::Url;
use vedette_domain::checks::check::{CheckError, SpeedMetrics, lighthouse};

use super::{AUDITOR_UNAVAILABLE, bounded_json, unavailable};
use crate::http;
use crate::ssrf_guard::SsrfGuard;

/// The most bytes in a response; real ones have up to a megabyte, with their screenshots.
const MAX_RESPONSE: usize = 8 * 1024 * 1024;

/// The text before Lighthouse's code in the error message for a page.
const LIGHTHOUSE_ERROR: &str = "Lighthouse returned error: ";

/// Access to PageSpeed Insights.
#[derive(Clone)]
pub struct PageSpeed {
    key: String,
    endpoint: Url,
}

impl PageSpeed {
    /// Google's endpoint.
    pub const ENDPOINT: &str = "https://www.googleapis.com/pagespeedonline/v5/runPagespeed";

    /// With an API key, or an empty one for the few free requests, at [`ENDPOINT`](Self::ENDPOINT)
    /// or a fake of it.
    #[must_use]
    pub fn new(key: String, endpoint: Url) -> Self {
        Self { key, endpoint }
    }

    /// Audits `url`. The caller sets the timeout. The key appears neither in errors nor in the log.
    pub(super) async fn audit(
        &self,
        guard: &SsrfGuard,
        url: &Url,
    ) -> Result<SpeedMetrics, CheckError> {
        let no_answer = || unavailable("PageSpeed Insights cannot be reached");
        let request = self.request(url);
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(crate::USER_AGENT));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let response = http::get(guard, &request, headers).await.map_err(|_| no_answer())?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE).collect().await;
        let body = body.map_err(|_| no_answer())?.to_bytes();
        let answer = bounded_json::parse(&body).unwrap_or(Value::Null);
        if status == StatusCode::OK {
            return lighthouse::pagespeed(&answer);
        }
        Err(api_error(status, &answer))
    }

    fn request(&self, url: &Url) -> Url {
        let mut request = self.endpoint.clone();
        let mut query = request.query_pairs_mut();
        query
            .append_pair("url", url.as_str())
            .append_pair("category", "performance")
            .append_pair("strategy", "mobile");
        if !self.key.is_empty() {
            query.append_pair("key", &self.key);
        }
        drop(query);
        request
    }
}

impl fmt::Debug for PageSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageSpeed")
            .field("endpoint", &self.endpoint.as_str())
            .finish_non_exhaustive()
    }
}

/// What a response other than 200 means: the page is the cause if it names Lighthouse, otherwise
/// the service or the key. Only Lighthouse's code is passed on, since the rest of the message could
/// quote anything.
fn api_error(status: StatusCode, answer: &Value) -> CheckError {
    let reason: Option<String> = answer["error"]["message"]
        .as_str()
        .and_then(|message| message.split_once(LIGHTHOUSE_ERROR))
        .map(|(_, rest)| {
            let is_code = |c: &char| c.is_ascii_uppercase() || *c == '_';
            rest.chars().take_while(is_code).take(100).collect()
        });
    match reason.filter(|reason| !reason.is_empty()) {
        Some(reason) => lighthouse::failed("the page could not be audited", &reason),
        None => CheckError {
            message: format!("PageSpeed Insights refused the request: HTTP {}", status.as_u16()),
            code: AUDITOR_UNAVAILABLE.to_owned(),
            data: json!({ "status": status.as_u16() }),
        },
    }
}
