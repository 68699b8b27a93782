//! The ping key of a team, with which slugs of its heartbeats form addresses.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::alerts::channel::sha256;
use crate::input::{TextKind, TextRule, input};

/// The fewest and the most characters of a key. Those of Healthchecks have 22.
const LENGTH: std::ops::RangeInclusive<usize> = 20..=64;

/// The ping key of a team: a secret of letters, digits, hyphens and underscores.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TeamPingKey(String);

input! {
    /// The ping key that a team gets.
    PingKeyChoice {
        /// A key that jobs use already, such as that of a project at Healthchecks: 20 to 64 letters, digits, hyphens and
        /// underscores. Without it, the key is random.
        #[form("Ping key", "Leave it empty for a random key.")]
        ping_key: Nullable<TeamPingKey> = TeamPingKey::RULE;
    }
}

impl TeamPingKey {
    /// Length of a random key in bytes before encoding: 22 characters.
    pub const BYTES: usize = 16;

    /// The rule for keys that people enter.
    pub const RULE: TextRule<Self> = TextRule {
        min: 0,
        max: usize::MAX,
        kind: TextKind::Pattern("^[A-Za-z0-9_-]{20,64}$"),
        parse: |text| {
            Self::parse(text).ok_or_else(|| {
                "must consist of 20 to 64 letters, digits, hyphens and underscores, and must not be a UUID".to_owned()
            })
        },
    };

    /// A key of random bytes.
    pub fn from_random(random: [u8; Self::BYTES]) -> Self {
        Self(data_encoding::BASE64URL_NOPAD.encode(&random))
    }

    /// Reads a key; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let is_key = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        // In a path, a UUID is the key of a heartbeat.
        let is_of_team = is_key && LENGTH.contains(&text.len()) && Uuid::try_parse(text).is_err();
        is_of_team.then(|| Self(text.to_owned()))
    }

    /// The form in addresses.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What the team is found by: SHA-256, in hexadecimal digits.
    pub fn hash(&self) -> String {
        sha256(&self.0)
    }
}

impl fmt::Debug for TeamPingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TeamPingKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_secret_of_url_safe_characters() {
        let key = TeamPingKey::from_random([255; TeamPingKey::BYTES]);
        assert_eq!(key.reveal(), "_____________________w");
        assert_eq!(TeamPingKey::parse(key.reveal()), Some(key.clone()));
        assert_eq!((format!("{key:?}").as_str(), key.hash().len()), ("TeamPingKey(…)", 64));
        let uuid = "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278";
        for wrong in ["", "short", "a/aaaaaaaaaaaaaaaaaaaaaa", &"a".repeat(65), uuid] {
            assert_eq!(TeamPingKey::parse(wrong), None, "{wrong}");
        }
    }
}
