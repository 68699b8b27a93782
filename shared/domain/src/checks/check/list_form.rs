//! The short form of results.

use serde_json::{Map, Value, json};

use crate::checks::tool::{Empty, ListForm, Tool};
use crate::sites::site_url::MAX_LENGTH as URL_MAX;

/// The longest short form, in bytes of JSON. Whatever a target sends, a stored row stays within 4 KB, compressed or
/// not, and a check in a list within 10 KB.
pub const LISTED_MAX: usize = 4_600;

/// The longest texts in a short form that would be too long otherwise, in bytes of JSON.
const LISTED_TEXT: usize = 255;

/// The longest texts in an even shorter form.
const SHORTEST_TEXT: usize = 100;

fn in_place(empty: Empty) -> Value {
    match empty {
        Empty::Null => Value::Null,
        Empty::Object => json!({}),
        Empty::Array => json!([]),
    }
}

/// The form of a result in lists and embedded checks: the same structure, without its long parts. Only `GET
/// /checks/{check}` shows everything.
///
/// If it is still longer than [`LISTED_MAX`], its texts are cut, with an ellipsis at their end, and then its lists. The
/// first entries of a list stay as they are, because half of a URL or of a record is useless.
///
/// This works on the stored JSON rather than on the tools' types, so that a result of an older version keeps every
/// field it had. The short form of a short form is the same.
pub fn list_form(tool: Tool, result: Value) -> Value {
    list_form_within(tool, result, LISTED_MAX)
}

/// The short form of a result within a limit in bytes of JSON, as far as cut texts and empty lists fit into it.
pub fn list_form_within(tool: Tool, mut result: Value, max: usize) -> Value {
    // The output of a run is read in the list of runs, and is short already.
    if tool == Tool::Heartbeat {
        return result;
    }
    let ListForm { left_out, first, lists } = tool.definition().list_form;
    if let Some((place, empty)) = left_out
        && let Some(long) = result.pointer_mut(place)
    {
        *long = in_place(empty);
    }
    if let Some((place, length)) = first
        && let Some(Value::Array(list)) = result.pointer_mut(place)
    {
        list.truncate(length);
    }
    if json_length(&result) > max {
        shorten(&mut result, lists, max);
    }
    result
}

fn shorten(result: &mut Value, lists: &[&'static str], max: usize) {
    let mut taken: Vec<(&str, Entries)> = lists
        .iter()
        .filter_map(|place| Some((*place, Entries::of(result.pointer_mut(place)?)?)))
        .collect();
    cut_texts(result, if max < LISTED_MAX { SHORTEST_TEXT } else { LISTED_TEXT });
    let mut room = max.saturating_sub(json_length(result));
    // One entry from each list at a time, so that a long list leaves the others their first entries.
    while !taken.is_empty() {
        taken.retain_mut(|(place, entries)| {
            let Some((name, entry)) = entries.next() else { return false };
            // With a comma; a name also has quotes and a colon.
            let name_length = name.as_ref().map_or(0, |name| text_length(name) + 3);
            let Some(left) = room.checked_sub(json_length(&entry) + name_length + 1) else {
                return false;
            };
            room = left;
            match (result.pointer_mut(place), name) {
                (Some(Value::Array(list)), _) => list.push(entry),
                (Some(Value::Object(map)), Some(name)) => drop(map.insert(name, entry)),
                _ => return false,
            }
            true
        });
    }
}

/// The entries of an array or a map, which is left empty. Those of a map have a name.
enum Entries {
    Array(std::vec::IntoIter<Value>),
    Map(serde_json::map::IntoIter),
}

impl Entries {
    fn of(list: &mut Value) -> Option<Self> {
        match list {
            Value::Array(list) => Some(Self::Array(std::mem::take(list).into_iter())),
            Value::Object(map) => Some(Self::Map(std::mem::take::<Map<_, _>>(map).into_iter())),
            _ => None,
        }
    }
}

impl Iterator for Entries {
    type Item = (Option<String>, Value);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Array(entries) => entries.next().map(|entry| (None, entry)),
            Self::Map(entries) => entries.next().map(|(name, entry)| (Some(name), entry)),
        }
    }
}

