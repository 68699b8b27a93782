//! Randomness, passed as a value: ids, secrets, and the number that distinguishes checks in the same millisecond.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Builder;
use vedette_domain::accounts::account::Secret;
use vedette_domain::accounts::session::SessionSecret;
use vedette_domain::alerts::channel::{LinkKey, SigningKey};
use vedette_domain::heartbeats::team_key::TeamPingKey;
use vedette_domain::id::{
    ChannelId, ComponentId, IncidentId, SiteId, StatusPageId, TeamId, UserId, WindowId,
};

/// The source of random ids and secrets.
#[derive(Clone)]
pub struct Entropy(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> Result<(), EntropyError> + Send + Sync;

/// The system provides no randomness.
#[derive(Debug, thiserror::Error)]
#[error("the system provides no random bytes")]
pub struct EntropyError(#[from] getrandom::Error);

impl Entropy {
    /// The system's source.
    pub fn system() -> Self {
        Self(Arc::new(|bytes| Ok(getrandom::fill(bytes)?)))
    }

    /// A source that fills bytes with a function.
    pub fn from_fn(fill: impl Fn(&mut [u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |bytes| {
            fill(bytes);
            Ok(())
        }))
    }

    fn bytes<const N: usize>(&self) -> Result<[u8; N], EntropyError> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes)?;
        Ok(bytes)
    }

    /// A new site's id.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn site_id(&self) -> Result<SiteId, EntropyError> {
        Ok(SiteId(Builder::from_random_bytes(self.bytes()?).into_uuid()))
    }

    /// A new team's id.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn team_id(&self) -> Result<TeamId, EntropyError> {
        Ok(TeamId(Builder::from_random_bytes(self.bytes()?).into_uuid()))
    }

    /// A new user's id.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn user_id(&self) -> Result<UserId, EntropyError> {
        Ok(UserId(Builder::from_random_bytes(self.bytes()?).into_uuid()))
    }

    /// A new channel's id.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn channel_id(&self) -> Result<ChannelId, EntropyError> {
        Ok(ChannelId(Builder::from_random_bytes(self.bytes()?).into_uuid()))
    }

    /// A new maintenance window's id.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn window_id(&self) -> Result<WindowId, EntropyError> {
        Ok(WindowId(Builder::from_random_bytes(self.bytes()?).into_uuid()))
    }

    /// A new status page's id.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn status_page_id(&self) -> Result<StatusPageId, EntropyError> {
        Ok(StatusPageId(Builder::from_random_bytes(self.bytes()?).into_uuid()))
    }

    /// The id of a new component of a status page.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn component_id(&self) -> Result<ComponentId, EntropyError> {
        Ok(ComponentId(Builder::from_random_bytes(self.bytes()?).into_uuid()))
    }

    /// The id of a new incident. It begins with the time of its creation (UUIDv7), so ids are in the order in which
    /// incidents were created.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn incident_id(&self, now: Timestamp) -> Result<IncidentId, EntropyError> {
        let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
        Ok(IncidentId(Builder::from_unix_timestamp_millis(millis, &self.bytes()?).into_uuid()))
    }

    /// The id of a question to an agent, which cannot be guessed.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn question_id(&self) -> Result<String, EntropyError> {
        Ok(format!("{:032x}", u128::from_be_bytes(self.bytes()?)))
    }

    /// The secret in the links for a channel's reader.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn link_key(&self) -> Result<LinkKey, EntropyError> {
        Ok(LinkKey::from_random(self.bytes()?))
    }

    /// The ping key of a team.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn ping_key(&self) -> Result<TeamPingKey, EntropyError> {
        Ok(TeamPingKey::from_random(self.bytes()?))
    }

    /// Random bits.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn number(&self) -> Result<u64, EntropyError> {
        Ok(u64::from_be_bytes(self.bytes()?))
    }

    /// The key that signs a webhook's requests.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn signing_key(&self) -> Result<SigningKey, EntropyError> {
        Ok(SigningKey::from_random(self.bytes()?))
    }

    /// The secret in a sign-in link or in a session's cookie.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn session_secret(&self) -> Result<SessionSecret, EntropyError> {
        Ok(SessionSecret::from_random(self.bytes()?))
    }

    /// Random bytes from which a plan derives the ids and keys of new objects.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn seed(&self) -> Result<[u8; 32], EntropyError> {
        self.bytes()
    }

    /// The number that distinguishes on-demand checks in the same millisecond.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn unique(&self) -> Result<u8, EntropyError> {
        Ok(self.bytes::<1>()?[0] & 0x7f)
    }

    /// The id of a request. If the source of randomness fails, the id is useless, but that is no reason to refuse the
    /// request.
    pub fn request_id(&self) -> String {
        Builder::from_random_bytes(self.bytes().unwrap_or_default()).into_uuid().to_string()
    }

    /// A new token's secret.
    ///
    /// # Errors
    ///
    /// When the source fails.
    pub fn secret(&self) -> Result<Secret, EntropyError> {
        Ok(Secret::from_random(self.bytes()?))
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}
