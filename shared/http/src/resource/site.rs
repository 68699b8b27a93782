//! Sites as the API shows them, with settings in force and latest checks.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::checks::check::{Check, LISTED_MAX};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::configuration::ManagedBy;
use vedette_domain::id::{CheckId, SiteId, TeamId};
use vedette_domain::objectives::Objective;
use vedette_domain::sites::settings::{IssueSettings, Settings};
use vedette_domain::sites::site::Site;
use vedette_domain::sites::tag::Tags;
use vedette_store::{SiteWithTools, TeamWithSettings};

use super::{CheckResource, Links, wire_time};
use crate::objectives::BudgetOf;

/// The most that a site may take of a list, in bytes of JSON. A hundred of them, with everything that a Lambda function
/// adds, stay below its limit of 6 MB.
const SITE_MAX: usize = 50 * 1024;

/// A site.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Site"))]
pub struct SiteResource {
    /// Its unique ID.
    uuid: SiteId,
    /// The owning team.
    team_uuid: TeamId,
    /// Display name.
    name: String,
    /// The canonical monitored URL.
    url: String,
    /// The URL's host.
    domain: String,
    /// Free text.
    notes: Option<String>,
    /// An addition to the specification: what the site has in common with others, sorted; absent if it has no tags.
    #[serde(skip_serializing_if = "Tags::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>", default))]
    tags: Tags,
    /// An addition to the specification: how much of a period the site should be up; omitted if there is no objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Objective", default))]
    objective: Option<Objective>,
    /// An addition to the specification: what the objective allows and how much of it is used; only where a single site
    /// is read, and omitted if it has no objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "BudgetResource", default))]
    budget: Option<BudgetResource>,
    /// An addition to the specification: the document that manages it; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "ManagedBy", default))]
    managed_by: Option<ManagedBy>,
    /// Whether broken-link crawls render pages with a browser.
    js_rendered: bool,
    /// Whether the team keeps it at the top.
    is_pinned: bool,
    /// Tools that run automatically, in enumeration order.
    enabled_checks: Vec<Tool>,
    /// How the site is monitored.
    monitoring: Monitoring,
    /// What opens an issue, resolved from the team's defaults and the site's overrides.
    #[cfg_attr(feature = "schema", schemars(with = "IssueSettings<'static>"))]
    issue_settings: serde_json::Value,
    /// The newest check of each tool, or null if there is none; absent within an issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "latest_checks_schema"))]
    latest_checks: Option<BTreeMap<Tool, Option<CheckResource>>>,
    /// The URLs of the site's reports.
    reports: Reports,
    /// Creation.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// Last change.
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

/// The downtime that an objective allows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Budget"))]
struct BudgetResource {
    /// What the objective allows in its period, in seconds, rounded down. If the site is younger than the period, it is
    /// what the objective allows in the age of the site; a calendar month always counts as a whole.
    allowed_seconds: i64,
    /// How much of it is used, rounded up.
    used_seconds: i64,
    /// What is left; negative if more is used than the objective allows.
    left_seconds: i64,
    /// When the period begins.
    #[serde(serialize_with = "wire_time")]
    since: Timestamp,
}

impl From<BudgetOf> for BudgetResource {
    fn from(BudgetOf { budget, window, .. }: BudgetOf) -> Self {
        Self {
            allowed_seconds: budget.allowed_seconds,
            used_seconds: budget.used_seconds,
            left_seconds: budget.left(),
            since: window.from,
        }
    }
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Monitoring {
    /// The settings in force: the team's with the site's overrides.
    settings: Settings,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Reports {
    /// URL of the uptime report.
    uptime: String,
    /// URL of the performance report.
    performance: String,
}

/// Each tool has its own key. The schema of a map would promise none.
#[cfg(feature = "schema")]
fn latest_checks_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let check = generator.subschema_for::<Option<CheckResource>>();
    let tools = Tool::ALL.map(Tool::as_str);
    let checks: BTreeMap<_, _> = tools.into_iter().map(|tool| (tool, &check)).collect();
    schemars::json_schema!({
        "type": "object",
        "properties": checks,
        "required": tools,
        "additionalProperties": false,
    })
}

impl SiteResource {
    /// A site under its team's settings and plan, without its latest checks.
    pub fn new(site: &Site, team: &TeamWithSettings, links: &Links) -> Self {
        let plan = team.plan();
        let settings = team.settings_for(site);
        let issue_settings = IssueSettings::new(&settings, &site.expected_records, plan);
        let report = |name: &str| format!("{}/reports/{name}", links.site(site.id));
        Self {
            uuid: site.id,
            team_uuid: site.team,
            name: site.name.clone(),
            url: site.url.as_str().to_owned(),
            domain: site.url.domain().to_owned(),
            notes: site.notes.clone(),
            tags: site.tags.clone(),
            objective: site.objective,
            budget: None,
            managed_by: site.managed_by.clone(),
            js_rendered: site.js_rendered,
            is_pinned: site.pinned,
            enabled_checks: settings.enabled_tools(plan),
            // Settings consist of strings, numbers and maps with string keys, so they can be written as JSON.
            issue_settings: serde_json::to_value(&issue_settings).unwrap_or_default(),
            monitoring: Monitoring { settings },
            latest_checks: None,
            reports: Reports { uptime: report("uptime"), performance: report("performance") },
            created_at: site.created_at,
            updated_at: site.updated_at,
        }
    }

    /// Its id.
    pub const fn id(&self) -> SiteId {
        self.uuid
    }

    /// The site with the budget of its objective.
    #[must_use]
    pub fn with_budget(self, budget: Option<BudgetOf>) -> Self {
        Self { budget: budget.map(BudgetResource::from), ..self }
    }

    /// The site with the newest check of each tool, or null if there is none. If the site would take more than 50 KB of
    /// a list, its checks are shortened.
    #[must_use]
    pub fn with_latest(self, stored: &SiteWithTools, checks: &BTreeMap<CheckId, Check>) -> Self {
        let latest = Tool::ALL.into_iter().map(|tool| {
            let newest = stored.tools.get(&tool).and_then(ToolState::latest);
            let check = newest.and_then(|newest| checks.get(&newest.id()));
            (tool, check.map(|check| CheckResource::new(check, Some(&stored.site))))
        });
        let mut shown = Self { latest_checks: Some(latest.collect()), ..self };
        for max in [LISTED_MAX / 4, 0] {
            if shown.length() <= SITE_MAX {
                break;
            }
            let checks = shown.latest_checks.iter_mut().flat_map(BTreeMap::values_mut);
            checks.flatten().for_each(|check| check.shorten(max));
        }
        shown
    }

    /// Bytes of JSON.
    fn length(&self) -> usize {
        serde_json::to_string(self).map_or(0, |json| json.len())
    }
}
