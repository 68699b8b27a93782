//! Writes documents as YAML that people like to read.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::parse::is_special;

/// The first fields of a document, in their order.
const FIRST_OF_DOCUMENT: [&str; 7] =
    ["name", "settings", "channels", "sites", "groups", "maintenance_windows", "status_pages"];

/// The first fields of every other object, in their order.
const FIRST_OF_OBJECT: [&str; 6] = ["key", "name", "kind", "url", "address", "slug"];

/// The longest list that is written on one line, in bytes.
const FLOW_MAX: usize = 80;

/// Writes a document as YAML. [`TeamDocument::read`](crate::TeamDocument::read) reads the same document from it, if the
/// document has no `defaults`, is within the limits, and has references exactly where secrets are.
pub fn write(document: &Map<String, Value>) -> String {
    let mut out = String::new();
    for (name, value) in ordered(document, &FIRST_OF_DOCUMENT) {
        let is_block = inline(value).is_none();
        if is_block && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text(name));
        out.push(':');
        match value {
            Value::Array(items) if is_block => {
                out.push('\n');
                list(&mut out, items, 2, "\n");
            }
            _ => after_indicator(&mut out, value, 0),
        }
    }
    if out.is_empty() { "{}\n".to_owned() } else { out }
}

/// The fields of an object, in the order in which they are written.
fn ordered<'a>(
    fields: &'a Map<String, Value>,
    first: &'a [&str],
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let known = first.iter().filter_map(|name| fields.get_key_value(*name));
    known.chain(fields.iter().filter(|(name, _)| !first.contains(&name.as_str())))
}

/// Writes a value after `key:` or `-`, which are indented by `indent` spaces.
fn after_indicator(out: &mut String, value: &Value, indent: usize) {
    if let Some(text) = inline(value) {
        out.push(' ');
        out.push_str(&text);
        out.push('\n');
    } else if let Value::String(text) = value {
        lines(out, text, indent + 2);
    } else {
        out.push('\n');
        block(out, value, indent + 2);
    }
}

/// Writes a list or an object on lines of its own.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Array(items) => list(out, items, indent, ""),
        Value::Object(fields) => {
            for (key, value) in ordered(fields, &FIRST_OF_OBJECT) {
                out.extend(std::iter::repeat_n(' ', indent));
                out.push_str(&text(key));
                out.push(':');
                after_indicator(out, value, indent);
            }
        }
        _ => {}
    }
}

/// Writes a list. `between` is what comes after an object that is not the last item.
fn list(out: &mut String, items: &[Value], indent: usize, between: &str) {
    for (index, item) in items.iter().enumerate() {
        let start = out.len() + indent;
        if inline(item).is_some() || item.is_string() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push('-');
            after_indicator(out, item, indent);
        } else {
            block(out, item, indent + 2);
            // The first line of the block begins with spaces, in which the indicator has its place.
            out.replace_range(start..=start, "-");
        }
        if item.is_object() && index + 1 < items.len() {
            out.push_str(between);
        }
    }
}

/// The value as it is written on the line of its key, if it is written there.
fn inline(value: &Value) -> Option<String> {
    match value {
        Value::String(lines) if is_block_text(lines) => None,
        Value::String(scalar) => Some(text(scalar)),
        Value::Array(items) => {
            let is_scalar = |item: &&Value| !item.is_array() && !item.is_object();
            let items = items.iter().map(|item| inline(Some(item).filter(is_scalar)?));
            let list = format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "));
            (list.len() <= FLOW_MAX).then_some(list)
        }
        Value::Object(fields) if fields.is_empty() => Some("{}".to_owned()),
        Value::Object(fields) => match fields.iter().next() {
            Some((kind, Value::String(name)))
                if fields.len() == 1 && ["env", "file"].contains(&kind.as_str()) =>
            {
                Some(format!("{{{kind}: {}}}", text(name)))
            }
            _ => None,
        },
        scalar => Some(scalar.to_string()),
    }
}

/// A text on one line, in quotes if it would otherwise be read as something else, in a block or in `[…]` and `{…}`.
fn text(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // All special characters have at most 16 bits. Writing to a string does not fail.
            c if is_special(c) => _ = write!(quoted, "\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether every parser of YAML 1.1 or 1.2 reads a text without quotes as this text. Some texts are quoted that need
/// not be, since the rule is then shorter.
fn is_plain(text: &str) -> bool {
    let begins_well = text.starts_with(|c: char| c.is_alphanumeric() || c == '/' || c == '_');
    // Numbers in any base, and dates and times.
    let is_number = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_hexdigit() || "xXoO_.:+-tTzZ ".contains(c));
    let lower = text.to_ascii_lowercase();
    let is_word = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&&*lower);
    // A key ends with ": ", and a comment begins with " #".
    let has_indicator = text.contains([',', '[', ']', '{', '}', '"'])
        || text.contains(" #")
        || text
            .split(':')
            .skip(1)
            .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '/'));
    let is_trimmed = text.trim() == text;
    begins_well
        && is_trimmed
        && !is_number
        && !is_word
        && !has_indicator
        && !text.contains(is_special)
}

/// Whether a text is written as a block of lines: it has several, the first shows the indentation, none ends with a
/// space, which people do not see, and at most one line break ends the last.
fn is_block_text(text: &str) -> bool {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.contains('\n')
        && !text.ends_with('\n')
        && text.lines().all(|line| !line.ends_with(' '))
        && !text.starts_with(char::is_whitespace)
        && !text.contains(|c| c != '\n' && is_special(c))
}

