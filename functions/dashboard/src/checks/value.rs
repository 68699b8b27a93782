//! Renders any JSON as lists and tables, for results whose form only their tool knows.

use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::form::capitalized;
use crate::sites::outward;

/// Results are a few levels deep. Anything deeper is shown as JSON.
const DEPTH: u8 = 6;

/// The fields of an object, each with its value.
pub(super) fn fields(fields: &Map<String, Value>) -> Markup {
    list(fields, DEPTH)
}

fn list(fields: &Map<String, Value>, depth: u8) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in fields.iter().filter(|(_, value)| !is_nothing(value)) {
                dt { bdi { (words(name)) } }
                dd { (shown(name, value, depth)) }
            }
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        _ => false,
    }
}

/// The name of a field for people.
fn words(name: &str) -> String {
    let words: Vec<&str> = name.split('_').collect();
    let units = [("ms", " (ms)"), ("seconds", " (s)"), ("bytes", " (bytes)")];
    let (words, unit) = match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => match units.iter().find(|(unit, _)| unit == last)
        {
            Some((_, unit)) => (rest, *unit),
            None => (&words[..], ""),
        },
        _ => (&words[..], ""),
    };
    let spelled = |word: &&str| match *word {
        "url" | "ip" | "dns" | "ttl" | "html" | "id" => word.to_uppercase(),
        "urls" => "URLs".to_owned(),
        other => other.to_owned(),
    };
    let text = words.iter().map(spelled).collect::<Vec<_>>().join(" ");
    format!("{}{unit}", capitalized(&text))
}

fn shown(name: &str, value: &Value, depth: u8) -> Markup {
    let Some(depth) = depth.checked_sub(1) else { return html! { bdi { (value.to_string()) } } };
    match value {
        Value::Null => Markup::default(),
        Value::Bool(true) => html! { "Yes" },
        Value::Bool(false) => html! { "No" },
        Value::Number(number) => html! { (number.to_string()) },
        Value::String(text) => outward(text),
        Value::Object(fields) => list(fields, depth),
        Value::Array(items) => match columns(items) {
            Some(columns) => table(name, items, &columns, depth),
            None => html! { ul { @for item in items { li { (shown(name, item, depth)) } } } },
        },
    }
}

/// The names of the columns, if all items are objects.
fn columns(items: &[Value]) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for item in items {
        for (name, value) in item.as_object()? {
            if !is_nothing(value) && !names.contains(&name.as_str()) {
                names.push(name.as_str());
            }
        }
    }
    Some(names)
}

fn table(name: &str, items: &[Value], columns: &[&str], depth: u8) -> Markup {
    html! {
        table.cards-t {
            caption.hide { bdi { (words(name)) } }
            thead { tr { @for column in columns { th scope="col" { bdi { (words(column)) } } } } }
            tbody {
                @for item in items {
                    tr { @for column in columns { td { (shown(column, &item[*column], depth)) } } }
                }
            }
        }
    }
}