/// Cuts texts that are too long, except for the site's own URL and host. The URL that answered may be as long as a
/// site's URL.
fn cut_texts(value: &mut Value, max: usize) {
    match value {
        Value::String(text) => cut(text, max),
        Value::Array(values) => values.iter_mut().for_each(|value| cut_texts(value, max)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("url" | "effective_url", Value::String(url)) => cut(url, URL_MAX),
                    ("host" | "domain", Value::String(host)) => cut(host, LISTED_TEXT),
                    (_, value) => cut_texts(value, max),
                }
            }
        }
        _ => {}
    }
}

fn cut(text: &mut String, max: usize) {
    if text_length(text) <= max {
        return;
    }
    let mut length = '…'.len_utf8();
    let end = text.char_indices().find_map(|(at, character)| {
        length += character_length(character);
        (length > max).then_some(at)
    });
    text.truncate(end.unwrap_or_default());
    text.push('…');
}

fn json_length(value: &Value) -> usize {
    value.to_string().len()
}

/// The bytes of a text in JSON, without the quotes.
fn text_length(text: &str) -> usize {
    text.chars().map(character_length).sum()
}

const fn character_length(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..' ' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_long_part_of_each_tool_is_left_out() {
        let urls: Vec<Value> = (0..50).map(|n| json!({ "url": n })).collect();
        let cases = [
            (Tool::Status, json!({ "up": true }), json!({ "up": true })),
            (
                Tool::Ssl,
                json!({ "is_valid": true, "info": { "version": 3 } }),
                json!({ "is_valid": true, "info": null }),
            ),
            (
                Tool::Dns,
                json!({ "records": { "A": [] }, "resolver_observations": { "Quad9": {} } }),
                json!({ "records": { "A": [] }, "resolver_observations": {} }),
            ),
            (
                Tool::BrokenLinks,
                json!({ "found": 50, "urls": urls }),
                json!({ "found": 50, "urls": urls[..20] }),
            ),
            (
                Tool::Performance,
                json!({ "url": "https://example.com", "speed_metrics": { "opportunities": [1] } }),
                json!({ "url": "https://example.com", "speed_metrics": { "opportunities": [] } }),
            ),
        ];
        for (tool, full, short) in cases {
            assert_eq!(list_form(tool, full), short, "{tool}");
            assert_eq!(list_form(tool, short.clone()), short, "{tool}");
            for other in [json!(null), json!({}), json!([1]), json!("text")] {
                assert_eq!(list_form(tool, other.clone()), other, "{tool}");
            }
        }
    }

    #[test]
    fn long_redirects_are_fewer_and_counted_all_the_same() {
        let url = |n: usize| format!("https://example.com/{n}/{}", "x".repeat(1_980));
        let redirects: Vec<String> = (0..10).map(url).collect();
        let full = json!({
            "url": url(10), "effective_url": url(9), "redirect_count": 10, "redirects": redirects,
        });
        let short = list_form(Tool::Status, full.clone());
        let expected = json!({
            "url": url(10), "effective_url": url(9), "redirect_count": 10, "redirects": [],
        });
        assert_eq!(short, expected, "the URLs take all the room");
        let near = json!({
            "url": "https://example.com", "effective_url": url(9), "redirect_count": 10,
            "redirects": redirects,
        });
        assert_eq!(list_form(Tool::Status, near)["redirects"], json!(redirects[..1]));
        let few = json!({ "url": url(0), "redirect_count": 1, "redirects": [url(1)] });
        assert_eq!(list_form(Tool::Status, few.clone()), few, "what fits stays");
    }

    #[test]
    fn broken_links_are_whole_or_not_there() {
        let link = |n: usize, length| {
            let url = format!("https://example.com/{n}/{}", "x".repeat(length));
            json!({ "url": url, "source": "https://example.com/", "status": 404 })
        };
        let urls = [link(0, 900), link(1, 900), link(2, 9_000), link(3, 1)];
        let short = list_form(Tool::BrokenLinks, json!({ "found": 4, "urls": urls }));
        assert_eq!(
            short,
            json!({ "found": 4, "urls": urls[..2] }),
            "the first ones, in their order"
        );
        let one = json!({ "found": 1, "urls": [link(0, 9_000)] });
        assert_eq!(list_form(Tool::BrokenLinks, one), json!({ "found": 1, "urls": [] }));
    }

    #[test]
    fn a_flood_of_one_type_leaves_the_other_records_in_place() {
        let txt = |n: usize| json!({ "host": "a.test", "txt": format!("{n}{}", "t".repeat(400)) });
        let texts: Vec<Value> = (0..100).map(txt).collect();
        let (a, mx) = (json!([{ "ip": "192.0.2.1" }]), json!([{ "target": "mx.a.test" }]));
        let records = json!({ "A": a, "MX": mx, "TXT": texts });
        let networks = json!({ "192.0.2.1": { "asn": 64_496 } });
        let full = json!({ "records": records, "ip_enrichment": networks });
        let short = list_form(Tool::Dns, full);
        assert_eq!((&short["records"]["A"], &short["records"]["MX"]), (&a, &mx));
        assert_eq!(short["ip_enrichment"], networks);
        let left = short["records"]["TXT"].as_array().expect("texts");
        assert_eq!(left.as_slice(), &texts[..left.len()]);
        assert!((5..100).contains(&left.len()), "{}", left.len());
    }

    #[test]
    fn texts_are_cut_where_they_are_read_as_cut() {
        let full =
            json!({ "subject": "é".repeat(4_000), "issuer": "\u{1}".repeat(900), "ok": "é" });
        let short = list_form(Tool::Ssl, full);
        assert_eq!(short["subject"], format!("{}…", "é".repeat(126)));
        assert_eq!(short["issuer"], format!("{}…", "\u{1}".repeat(42)));
        assert_eq!(short["ok"], "é");
        let url = format!("https://example.com/{}", "x".repeat(9_000));
        let short =
            list_form(Tool::Status, json!({ "url": "https://a.test", "effective_url": url }));
        let cut = short["effective_url"].as_str().expect("a URL");
        assert_eq!((cut.len(), cut.ends_with("x…")), (URL_MAX, true));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Anything that a result may hold where targets choose the length.
        #[test]
        fn no_short_form_is_long(
            texts in prop::collection::vec("\\PC{0,900}|[\\x00-\\x1f\"]{0,900}", 0..40),
            tool in prop::sample::select(Tool::ALL.as_slice()),
        ) {
            let link = |text: &String| json!({ "url": text, "source": text, "status": 404 });
            let mapped: Map<String, Value> =
                texts.iter().map(|text| (text.clone(), json!({ "as_name": text }))).collect();
            let first = texts.first();
            let result = json!({
                "url": first, "effective_url": first, "error": first, "redirects": texts,
                "subject": first, "issuer": first, "urls": texts.iter().map(link).collect::<Vec<_>>(),
                "records": { "A": texts, "TXT": texts }, "ip_enrichment": mapped,
                "speed_metrics": { "real_user_metrics": { "metrics": mapped } },
            });
            // Each tool has only its own lists.
            let result = match tool {
                Tool::Status => json!({
                    "url": first, "effective_url": first, "error": first, "redirects": texts,
                }),
                Tool::Ssl => json!({ "subject": first, "issuer": first, "info": result }),
                Tool::Dns => json!({
                    "host": first, "records": result["records"], "ip_enrichment": mapped,
                }),
                Tool::BrokenLinks => json!({ "found": texts.len(), "urls": result["urls"] }),
                Tool::Performance => {
                    json!({ "url": first, "speed_metrics": result["speed_metrics"] })
                }
                Tool::Heartbeat => json!({ "output": first }),
            };
            let short = list_form(tool, result);
            prop_assert!(json_length(&short) <= LISTED_MAX, "{}", json_length(&short));
            prop_assert_eq!(list_form(tool, short.clone()), short);
        }
    }
}
