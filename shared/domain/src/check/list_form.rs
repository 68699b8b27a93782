//! The short form of results.

use serde_json::{Value, json};

use crate::tool::Tool;

/// Broken links in the short form.
const LISTED_URLS: usize = 20;

/// What lists and embedded checks show of a result: the same shape, with what can be long left out
/// or cut. Only `GET /checks/{check}` shows all of it.
///
/// This works on what is stored rather than on the tools' types, so that a result that an older
/// version wrote keeps every field it had. The short form of a short form is itself.
pub fn list_form(tool: Tool, mut result: Value) -> Value {
    let long = match tool {
        Tool::Status => None,
        Tool::Ssl => result.get_mut("info").map(|info| (info, Value::Null)),
        Tool::Dns => result.get_mut("resolver_observations").map(|seen| (seen, json!({}))),
        Tool::Performance => {
            let failed = result.pointer_mut("/speed_metrics/opportunities");
            failed.map(|failed| (failed, json!([])))
        }
        Tool::BrokenLinks => {
            if let Some(Value::Array(urls)) = result.get_mut("urls") {
                urls.truncate(LISTED_URLS);
            }
            None
        }
    };
    if let Some((value, short)) = long {
        *value = short;
    }
    result
}

#[cfg(test)]
mod tests {
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
}
