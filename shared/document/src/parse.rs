//! Parses one YAML file into values with their places.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DuplicateKeyPolicy, Error, NonFiniteFloatPolicy, Options, Spanned};

use crate::node::{Budget, Content, Fields, Node, Problems, Spot};
use crate::{DEPTH_MAX, EXPANDED_TEXT_MAX, KEY_MAX, NODES_MAX};

/// What is wrong with a document that exceeds its [`Budget`].
pub(crate) fn too_large() -> String {
    format!(
        "The document has more than {NODES_MAX} values or {} MiB of texts, including those from \
         aliases and defaults. Shorten or split the document.",
        EXPANDED_TEXT_MAX >> 20,
    )
}

/// Parses a file. Its position among the sources becomes the file of all spots.
///
/// Returns its fields if they could be read. Even then, there may be problems.
pub(crate) fn parse(
    text: &str,
    file: usize,
    budget: &mut Budget,
    problems: &mut Problems,
) -> Option<Fields> {
    let start = Spot { file, line: 1, column: 1 };
    let raw = match serde_saphyr::from_str_with_options(text, options(budget)) {
        Ok(raw) => raw,
        Err(error) => {
            let location = error.location();
            let spot =
                location.map_or(start, |at| Spot { file, line: at.line(), column: at.column() });
            budget.is_exceeded |= matches!(breach(&error), Some(breach) if !is_depth(breach));
            problems.push(spot, message(&error));
            return None;
        }
    };
    let root = Converter { file, budget, problems }.node(raw);
    if budget.is_exceeded {
        problems.push(start, too_large());
        return None;
    }
    match root.content {
        Content::Object(fields) => return Some(fields),
        Content::Scalar(Value::Null) => problems.push(
            root.spot,
            "The file is empty. Write a field, such as sites, or remove the file.",
        ),
        _ => problems.push(root.spot, "The file must be a mapping with fields such as sites."),
    }
    None
}

/// How the parser reads a file that may need what remains of a budget.
fn options(budget: &Budget) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            // The parser counts keys, too. The rest of the document may be full.
            max_nodes: 2 * budget.nodes + 1,
            max_total_scalar_bytes: budget.bytes,
            max_recorded_anchor_events: 2 * NODES_MAX,
            max_recorded_anchor_bytes: EXPANDED_TEXT_MAX,
            // The limits above are enough. An anchor may be used often.
            enforce_alias_anchor_ratio: false,
        },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        ignore_binary_tag_for_string: true,
        reject_unsupported_tags: true,
        // These are problems, but the parser would stop at the first one.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        // A snippet might show a secret.
        with_snippet: false,
    }
}

/// Which limit a file exceeds.
fn breach(error: &Error) -> Option<&BudgetBreach> {
    match error {
        Error::Budget { breach, .. } => Some(breach),
        Error::AliasError { error, .. } => breach(error),
        _ => None,
    }
}

fn is_depth(breach: &BudgetBreach) -> bool {
    matches!(breach, BudgetBreach::Depth { .. })
}

/// What to tell people about an error of the parser, whose own texts may repeat a value.
fn message(error: &Error) -> String {
    match (breach(error), error) {
        (Some(breach), _) if is_depth(breach) => {
            format!("The file must not be nested deeper than {DEPTH_MAX} levels.")
        }
        (Some(_), _) => too_large(),
        (None, Error::AliasError { error, .. }) => message(error),
        (None, Error::MultipleDocuments { .. }) => {
            "A file must contain one YAML document. Move what follows --- or ... to another."
                .into()
        }
        (None, Error::UnknownAnchor { .. }) => {
            "There is no anchor with this name above. If this is a string, quote it.".into()
        }
        (None, Error::RecursiveReferencesRequireWeakTypes { .. }) => {
            "A value must not contain an alias of itself.".into()
        }
        (None, Error::MergeValueNotMapOrSeqOfMaps { .. }) => {
            "The value of << must be a mapping, or a list of mappings.".into()
        }
        // The parser's texts about syntax contain no more than one character of the file.
        (None, Error::ExternalMessage { msg, .. }) => format!("The file is not valid YAML: {msg}."),
        _ => {
            "This value cannot be read. If it is a string that begins with !, quote it. Remove other tags."
                .into()
        }
    }
}

/// A value as the parser hands it over: keys may be anything, and may occur twice.
enum Raw {
    Scalar(Value),
    /// A number that is infinite or not a number.
    NotFinite,
    List(Vec<Spanned<Raw>>),
    Mapping(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(if value.is_finite() { Raw::Scalar(value.into()) } else { Raw::NotFinite })
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Mapping(entries))
    }
}

/// Turns what the parser returns into nodes. Records problems, and continues.
struct Converter<'a> {
    file: usize,
    budget: &'a mut Budget,
    problems: &'a mut Problems,
}

impl Converter<'_> {
    fn node(&mut self, raw: Spanned<Raw>) -> Node {
        let spot = self.spot(&raw);
        let content = match raw.value {
            // The caller checks the budget in the end.
            _ if !self.budget.take(1, 0) => Content::Scalar(Value::Null),
            Raw::Scalar(value) => {
                self.check_text(spot, value.as_str().unwrap_or_default());
                Content::Scalar(value)
            }
            Raw::NotFinite => {
                self.problems.push(spot, "The number must be finite, and less than 1.8e308.");
                Content::Scalar(Value::Null)
            }
            Raw::List(items) => {
                Content::List(items.into_iter().map(|item| self.node(item)).collect())
            }
            Raw::Mapping(entries) => {
                let mut fields = Fields::new();
                for (key, value) in entries {
                    let key_spot = self.spot(&key);
                    let value = self.node(value);
                    let Some(key) = self.key(key_spot, key.value) else { continue };
                    if fields.contains_key(&key) {
                        self.problems.push(
                            key_spot,
                            format!("The key {key} occurs twice. Remove one of them."),
                        );
                    }
                    fields.insert(key, value);
                }
                Content::Object(fields)
            }
        };
        Node { spot, content }
    }

    /// Where a value is written, even if an alias or a merge key names it from elsewhere.
    fn spot(&self, raw: &Spanned<Raw>) -> Spot {
        Spot { file: self.file, line: raw.defined.line(), column: raw.defined.column() }
    }

    fn key(&mut self, spot: Spot, raw: Raw) -> Option<String> {
        match raw {
            Raw::Scalar(Value::String(key)) if key.chars().count() > KEY_MAX => {
                self.problems
                    .push(spot, format!("A key must not be longer than {KEY_MAX} characters."));
            }
            Raw::Scalar(Value::String(key)) if key.contains(is_special) => {
                self.problems
                    .push(spot, "A key must not contain line breaks or control characters.");
            }
            Raw::Scalar(Value::String(key)) => {
                self.budget.take(0, key.len());
                return Some(key);
            }
            _ => self.problems.push(spot, "A key must be a string. Quote it."),
        }
        None
    }

    fn check_text(&mut self, spot: Spot, text: &str) {
        self.budget.take(0, text.len());
        if text.contains(|c| !is_printable(c)) {
            self.problems.push(spot, "A text must not contain control characters. Remove them.");
        }
    }
}

/// Whether YAML allows a character other than by an escape: rule 1 of its grammar, `c-printable`.
pub(crate) fn is_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

/// Whether a character is a line break for any version of YAML, a byte order mark, a tab, or not printable.
pub(crate) fn is_special(c: char) -> bool {
    !is_printable(c)
        || matches!(c, '\t' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}
