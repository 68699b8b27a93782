//! The form of answers in snapshots: short values on one line, and settings as differences from those of a new team.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::sites::settings::{ExpectedRecords, IssueSettings, Settings};

use crate::ApiResponse;

/// The longest value that is written on one line.
const LINE_MAX: usize = 90;

/// The settings of a new team on the agency plan and of its sites, by the field that shows them.
static DEFAULTS: LazyLock<[(&str, Value); 3]> = LazyLock::new(|| {
    let settings = Settings::defaults(Plan::Agency);
    let records = ExpectedRecords::new();
    let of_issues = json!(IssueSettings::new(&settings, &records, Plan::Agency));
    [
        ("monitoring", json!({ "settings": settings })),
        ("settings", json!(settings)),
        ("issue_settings", of_issues),
    ]
});

impl ApiResponse {
    /// Status and body as one document. Settings appear as differences from those of a new team on the agency plan, and
    /// links to a site's own reports are left out.
    pub fn shown(&self) -> String {
        let mut response = self.clone();
        for_each_object(&mut response.body, &abbreviate);
        response.shown_whole()
    }

    /// Status and body as one document, in full.
    pub fn shown_whole(&self) -> String {
        format!("{} {}", self.status, laid_out(&self.body))
    }
}

/// JSON in which each short value is written on one line.
pub fn laid_out(value: &Value) -> String {
    let (open, items, close) = match value {
        Value::Array(items) => ("[", items.iter().map(laid_out).collect::<Vec<_>>(), "]"),
        Value::Object(fields) if !fields.is_empty() => {
            let field = |(name, value)| format!("{}: {}", json!(name), laid_out(value));
            ("{ ", fields.iter().map(field).collect(), " }")
        }
        _ => return value.to_string(),
    };
    let line = format!("{open}{}{close}", items.join(", "));
    if line.len() <= LINE_MAX {
        return line;
    }
    let items = items.join(",\n").replace('\n', "\n  ");
    format!("{}\n  {items}\n{}", open.trim_end(), close.trim_start())
}

/// Changes every object in a document, outer objects before the objects in them.
pub fn for_each_object(value: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            change(fields);
            fields.values_mut().for_each(|value| for_each_object(value, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_object(item, change)),
        _ => {}
    }
}

fn abbreviate(fields: &mut Map<String, Value>) {
    for (name, defaults) in &*DEFAULTS {
        if let Some(value) = fields.get_mut(*name)
            && names(value) == names(defaults)
        {
            *value = beside(value, defaults);
        }
    }
    let own = fields.get("uuid").and_then(Value::as_str).map(reports_of);
    if let Some(reports) = fields.get_mut("reports")
        && own.as_ref() == Some(reports)
    {
        *reports = json!("<its own>");
    }
}

/// The links to the reports of a site.
fn reports_of(site: &str) -> Value {
    let reports = format!("https://monitor.test/api/v1/sites/{site}/reports");
    json!({
        "performance": format!("{reports}/performance"),
        "uptime": format!("{reports}/uptime"),
    })
}

/// Settings as differences from the defaults.
fn beside(settings: &Value, defaults: &Value) -> Value {
    if settings == defaults {
        return json!("<the defaults>");
    }
    let mut difference = difference(settings, defaults);
    difference["<all else>"] = json!("<the defaults>");
    difference
}

/// The fields of a value that differ from those of another one; the value itself if it is not an object.
fn difference(value: &Value, other: &Value) -> Value {
    if !value.is_object() || !other.is_object() {
        return value.clone();
    }
    let names: BTreeSet<_> = names(value).into_iter().chain(names(other)).collect();
    let differing = names.into_iter().filter(|name| value.get(name) != other.get(name));
    let shown = differing.map(|name| match (value.get(name), other.get(name)) {
        (Some(value), Some(other)) => (name, difference(value, other)),
        (Some(value), None) => (name, value.clone()),
        (None, _) => (name, json!("<missing>")),
    });
    shown.collect()
}

/// The names of an object's fields.
fn names(value: &Value) -> BTreeSet<&str> {
    value.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}
