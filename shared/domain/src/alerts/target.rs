//! Where channels lead: which part of that is secret, and which may be shown.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use lettre::Address;
use lettre::address::AddressError;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Host;

use crate::sites::site_url::{SiteUrl, SiteUrlError};

/// Where a channel leads, with secrets that only the sender of messages may know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Target {
    /// One mail address.
    Email {
        /// The address.
        address: String,
    },
    /// An incoming webhook of Slack.
    Slack {
        /// Its URL.
        url: SecretUrl,
    },
    /// A webhook of a Discord channel.
    Discord {
        /// Its URL.
        url: SecretUrl,
    },
    /// A workflow of Microsoft Teams that starts when a webhook request is received.
    Teams {
        /// Its URL.
        url: SecretUrl,
    },
    /// A program, by [Standard Webhooks](https://www.standardwebhooks.com).
    Webhook {
        /// Its URL.
        url: SecretUrl,
        /// What requests are signed with.
        keys: SigningKeys,
    },
}

impl Target {
    /// A mail address.
    ///
    /// # Errors
    ///
    /// When no mail can be addressed to it.
    pub fn email(address: &str) -> Result<Self, AddressError> {
        let address: Address = address.trim().parse()?;
        Ok(Self::Email { address: address.to_string() })
    }

    /// The part that is not secret.
    pub fn public(&self) -> PublicTarget {
        match self {
            Self::Email { address } => PublicTarget::Email { address: address.clone() },
            Self::Slack { url } => PublicTarget::Slack(url.masked()),
            Self::Discord { url } => PublicTarget::Discord(url.masked()),
            Self::Teams { url } => PublicTarget::Teams(url.masked()),
            Self::Webhook { url, .. } => PublicTarget::Webhook(url.masked()),
        }
    }

    /// Whether it has secrets.
    pub const fn is_secret(&self) -> bool {
        self.url().is_some()
    }

    /// The URL that messages are posted to, if they are.
    pub const fn url(&self) -> Option<&SecretUrl> {
        match self {
            Self::Email { .. } => None,
            Self::Slack { url }
            | Self::Discord { url }
            | Self::Teams { url }
            | Self::Webhook { url, .. } => Some(url),
        }
    }

    /// What requests are signed with, if they are.
    pub const fn keys(&self) -> Option<&SigningKeys> {
        match self {
            Self::Webhook { keys, .. } => Some(keys),
            _ => None,
        }
    }

    pub(super) fn with_new_key(&self, key: SigningKey, now: Timestamp) -> Option<Self> {
        let Self::Webhook { url, keys } = self else { return None };
        Some(Self::Webhook { url: url.clone(), keys: keys.followed_by(key, now) })
    }

    /// What a channel is called to which nobody gives a name.
    pub fn default_name(&self) -> &str {
        match self {
            Self::Email { address } => address,
            Self::Slack { .. } => "Slack",
            Self::Discord { .. } => "Discord",
            Self::Teams { .. } => "Microsoft Teams",
            Self::Webhook { .. } => "Webhook",
        }
    }
}

/// Where a channel leads, as everybody sees who sees the channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PublicTarget {
    /// One mail address.
    Email {
        /// The address.
        address: String,
    },
    /// An incoming webhook of Slack.
    Slack(MaskedUrl),
    /// A webhook of a Discord channel.
    Discord(MaskedUrl),
    /// A workflow of Microsoft Teams.
    Teams(MaskedUrl),
    /// A program.
    Webhook(MaskedUrl),
}

/// What is shown of a secret URL, and what it is told from others by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedUrl {
    /// Scheme, host and last characters.
    pub to: String,
    /// SHA-256 of the URL, in hexadecimal digits.
    pub digest: String,
}

impl PublicTarget {
    /// Whether people read it. They are told what is the case; programs are notified of every
    /// transition, in order.
    pub const fn is_for_people(&self) -> bool {
        !matches!(self, Self::Webhook(_))
    }

    /// Where it leads: the address, or the part of a URL that is no secret.
    pub fn leads_to(&self) -> &str {
        match self.masked() {
            Some(url) => &url.to,
            None => self.address().unwrap_or_default(),
        }
    }

    /// The address, if it is one.
    pub fn address(&self) -> Option<&str> {
        match self {
            Self::Email { address } => Some(address),
            _ => None,
        }
    }

