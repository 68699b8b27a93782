//! Selectors: which sites are meant, by their tags.
//!
//! `env:prod, team in (shop,web), !legacy` selects the sites that have the tag `env:prod` and one of `team:shop` and
//! `team:web`, and that do not have `legacy`, with or without a value. A site is in a selector as long as its tags match.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::tag::{TEAM_TAGS_MAX, Tag, is_key, is_value};
use super::tag_dictionary::TagDictionary;
use crate::input::{TextKind, TextRule};

/// The longest selector as it is sent and as it is written, in bytes.
pub const SELECTOR_MAX: usize = 500;

/// A requirement in patterns, or all requirements of a selector.
macro_rules! pattern {
    (requirement) => {
        concat!(
            r"\s*!?\s*[A-Za-z0-9][A-Za-z0-9_.-]*",
            r"(:[A-Za-z0-9_./-]+|\s+[Ii][Nn]\s*\(\s*[A-Za-z0-9_./-]+\s*(,\s*[A-Za-z0-9_./-]+\s*)*\))?\s*",
        )
    };
    (selector) => {
        concat!(pattern!(requirement), "(,", pattern!(requirement), ")*")
    };
}

/// The pattern of a selector as it may be sent, which is [`Selector::parse`] in another form.
pub const SELECTOR_PATTERN: &str = concat!("^", pattern!(selector), "$");

/// The same for a field in which a blank text is null.
const BLANK_OR_SELECTOR: &str = concat!(r"^(\s*|", pattern!(selector), ")$");

/// What forms explain.
pub const SELECTOR_HELP: &str = "Tags that a site must have, separated by commas: env:prod, or a key alone for any value \
                                 of it. team in (shop,web) allows several values, and ! excludes: !legacy.";

/// Which sites are meant: those that meet all requirements, in the order in which they were written, each once. There is
/// at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Selector(Vec<Requirement>);

/// What the tags of a site must be.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    values: Values,
    /// The site must have none of these tags. Sites without the key have none.
    is_negated: bool,
}

/// Which tags with a key are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Values {
    /// All, and the key alone.
    Any,
    /// Those with one of these values.
    OneOf(BTreeSet<String>),
}

/// Why a text is not a selector. The messages continue "The … field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// It has no requirement. It would mean all sites, or none.
    #[error("must name at least one tag")]
    Empty,
    /// It is longer than [`SELECTOR_MAX`].
    #[error("must not be longer than {SELECTOR_MAX} characters")]
    TooLong,
    /// A part between two commas is not a requirement.
    #[error("must be a selector such as env:prod, team in (shop,web), !legacy")]
    Syntax,
}

impl Selector {
    /// How a selector is read from a field.
    pub const RULE: TextRule<Self> = TextRule {
        min: 0,
        max: SELECTOR_MAX,
        kind: TextKind::Pattern(BLANK_OR_SELECTOR),
        parse: |text| Self::parse(text).map_err(|error| error.to_string()),
    };

    /// Reads a selector in upper or lower case.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        if text.len() > SELECTOR_MAX {
            return Err(SelectorError::TooLong);
        }
        if text.trim().is_empty() {
            return Err(SelectorError::Empty);
        }
        let text = text.to_ascii_lowercase();
        let mut requirements: Vec<Requirement> = Vec::new();
        for part in parts(&text) {
            let requirement = Requirement::parse(part.trim()).ok_or(SelectorError::Syntax)?;
            if !requirements.contains(&requirement) {
                requirements.push(requirement);
            }
        }
        let selector = Self(requirements);
        match selector.to_string().len() {
            ..=SELECTOR_MAX => Ok(selector),
            _ => Err(SelectorError::TooLong),
        }
    }

    /// Whether the tags of a site meet all requirements.
    pub fn matches<'a>(&self, tags: impl IntoIterator<Item = &'a Tag> + Clone) -> bool {
        self.0.iter().all(|requirement| {
            let is_met = tags.clone().into_iter().any(|tag| requirement.names(tag));
            is_met != requirement.is_negated
        })
    }

    /// Each requirement as it is written.
    pub fn requirements(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(Requirement::to_string)
    }

    /// The selector for sites whose tags are numbers of a team's dictionary.
    pub fn numbered(&self, tags: &TagDictionary) -> NumberedSelector {
        let numbers = |requirement: &Requirement| {
            let mut set = TagNumbers::default();
            for (number, entry) in tags.entries() {
                if requirement.names(&entry.tag) {
                    set.insert(number);
                }
            }
            (set, requirement.is_negated)
        };
        NumberedSelector(self.0.iter().map(numbers).collect())
    }
}

