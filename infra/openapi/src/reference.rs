//! The documentation pages that are generated from the document. Each page ends with a generated part, below a marker.
//! Everything above it is written by hand.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use vedette_domain::checks::tool::Tool;
use vedette_domain::sites::settings::Tools;

/// Where the generated part of a page begins.
const MARKER: &str = "<!-- `make openapi` writes everything below this line. -->\n";

/// Values longer than this are not shown in a table.
const VALUE_MAX: usize = 60;

/// A page with a generated part.
#[derive(Debug, Clone, Copy)]
pub struct ReferencePage {
    /// Its file, below `docs/reference`.
    pub file: &'static str,
    generate: fn(&Value) -> String,
}

/// All pages with a generated part.
pub const PAGES: [ReferencePage; 3] = [
    ReferencePage { file: "api.md", generate: routes },
    ReferencePage { file: "alert-payloads.md", generate: events },
    ReferencePage { file: "tools.md", generate: settings },
];

impl ReferencePage {
    /// The page with its generated part updated from the document; `None` if it has no marker.
    pub fn renewed(&self, page: &str, document: &Value) -> Option<String> {
        let (written, _) = page.split_once(MARKER)?;
        let mut document = document.clone();
        document.sort_all_objects();
        let generated = (self.generate)(&document);
        Some(format!("{written}{MARKER}\n{}\n", generated.trim_end()))
    }
}

/// Every route, by resource.
fn routes(document: &Value) -> String {
    let mut text = String::new();
    for tag in array(&document["tags"]) {
        let name = string(&tag["name"]);
        let _ = write!(text, "## {}\n\n{}\n\n", capitalized(name), string(&tag["description"]));
        for (path, methods) in object(&document["paths"]) {
            for (method, operation) in object(methods) {
                if string(&operation["tags"][0]) == name {
                    route(&mut text, document, path, method, operation);
                }
            }
        }
    }
    text
}

fn route(text: &mut String, document: &Value, path: &str, method: &str, operation: &Value) {
    let method = method.to_uppercase();
    let _ = write!(text, "### {}\n\n`{method} {path}`\n\n", string(&operation["summary"]));
    let _ = write!(text, "{}\n\n", string(&operation["description"]));
    let parameters = array(&operation["parameters"]).iter().map(|one| resolved(document, one));
    let rows: Vec<_> = parameters
        .map(|one| {
            let schema = resolved(document, &one["schema"]);
            let default = cell(&schema["default"]);
            let (name, kind) = (string(&one["name"]), kind(document, &one["schema"]));
            format!("| `{name}` | {kind} | {default} | {} |", prose(one))
        })
        .collect();
    table(text, "| parameter | value | default | meaning |\n|---|---|---|---|", &rows);
    let body = &operation["requestBody"]["content"]["application/json"];
    table(text, FIELDS, &fields(document, &body["schema"]));
    example(text, "A request", first_value(&body["examples"]));
    let responses = object(&operation["responses"]);
    let done = responses.iter().find(|(status, _)| status.starts_with('2'));
    if let Some((status, response)) = done {
        let content = object(&response["content"]).values().next().unwrap_or(&Value::Null);
        example(text, &format!("Response {status}"), first_value(&content["examples"]));
    }
    let refusals = responses.keys().filter(|status| status.starts_with(['4', '5']));
    let refusals: Vec<_> = refusals.map(String::as_str).collect();
    let _ = write!(text, "Refusals: {}.\n\n", refusals.join(", "));
}

/// Every event that webhooks receive.
fn events(document: &Value) -> String {
    let mut text = String::new();
    for (name, event) in object(&document["webhooks"]) {
        let post = &event["post"];
        let body = &post["requestBody"]["content"]["application/json"];
        let _ = write!(text, "## `{name}`\n\n{}\n\n", string(&post["description"]));
        table(
            &mut text,
            FIELDS,
            &fields(document, &resolved(document, &body["schema"])["properties"]["data"]),
        );
        example(&mut text, "Example", first_value(&body["examples"]));
    }
    text
}

/// The settings of each tool.
fn settings(document: &Value) -> String {
    let defaults = serde_json::to_value(Tools::default()).unwrap_or_default();
    let tools = &document["components"]["schemas"]["ToolsSettings"]["properties"];
    let mut text = String::from("## Settings\n\n");
    text.push_str(
        "A team's settings apply to all of its sites, and a site can have values of its own. These are the defaults:\n\n",
    );
    for tool in Tool::ALL {
        let tool = tool.as_str();
        let _ = write!(text, "### Settings of `{tool}`\n\n");
        let whole = object(&tools[tool]["properties"]);
        let own = resolved(document, &tools[tool]["properties"]["settings"]);
        let own = object(&own["properties"]);
        let common = whole.iter().filter(|(name, _)| *name != "settings");
        let common = common.map(|field| (field, &defaults[tool]));
        let rows: Vec<_> = common
            .chain(own.iter().map(|field| (field, &defaults[tool]["settings"])))
            .map(|((name, schema), defaults)| {
                let (kind, default) = (kind(document, schema), cell(&defaults[name]));
                format!("| `{name}` | {kind} | {default} | {} |", prose(schema))
            })
            .collect();
        table(&mut text, "| setting | value | default | meaning |\n|---|---|---|---|", &rows);
    }
    text
}