    /// What is known of the URL, if it is one.
    pub const fn masked(&self) -> Option<&MaskedUrl> {
        match self {
            Self::Email { .. } => None,
            Self::Slack(url) | Self::Discord(url) | Self::Teams(url) | Self::Webhook(url) => {
                Some(url)
            }
        }
    }

    /// The kind, as stored and written.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Email { .. } => "email",
            Self::Slack(_) => "slack",
            Self::Discord(_) => "discord",
            Self::Teams(_) => "teams",
            Self::Webhook(_) => "webhook",
        }
    }
}

/// A URL that is a password: whoever knows it can post. It is written out by [`SecretUrl::reveal`]
/// alone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretUrl(String);

impl SecretUrl {
    /// Keeps a URL secret.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Reads a URL that alerts are to be posted to. Others may read along where it is not encrypted,
    /// and so could post as well: that is allowed within this machine alone.
    ///
    /// # Errors
    ///
    /// When it is none, or not encrypted.
    pub fn parse(text: &str) -> Result<Self, SecretUrlError> {
        let url = SiteUrl::parse(text)?;
        let parsed = url.to_url();
        let is_local = match parsed.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if parsed.scheme() != "https" && !is_local {
            return Err(SecretUrlError::NotEncrypted);
        }
        Ok(Self(url.as_str().to_owned()))
    }

    /// What may be shown and stored where it is shown.
    pub fn masked(&self) -> MaskedUrl {
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&self.0));
        MaskedUrl { to: self.to_string(), digest }
    }

    /// The URL itself, to be sent to and to be stored.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Why a text is no URL to post alerts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretUrlError {
    /// It is not one that can be asked for.
    #[error(transparent)]
    Url(#[from] SiteUrlError),
    /// It begins with `http`, and leads to another machine.
    #[error("The url must start with https://.")]
    NotEncrypted,
}

/// Characters at its end by which people tell a URL from others.
const SHOWN: usize = 4;
/// Characters of the last part of a URL, so that enough of them stays unknown.
const SHOWN_OF: usize = 16;

/// Scheme and host, which are no secret, and the end of a long secret.
impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masked = url::Url::parse(&self.0).ok().and_then(|url| {
            let host = url.host_str()?;
            let last = self.0.rsplit(['/', '?', '&', '=', '.']).next().unwrap_or_default();
            let is_long = last.is_ascii() && last.len() >= SHOWN_OF;
            let end = if is_long { &last[last.len() - SHOWN..] } else { "" };
            Some(format!("{}://{host}/…{end}", url.scheme()))
        });
        f.write_str(masked.as_deref().unwrap_or("…"))
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Keys by which a webhook's receiver knows that a request is ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKeys {
    /// The key.
    pub current: SigningKey,
    /// The one before it, while receivers change over, and until when it signs too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<(SigningKey, Timestamp)>,
}

impl SigningKeys {
    /// How long a key still signs after it was replaced.
    pub const OVERLAP: SignedDuration = SignedDuration::from_hours(24);

    /// A first key.
    pub const fn new(key: SigningKey) -> Self {
        Self { current: key, previous: None }
    }

    /// The keys once another one takes over.
    fn followed_by(&self, key: SigningKey, now: Timestamp) -> Self {
        let until = now.saturating_add(Self::OVERLAP).unwrap_or(now);
        Self { current: key, previous: Some((self.current.clone(), until)) }
    }

    /// The keys that sign at an instant, the newest first.
    pub fn at(&self, now: Timestamp) -> impl Iterator<Item = &SigningKey> {
        let previous = self.previous.iter().filter(move |(_, until)| now < *until);
        std::iter::once(&self.current).chain(previous.map(|(key, _)| key))
    }
}

/// 32 random bytes; shown as `whsec_` and base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SigningKey(#[serde(with = "serde_bytes")] Vec<u8>);

impl SigningKey {
    /// Length in bytes.
    pub const BYTES: usize = 32;

    /// A key of random bytes.
    pub fn from_random(random: [u8; Self::BYTES]) -> Self {
        Self(random.to_vec())
    }

    /// The key as its owner gets to see it.
    pub fn reveal(&self) -> String {
        format!("whsec_{}", data_encoding::BASE64.encode(&self.0))
    }

    /// The bytes to sign with.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}
