//! A domain's registration, over RDAP (RFC 9082, RFC 9083).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, LOCATION, USER_AGENT};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use url::Url;
use vedette_domain::checks::check::Registration;

use crate::http::{self, RedirectChain, follow_or_keep};
use crate::registrable::registrable_domain;
use crate::ssrf_guard::SsrfGuard;

/// Redirects followed: from the bootstrap service to the registry, and from there to the registrar.
const MAX_REDIRECTS: usize = 4;

/// Bytes of a response at most; real ones have about 10 KiB.
const BODY_LIMIT: usize = 256 * 1024;

/// Characters kept of a registrar's name.
const NAME_LIMIT: usize = 128;

/// How long a registration is cached. Registrations last for years, and RDAP services limit frequent clients. A
/// registration that ends soon is not cached: after a renewal, processes with different cached answers would
/// alternately report it.
const CACHE_TTL: Duration = Duration::from_secs(12 * 3600);

/// How long a failure is cached.
const FAILURE_CACHE_TTL: Duration = Duration::from_secs(600);

/// The most domains that are cached.
const MAX_CACHED: usize = 2_000;

/// The error of endless redirects.
const CIRCLES: &str = "the registry redirects in circles";

/// Finds registrations, and caches them.
pub(super) struct RdapClient {
    service: Option<Url>,
    entries: Mutex<HashMap<String, CacheEntry>>,
}

struct CacheEntry {
    until: Instant,
    registration: Result<Registration, String>,
}

impl RdapClient {
    pub(super) fn new(service: Option<Url>) -> Self {
        Self { service, entries: Mutex::default() }
    }

    /// The registration of the domain of `host`, or why it is unknown, in words for people. The answer comes by `until`
    /// and is judged at `now`.
    pub(super) async fn registration(
        &self,
        guard: &SsrfGuard,
        host: &str,
        until: Instant,
        now: Timestamp,
    ) -> Result<Registration, String> {
        let Some(service) = &self.service else {
            return Err("registrations are not looked up here".to_owned());
        };
        let domain = registrable_domain(host).ok_or("the host is not in a registered domain")?;
        if let Some(known) = self.cached(domain) {
            return known;
        }
        let found = timeout_at(until, fetch(guard, service, domain)).await;
        let found = found.unwrap_or_else(|_| Err("the registry did not answer in time".to_owned()));
        let forgotten_at = now.saturating_add(CACHE_TTL).unwrap_or(now);
        if !found.as_ref().is_ok_and(|found| found.expires_soon(forgotten_at)) {
            self.cache(domain, found.clone());
        }
        found
    }

    fn cached(&self, domain: &str) -> Option<Result<Registration, String>> {
        let known = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(domain).filter(|known| known.until > Instant::now())?;
        Some(known.registration.clone())
    }

    fn cache(&self, domain: &str, registration: Result<Registration, String>) {
        let lifetime = if registration.is_ok() { CACHE_TTL } else { FAILURE_CACHE_TTL };
        let now = Instant::now();
        let mut known = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CACHED {
            known.retain(|_, known| known.until > now);
        }
        // Domains that do not fit are looked up again.
        if known.len() < MAX_CACHED {
            known.insert(domain.to_owned(), CacheEntry { until: now + lifetime, registration });
        }
    }
}

async fn fetch(guard: &SsrfGuard, service: &Url, domain: &str) -> Result<Registration, String> {
    let mut url = service.clone();
    url.path_segments_mut()
        .map_err(|()| "the RDAP service's URL has no path".to_owned())?
        .pop_if_empty()
        .push(domain);
    let mut headers = HeaderMap::with_capacity(2);
    headers.insert(USER_AGENT, HeaderValue::from_static(crate::USER_AGENT));
    headers.insert(ACCEPT, HeaderValue::from_static("application/rdap+json"));
    let headers = &headers;
    let request = |url: Url| async move {
        if url.scheme() != "https" {
            return Err("the registry cannot be reached over https".to_owned());
        }
        let response = http::get(guard, &url, headers.clone()).await;
        let response = response.map_err(|error| format!("the registry: {error}"))?;
        follow_or_keep(response, &url).map_err(|error| format!("the registry: {error}"))
    };
    let response = RedirectChain::new(&url).follow(MAX_REDIRECTS, request).await?;
    let response = response.ok_or(CIRCLES)?;
    match response.status().as_u16() {
        200 => {
            let body = Limited::new(response.into_body(), BODY_LIMIT).collect().await;
            let body = body.map_err(|_| "the registry's answer is too large")?;
            read(domain, &body.to_bytes())
        }
        // An empty `Location` is the URL itself.
        301 | 302 | 303 | 307 | 308
            if response.headers().get(LOCATION).is_some_and(HeaderValue::is_empty) =>
        {
            Err(CIRCLES.to_owned())
        }
        301 | 302 | 303 | 307 | 308 => Err("the registry redirects to nowhere".to_owned()),
        404 => Err(format!("the registry knows no {domain}")),
        code => Err(format!("the registry answers HTTP {code}")),
    }
}

