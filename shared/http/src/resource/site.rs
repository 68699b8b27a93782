use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::check::Check;
use vedette_domain::id::{CheckId, SiteId, TeamId};
use vedette_domain::settings::{IssueSettings, Settings};
use vedette_domain::site::Site;
use vedette_domain::tool::Tool;
use vedette_domain::tool_state::ToolState;
use vedette_store::{SiteSheet, TeamSheet};

use super::{CheckResource, Links, wire_time};

/// A site.
#[derive(Debug, Clone, Serialize)]
pub struct SiteResource {
    uuid: SiteId,
    team_uuid: TeamId,
    name: String,
    url: String,
    domain: String,
    notes: Option<String>,
    js_rendered: bool,
    is_pinned: bool,
    enabled_checks: Vec<Tool>,
    monitoring: Monitoring,
    issue_settings: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_checks: Option<BTreeMap<Tool, Option<CheckResource>>>,
    reports: Reports,
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

#[derive(Debug, Clone, Serialize)]
struct Monitoring {
    settings: Settings,
}

#[derive(Debug, Clone, Serialize)]
struct Reports {
    uptime: String,
    performance: String,
}

impl SiteResource {
    /// A site under its team's settings and plan, without its latest checks.
    pub fn new(site: &Site, team: &TeamSheet, links: &Links) -> Self {
        let plan = team.team.plan;
        let settings = Settings::resolve(&team.settings, &site.overrides, plan);
        let issue_settings = IssueSettings::new(&settings, &site.expected_records, plan);
        let report = |name: &str| links.to(&format!("/sites/{}/reports/{name}", site.id));
        Self {
            uuid: site.id,
            team_uuid: site.team,
            name: site.name.clone(),
            url: site.url.as_str().to_owned(),
            domain: site.url.domain().to_owned(),
            notes: site.notes.clone(),
            js_rendered: site.js_rendered,
            is_pinned: site.pinned,
            enabled_checks: settings.enabled_tools(plan),
            // Settings are made of strings, numbers and maps with string keys: they have a form.
            issue_settings: serde_json::to_value(&issue_settings).unwrap_or_default(),
            monitoring: Monitoring { settings },
            latest_checks: None,
            reports: Reports {
                uptime: report("uptime"),
                performance: report("performance"),
            },
            created_at: site.created_at,
            updated_at: site.updated_at,
        }
    }

    /// With the newest check of each of the five tools, null where there is none.
    #[must_use]
    pub fn with_latest(self, sheet: &SiteSheet, checks: &BTreeMap<CheckId, Check>) -> Self {
        let latest = Tool::ALL.into_iter().map(|tool| {
            let newest = sheet.tools.get(&tool).and_then(ToolState::latest);
            let check = newest.and_then(|newest| checks.get(&newest.id));
            (
                tool,
                check.map(|check| CheckResource::new(check, &sheet.site)),
            )
        });
        Self {
            latest_checks: Some(latest.collect()),
            ..self
        }
    }
}
