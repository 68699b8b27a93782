//! Objects as a document has them: without what has its default, and without secrets.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::document::References;
use crate::accounts::audit::leaves;
use crate::accounts::plan::Plan;
use crate::alerts::channel::{Filter, PublicTarget, sha256};
use crate::checks::tool::Tool;
use crate::expectations::{IssuePolicies, RequestMethod};
use crate::heartbeats::heartbeat::{DEFAULT_GRACE_MINUTES, Heartbeat, slug_of};
use crate::heartbeats::schedule::JobSchedule;
use crate::maintenance::MaintenanceWindow;
use crate::objectives::Objective;
use crate::sites::group::SiteGroup;
use crate::sites::settings::{Settings, TEAM_PATH, own_settings};
use crate::sites::site::Site;
use crate::status_pages::StatusPage;
use crate::time_zone::NamedZone;

/// An object as a document has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Described {
    /// Its fields, except for secrets.
    pub(super) fields: Map<String, Value>,
    /// The digests of its secrets, by their dotted paths.
    pub(super) secrets: BTreeMap<&'static str, String>,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldChange {
    /// Its dotted path in the object.
    pub field: String,
    /// What it was; absent if it had its default. A secret that was set is `set`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Value"))]
    pub before: Option<Value>,
    /// What it will be; absent if it will have its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Value"))]
    pub after: Option<Value>,
}

impl Described {
    /// The fields in which the object after a change differs.
    pub(super) fn changes_to(&self, after: &Self) -> Vec<FieldChange> {
        let texts = [self, after].map(|of| Value::Object(of.fields.clone()));
        let [before, next] = [leaves(&texts[0]), leaves(&texts[1])];
        let fields: BTreeSet<_> = before.keys().chain(next.keys()).collect();
        let changed = fields.into_iter().filter(|field| before.get(*field) != next.get(*field));
        let mut changes: Vec<_> = changed
            .map(|field| FieldChange {
                field: field.clone(),
                before: before.get(field).map(|value| (*value).clone()),
                after: next.get(field).map(|value| (*value).clone()),
            })
            .collect();
        let secrets: BTreeSet<_> = self.secrets.keys().chain(after.secrets.keys()).collect();
        for secret in secrets {
            let [before, next] = [self, after].map(|of| of.secrets.get(secret));
            if before != next {
                let shown = |of: Option<&String>| of.map(|_| Value::from("set"));
                let (before, after) = (shown(before), shown(next));
                changes.push(FieldChange { field: (*secret).to_owned(), before, after });
            }
        }
        changes
    }

    fn put(&mut self, name: &str, value: impl Serialize) {
        // Objects consist of texts, numbers and maps with texts as keys, so they can be written as JSON.
        let value = serde_json::to_value(value).unwrap_or_default();
        let is_default = match &value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if !is_default {
            self.fields.insert(name.to_owned(), value);
        }
    }

    fn hide(&mut self, path: &'static str, secret: &str) {
        self.secrets.insert(path, sha256(secret));
    }
}

/// Whether the field at a dotted path of a document is a secret, which the document does not contain.
pub fn is_secret(path: &str) -> bool {
    match split(path) {
        Some(("channels", field)) => [URL, TOKEN].contains(&field),
        Some(("sites", field)) => field == POST_BODY,
        _ => false,
    }
}

/// Whether the field at a dotted path of a document may be a secret.
pub fn may_be_secret(path: &str) -> bool {
    let of_team = path.strip_prefix("settings.") == Some(HEADER);
    of_team || split(path).is_some_and(|(list, field)| list == "sites" && field == HEADER)
}

/// The list of an object, and the path of a field in it.
fn split(path: &str) -> Option<(&str, &str)> {
    let (list, rest) = path.split_once('.')?;
    let (_, field) = rest.split_once('.')?;
    Some((list, field))
}

/// The value of a header of monitoring settings.
pub(super) const HEADER: &str = "monitoring_settings.request_header.value";
/// What the checks of a site post.
pub(super) const POST_BODY: &str = "expectations.post.body";
/// The URL of a channel.
pub(super) const URL: &str = "url";
/// The access token of a channel.
pub(super) const TOKEN: &str = "token";

