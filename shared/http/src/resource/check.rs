use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use vedette_domain::check::{Check, CheckError};
use vedette_domain::id::{CheckId, SiteId, Trigger};
use vedette_domain::site::Site;
use vedette_domain::tool::{CheckStatus, RunReason, Tool};

use super::{wire_time, wire_time_or_null};

/// A check.
#[derive(Debug, Clone, Serialize)]
pub struct CheckResource {
    uuid: CheckId,
    #[serde(rename = "type")]
    tool: Option<Tool>,
    status: CheckStatus,
    automatic: bool,
    run_reason: Option<RunReason>,
    site: SiteSummary,
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CheckError>,
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
    #[serde(serialize_with = "wire_time_or_null")]
    completed_at: Option<Timestamp>,
}

/// The site of a check.
#[derive(Debug, Clone, Serialize)]
pub struct SiteSummary {
    uuid: SiteId,
    name: String,
    url: String,
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
    /// A check of a site.
    pub fn new(check: &Check, site: &Site) -> Self {
        Self {
            uuid: check.id,
            tool: check.id.tool(),
            status: check.status,
            automatic: check.id.is_automatic(),
            run_reason: check.id.trigger().and_then(Trigger::reason),
            site: SiteSummary::from(site),
            result: check.result.clone(),
            error: check.error.clone(),
            created_at: check.id.created_at(),
            updated_at: check.updated_at,
            completed_at: check.completed_at,
        }
    }
}