/// Reads a domain object (RFC 9083, section 5.3).
fn read(domain: &str, body: &[u8]) -> Result<Registration, String> {
    let object: Value = serde_json::from_slice(body)
        .map_err(|_| "the registry's answer cannot be read".to_owned())?;
    let named = object["ldhName"].as_str().map(|name| name.strip_suffix('.').unwrap_or(name));
    if object["objectClassName"] != "domain"
        || !named.is_some_and(|name| name.eq_ignore_ascii_case(domain))
    {
        return Err(format!("the registry's answer is not about {domain}"));
    }
    let event = |action: &str| -> Option<Timestamp> {
        let events = object["events"].as_array()?;
        let event = events.iter().find(|event| event["eventAction"] == action)?;
        event["eventDate"].as_str()?.parse().ok()
    };
    Ok(Registration {
        domain: domain.to_owned(),
        registrar: registrar(&object),
        registered_at: event("registration"),
        expires_at: event("expiration"),
    })
}

/// The full name (`fn`) on the vCard (RFC 7095) of the entity with the role of registrar.
fn registrar(object: &Value) -> Option<String> {
    let has_role = |entity: &&Value| {
        entity["roles"].as_array().is_some_and(|roles| roles.iter().any(|it| it == "registrar"))
    };
    let entity = object["entities"].as_array()?.iter().find(has_role)?;
    let card = entity["vcardArray"][1].as_array()?;
    let name = card.iter().find(|property| property[0] == "fn")?[3].as_str()?.trim();
    (!name.is_empty()).then(|| name.chars().take(NAME_LIMIT).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_domain_object_is_read() {
        let whole = json!({
            "objectClassName": "domain",
            "ldhName": "EXAMPLE.COM",
            "events": [
                {"eventAction": "registration", "eventDate": "1995-08-14T04:00:00Z"},
                {"eventAction": "expiration", "eventDate": "2027-08-13T06:00:00+02:00"},
            ],
            "entities": [
                {"roles": ["abuse"], "vcardArray": ["vcard", [["fn", {}, "text", "Wrong"]]]},
                {"roles": ["registrar"],
                 "vcardArray": ["vcard", [["version", {}, "text", "4.0"],
                                          ["fn", {}, "text", "Registrar, Inc."]]]},
            ],
        });
        let at = |text: &str| Some(text.parse().expect("a timestamp"));
        let expected = Registration {
            domain: "example.com".to_owned(),
            registrar: Some("Registrar, Inc.".to_owned()),
            registered_at: at("1995-08-14T04:00:00Z"),
            expires_at: at("2027-08-13T04:00:00Z"),
        };
        assert_eq!(read("example.com", whole.to_string().as_bytes()), Ok(expected));
        let bare = json!({
            "objectClassName": "domain", "ldhName": "example.com.",
            "events": [{"eventAction": "expiration", "eventDate": "soon"}, 7],
            "entities": [{"roles": "registrar"}, {"roles": ["registrar"], "vcardArray": []}],
        });
        let expected = Registration {
            domain: "example.com".to_owned(),
            registrar: None,
            registered_at: None,
            expires_at: None,
        };
        assert_eq!(read("example.com", bare.to_string().as_bytes()), Ok(expected));
    }

    #[test]
    fn other_answers_are_refused() {
        for (body, why) in [
            ("", "the registry's answer cannot be read"),
            ("<html>", "the registry's answer cannot be read"),
            ("[]", "the registry's answer is not about example.com"),
            ("null", "the registry's answer is not about example.com"),
            (
                r#"{"objectClassName":"domain","ldhName":"example.net"}"#,
                "the registry's answer is not about example.com",
            ),
            (
                r#"{"objectClassName":"entity","ldhName":"example.com"}"#,
                "the registry's answer is not about example.com",
            ),
        ] {
            assert_eq!(read("example.com", body.as_bytes()), Err(why.to_owned()), "{body}");
        }
        let deep = "[".repeat(200_000);
        assert!(read("example.com", deep.as_bytes()).is_err());
    }
}
