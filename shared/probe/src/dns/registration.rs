//! A domain's registration, over RDAP (RFC 9082, RFC 9083).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, LOCATION, USER_AGENT};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use url::{Host, Url};
use vedette_domain::checks::check::Registration;

use crate::http::{self, RedirectChain, follow_or_keep};
use crate::registrable::{PrivateDomain, registrable_domain};
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
const REDIRECT_LOOP: &str = "the registry redirects in circles";

/// How long it is cached whether there is a registry below a private suffix.
const SUFFIX_CACHE_TTL: Duration = Duration::from_secs(24 * 3600);

/// Statuses kept of a registration, and characters of each. RFC 8056 has 32 of up to 26 characters.
const STATUS_LIMIT: (usize, usize) = (32, 64);

/// The year in which the first domains were registered; a date before it is a placeholder.
const FIRST_YEAR: i16 = 1985;

/// The year of dates that stand for "never".
const LAST_YEAR: i16 = 9999;

/// Finds registrations, and caches them.
pub(super) struct RdapClient {
    service: Option<Url>,
    answers: Cache<Result<RdapAnswer, Unanswered>>,
    /// Whether there is a registry below a private suffix.
    suffixes: Cache<bool>,
}

/// What a registry says about a domain that it knows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RdapAnswer {
    /// The registration.
    pub(super) registration: Registration,
    /// Which of its dates cannot be read, in words for people.
    pub(super) unread: Option<String>,
}

/// Why a registry says nothing about a domain.
#[derive(Debug, Clone, PartialEq)]
enum Unanswered {
    /// It does not know the domain.
    Unknown,
    /// It does not answer for this domain, but may for the one above. In words for people.
    NotServed(String),
    /// It cannot be asked now. In words for people.
    Failed(String),
}

impl Unanswered {
    /// Why the registration of `domain` is unknown, in words for people.
    fn about(self, domain: &str) -> String {
        match self {
            Self::Unknown => format!("the registry does not know {domain}"),
            Self::NotServed(why) | Self::Failed(why) => why,
        }
    }
}

impl From<String> for Unanswered {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// What is known by name, each for some time.
struct Cache<T>(Mutex<HashMap<String, (Instant, T)>>);

impl<T: Clone> Cache<T> {
    fn new() -> Self {
        Self(Mutex::default())
    }

    fn get(&self, name: &str) -> Option<T> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, value) = known.get(name).filter(|(until, _)| *until > Instant::now())?;
        Some(value.clone())
    }

    /// What does not fit is looked up again.
    fn insert(&self, name: &str, value: T, lifetime: Duration) {
        let now = Instant::now();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CACHED {
            known.retain(|_, (until, _)| *until > now);
        }
        if known.len() < MAX_CACHED || known.contains_key(name) {
            known.insert(name.to_owned(), (now + lifetime, value));
        }
    }
}

/// The registry and the instants of one lookup.
#[derive(Clone, Copy)]
struct Lookup<'a> {
    guard: &'a SsrfGuard,
    service: &'a Url,
    until: Instant,
    now: Timestamp,
}

impl RdapClient {
    pub(super) fn new(service: Option<Url>) -> Self {
        Self { service, answers: Cache::new(), suffixes: Cache::new() }
    }

    /// The registration of the domain of `host`, or why it is unknown, in words for people. The answer comes by `until`
    /// and is judged at `now`.
    ///
    /// Below a private suffix, the name below it is looked up first. If the registry does not answer for it, the domain
    /// above is looked up. If it does not know the name, this is remembered of the suffix for a day, unless another
    /// name below it was found.
    pub(super) async fn registration(
        &self,
        guard: &SsrfGuard,
        host: &str,
        until: Instant,
        now: Timestamp,
    ) -> Result<RdapAnswer, String> {
        let Some(service) = &self.service else {
            return Err("registrations are not looked up here".to_owned());
        };
        let lookup = Lookup { guard, service, until, now };
        let domain = registrable_domain(host).ok_or("the host is not in a registered domain")?;
        let own = PrivateDomain::of(host);
        if let Some(PrivateDomain { domain, suffix }) = own {
            let has_registry = self.suffixes.get(suffix);
            if has_registry != Some(false) {
                match self.answer(lookup, domain).await {
                    Ok(found) => {
                        self.suffixes.insert(suffix, true, SUFFIX_CACHE_TTL);
                        return Ok(found);
                    }
                    Err(Unanswered::Unknown) if has_registry.is_none() => {
                        self.suffixes.insert(suffix, false, SUFFIX_CACHE_TTL);
                    }
                    Err(Unanswered::Unknown | Unanswered::NotServed(_)) => {}
                    Err(Unanswered::Failed(why)) => return Err(why),
                }
            }
        }
        let found = self.answer(lookup, domain).await;
        let mut found = found.map_err(|why| why.about(domain))?;
        found.registration.unregistered = own.map(|own| own.domain.to_owned());
        Ok(found)
    }

