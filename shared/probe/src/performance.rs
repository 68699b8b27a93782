//! The `performance` check: a direct GET for the response time, then an audit of the page in a
//! browser.

mod bounded_json;
mod lighthouse;
mod pagespeed;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout_at};
use url::Url;
use vedette_domain::checks::check::lighthouse::failed;
use vedette_domain::checks::check::{CheckError, PerformanceResult, SpeedMetrics};
use vedette_domain::expectations::CheckMethod;

pub use self::lighthouse::Lighthouse;
pub use self::pagespeed::PageSpeed;
use crate::ssrf_guard::SsrfGuard;
use crate::status::{self, StatusProbe};

pub use vedette_domain::checks::check::lighthouse::AUDIT_FAILED;

/// Default deadline of a whole probe. Lighthouse itself waits 45 s for a page, and measures for
/// another 10 to 20 s on a small machine.
pub const DEADLINE: Duration = vedette_domain::checks::tool::Tool::Performance.limits().deadline;

/// [`CheckError::code`] when there is no auditor: Lighthouse is not installed or does not run, or
/// PageSpeed Insights rejects the request.
pub const AUDITOR_UNAVAILABLE: &str = "auditor_unavailable";

/// [`CheckError::code`] when another audit in this process did not end in time.
pub const AUDITOR_BUSY: &str = "auditor_busy";

/// What to probe. Not `Debug`: the header's value is a secret.
#[derive(Clone, Copy)]
pub struct PerformanceProbe<'a> {
    /// The page to audit.
    pub url: &'a Url,
    /// Name and value of the site's request header, sent to the host of `url` only; by the direct GET, as a status probe
    /// sends it. PageSpeed Insights has no way to send it.
    pub header: Option<(&'a str, &'a str)>,
    /// For the whole probe, waiting for other audits included; see [`DEADLINE`].
    pub deadline: Duration,
}

/// Audits pages.
#[derive(Debug, Clone)]
pub enum Auditor {
    /// Lighthouse on this machine.
    Lighthouse(Lighthouse),
    /// Google's service, which runs Lighthouse in its own network, and adds field data.
    PageSpeed(PageSpeed),
}

/// Audits a page once. `response_time` is measured as by a `status` probe. The audit simulates a phone on a slow
/// network, as Lighthouse does. Dropping the future leaves no process behind.
///
/// # Errors
/// When there are no figures, which is never an observation: a page that does not load is up to the
/// `status` tool. [`AUDIT_FAILED`] if the page is the cause, with Lighthouse's code as
/// `data.reason` (`ERRORED_DOCUMENT_REQUEST`, `NO_FCP`...), or ours (`UNREACHABLE`, `TIMEOUT`,
/// `TOO_LARGE`, `NO_REPORT`); [`AUDITOR_UNAVAILABLE`], [`AUDITOR_BUSY`],
/// [`BROWSER_UNAVAILABLE`](crate::browser::BROWSER_UNAVAILABLE); and the errors of a status probe.
pub async fn probe(
    guard: &SsrfGuard,
    auditor: &Auditor,
    probe: &PerformanceProbe<'_>,
) -> Result<PerformanceResult, CheckError> {
    let deadline = Instant::now() + probe.deadline;
    let _permit = auditor.permit(deadline).await?;
    let answer = status::probe(
        guard,
        &StatusProbe {
            url: probe.url,
            method: CheckMethod::Get,
            post: None,
            header: probe.header,
            deadline: status::DEADLINE.min(deadline.saturating_duration_since(Instant::now())),
            // A failure is not an observation here, no matter what caused it.
            connectivity: None,
            expected: None,
        },
    )
    .await?;
    if let Some(why) = answer.error {
        return Err(failed(&format!("the page does not load: {why}"), "UNREACHABLE"));
    }
    let audit = timeout_at(deadline, auditor.audit(guard, probe)).await;
    let speed_metrics = audit.unwrap_or_else(|_| {
        let limit = probe.deadline.as_secs_f64();
        Err(failed(&format!("the audit did not end within {limit} s"), "TIMEOUT"))
    })?;
    Ok(PerformanceResult {
        response_time: answer.response_time,
        url: probe.url.to_string(),
        speed_metrics,
    })
}

impl Auditor {
    /// Waits until no other audit on this machine would distort the figures.
    async fn permit(
        &self,
        deadline: Instant,
    ) -> Result<Option<lighthouse::AuditPermit>, CheckError> {
        match self {
            Self::PageSpeed(_) => Ok(None),
            Self::Lighthouse(_) => match timeout_at(deadline, lighthouse::permit()).await {
                Ok(permit) => Ok(Some(permit)),
                Err(_) => Err(CheckError {
                    message: "other audits did not end in time".to_owned(),
                    code: AUDITOR_BUSY.to_owned(),
                    data: json!({}),
                }),
            },
        }
    }

    async fn audit(
        &self,
        guard: &SsrfGuard,
        probe: &PerformanceProbe<'_>,
    ) -> Result<SpeedMetrics, CheckError> {
        match self {
            Self::Lighthouse(lighthouse) => lighthouse.audit(guard, probe.url, probe.header).await,
            Self::PageSpeed(service) => service.audit(guard, probe.url).await,
        }
    }
}

/// An auditor that cannot be used.
fn unavailable(message: &str) -> CheckError {
    CheckError {
        message: message.to_owned(),
        code: AUDITOR_UNAVAILABLE.to_owned(),
        data: json!({}),
    }
}
