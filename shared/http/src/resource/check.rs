//! Checks as the API shows them, whole and in the short form of lists.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "schema")]
use vedette_domain::checks::check::ToolResult;
use vedette_domain::checks::check::{Check, CheckError, list_form_within};
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::expectations::Unmet;
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::sites::site::Site;

use super::{wire_time, wire_time_or_null};

/// A check.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Check"))]
pub struct CheckResource {
    /// Its unique ID.
    uuid: CheckId,
    /// The tool that ran.
    #[serde(rename = "type")]
    tool: Tool,
    /// The state of the check. All states except `pending` are final.
    status: CheckStatus,
    /// Whether the service ran it on its own; false when it was run on demand.
    automatic: bool,
    /// Why an automatic check ran; null for an on-demand check.
    run_reason: Option<RunReason>,
    /// The site that was checked; null within a site whose texts are very long, and for the check of a heartbeat.
    site: Option<SiteSummary>,
    /// What the tool found; null if the check is not completed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<ToolResult>"))]
    result: Option<Value>,
    /// Why the check failed; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "CheckError"))]
    error: Option<CheckError>,
    /// An addition to the specification: the expectations of the site that the response did not meet. Absent if there
    /// are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    unmet: Vec<Unmet>,
    /// When it was created; for a scheduled run, its slot.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// Last change.
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
    /// When it ended.
    #[serde(serialize_with = "wire_time_or_null")]
    completed_at: Option<Timestamp>,
    /// True if it was in a maintenance window, and therefore neither opened nor resolved an issue; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    in_maintenance: bool,
}

/// The site of a check.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SiteSummary {
    /// Its unique ID.
    uuid: SiteId,
    /// Display name.
    name: String,
    /// The canonical monitored URL.
    url: String,
    /// The URL's host.
    domain: String,
}

impl From<&Site> for SiteSummary {
    fn from(site: &Site) -> Self {
        Self {
            uuid: site.id,
            name: site.name.clone(),
            url: site.url.as_str().to_owned(),
            domain: site.url.domain().to_owned(),
        }
    }
}

impl CheckResource {
    /// A check of a site, or of a heartbeat, which is no site.
    pub fn new(check: &Check, site: Option<&Site>) -> Self {
        Self {
            uuid: check.id,
            tool: check.id.tool(),
            status: check.status,
            automatic: check.id.is_automatic(),
            run_reason: check.id.trigger().reason(),
            site: site.map(SiteSummary::from),
            result: check.result.clone(),
            error: check.error.clone(),
            unmet: check.unmet.clone(),
            created_at: check.id.created_at(),
            updated_at: check.updated_at,
            completed_at: check.completed_at,
            in_maintenance: check.in_maintenance,
        }
    }

    /// Shortens the check within a site that takes too much of a list: limits the size of its result as far as
    /// possible, and leaves out the site, which contains it.
    pub(super) fn shorten(&mut self, max: usize) {
        self.site = None;
        self.result = self.result.take().map(|result| list_form_within(self.tool, result, max));
    }
}
