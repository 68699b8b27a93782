//! Tags of sites: `legacy`, or `env:prod` with a key and a value.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest tag, in characters.
pub const TAG_MAX: usize = 50;
/// The most tags of a site.
pub const SITE_TAGS_MAX: usize = 10;
/// The most different tags of a team.
pub const TEAM_TAGS_MAX: usize = 500;

/// The pattern of a tag as it may be sent, which is [`Tag::parse`] in another form.
pub const TAG_PATTERN: &str = r"^\s*[A-Za-z0-9][A-Za-z0-9_.-]*(:[A-Za-z0-9_./-]+)?\s*$";

/// A tag, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Tag(String);

/// Why a text is not a tag. The messages continue "The … field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// It is longer than [`TAG_MAX`].
    #[error("must not be longer than {TAG_MAX} characters")]
    TooLong,
    /// It is not a key, or a key and a value.
    #[error(
        "must be a tag such as legacy or env:prod, of letters, digits and -_. (and / after the colon)"
    )]
    Syntax,
}

/// Whether a key may have this character after its first one.
pub(super) const fn is_of_key(c: char) -> bool {
    matches!(c, 'a'..='z' | '0'..='9' | '_' | '.' | '-')
}

/// Whether a value may have this character.
pub(super) const fn is_of_value(c: char) -> bool {
    is_of_key(c) || c == '/'
}

/// Whether a text in lower case is a key.
pub(super) fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_of_key)
}

/// Whether a text in lower case is a value.
pub(super) fn is_value(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_of_value)
}

impl Tag {
    /// Reads a tag in upper or lower case. Surrounding whitespace is ignored, but counts towards [`TAG_MAX`].
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, TagError> {
        let tag = text.trim().to_ascii_lowercase();
        let is_tag = match tag.split_once(':') {
            Some((key, value)) => is_key(key) && is_value(value),
            None => is_key(&tag),
        };
        match is_tag {
            _ if text.chars().count() > TAG_MAX => Err(TagError::TooLong),
            false => Err(TagError::Syntax),
            true => Ok(Self(tag)),
        }
    }

    /// The whole tag.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the colon, or all of a tag without one.
    pub fn key(&self) -> &str {
        self.0.split_once(':').map_or(&*self.0, |(key, _)| key)
    }

    /// The part after the colon.
    pub fn value(&self) -> Option<&str> {
        self.0.split_once(':').map(|(_, value)| value)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Tag> for String {
    fn from(Tag(text): Tag) -> Self {
        text
    }
}

impl TryFrom<String> for Tag {
    type Error = TagError;

    fn try_from(text: String) -> Result<Self, TagError> {
        Self::parse(&text)
    }
}

/// The tags of a site, sorted, at most [`SITE_TAGS_MAX`].
pub type Tags = BTreeSet<Tag>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_a_key_or_a_key_and_a_value() {
        let longest = "a".repeat(TAG_MAX);
        for (text, key, value) in [
            ("legacy", "legacy", None),
            (" Env:Prod ", "env", Some("prod")),
            ("region:eu-central/1", "region", Some("eu-central/1")),
            ("2:.x", "2", Some(".x")),
            (&longest, &longest, None),
        ] {
            let tag = Tag::parse(text).expect(text);
            assert_eq!((tag.key(), tag.value()), (key, value));
            assert_eq!(Tag::parse(tag.as_str()), Ok(tag));
        }
        let too_long = format!("{longest}a");
        assert_eq!(Tag::parse(&too_long), Err(TagError::TooLong));
        for text in [
            "", " ", ":", "a:", ":a", "a:b:c", "-a", ".a", "a/b", "a b", "a,b", "ü", "a:ü", "!a",
            "a:(b)",
        ] {
            assert_eq!(Tag::parse(text), Err(TagError::Syntax), "{text:?}");
        }
    }
}
