//! Who is signed in to the pages: links that sign in once, and the sessions that they begin.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::id::UserId;

/// What the link of a sign-in carries, and the cookie of a session: random bytes, of which only the
/// hash is stored. Neither `Debug` nor `Display` is there, so that it does not slip into a log.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionSecret([u8; Self::BYTES]);

impl SessionSecret {
    /// Random bytes of a secret.
    pub const BYTES: usize = 32;

    /// A secret of random bytes.
    pub const fn from_random(random: [u8; Self::BYTES]) -> Self {
        Self(random)
    }

    /// Reads what a browser sent.
    pub fn parse(text: &str) -> Option<Self> {
        BASE64URL_NOPAD.decode(text.as_bytes()).ok()?.try_into().ok().map(Self)
    }

    /// As it stands in a link or a cookie.
    pub fn reveal(&self) -> String {
        BASE64URL_NOPAD.encode(&self.0)
    }

    /// What is stored and looked up instead of the secret.
    pub fn hash(&self) -> SessionHash {
        SessionHash(HEXLOWER.encode(&Sha256::digest(self.0)))
    }
}

/// SHA-256 of a secret, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionHash(pub String);

/// How long a link signs in.
pub const LINK_LIFETIME: SignedDuration = SignedDuration::from_mins(15);
/// How long a session lasts.
pub const SESSION_LIFETIME: SignedDuration = SignedDuration::from_hours(14 * 24);
/// Characters of a browser's name that are kept.
const BROWSER_MAX: usize = 200;

/// What is kept of a link that signs in, until it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInLink {
    /// Hash of its secret.
    pub hash: SessionHash,
    /// Whom it signs in.
    pub user: UserId,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// Whether nobody but the reader of the user's address has it: who follows it has the address.
    #[serde(default)]
    pub by_mail: bool,
}

impl SignInLink {
    /// A new link.
    pub fn new(secret: &SessionSecret, user: UserId, now: Timestamp) -> Self {
        Self {
            hash: secret.hash(),
            user,
            expires_at: now.saturating_add(LINK_LIFETIME).unwrap_or(now),
            by_mail: false,
        }
    }

    /// The same link, for the reader of the user's address alone.
    #[must_use]
    pub fn by_mail(self) -> Self {
        Self { by_mail: true, ..self }
    }

    /// Whether it still works.
    pub fn works(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// A browser in which somebody is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Hash of its secret.
    pub hash: SessionHash,
    /// Who is signed in.
    pub user: UserId,
    /// What the browser calls itself, as far as it is kept: a stranger's text.
    pub browser: String,
    /// The sign-in.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

impl Session {
    /// A session that begins now.
    pub fn new(secret: &SessionSecret, user: UserId, browser: &str, now: Timestamp) -> Self {
        Self {
            hash: secret.hash(),
            user,
            browser: browser.chars().take(BROWSER_MAX).collect(),
            created_at: now,
            expires_at: now.saturating_add(SESSION_LIFETIME).unwrap_or(now),
        }
    }

    /// Whether it still lasts.
    pub fn lasts(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// The value of a session's cookie: whose session it is, which says where it is kept, and its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionCookie {
    /// Who is signed in, if the secret is right.
    pub user: UserId,
    /// The session's secret.
    pub secret: SessionSecret,
}

impl SessionCookie {
    /// Reads what a browser sent.
    pub fn parse(text: &str) -> Option<Self> {
        let (user, secret) = text.split_once('.')?;
        Some(Self { user: UserId::parse(user)?, secret: SessionSecret::parse(secret)? })
    }

    /// As a browser keeps it.
    pub fn reveal(&self) -> String {
        format!("{}.{}", self.user, self.secret.reveal())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn now() -> Timestamp {
        "2026-11-20T09:54:00Z".parse().expect("a timestamp")
    }

    #[test]
    fn a_cookie_is_read_back_and_no_other() {
        let cookie = SessionCookie {
            user: UserId(Uuid::from_u128(7)),
            secret: SessionSecret::from_random(std::array::from_fn(|i| (i * 37) as u8)),
        };
        let text = cookie.reveal();
        assert!(SessionCookie::parse(&text).is_some_and(|read| read == cookie));
        for other in
            ["", ".", &text[1..], &text[..text.len() - 1], &format!("{text}A"), &text[37..]]
        {
            assert!(SessionCookie::parse(other).is_none(), "{other}");
        }
        assert_eq!(cookie.secret.hash().0.len(), 64);
    }

    #[test]
    fn links_and_sessions_end() {
        let (secret, user) = (SessionSecret::from_random([7; 32]), UserId(Uuid::from_u128(7)));
        let link = SignInLink::new(&secret, user, now());
        let session = Session::new(&secret, user, &"x".repeat(1_000), now());
        assert_eq!(session.browser.len(), BROWSER_MAX);
        for (lifetime, ends) in [
            (SignedDuration::from_mins(15), &(|at| link.works(at)) as &dyn Fn(Timestamp) -> bool),
            (SignedDuration::from_hours(336), &|at| session.lasts(at)),
        ] {
            let end = now() + lifetime;
            assert!(ends(end - SignedDuration::from_millis(1)) && !ends(end));
        }
    }
}