/// A site. A cadence that the plan slows down is as in answers, so that the document can be applied.
pub(super) fn site(site: &Site, plan: Plan) -> Described {
    let mut described = Described::default();
    described.put("url", &site.url);
    if site.name != site.url.generated_name() {
        described.put("name", &site.name);
    }
    described.put("notes", &site.notes);
    described.put("tags", &site.tags);
    described.put("js_rendered", site.js_rendered);
    described.put("pinned", site.pinned);
    described.put("objective", site.objective.map(objective));
    described.put("dns_expected_records", &site.expected_records);
    let mut settings = Described::default();
    settings.put("tools", site.overrides.tools.on_plan(plan));
    if let Some(header) = &site.overrides.request_header {
        settings.put("request_header", json!({ "name": header.name }));
        described.hide(HEADER, &header.value);
    }
    described.put(TEAM_PATH, settings.fields);
    let of = &site.expectations;
    let mut expectations = Described::default();
    if of.request_method() != RequestMethod::default() {
        expectations.put("method", of.request_method());
    }
    if let Some(post) = &of.post {
        expectations.put("post", json!({ "content_type": post.content_type }));
        described.hide(POST_BODY, &post.body);
    }
    if !of.is_unused() {
        expectations.fields.insert("expectations".to_owned(), json!(of.expectations));
    }
    if of.issues != IssuePolicies::default() {
        expectations.put("issues", of.issues);
    }
    described.put("expectations", expectations.fields);
    described
}

/// A heartbeat, without its address.
pub(super) fn heartbeat(heartbeat: &Heartbeat) -> Described {
    let mut described = Described::default();
    described.put("name", &heartbeat.name);
    if heartbeat.slug != slug_of(&heartbeat.name) {
        described.put("slug", &heartbeat.slug);
    }
    described.put("notes", &heartbeat.notes);
    described.put("tags", &heartbeat.tags);
    match &heartbeat.schedule {
        JobSchedule::Every { minutes } => described.put("period_minutes", minutes),
        JobSchedule::Cron { expression, zone } => {
            described.put("cron", expression);
            described.put("time_zone", zone.name());
        }
    }
    if heartbeat.grace_minutes != DEFAULT_GRACE_MINUTES {
        described.put("grace_minutes", heartbeat.grace_minutes);
    }
    described.put("longest_run_minutes", heartbeat.longest_run_minutes);
    for (field, words) in [
        ("failure_keywords", &heartbeat.keywords.failure),
        ("success_keywords", &heartbeat.keywords.success),
        ("start_keywords", &heartbeat.keywords.start),
    ] {
        described.put(field, Some(words).filter(|words| !words.is_empty()));
    }
    described
}

/// A channel. `token` is the digest of its access token, as far as it is known.
pub(super) fn channel(
    name: &str,
    target: &PublicTarget,
    filter: &Filter,
    token: Option<&String>,
) -> Described {
    let mut described = Described::default();
    described.put("name", name);
    described.put("kind", target.kind());
    described.put("address", target.address());
    described.put("events", &filter.events);
    described.put("tools", &filter.tools);
    described.put("severities", &filter.severities);
    described.put("selector", &filter.selector);
    described.put("delay_minutes", filter.delay_minutes);
    described.put("repeat_minutes", filter.repeat_minutes);
    described.put("without_links", filter.without_links.then_some(true));
    described.put("weekly_test", filter.weekly_test);
    let url = target.masked().map(|masked| (URL, masked.digest.clone()));
    described.secrets = url.into_iter().chain(token.map(|token| (TOKEN, token.clone()))).collect();
    described
}

pub(super) fn group(group: &SiteGroup) -> Described {
    let mut described = Described::default();
    described.put("name", &group.name);
    described.put("selector", &group.selector);
    described.put("objective", group.objective.map(objective));
    described
}