/// The parts of a text between commas that are not in parentheses.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut is_list = false;
    text.split(move |c| {
        is_list = match c {
            '(' => true,
            ')' => false,
            _ => is_list,
        };
        c == ',' && !is_list
    })
}

impl Requirement {
    /// Reads `key`, `key:value` or `key in (value,value)`, perhaps after an exclamation mark.
    fn parse(text: &str) -> Option<Self> {
        let (text, is_negated) = match text.strip_prefix('!') {
            Some(rest) => (rest.trim_start(), true),
            None => (text, false),
        };
        let (key, values) = match text.split_once('(') {
            Some((key, list)) => {
                let key = key.trim_end().strip_suffix("in")?;
                let values = list.strip_suffix(')')?.split(',').map(str::trim).collect();
                // Otherwise the word only ends with "in".
                (key.ends_with(char::is_whitespace).then(|| key.trim_end())?, Some(values))
            }
            None => match text.split_once(':') {
                Some((key, value)) => (key, Some(vec![value])),
                None => (text, None),
            },
        };
        let values = match values {
            Some(values) if values.iter().all(|value| is_value(value)) => {
                Values::OneOf(values.into_iter().map(str::to_owned).collect())
            }
            Some(_) => return None,
            None => Values::Any,
        };
        is_key(key).then(|| Self { key: key.to_owned(), values, is_negated })
    }

    /// Whether a tag is one of those meant.
    fn names(&self, tag: &Tag) -> bool {
        let is_named = match (&self.values, tag.value()) {
            (Values::Any, _) => true,
            (Values::OneOf(values), Some(value)) => values.contains(value),
            (Values::OneOf(_), None) => false,
        };
        is_named && tag.key() == self.key
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, requirement) in self.0.iter().enumerate() {
            write!(f, "{}{requirement}", if place > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, values, is_negated } = self;
        f.write_str(if *is_negated { "!" } else { "" })?;
        let Values::OneOf(values) = values else { return f.write_str(key) };
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        match values[..] {
            [value] => write!(f, "{key}:{value}"),
            _ => write!(f, "{key} in ({})", values.join(",")),
        }
    }
}

impl From<Selector> for String {
    fn from(selector: Selector) -> Self {
        selector.to_string()
    }
}

impl TryFrom<String> for Selector {
    type Error = SelectorError;

    fn try_from(text: String) -> Result<Self, SelectorError> {
        Self::parse(&text)
    }
}

/// A selector for sites whose tags are numbers, from [`Selector::numbered`]. The default has no requirement, so it
/// selects all sites.
#[derive(Debug, Clone, Default)]
pub struct NumberedSelector(Vec<(TagNumbers, bool)>);

impl NumberedSelector {
    /// Whether the tags of a site meet all requirements.
    pub fn matches(&self, tags: &[u16]) -> bool {
        self.0
            .iter()
            .all(|(named, is_negated)| tags.iter().any(|tag| named.contains(*tag)) != *is_negated)
    }
}

/// A set of the numbers of a team's tags.
#[derive(Debug, Clone, Default)]
struct TagNumbers([u64; TEAM_TAGS_MAX.div_ceil(64)]);

impl TagNumbers {
    fn insert(&mut self, number: u16) {
        if let Some(word) = self.0.get_mut(usize::from(number / 64)) {
            *word |= 1 << (number % 64);
        }
    }

