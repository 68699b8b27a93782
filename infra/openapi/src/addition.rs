//! Marks additions to the specification of the API, which clients do not have.

use serde_json::Value;

use crate::reference::capitalized;

/// How the description of an addition begins, in the code.
const BEGINNING: &str = "An addition to the specification";

/// The member that marks an addition in the document.
const MEMBER: &str = "x-vedette-addition";

/// Marks what is described as an addition, and leaves that out of its description.
pub(crate) fn mark(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let description = members.get("description").and_then(Value::as_str);
            if let Some(rest) = description.and_then(|text| text.strip_prefix(BEGINNING)) {
                let rest = capitalized(rest.trim_start_matches([':', '.', ' ']));
                members.insert("description".to_owned(), rest.into());
                members.insert(MEMBER.to_owned(), true.into());
            }
            members.values_mut().for_each(mark);
        }
        Value::Array(items) => items.iter_mut().for_each(mark),
        _ => {}
    }
}