fn objective(objective: Objective) -> Map<String, Value> {
    let mut described = Described::default();
    described.put("percentage", objective.percentage);
    described.put("period", objective.period);
    described.put("counts_maintenance", objective.counts_maintenance);
    described.fields
}

pub(super) fn window(window: &MaintenanceWindow, references: &References) -> Described {
    let mut described = Described::default();
    described.put("name", &window.name);
    described.put("starts_at", window.start);
    described.put("time_zone", window.zone.name());
    described.put("duration_minutes", window.minutes);
    described.put("recurrence", window.rule.as_ref().map(ToString::to_string));
    described.put("selector", &window.selector);
    let names: Option<BTreeSet<_>> = window
        .sites
        .as_ref()
        .map(|of| of.iter().filter_map(|site| references.name(*site)).collect());
    // Without sites, it would be for all of them, even if those that it is for are gone.
    if let Some(names) = names {
        described.fields.insert("sites".to_owned(), json!(names));
    }
    described
}

/// A status page, without the components that its selector has added. A deleted site or heartbeat is named by its id,
/// which a document cannot use.
pub(super) fn page(page: &StatusPage, references: &References) -> Described {
    let mut described = Described::default();
    described.put("name", &page.name);
    described.put("slug", page.slug.as_str());
    described.put("message", &page.message);
    described.put("unlisted", page.is_unlisted());
    described.put("subscriptions", page.offers_subscriptions);
    described.put("maintenance_names", page.names_windows);
    described.put("selector", &page.selector);
    described.put("publish_new_sites", page.publishes_new_sites);
    let mut groups = Vec::new();
    for group in &page.groups {
        let chosen = group.components.iter().filter(|component| !component.is_selected);
        let components: Vec<_> = chosen
            .map(|component| {
                let monitor = references.name(component.monitor);
                let monitor = monitor.unwrap_or_else(|| component.monitor.to_string());
                let mut described = Described::default();
                described.put("name", &component.name);
                described.put(if component.is_heartbeat { "heartbeat" } else { "site" }, monitor);
                described.put("response_time", component.publishes_response_time);
                described.put("hidden", component.is_hidden);
                described.fields
            })
            .collect();
        if !components.is_empty() {
            let mut described = Described::default();
            described.put("name", &group.name);
            described.put("components", components);
            groups.push(described.fields);
        }
    }
    described.put("groups", groups);
    described
}

/// The settings of a team, as far as they differ from those of a new one.
pub(super) fn settings(zone: &NamedZone, settings: &Settings, plan: Plan) -> Described {
    let mut described = Described::default();
    described.put("time_zone", zone.name());
    let [Value::Object(mut own), defaults] =
        [settings, &Settings::defaults(plan)].map(|of| json!(of))
    else {
        return described;
    };
    for tool in Tool::ALL.map(Tool::as_str) {
        let (of_tool, default) = (&mut own["tools"][tool], &defaults["tools"][tool]);
        if of_tool == default {
            of_tool.take();
        } else if let Value::Object(settings) = &mut of_tool["settings"] {
            // Answers contain some settings under an older name, too.
            let older = |name: &String| {
                let tool = Tool::ALL.into_iter().find(|one| one.as_str() == tool);
                tool.is_some_and(|tool| own_settings(tool).iter().any(|one| one.former.0 == name))
            };
            settings.retain(|name, value| !older(name) && *value != default["settings"][name]);
        }
    }
    if let Value::Object(tools) = &mut own["tools"] {
        tools.retain(|_, tool| !tool.is_null());
    }
    let is_empty = |section: &Value| section.as_object().is_some_and(Map::is_empty);
    own.retain(|name, section| *section != defaults[name] && !is_empty(section));
    if let Some(Value::Object(header)) = own.get_mut("request_header") {
        if let Some(Value::String(value)) = header.remove("value") {
            described.hide(HEADER, &value);
        }
        header.retain(|_, part| !part.is_null());
    }
    // Settings that a document omits stay as they are, so it has even those without a difference.
    described.fields.insert(TEAM_PATH.to_owned(), own.into());
    described
}
