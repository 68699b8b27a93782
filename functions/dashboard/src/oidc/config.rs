//! The OpenID provider, and how this service is registered with it.

use openidconnect::{ClientId, ClientSecret, IssuerUrl};
use url::{Host, Url};
use vedette_ops::config::{ConfigError, Read};
use vedette_runtime::config::Service;

const ISSUER: &str = "VEDETTE_OIDC_ISSUER";
const CLIENT_ID: &str = "VEDETTE_OIDC_CLIENT_ID";
const CLIENT_SECRET: &str = ProviderConfig::CLIENT_SECRET;

/// An OpenID provider, and what this service is registered with there.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    pub(super) issuer: IssuerUrl,
    pub(super) client_id: ClientId,
    /// Its `Debug` output hides it.
    pub(super) client_secret: ClientSecret,
}

impl ProviderConfig {
    /// The variable with this service's client secret.
    pub const CLIENT_SECRET: &str = "VEDETTE_OIDC_CLIENT_SECRET";
    /// The variable with the ARN of that secret in Secrets Manager, on AWS.
    pub const SECRET: &str = "VEDETTE_OIDC_SECRET";

    /// Reads the settings of the provider; `None` if none are set.
    ///
    /// # Errors
    ///
    /// The first variable that is invalid, or that is missing while others are set.
    pub fn read(read: Read<'_>) -> Result<Option<Self>, ConfigError> {
        let names = [ISSUER, CLIENT_ID, CLIENT_SECRET, Service::SIGN_IN_WITH];
        let values = names.map(|name| read(name).map(|value| value.trim().to_owned()));
        let Some(set) =
            names.iter().zip(&values).find_map(|(name, value)| value.as_ref().and(Some(name)))
        else {
            return Ok(None);
        };
        let missing = names.iter().zip(&values).find(|(_, value)| value.is_none());
        if let Some((name, _)) = missing {
            return Err(ConfigError { name, problem: format!("is not set, while {set} is") });
        }
        let [Some(issuer), Some(id), Some(secret), _] = values else { return Ok(None) };
        let invalid = |problem: &str| ConfigError { name: ISSUER, problem: problem.to_owned() };
        let url = Url::parse(&issuer).map_err(|_| invalid("must be a URL"))?;
        if !is_private(&url) {
            return Err(invalid("must be an https URL; http is for this machine only"));
        }
        let is_plain = url.query().or(url.fragment()).or(url.password()).is_none();
        if !is_plain || !url.username().is_empty() {
            return Err(invalid("must have no query, no fragment and no password"));
        }
        Ok(Some(Self {
            // Kept as written: the provider's tokens must contain exactly the same text.
            issuer: IssuerUrl::new(issuer).map_err(|_| invalid("must be a URL"))?,
            client_id: ClientId::new(id),
            client_secret: ClientSecret::new(secret),
        }))
    }
}

/// Whether nobody on the network can read the traffic: the URL uses https or leads to this machine.
pub(super) fn is_private(url: &Url) -> bool {
    match (url.scheme(), url.host()) {
        ("https", Some(_)) => true,
        ("http", Some(Host::Domain(name))) => name == "localhost",
        ("http", Some(Host::Ipv4(address))) => address.is_loopback(),
        ("http", Some(Host::Ipv6(address))) => address.is_loopback(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(&str, &str); 4] = [
        (ISSUER, "https://id.example.com/realms/ops"),
        (CLIENT_ID, "vedette"),
        (CLIENT_SECRET, "s3cret"),
        (Service::SIGN_IN_WITH, "Keycloak"),
    ];

    fn read(set: &[(&str, &str)]) -> Result<Option<ProviderConfig>, String> {
        let read = |name: &str| {
            set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
        };
        ProviderConfig::read(&read).map_err(|error| error.to_string())
    }

    #[test]
    fn a_provider_needs_all_of_its_settings() {
        assert!(read(&[]).expect("nothing").is_none());
        let config = read(&ALL).expect("all").expect("a provider");
        assert_eq!(config.issuer.as_str(), "https://id.example.com/realms/ops");
        assert!(!format!("{config:?}").contains("s3cret"));
        for left_out in 0..ALL.len() {
            let mut some = ALL.to_vec();
            let (name, _) = some.remove(left_out);
            let said = read(&some).expect_err(name);
            assert_eq!(said, format!("{name}: is not set, while {} is", some[0].0));
        }
    }

    #[test]
    fn an_issuer_needs_https_unless_it_is_local() {
        let issuer = |url| {
            let mut all = ALL;
            all[0].1 = url;
            read(&all).map(|config| config.is_some())
        };
        for url in
            ["https://id.test", "http://127.0.0.1:9000", "http://[::1]/a", "http://localhost"]
        {
            assert_eq!(issuer(url), Ok(true), "{url}");
        }
        for (url, problem) in [
            ("id.example.com", "a URL"),
            ("http://id.example.com", "https"),
            ("http://127.0.0.1.example.com", "https"),
            ("ftp://id.example.com", "https"),
            ("https://id.example.com?a=b", "no query"),
            ("https://id.example.com#a", "no fragment"),
            ("https://me:me@id.example.com", "no password"),
            ("https://me@id.example.com", "no password"),
        ] {
            let said = issuer(url).expect_err(url);
            assert!(said.starts_with("VEDETTE_OIDC_ISSUER: ") && said.contains(problem), "{said}");
        }
    }
}