/// Writes a text as a block of lines.
fn lines(out: &mut String, text: &str, indent: usize) {
    out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
    for line in text.lines() {
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(line);
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{DocumentFile, Secrecy, TeamDocument};

    fn written(value: Value) -> String {
        write(value.as_object().expect("an object"))
    }

    #[test]
    fn people_like_to_read_a_document() {
        let document = json!({
            "sites": [
                {
                    "url": "https://example.com", "key": "shop", "a": {"b": 1, "name": "x"}, "c": [], "d": {},
                    "e": [[1], {"x": [1]}, "a\nb", [{"y": null}]], "tags": ["env:prod", "shop", "a, b"],
                },
                {"key": "blog", "notes": "One\n\n  two: # x\n"},
            ],
            "unknown": true,
            "channels": [{"kind": "slack", "url": {"env": "SLACK"}, "x": {"file": "a b"}}],
            "settings": {"on": "off"},
            "name": "shop",
        });
        let expected = "name: shop

settings:
  \"on\": \"off\"

channels:
  - kind: slack
    url: {env: SLACK}
    x: {file: a b}

sites:
  - key: shop
    url: https://example.com
    a:
      name: x
      b: 1
    c: []
    d: {}
    e:
      - [1]
      - x: [1]
      - |-
        a
        b
      - - \"y\": null
    tags: [env:prod, shop, \"a, b\"]

  - key: blog
    notes: |
      One

        two: # x
unknown: true
";
        assert_eq!(written(document), expected);
        assert_eq!(written(json!({})), "{}\n");
    }

    #[test]
    fn a_text_is_quoted_if_it_could_be_something_else() {
        for plain in [
            "a",
            "a b",
            "env:prod",
            "https://example.com/a?b=c#d",
            "/health",
            "3 retries",
            "it's",
            "_x",
            "ä",
            "a-b",
            "nope",
            "a#b",
            "2xx or 3xx",
        ] {
            assert_eq!(text(plain), plain);
        }
        for quoted in [
            "",
            " ",
            "a ",
            " a",
            "~",
            "yes",
            "No",
            "ON",
            "off",
            "y",
            "N",
            "true",
            "False",
            "null",
            "NULL",
            "1",
            "-1",
            "+1",
            ".5",
            "1.5",
            "1e3",
            "0x1F",
            "0o17",
            "0b11",
            "1_000",
            "007",
            "12:30",
            "190:20:30",
            "2026-11-29",
            "2026-11-29T02:00:00Z",
            ".inf",
            ".nan",
            "<<",
            "=",
            "a: b",
            "a:",
            "a #b",
            "#a",
            "- a",
            "-",
            "---",
            "...",
            "? a",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "'a'",
            "\"a\"",
            "%a",
            "@a",
            "`a",
            "a,b",
            "[a]",
            "{a}",
            "a\nb",
            "a\tb",
            "a\rb",
            "a\u{85}b",
            "a\u{2028}b",
            "a\u{feff}b",
        ] {
            assert!(text(quoted).starts_with('"'), "{quoted}");
        }
        assert_eq!(text("\"\\\n\u{85}"), r#""\"\\\n\u0085""#);
    }

    /// A text that looks like something else, or any text that YAML allows.
    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z]{1,8}",
            "(yes|No|on|null|~|true|12:30|0x1F|007|1_000|2026-11-29|1e3|\\.inf|<<|-|---|\\.\\.\\.|env|file)",
            "[-a:#,?&*!|>'\"%@`{}\\[\\] \n\t\r\\\\é.1~=]{0,12}",
            "[ab #:\n-]{0,20}",
            "\\PC{0,12}",
            "[\u{85}\u{2028}\u{feff}\u{e000}\u{fffd}\u{1f600}a]{0,4}",
        ]
    }

    fn any_key() -> impl Strategy<Value = String> {
        let is_field = |key: &String| !["env", "file", "secret"].contains(&&**key);
        any_text().prop_map(|text| text.replace(is_special, "")).prop_filter("a field", is_field)
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| if number.is_finite() {
                number.into()
            } else {
                Value::Null
            }),
            any_text().prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..5).prop_map(Value::from),
                btree_map(any_key(), inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn any_object() -> impl Strategy<Value = Value> {
        let kind = prop_oneof![Just("env"), Just("file")];
        let secret = (kind, "[a-zA-Z_][a-z0-9_]{0,8}");
        (btree_map(any_key(), any_value(), 0..6), secret).prop_map(|(fields, (kind, name))| {
            let mut fields: Map<String, Value> = fields.into_iter().collect();
            fields.insert("secret".into(), json!({kind: name}));
            Value::Object(fields)
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            name in any_text(),
            settings in any_value(),
            sites in vec(any_object(), 0..4),
            channels in vec(any_value(), 0..4),
            other in (any_key(), any_value()),
        ) {
            let mut document = Map::new();
            document.insert(other.0, other.1);
            document.remove("defaults");
            document.insert("name".into(), name.into());
            document.insert("settings".into(), settings);
            document.insert("sites".into(), sites.into());
            document.insert("channels".into(), channels.into());
            let text = write(&document);
            let source = DocumentFile { name: "a.yaml", text: &text };
            let read = TeamDocument::read(&[source], |path| match path.ends_with(".secret") {
                true => Secrecy::Secret,
                false => Secrecy::Public,
            });
            let read = read.map(|document| document.value().clone());
            prop_assert_eq!(read, Ok(document), "{}", text);
        }
    }
}