const FIELDS: &str = "| field | value | meaning |\n|---|---|---|";

/// The rows of an object's fields.
fn fields(document: &Value, schema: &Value) -> Vec<String> {
    let schema = resolved(document, schema);
    let parts = array(&schema["allOf"]).iter();
    let mut rows: Vec<String> = parts.flat_map(|part| fields(document, part)).collect();
    let required: Vec<_> = array(&schema["required"]).iter().map(string).collect();
    for (name, field) in object(&schema["properties"]) {
        let must = if required.contains(&name.as_str()) { "" } else { ", optional" };
        let kind = kind(document, field);
        let meaning = match prose(field) {
            empty if empty.is_empty() => prose(resolved(document, field)),
            meaning => meaning,
        };
        rows.push(format!("| `{name}` | {kind}{must} | {meaning} |"));
    }
    rows
}

/// The type of a value, in a few words.
fn kind(document: &Value, schema: &Value) -> String {
    let choices = [&schema["anyOf"], &schema["oneOf"]].map(array);
    if let Some(choices) = choices.into_iter().find(|choices| !choices.is_empty()) {
        let mut kinds: Vec<_> = choices.iter().map(|one| kind(document, one)).collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    let schema = resolved(document, schema);
    let values = array(&schema["enum"]);
    if !values.is_empty() {
        let values: Vec<_> = values.iter().map(cell).collect();
        let values = values.join(", ");
        return if values.len() > 2 * VALUE_MAX {
            format!("one of {} values", array(&schema["enum"]).len())
        } else {
            values
        };
    }
    if !schema["const"].is_null() {
        return cell(&schema["const"]);
    }
    let types: Vec<_> = match &schema["type"] {
        Value::Array(types) => types.iter().map(string).collect(),
        one => vec![string(one)],
    };
    let types: Vec<_> = types
        .into_iter()
        .map(|name| match (name, string(&schema["format"])) {
            ("array", _) => format!("list of {}", kind(document, &schema["items"])),
            ("string", "uuid") => "UUID".to_owned(),
            ("string", "date-time") => "time".to_owned(),
            ("string", "uri") => "URL".to_owned(),
            ("", _) => "object".to_owned(),
            (name, _) => name.to_owned(),
        })
        .collect();
    let range = match (&schema["minimum"], &schema["maximum"]) {
        (Value::Number(least), Value::Number(most))
            if most.as_i64() < Some(i64::from(i32::MAX)) =>
        {
            format!(", {least} to {most}")
        }
        (Value::Number(least), _) => format!(", at least {least}"),
        _ => String::new(),
    };
    format!("{}{range}", types.join(" or "))
}

fn table(text: &mut String, head: &str, rows: &[String]) {
    if !rows.is_empty() {
        let _ = write!(text, "{head}\n{}\n\n", rows.join("\n"));
    }
}

/// A collapsible value, if there is one.
fn example(text: &mut String, title: &str, value: Option<&Value>) {
    if let Some(value) = value {
        let (language, shown) = match value {
            Value::String(text) => ("text", text.trim_end().to_owned()),
            other => ("json", serde_json::to_string_pretty(other).unwrap_or_default()),
        };
        let _ = write!(
            text,
            "<details>\n<summary>{title}</summary>\n\n```{language}\n{shown}\n```\n\n</details>\n\n"
        );
    }
}

fn first_value(examples: &Value) -> Option<&Value> {
    examples.as_object()?.values().next().map(|example| &example["value"])
}

/// A description for a table cell.
fn prose(schema: &Value) -> String {
    string(&schema["description"]).replace('|', "\\|").replace('\n', " ")
}

/// A value for a table cell.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        value => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            match text.len() {
                0 => String::new(),
                1..=VALUE_MAX => format!("`{text}`"),
                _ => format!("{} values", array(value).len()),
            }
        }
    }
}

/// The target of a reference; any other value is returned as it is.
fn resolved<'v>(document: &'v Value, schema: &'v Value) -> &'v Value {
    let reference = schema["$ref"].as_str().and_then(|place| place.strip_prefix('#'));
    reference.and_then(|place| document.pointer(place)).unwrap_or(schema)
}

pub(crate) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn object(value: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.as_object().unwrap_or(&EMPTY)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_reference_is_up_to_date() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let document = fs::read_to_string(root.join("openapi.json")).expect("the document");
        let document: Value = serde_json::from_str(&document).expect("JSON");
        for page in PAGES {
            let kept = root.join("docs/reference").join(page.file);
            let kept = fs::read_to_string(kept).expect("the page");
            let renewed = page.renewed(&kept, &document).expect("a page with the marker");
            assert!(kept == renewed, "{} is stale, run `make openapi`", page.file);
        }
    }
}
