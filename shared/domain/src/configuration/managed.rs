//! Which document manages an object.

use serde::{Deserialize, Serialize};

use crate::input::{TextKind, TextRule};

/// The longest key, and the longest name of a document, in characters.
const KEY_MAX: usize = 64;

/// The pattern of keys and of the names of documents.
pub const KEY_PATTERN: &str = r"^\s*[A-Za-z0-9][A-Za-z0-9_.-]*\s*$";

/// The document that manages an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ManagedBy {
    /// The name of the document.
    pub document: String,
    /// The key of the object in it.
    pub key: String,
}

/// The pattern of the name of a document in an address, where it has no spaces around it.
pub const NAME_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$";

impl ManagedBy {
    /// Reads the name of a document in an address.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse_name(text: &str) -> Result<String, String> {
        match text.len() <= KEY_MAX {
            true => (Self::KEY.parse)(text),
            false => Err(format!("must not be longer than {KEY_MAX} characters")),
        }
    }

    /// The rule for keys and for the names of documents.
    pub const KEY: TextRule<String> = TextRule {
        min: 0,
        max: KEY_MAX,
        kind: TextKind::Pattern(KEY_PATTERN),
        parse: |text| {
            match is_key(text) {
            true => Ok(text.to_owned()),
            false => {
                Err("must begin with a letter or a digit, and consist of letters, digits, dots, hyphens and underscores"
                    .to_owned())
            }
        }
        },
    };

    /// A key for what has this name, which none of the others has.
    pub(super) fn key_for(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
        let mut key = String::new();
        for c in name.to_lowercase().chars() {
            match c {
                'a'..='z' | '0'..='9' | '.' => key.push(c),
                _ if key.is_empty() || key.ends_with('-') => {}
                _ => key.push('-'),
            }
        }
        // Room for a number.
        key.truncate(KEY_MAX - 8);
        let key = key.trim_matches(['-', '.']);
        let key = if key.is_empty() { "object" } else { key };
        let numbered = (2..).map(|number: u32| format!("{key}-{number}"));
        let mut keys = std::iter::once(key.to_owned()).chain(numbered);
        keys.find(|key| !is_taken(key)).unwrap_or_default()
    }
}

fn is_key(text: &str) -> bool {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_of_key)
}
