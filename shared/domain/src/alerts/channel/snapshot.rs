//! What channels have in common that are sent a snapshot of the current state, again and again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::request::{ChannelRequest, InvalidUrl};
use super::secret::{AccessToken, SecretUrl};

/// An alert in a snapshot, in the form of [Alertmanager's API](https://prometheus.io/docs/alerting/latest/alerts_api/),
/// in which it is also stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotAlert {
    /// What identifies it. With other labels, it is another alert.
    pub labels: BTreeMap<String, String>,
    /// What it says.
    pub annotations: BTreeMap<String, String>,
    /// When the issue opened.
    pub starts_at: Timestamp,
    /// When it ended. An active alert is stored without an end, and sent with one that each snapshot moves ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// The page.
    #[serde(rename = "generatorURL", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A channel that is sent a snapshot of the current state, again and again.
pub trait Snapshot: Sync {
    /// The URL, which distinguishes it from other channels.
    fn url(&self) -> &SecretUrl;

    /// The access token, if there is one.
    fn token(&self) -> Option<&AccessToken>;

    /// The request that sends alerts.
    ///
    /// # Errors
    ///
    /// When the stored URL is invalid.
    fn request(&self, alerts: &[SnapshotAlert]) -> Result<ChannelRequest, InvalidUrl>;
}
