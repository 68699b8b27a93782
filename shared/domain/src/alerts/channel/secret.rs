//! The secrets of channels: the URLs that messages are posted to, and the keys that sign them.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::{Host, Url};

use crate::input::{TextKind, TextRule};
use crate::sites::site_url::{MAX_LENGTH, SiteUrl, SiteUrlError};

/// The visible part of a secret URL, and its digest, which distinguishes it from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedUrl {
    /// Scheme, host and last characters.
    pub to: String,
    /// SHA-256 of the URL, in hexadecimal digits.
    pub digest: String,
}

/// A URL that is a password: anybody who knows it can post. Only [`SecretUrl::reveal`] returns it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretUrl(String);

impl SecretUrl {
    /// The rule for URLs that alerts are posted to.
    pub(super) const RULE: TextRule<Self> =
        TextRule { min: 0, max: MAX_LENGTH, kind: TextKind::Secret, parse: Self::parse };

    /// Keeps a URL secret.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Reads a URL that alerts are posted to. Without encryption, others could read it and then post as well, so that
    /// is allowed only within this machine.
    ///
    /// # Errors
    ///
    /// What is wrong with it; the message continues "The … field".
    pub fn parse(text: &str) -> Result<Self, String> {
        let predicate = |error: SiteUrlError| error.to_string().replacen("The url ", "", 1);
        let url = SiteUrl::parse(text)
            .map_err(|error| predicate(error).trim_end_matches('.').to_owned())?;
        let parsed = url.to_url();
        let is_local = match parsed.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if parsed.scheme() != "https" && !is_local {
            return Err("must start with https://".to_owned());
        }
        Ok(Self(url.as_str().to_owned()))
    }

    /// Reads the URL of a place at a server, such as `https://ntfy.sh/topic`. The name of a place at the service's own
    /// server is enough.
    ///
    /// # Errors
    ///
    /// As for [`parse`](Self::parse), and the given one if the URL is not that of a place.
    pub(super) fn parse_place(
        text: &str,
        is_place: fn(&str) -> bool,
        server: Option<&str>,
        error: &str,
    ) -> Result<Self, String> {
        let url = match server.filter(|_| is_place(text)) {
            Some(server) => Self(format!("{server}/{text}")),
            None if server.is_some() && !text.contains("://") => return Err(error.to_owned()),
            None => Self::parse(text)?,
        };
        url.place(is_place).is_some().then_some(url).ok_or_else(|| error.to_owned())
    }

    /// The URL of its server, and the place there, which is all of its path.
    pub(super) fn place(&self, is_place: fn(&str) -> bool) -> Option<(Url, String)> {
        let mut server = Url::parse(&self.0).ok()?;
        let place = server.path().strip_prefix('/').filter(|place| is_place(place))?.to_owned();
        if server.query().is_some() {
            return None;
        }
        server.set_path("/");
        Some((server, place))
    }

    /// The part that may be shown, and stored where it is shown.
    pub fn masked(&self) -> MaskedUrl {
        MaskedUrl { to: self.to_string(), digest: sha256(&self.0) }
    }

    /// The URL itself, for sending and storing.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// How all URLs of its server begin: its scheme, host and port. `None` if it is not a URL.
    pub fn server(&self) -> Option<String> {
        let origin = Url::parse(&self.0).ok()?.origin();
        origin.is_tuple().then(|| format!("{}/", origin.ascii_serialization()))
    }
}

/// Whether a text is a key of this length, of letters and digits.
pub(super) fn is_key<const LENGTH: usize>(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// An access token, which is a password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccessToken(String);

impl AccessToken {
    /// The rule for access tokens. Real ones have fewer characters.
    pub(super) const RULE: TextRule<Self> = TextRule {
        min: 0,
        max: 255,
        kind: TextKind::Secret,
        parse: |text| match text.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Self(text.to_owned())),
            false => Err("must not contain spaces or accented letters".to_owned()),
        },
    };

    /// The token itself, for sending and storing.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// SHA-256 of it, in hexadecimal digits.
    pub(super) fn digest(&self) -> String {
        sha256(&self.0)
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken(…)")
    }
}

/// What distinguishes a secret from others: SHA-256, in hexadecimal digits.
pub(crate) fn sha256(secret: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(secret))
}

/// How many of its last characters are shown, so that people can tell URLs apart.
const LAST_CHARACTERS: usize = 4;
/// How long the last part of a URL must be for its end to be shown, so that enough stays secret.
const LONG_ENOUGH: usize = 16;

/// The scheme and the host, which are not secret, and the end of a long secret.
impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masked = Url::parse(&self.0).ok().and_then(|url| {
            let host = url.host_str()?;
            let last = self.0.rsplit(['/', '?', '&', '=', '.']).next().unwrap_or_default();
            let is_long = last.is_ascii() && last.len() >= LONG_ENOUGH;
            let end = if is_long { &last[last.len() - LAST_CHARACTERS..] } else { "" };
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

/// The keys with which a webhook's receiver verifies our requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKeys {
    /// The key.
    pub current: SigningKey,
    /// The previous key, and until when it also signs, while receivers change over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<(SigningKey, Timestamp)>,
}

impl SigningKeys {
    /// How long a key still signs after it was replaced.
    pub(crate) const OVERLAP: SignedDuration = SignedDuration::from_hours(24);

    /// A first key.
    pub const fn new(key: SigningKey) -> Self {
        Self { current: key, previous: None }
    }

    /// The keys after another one replaces the current key.
    pub(super) fn followed_by(&self, key: SigningKey, now: Timestamp) -> Self {
        let until = now.saturating_add(Self::OVERLAP).unwrap_or(now);
        Self { current: key, previous: Some((self.current.clone(), until)) }
    }

    /// The keys that sign at an instant, newest first.
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

    /// The key in the form that its owner sees.
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
