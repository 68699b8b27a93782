//! Signing in to the dashboard: sign-in links, which work once, sign-ins at an OpenID provider, and the sessions that
//! they begin.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::id::UserId;

/// The secret in a sign-in link or in a session's cookie: random bytes, of which only the hash is stored. There is
/// neither `Debug` nor `Display`, so that it does not slip into a log.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionSecret([u8; Self::BYTES]);

impl SessionSecret {
    /// How many random bytes a secret has.
    pub const BYTES: usize = 32;

    /// A secret of random bytes.
    pub const fn from_random(random: [u8; Self::BYTES]) -> Self {
        Self(random)
    }

    /// Reads what a browser sent.
    pub fn parse(text: &str) -> Option<Self> {
        BASE64URL_NOPAD.decode(text.as_bytes()).ok()?.try_into().ok().map(Self)
    }

    /// Its form in a link or a cookie.
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

/// How long a sign-in link works.
pub const LINK_LIFETIME: SignedDuration = SignedDuration::from_mins(15);
/// How long a sign-in at an OpenID provider may take.
pub const ATTEMPT_LIFETIME: SignedDuration = SignedDuration::from_mins(15);
/// How long a session lasts.
pub const SESSION_LIFETIME: SignedDuration = SignedDuration::from_hours(14 * 24);
/// The most characters that are kept of a browser's name.
const BROWSER_MAX: usize = 200;

/// What is stored about a sign-in link until it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInLink {
    /// Hash of its secret.
    pub hash: SessionHash,
    /// Whom it signs in.
    pub user: UserId,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// Whether only the reader of the user's address has it. If so, following it confirms the address.
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

    /// The same link, for the reader of the user's address only.
    #[must_use]
    pub fn by_mail(self) -> Self {
        Self { by_mail: true, ..self }
    }

    /// Whether it still works.
    pub fn works(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// A sign-in at an OpenID provider that a browser has begun, as the browser keeps it. Everything that is sent to and
/// from the provider is derived from its secret and its start time. Nothing needs to be stored until the sign-in
/// succeeds, and if either is altered, the nonce does not match what the provider signed.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInAttempt {
    secret: SessionSecret,
    /// In seconds since 1970.
    begun_at: i64,
}

impl SignInAttempt {
    /// An attempt that begins now.
    pub fn new(secret: SessionSecret, now: Timestamp) -> Self {
        Self { secret, begun_at: now.as_second() }
    }

    /// Reads what a browser sent.
    pub fn parse(text: &str) -> Option<Self> {
        let (begun_at, secret) = text.split_once('.')?;
        Some(Self { begun_at: begun_at.parse().ok()?, secret: SessionSecret::parse(secret)? })
    }

    /// The form in which a browser keeps it.
    pub fn reveal(&self) -> String {
        format!("{}.{}", self.begun_at, self.secret.reveal())
    }

    /// When it expires.
    pub fn expires_at(&self) -> Timestamp {
        let begun_at = Timestamp::from_second(self.begun_at).unwrap_or(Timestamp::MIN);
        begun_at.saturating_add(ATTEMPT_LIFETIME).unwrap_or(begun_at)
    }

    /// Whether the provider may still answer.
    pub fn is_open(&self, now: Timestamp) -> bool {
        now < self.expires_at()
    }

    /// The value that the provider returns with its answer. It proves that the answer is for this browser.
    pub fn state(&self) -> String {
        BASE64URL_NOPAD.encode(&self.derive("state"))
    }

    /// The value that the provider signs. It proves that its token is for this sign-in.
    pub fn nonce(&self) -> String {
        BASE64URL_NOPAD.encode(&self.derive("nonce"))
    }

    /// Proves to the provider that the client that uses the code has begun the sign-in (RFC 7636).
    pub fn code_verifier(&self) -> String {
        BASE64URL_NOPAD.encode(&self.derive("code verifier"))
    }

    /// The hash that is stored once it has succeeded.
    pub fn hash(&self) -> SessionHash {
        SessionHash(HEXLOWER.encode(&self.derive("hash")))
    }

    fn derive(&self, what: &str) -> [u8; 32] {
        let digest = Sha256::new().chain_update(self.secret.0);
        digest.chain_update(self.begun_at.to_be_bytes()).chain_update(what).finalize().into()
    }
}

/// A browser in which a user is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Hash of its secret.
    pub hash: SessionHash,
    /// Who is signed in.
    pub user: UserId,
    /// The beginning of the browser's name, which is untrusted text.
    pub browser: String,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When it expires.
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

    /// Whether it has not expired.
    pub fn lasts(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// The value of a session's cookie: its user, which says where the session is stored, and its secret.
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

    /// The form in which a browser keeps it.
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
    fn the_parameters_of_a_sign_in_are_derived_from_its_secret_and_start() {
        let [secret, other] = [7, 8].map(|byte| SessionSecret::from_random([byte; 32]));
        let attempt = SignInAttempt::new(secret.clone(), now());
        let read = SignInAttempt::parse(&attempt.reveal()).expect("an attempt");
        assert!(read == attempt && read.state() == attempt.state());
        let late = SignInAttempt::new(secret, now() + SignedDuration::from_secs(1));
        let attempts = [attempt, late, SignInAttempt::new(other, now())];
        let mut sent: Vec<_> = attempts
            .iter()
            .flat_map(|it| [it.state(), it.nonce(), it.code_verifier(), it.hash().0])
            .collect();
        // RFC 7636 requires a verifier to have at least 43 characters.
        assert!(sent.iter().all(|text| text.len() >= 43));
        sent.sort();
        sent.dedup();
        assert_eq!(sent.len(), 12);
        for other in ["", ".", "1.", "x.AAAA", &attempts[0].reveal()[1..].replace('.', "")] {
            assert!(SignInAttempt::parse(other).is_none(), "{other}");
        }
        // Any time that a browser may send is accepted as input.
        for begun_at in [i64::MIN, i64::MAX] {
            let text = format!("{begun_at}.{}", SessionSecret::from_random([7; 32]).reveal());
            assert!(!SignInAttempt::parse(&text).expect("an attempt").is_open(now()));
        }
    }

    #[test]
    fn links_and_sessions_end() {
        let (secret, user) = (SessionSecret::from_random([7; 32]), UserId(Uuid::from_u128(7)));
        let link = SignInLink::new(&secret, user, now());
        let attempt = SignInAttempt::new(secret.clone(), now());
        let session = Session::new(&secret, user, &"x".repeat(1_000), now());
        assert_eq!(session.browser.len(), BROWSER_MAX);
        for (lifetime, ends) in [
            (SignedDuration::from_mins(15), &(|at| link.works(at)) as &dyn Fn(Timestamp) -> bool),
            (SignedDuration::from_mins(15), &|at| attempt.is_open(at)),
            (SignedDuration::from_hours(336), &|at| session.lasts(at)),
        ] {
            let end = now() + lifetime;
            assert!(ends(end - SignedDuration::from_millis(1)) && !ends(end));
        }
    }
}