    /// The registration of `domain`.
    async fn answer(
        &self,
        Lookup { guard, service, until, now }: Lookup<'_>,
        domain: &str,
    ) -> Result<RdapAnswer, Unanswered> {
        if let Some(known) = self.answers.get(domain) {
            return known;
        }
        let found = timeout_at(until, fetch(guard, service, domain)).await;
        let found =
            found.unwrap_or_else(|_| Err("the registry did not answer in time".to_owned().into()));
        let lifetime = if found.is_ok() { CACHE_TTL } else { FAILURE_CACHE_TTL };
        let forgotten_at = now.saturating_add(CACHE_TTL).unwrap_or(now);
        if !found.as_ref().is_ok_and(|known| known.registration.expires_soon(forgotten_at)) {
            self.answers.insert(domain, found.clone(), lifetime);
        }
        found
    }
}

async fn fetch(guard: &SsrfGuard, service: &Url, domain: &str) -> Result<RdapAnswer, Unanswered> {
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
    let response = response.ok_or_else(|| REDIRECT_LOOP.to_owned())?;
    match response.status().as_u16() {
        200 => {
            let body = Limited::new(response.into_body(), BODY_LIMIT).collect().await;
            let body = body.map_err(|_| "the registry's answer is too large".to_owned())?;
            read(domain, &body.to_bytes())
        }
        // An empty `Location` is the URL itself.
        301 | 302 | 303 | 307 | 308
            if response.headers().get(LOCATION).is_some_and(HeaderValue::is_empty) =>
        {
            Err(REDIRECT_LOOP.to_owned().into())
        }
        301 | 302 | 303 | 307 | 308 => Err("the registry redirects to nowhere".to_owned().into()),
        404 => Err(Unanswered::Unknown),
        code => {
            let why = format!("the registry answers HTTP {code}");
            let is_not_served = code != 429 && matches!(code, 400..=499 | 501);
            Err(if is_not_served { Unanswered::NotServed(why) } else { Unanswered::Failed(why) })
        }
    }
}