    fn contains(&self, number: u16) -> bool {
        self.0.get(usize::from(number / 64)).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sites::tag::Tags;

    fn tags(texts: &[&str]) -> BTreeSet<Tag> {
        texts.iter().map(|text| Tag::parse(text).expect("a tag")).collect()
    }

    #[test]
    fn a_selector_is_read_and_written_in_one_way() {
        for (text, written) in [
            ("env:prod", "env:prod"),
            (
                " Env:Prod,team  in ( web , shop ) ,! legacy",
                "env:prod, team in (shop,web), !legacy",
            ),
            ("team in (shop),team:shop", "team:shop"),
            ("!team in(a,b)", "!team in (a,b)"),
            ("in, in in (in)", "in, in:in"),
            ("path:a/b", "path:a/b"),
        ] {
            let selector = Selector::parse(text).expect(text);
            assert_eq!(selector.to_string(), written);
            assert_eq!(Selector::parse(written), Ok(selector));
        }
        for text in ["", " "] {
            assert_eq!(Selector::parse(text), Err(SelectorError::Empty));
        }
        for text in [
            ",",
            "a,",
            ",a",
            "a,,b",
            "!",
            "!!a",
            "a:",
            ":a",
            "a b",
            "a in",
            "a in ()",
            "a in (b",
            "a in b)",
            "a in (b,)",
            "a in ((b))",
            "a in (b) c",
            "ain (b)",
            "in (b)",
            "a notin (b)",
            "a=b",
            "a:b:c",
            "a:(b)",
            "ü",
        ] {
            assert_eq!(Selector::parse(text), Err(SelectorError::Syntax), "{text:?}");
        }
        let longest = format!("a:{}", "b".repeat(SELECTOR_MAX - 2));
        assert!(Selector::parse(&longest).is_ok());
        assert_eq!(Selector::parse(&format!("{longest}b")), Err(SelectorError::TooLong));
        // It is written with a space after each comma.
        let keys: Vec<String> = (100..250).map(|key| key.to_string()).collect();
        assert_eq!(Selector::parse(&keys[..101].join(",")), Err(SelectorError::TooLong));
        assert!(Selector::parse(&keys[..100].join(" , ")).is_err());
        assert!(Selector::parse(&keys[..100].join(",")).is_ok());
    }

    #[test]
    fn a_site_meets_all_requirements() {
        let site = tags(&["env:prod", "team:shop", "legacy"]);
        for (text, is_met) in [
            ("env", true),
            ("env:prod", true),
            ("env:test", false),
            ("legacy", true),
            ("legacy:yes", false),
            ("team in (web,shop)", true),
            ("team in (web,api)", false),
            ("env:prod, team:shop", true),
            ("env:prod, team:web", false),
            ("!env", false),
            ("!legacy", false),
            ("!env:test", true),
            // The site does not have the key.
            ("!region", true),
            ("!region:eu", true),
            ("!team in (web,shop)", false),
        ] {
            assert_eq!(Selector::parse(text).expect(text).matches(&site), is_met, "{text}");
        }
    }

    /// Evaluates the text itself, without the parser's types: a reader's understanding of the help text.
    fn is_met_naively(text: &str, site: &BTreeSet<Tag>) -> bool {
        let mut texts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = match (rest.find(','), rest.find('('), rest.find(')')) {
                (Some(comma), Some(open), Some(close)) if open < comma => {
                    rest[close..].find(',').map_or(rest.len(), |after| close + after)
                }
                (Some(comma), _, _) => comma,
                (None, _, _) => rest.len(),
            };
            texts.push(rest[..end].trim());
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        let has = |wanted: &str| {
            site.iter().any(|tag| {
                tag.as_str() == wanted
                    || (!wanted.contains(':') && tag.as_str().starts_with(&format!("{wanted}:")))
            })
        };
        texts.iter().all(|text| {
            let positive = text.trim_start_matches('!').trim();
            let is_met = match positive.split_once(" in ") {
                Some((key, list)) => list
                    .trim_matches(['(', ')', ' '])
                    .split(',')
                    .any(|value| has(&format!("{key}:{}", value.trim()))),
                None => has(positive),
            };
            is_met != text.starts_with('!')
        })
    }

    fn requirement() -> impl Strategy<Value = String> {
        let values = prop::collection::vec("[ab]", 1..3).prop_map(|values| values.join(" , "));
        let positive = prop_oneof![
            "[kl]",
            "[kl]:[ab]",
            ("[kl]", values).prop_map(|(key, values)| format!("{key} in ({values})")),
        ];
        ("!?", positive).prop_map(|(negation, positive)| format!("{negation}{positive}"))
    }

    proptest! {
        #[test]
        fn a_selector_means_what_its_text_says(
            requirements in prop::collection::vec(requirement(), 1..4),
            site in prop::collection::btree_set("[kl](:[ab])?", 0..5),
        ) {
            let text = requirements.join(" ,");
            let site = site.iter().map(|tag| Tag::parse(tag).expect("a tag")).collect();
            let selector = Selector::parse(&text).expect("a selector");
            prop_assert_eq!(selector.matches(&site), is_met_naively(&text, &site), "{} {:?}", text, site);
            prop_assert_eq!(&Selector::parse(&selector.to_string()).expect("a selector"), &selector);

            // The same, with the tags of the site as numbers.
            let all = tags(&["x", "k", "k:a", "k:b", "l", "l:a", "l:b", "y:a"]);
            let team = TagDictionary::default().changed(&Tags::new(), &all).expect("few tags");
            let is_met = selector.numbered(&team).matches(&team.numbers(&site));
            prop_assert_eq!(is_met, selector.matches(&site));
        }

        #[test]
        fn any_text_is_a_selector_or_is_refused(text in "[a-c:!,() /]{0,20}|\\PC{0,40}") {
            if let Ok(selector) = Selector::parse(&text) {
                prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
            }
        }
    }
}
