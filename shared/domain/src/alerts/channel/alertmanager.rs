//! Snapshots for a [Prometheus Alertmanager](https://prometheus.io/docs/alerting/latest/alerts_api/).
//!
//! Alertmanager ends an alert by itself unless it is sent again, and keeps alerts in memory. So it is sent all of them
//! again and again, and once they are over, their ends for a while.

use serde::{Deserialize, Serialize};
use url::Url;

use super::EventKind;
use super::description::{KindDescription, Room, TargetEdit, TargetField};
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::{AccessToken, SecretUrl};
use super::snapshot::{Snapshot, SnapshotAlert};
use crate::input::{Input as _, TextRule, input};

/// The minutes between two snapshots.
pub(super) const PERIOD_MINUTES: u32 = 5;
/// The events that its alerts are made of.
pub(super) const EVENTS: [EventKind; 2] = [EventKind::Opened, EventKind::Resolved];
/// The path of its alerts, below its URL.
const ALERTS: &str = "/api/v2/alerts";

/// An Alertmanager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alertmanager {
    /// Its URL.
    pub url: SecretUrl,
    /// The token with which a proxy in front of it recognizes us, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<AccessToken>,
}

input! {
    /// An Alertmanager.
    AlertmanagerInput,
    /// A change of the Alertmanager.
    AlertmanagerEdit {
        /// The URL of the Alertmanager, to which /api/v2/alerts is appended.
        url: Required<SecretUrl> = BASE_URL;
        /// The access token, if the server asks for one.
        #[form("Access token", "The access token, if a proxy in front of it asks for one.")]
        token: Clearable<AccessToken> = AccessToken::RULE;
    }
}

const BASE_URL: TextRule<SecretUrl> = TextRule {
    parse: |text| {
        let url = SecretUrl::parse(text.strip_suffix(ALERTS).unwrap_or(text))?;
        let error = "must be like https://alertmanager.example.com, without a query";
        endpoint(&url).is_some().then_some(url).ok_or_else(|| error.to_owned())
    },
    ..SecretUrl::RULE
};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Prometheus Alertmanager",
    about: "A Prometheus Alertmanager, in which each issue is an alert while it is open",
    fields: AlertmanagerInput::FIELDS,
    destination: TargetField {
        label: "URL",
        example: "https://alertmanager.example.com",
        help: "The URL of its web interface. If you run several, add a channel for each, not for a load balancer.",
    },
    services: &[],
    own_domains: &[],
    per_minute: None,
    room: Room::Common,
};

impl From<AlertmanagerEdit> for TargetEdit {
    fn from(AlertmanagerEdit { url, token }: AlertmanagerEdit) -> Self {
        Self { url, token }
    }
}

impl Alertmanager {
    pub(super) fn new(AlertmanagerInput { url, token }: AlertmanagerInput) -> Self {
        Self { url, token }
    }
}

impl Snapshot for Alertmanager {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn token(&self) -> Option<&AccessToken> {
        self.token.as_ref()
    }

    fn request(&self, alerts: &[SnapshotAlert]) -> Result<ChannelRequest, InvalidUrl> {
        let url = endpoint(&self.url).ok_or(InvalidUrl)?;
        // All of their values can be serialized.
        let body = serde_json::to_vec(alerts).unwrap_or_default();
        let request = ChannelRequest::json_to(url, body, Failure::of_own_server);
        Ok(request.authorized_by(self.token.as_ref()))
    }
}

/// The URL that alerts are posted to.
fn endpoint(url: &SecretUrl) -> Option<Url> {
    let mut url = Url::parse(url.reveal()).ok().filter(|url| url.query().is_none())?;
    let path = format!("{}{ALERTS}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_are_posted_below_the_url() {
        for (given, expected) in [
            ("https://am.test", Some("https://am.test/api/v2/alerts")),
            ("https://am.test/", Some("https://am.test/api/v2/alerts")),
            ("https://am.test/api/v2/alerts", Some("https://am.test/api/v2/alerts")),
            ("https://am.test/prefix/", Some("https://am.test/prefix/api/v2/alerts")),
            ("http://127.0.0.1:9093", Some("http://127.0.0.1:9093/api/v2/alerts")),
            ("http://am.test:9093", None),
            ("https://am.test/?filter=x", None),
        ] {
            let url = (BASE_URL.parse)(given).ok().and_then(|url| endpoint(&url));
            assert_eq!(url.as_ref().map(Url::as_str), expected, "{given}");
        }
    }
}