/// Reads a domain object (RFC 9083, section 5.3).
fn read(domain: &str, body: &[u8]) -> Result<RdapAnswer, Unanswered> {
    let object: Value = serde_json::from_slice(body)
        .map_err(|_| "the registry's answer cannot be read".to_owned())?;
    let is_named = |field: &str| {
        let name = object[field].as_str().map(|name| Host::parse(name.trim()));
        matches!(name, Some(Ok(Host::Domain(name))) if name.strip_suffix('.').unwrap_or(&name) == domain)
    };
    if object["objectClassName"] != "domain" || !(is_named("ldhName") || is_named("unicodeName")) {
        let why = format!("the registry's answer is not about {domain}");
        return Err(Unanswered::NotServed(why));
    }
    let mut unread = None;
    let mut latest = |action: &str| {
        let events = object["events"].as_array().into_iter().flatten();
        let of_action = events.filter(|event| {
            event["eventAction"].as_str().is_some_and(|it| it.trim().eq_ignore_ascii_case(action))
        });
        let dates = of_action.filter_map(|event| match event["eventDate"].as_str().map(date) {
            Some(Some(date)) => date,
            _ => {
                let shown: String =
                    event["eventDate"].to_string().chars().take(NAME_LIMIT).collect();
                unread = Some(match event["eventDate"] {
                    Value::Null => format!("the registry's {action} event has no date"),
                    _ => format!("the registry's {action} date cannot be read: {shown}"),
                });
                None
            }
        });
        // A registry may list past events, too.
        dates.max()
    };
    let (registered_at, expires_at) = (latest("registration"), latest("expiration"));
    let (count, characters) = STATUS_LIMIT;
    let status = object["status"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let status = status.map(|text| text.trim().chars().take(characters).collect()).take(count);
    let registration = Registration {
        domain: domain.to_owned(),
        registrar: registrar(&object),
        registered_at,
        expires_at,
        status: status.collect(),
        unregistered: None,
    };
    Ok(RdapAnswer { registration, unread })
}

/// Reads the date of an event. RFC 9083 requires that of RFC 3339, but registries also send dates without a time,
/// without an offset (which counts as UTC), with spaces, and with 24:00. `None` if it is anything else, and
/// `Some(None)` if it is a placeholder for an unknown date.
fn date(text: &str) -> Option<Option<Timestamp>> {
    let text = text.trim();
    let year = text.get(..4)?.parse().ok()?;
    if !(FIRST_YEAR..LAST_YEAR).contains(&year) {
        return Some(None);
    }
    let (date, rest) = text.split_at_checked("2027-03-15".len())?;
    let rest = rest.trim_start_matches(['T', 't', ' ']);
    let is_of_time = |letter: char| letter.is_ascii_digit() || [':', '.', ','].contains(&letter);
    let (time, offset) =
        rest.split_at(rest.find(|letter| !is_of_time(letter)).unwrap_or(rest.len()));
    let offset = match offset.trim() {
        "" | "z" | "UTC" | "GMT" => "Z",
        offset => offset,
    };
    let (time, days) = match time.strip_prefix("24:") {
        Some(rest) if rest.chars().all(|letter| !('1'..='9').contains(&letter)) => {
            (format!("00:{rest}"), 1)
        }
        _ if time.is_empty() => ("00:00".to_owned(), 0),
        _ => (time.to_owned(), 0),
    };
    let read: Timestamp = format!("{date}T{time}{offset}").parse().ok()?;
    Some(read.checked_add(SignedDuration::from_hours(24 * days)).ok())
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
            "status": ["active", 7, " redemption period"],
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
        let registration = Registration {
            domain: "example.com".to_owned(),
            registrar: Some("Registrar, Inc.".to_owned()),
            registered_at: at("1995-08-14T04:00:00Z"),
            expires_at: at("2027-08-13T04:00:00Z"),
            status: vec!["active".to_owned(), "redemption period".to_owned()],
            unregistered: None,
        };
        let expected = RdapAnswer { registration, unread: None };
        assert_eq!(read("example.com", whole.to_string().as_bytes()), Ok(expected));
        let bare = json!({
            "objectClassName": "domain", "ldhName": "example.com.",
            "events": [{"eventAction": "expiration", "eventDate": "soon"}, 7], "status": "active",
            "entities": [{"roles": "registrar"}, {"roles": ["registrar"], "vcardArray": []}],
        });
        let registration = Registration {
            domain: "example.com".to_owned(),
            registrar: None,
            registered_at: None,
            expires_at: None,
            status: Vec::new(),
            unregistered: None,
        };
        let unread = "the registry's expiration date cannot be read: \"soon\"".to_owned();
        let expected = RdapAnswer { registration, unread: Some(unread) };
        assert_eq!(read("example.com", bare.to_string().as_bytes()), Ok(expected));
    }

    #[test]
    fn dates_are_read_as_registries_write_them() {
        let midnight = Some("2027-03-15T00:00:00Z");
        for (text, expected) in [
            ("2027-03-15T00:00:00Z", midnight),
            ("2027-03-15", midnight),
            ("2027-03-15Z", midnight),
            ("2027-03-15T00:00:00", midnight),
            ("2027-03-15t00:00z", midnight),
            ("2027-03-15 00:00:00.000", midnight),
            (" 2027-03-15T00:00:00Z\n", midnight),
            ("2027-03-15 00:00:00 UTC", midnight),
            ("2027-03-15T02:00:00+0200", midnight),
            ("2027-03-15 02:00:00 +02:00", midnight),
            ("2027-03-15+00:00", midnight),
            ("2027-03-14T24:00:00Z", midnight),
            ("2027-03-14 24:00", midnight),
            ("2027-03-14T24:00:00.0-00:00", midnight),
            ("2026-12-31T24:00:00-05:00", Some("2027-01-01T05:00:00Z")),
            ("1985-01-01", Some("1985-01-01T00:00:00Z")),
            // Placeholders.
            ("0001-01-01T00:00:00Z", None),
            ("0000-00-00 00:00:00", None),
            ("-0001-11-30T00:00:00Z", None),
            ("1970-01-01", None),
            ("1984-12-31T23:59:59Z", None),
            ("9999-12-31T23:59:59Z", None),
        ] {
            let expected = expected.map(|text| text.parse().expect("a timestamp"));
            assert_eq!(date(text), Some(expected), "{text:?}");
        }
        for text in [
            "",
            "soon",
            "2027",
            "2027-02-30",
            "2027-03-15T25:00:00Z",
            "2027-03-15T24:01:00Z",
            "2027-03-15T00:00:00 CLST",
            "15.03.2027",
            "2027-03-1ü",
            "üüüü-03-15",
        ] {
            assert_eq!(date(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_latest_readable_date_counts_and_names_are_compared_in_punycode() {
        let event = |date: Value| json!({"eventAction": "expiration", "eventDate": date});
        for (names, dates, end, is_unread) in [
            (json!({"ldhName": "bücher.com"}), vec![json!("2027-03-15")], "2027-03-15", false),
            (json!({"unicodeName": "Bücher.com."}), vec![json!("2027-03-15")], "2027-03-15", false),
            (
                json!({"ldhName": "XN--BCHER-KVA.COM"}),
                vec![json!("2027-03-15")],
                "2027-03-15",
                false,
            ),
            (
                json!({"ldhName": "xn--bcher-kva.com", "unicodeName": 7}),
                vec![json!("unknown"), json!("2026-03-15"), json!("2027-03-15"), json!(null)],
                "2027-03-15",
                true,
            ),
            (
                json!({"ldhName": "xn--bcher-kva.com"}),
                vec![json!("2027-03-15"), json!("0001-01-01")],
                "2027-03-15",
                false,
            ),
        ] {
            let mut object = names;
            object["objectClassName"] = "domain".into();
            object["events"] = dates.into_iter().map(event).collect();
            let read = read("xn--bcher-kva.com", object.to_string().as_bytes()).expect("readable");
            assert_eq!(read.registration.expires_at, date(end).flatten(), "{object}");
            assert_eq!(read.unread.is_some(), is_unread, "{object}");
        }
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
            let unanswered = read("example.com", body.as_bytes()).expect_err("not readable");
            assert_eq!(unanswered.about("example.com"), why, "{body}");
        }
        let deep = "[".repeat(200_000);
        assert!(read("example.com", deep.as_bytes()).is_err());
    }
}
