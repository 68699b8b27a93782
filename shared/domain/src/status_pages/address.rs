//! Where readers find a status page.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::alerts::channel::LinkKey;
use crate::input::{TextKind, TextRule};

/// The shortest slug, in characters.
pub(super) const SLUG_MIN: usize = 3;
/// The longest slug, in characters. It is shorter than the key of an unlisted page, so no slug can be taken for a key.
pub(super) const SLUG_MAX: usize = 30;

/// The name of a status page in its URL, such as `meridian`. No two pages of the service have the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slug(String);

/// Why a text is not a slug. The message continues "The … field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SlugError {
    /// It is too short or too long.
    #[error("must have {SLUG_MIN} to {SLUG_MAX} characters")]
    Length,
    /// It contains something else than lowercase letters, digits and hyphens, or begins or ends with a hyphen.
    #[error("must consist of lowercase letters, digits and single hyphens between them")]
    Characters,
}

impl Slug {
    /// The rule for what people enter.
    pub const RULE: TextRule<Self> = TextRule {
        min: SLUG_MIN,
        max: SLUG_MAX,
        kind: TextKind::Pattern("^[a-z0-9]+(-[a-z0-9]+)*$"),
        parse: |text| Self::parse(text).map_err(|error| error.to_string()),
    };

    /// Reads a slug.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, SlugError> {
        if !text.split('-').all(|part| !part.is_empty() && part.bytes().all(is_allowed)) {
            return Err(SlugError::Characters);
        }
        if !(SLUG_MIN..=SLUG_MAX).contains(&text.len()) {
            return Err(SlugError::Length);
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// The last part of a status page's URL: its slug or, if the page is unlisted, the key in its link.
#[derive(Clone, PartialEq, Eq)]
pub struct PageAddress(String);

impl PageAddress {
    /// Reads the last part of a URL; `None` if no page can be there.
    pub fn parse(text: &str) -> Option<Self> {
        let is_key = text.len() == 2 * LinkKey::BYTES
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (is_key || Slug::parse(text).is_ok()).then(|| Self(text.to_owned()))
    }

    /// An address at which there is no page: no key is drawn like this.
    pub fn nowhere() -> Self {
        Self("0".repeat(2 * LinkKey::BYTES))
    }

    /// The text, which may be secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&Slug> for PageAddress {
    fn from(slug: &Slug) -> Self {
        Self(slug.0.clone())
    }
}

impl From<&LinkKey> for PageAddress {
    fn from(key: &LinkKey) -> Self {
        Self(key.reveal().to_owned())
    }
}

impl fmt::Debug for PageAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageAddress(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_a_part_of_a_url_that_people_can_read_out() {
        let longest = "a".repeat(SLUG_MAX);
        for text in ["meridian", "a-1", "24-7", &longest] {
            assert_eq!(Slug::parse(text).map(|slug| slug.to_string()), Ok(text.to_owned()));
            assert!(PageAddress::parse(text).is_some(), "{text}");
        }
        for text in ["-ab", "ab-", "a--b", "Ab", "a_b", "a b", "ä", "", "a/b", "..", "a.b"] {
            assert_eq!(Slug::parse(text), Err(SlugError::Characters), "{text:?}");
            assert_eq!(PageAddress::parse(text), None, "{text:?}");
        }
        for text in ["ab", &format!("{longest}a")] {
            assert_eq!(Slug::parse(text), Err(SlugError::Length), "{text:?}");
        }
    }

    #[test]
    fn a_key_is_no_slug_and_is_not_shown() {
        let key = LinkKey::from_random([0xab; LinkKey::BYTES]);
        assert!(Slug::parse(key.reveal()).is_err());
        let address = PageAddress::parse(key.reveal()).expect("an address");
        assert_eq!(address, PageAddress::from(&key));
        assert_eq!(format!("{address:?}"), "PageAddress(…)");
        assert_eq!(PageAddress::parse(&key.reveal().to_uppercase()), None);
    }
}
