//! The cookies of one chain of requests (RFC 6265, with the stricter rules of browsers in draft RFC 6265bis).
//!
//! `HttpOnly` and `SameSite` have no effect: a check has no scripts, and navigates as if somebody had entered the URL.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::header::{COOKIE, DATE, HeaderMap, HeaderValue, SET_COOKIE};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tokio::time::Instant;
use url::{Host, Url};

use super::HEAD_BYTES;

/// The most cookies that are kept: as many as each client keeps for a domain (RFC 6265, section 6.1). Further ones
/// replace the oldest.
const MAX_COOKIES: usize = 50;

/// The most bytes of cookies that are kept, with their domains and paths. Servers accept less in a request.
const MAX_BYTES: usize = HEAD_BYTES;

/// The most bytes of a name with its value, and of an attribute's value; longer ones are ignored (RFC 6265bis,
/// section 5.6).
const MAX_PAIR: usize = 4_096;
const MAX_ATTRIBUTE: usize = 1_024;

/// The cookies that servers have set so far.
#[derive(Default)]
pub(crate) struct CookieJar(Mutex<Vec<Cookie>>);

struct Cookie {
    name: Box<[u8]>,
    value: Box<[u8]>,
    domain: String,
    /// Whether it is sent to `domain` alone, and not to the names below it.
    is_host_only: bool,
    path: String,
    is_secure: bool,
    /// `None` until the jar is dropped.
    expires: Option<Instant>,
}

impl CookieJar {
    /// Keeps the cookies that a response from `url` sets, and removes those that it lets expire.
    pub(crate) fn keep(&self, headers: &HeaderMap, url: &Url) {
        if !headers.contains_key(SET_COOKIE) {
            return;
        }
        let now = Instant::now();
        let server_time = server_time(headers);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for line in headers.get_all(SET_COOKIE) {
            let Some((cookie, lifetime)) = Cookie::parse(line.as_bytes(), url, server_time) else {
                continue;
            };
            // A page without TLS replaces no cookie of one with TLS.
            let is_guarded = |other: &Cookie| {
                other.is_secure && other.name == cookie.name && other.is_for_host(url)
            };
            if url.scheme() != "https" && kept.iter().any(is_guarded) {
                continue;
            }
            let at = kept.iter().position(|other| other.identity() == cookie.identity());
            match (at, lifetime) {
                (Some(at), Some(Duration::ZERO)) => drop(kept.remove(at)),
                (None, Some(Duration::ZERO)) => {}
                (at, lifetime) => {
                    let expires = lifetime.and_then(|lifetime| now.checked_add(lifetime));
                    let cookie = Cookie { expires, ..cookie };
                    match at {
                        Some(at) => kept[at] = cookie,
                        None => kept.push(cookie),
                    }
                }
            }
            while kept.len() > MAX_COOKIES
                || kept.iter().map(Cookie::size).sum::<usize>() > MAX_BYTES
            {
                kept.remove(0);
            }
        }
    }

    /// The value of `Cookie` in a request to `url`, if there are cookies for it.
    pub(crate) fn header(&self, url: &Url) -> Option<HeaderValue> {
        self.header_after(b"", url)
    }

    /// Adds the cookies to the headers of a request to `url`, after those that the site's own header contains.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap, url: &Url) {
        let own = headers.get(COOKIE).map_or(&b""[..], HeaderValue::as_bytes);
        if let Some(header) = self.header_after(own, url) {
            headers.insert(COOKIE, header);
        }
    }

    /// The pairs of `own`, except those that servers have replaced, and the cookies for `url`. `None` if there are no
    /// cookies for it.
    fn header_after(&self, own: &[u8], url: &Url) -> Option<HeaderValue> {
        let now = Instant::now();
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sent: Vec<_> = kept.iter().filter(|cookie| cookie.is_for(url, now)).collect();
        if sent.is_empty() {
            return None;
        }
        // The most specific paths first, and otherwise in the order in which they were set.
        sent.sort_by_key(|cookie| Reverse(cookie.path.len()));
        let is_kept = |pair: &&[u8]| {
            let name = split_pair(pair).0;
            !pair.is_empty() && sent.iter().all(|cookie| *cookie.name != *name)
        };
        let own = own.split(|byte| *byte == b';').map(<[u8]>::trim_ascii).filter(is_kept);
        let pairs: Vec<_> =
            own.map(<[u8]>::to_vec).chain(sent.iter().map(|cookie| cookie.pair())).collect();
        let mut header = HeaderValue::from_bytes(&pairs.join(&b"; "[..])).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}

impl Cookie {
    /// Parses the `Set-Cookie` of a response from `url` that the server sent at `server_time`. Also returns for how
    /// long the cookie is valid: zero if it is to be removed, `None` if there is no limit.
    ///
    /// `None` if `url` cannot set the cookie. A header contains no control characters except tabs.
    fn parse(line: &[u8], url: &Url, server_time: Timestamp) -> Option<(Self, Option<Duration>)> {
        let mut parts = line.split(|byte| *byte == b';');
        let (name, value) = split_pair(parts.next()?);
        // As in browsers, a text without `=` is a value without a name.
        let (name, value) = value.map_or((&b""[..], name), |value| (name, value));
        if name.is_empty() && value.is_empty() || name.len() + value.len() > MAX_PAIR {
            return None;
        }
        let (mut domain, mut path, mut is_secure) = (None, None, false);
        let (mut expires, mut max_age) = (None, None);
        for part in parts {
            let (attribute, value) = split_pair(part);
            let text = String::from_utf8_lossy(value.unwrap_or_default());
            if text.len() > MAX_ATTRIBUTE {
                continue;
            }
            match attribute.to_ascii_lowercase().as_slice() {
                b"domain" => domain = Some(text.into_owned()),
                b"path" => path = Some(text.into_owned()).filter(|path| path.starts_with('/')),
                b"secure" => is_secure = true,
                b"expires" => expires = date(&text).or(expires),
                b"max-age" => max_age = seconds(&text).or(max_age),
                _ => {}
            }
        }
        let names_no_domain = domain.as_deref().unwrap_or_default().is_empty();
        let (domain, is_host_only) = domain_of(domain.as_deref().unwrap_or_default(), url)?;
        let is_root = path.as_deref() == Some("/");
        let path = path.unwrap_or_else(|| default_path(url).to_owned());
        // A value without a name may not look like a name with a prefix.
        let prefixed = if name.is_empty() { value } else { name };
        let has_prefix = |prefix: &[u8]| {
            prefixed.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        let is_refused = is_secure && url.scheme() != "https"
            || (has_prefix(b"__Secure-") || has_prefix(b"__Host-"))
                && (!is_secure || name.is_empty())
            || has_prefix(b"__Host-") && !(names_no_domain && is_root);
        let until = |end: Timestamp| Duration::try_from(end.duration_since(server_time));
        let lifetime = max_age.or_else(|| expires.map(|end| until(end).unwrap_or_default()));
        let (name, value) = (name.into(), value.into());
        let cookie = Self { name, value, domain, is_host_only, path, is_secure, expires: None };
        (!is_refused).then_some((cookie, lifetime))
    }

    /// What a newer cookie has in common with the one that it replaces.
    fn identity(&self) -> (&[u8], &str, bool, &str) {
        (&self.name, &self.domain, self.is_host_only, &self.path)
    }

    fn size(&self) -> usize {
        self.name.len() + self.value.len() + self.domain.len() + self.path.len()
    }

    fn pair(&self) -> Vec<u8> {
        let equals: &[u8] = if self.name.is_empty() { b"" } else { b"=" };
        [&self.name, equals, &self.value].concat()
    }

    fn is_for_host(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        host == self.domain || !self.is_host_only && is_below(host, &self.domain)
    }

    fn is_for(&self, url: &Url, now: Instant) -> bool {
        let path = url.path().strip_prefix(self.path.as_str());
        self.is_for_host(url)
            && path.is_some_and(|rest| {
                rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/')
            })
            && (!self.is_secure || url.scheme() == "https")
            && self.expires.is_none_or(|end| now < end)
    }
}

/// Name and value around the first `=`, without the white space around them.
fn split_pair(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == b'=') {
        Some(at) => (text[..at].trim_ascii(), Some(text[at + 1..].trim_ascii())),
        None => (text.trim_ascii(), None),
    }
}

/// Whether `host` is a name below `domain`.
fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|name| name.ends_with('.'))
}

/// The domain that gets the cookie of a response from `url`, and whether only the host itself does; `None` if `url`
/// cannot set cookies for the attribute.
fn domain_of(attribute: &str, url: &Url) -> Option<(String, bool)> {
    let host = url.host()?;
    let host_only = || (host.to_string(), true);
    let attribute = attribute.strip_prefix('.').unwrap_or(attribute);
    if attribute.is_empty() {
        return Some(host_only());
    }
    match (Host::parse(attribute).ok()?, &host) {
        (Host::Domain(domain), Host::Domain(host)) => {
            // Also the private part of the list: what github.io sets is not for its customers.
            let name = domain.strip_suffix('.').unwrap_or(&domain);
            if psl::suffix(name.as_bytes()).is_some_and(|suffix| suffix == name) {
                return (domain == *host).then(host_only);
            }
            (domain == *host || is_below(host, &domain)).then_some((domain, false))
        }
        (address, host) => (address == *host).then(host_only),
    }
}

/// The path of cookies from `url` that name none: its folder.
fn default_path(url: &Url) -> &str {
    match url.path().rfind('/') {
        Some(0) | None => "/",
        Some(at) => &url.path()[..at],
    }
}

/// The value of `Max-Age`; negative numbers count as zero.
fn seconds(text: &str) -> Option<Duration> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = if digits == text { digits.parse().unwrap_or(u64::MAX) } else { 0 };
    is_number.then_some(Duration::from_secs(seconds))
}

/// When the server sent the response. Like browsers, we compare dates with the server's own clock, if there is one.
#[expect(clippy::disallowed_methods, reason = "decides which cookies the next request has")]
fn server_time(headers: &HeaderMap) -> Timestamp {
    let text = headers.get(DATE).and_then(|value| value.to_str().ok());
    text.and_then(date)
        .unwrap_or_else(|| Timestamp::try_from(SystemTime::now()).unwrap_or_default())
}

/// Parses a date in one of the many forms that servers send (RFC 6265, section 5.1.1).
fn date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let tokens = text.split(|c: char| !c.is_ascii_alphanumeric() && c != ':');
    for token in tokens.filter(|token| !token.is_empty()) {
        let digits = token.bytes().take_while(u8::is_ascii_digit).count();
        let number = || token[..digits].parse::<i16>().ok();
        let name = token.get(..3).map(str::to_ascii_lowercase);
        let named = name.and_then(|name| MONTHS.iter().position(|month| *month == name));
        if time.is_none() && token.contains(':') {
            time = Some(time_of(token)?);
        } else if day.is_none() && (1..=2).contains(&digits) {
            day = number();
        } else if month.is_none() && named.is_some() {
            month = named;
        } else if year.is_none() && (2..=4).contains(&digits) {
            year = number();
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1_900,
        year @ 0..=69 => year + 2_000,
        year => year,
    };
    let (hour, minute, second) = time?;
    let month = i8::try_from(month? + 1).ok()?;
    let day = i8::try_from(day?).ok()?;
    let date = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    TimeZone::UTC.to_timestamp(date).ok()
}

/// Hours, minutes and seconds.
fn time_of(text: &str) -> Option<(i8, i8, i8)> {
    let mut numbers = text.split(':').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is sent to the second URL after a response from the first with these cookies.
    fn sent(from: &str, lines: &[&str], to: &str) -> String {
        let jar = CookieJar::default();
        set(&jar, from, lines);
        shown(&jar, to)
    }

    fn set(jar: &CookieJar, from: &str, lines: &[&str]) {
        let mut headers = HeaderMap::new();
        headers.insert(DATE, HeaderValue::from_static("Sat, 28 Nov 2026 10:00:00 GMT"));
        for line in lines {
            headers.append(SET_COOKIE, HeaderValue::from_bytes(line.as_bytes()).expect("a value"));
        }
        jar.keep(&headers, &from.parse().expect("a URL"));
    }

    fn shown(jar: &CookieJar, to: &str) -> String {
        let header = jar.header(&to.parse().expect("a URL"));
        header.map_or(String::new(), |header| String::from_utf8_lossy(header.as_bytes()).into())
    }

    #[test]
    fn a_cookie_is_sent_where_browsers_send_it() {
        const HTTP: &str = "http://www.shop.example.com/a/b";
        const HTTPS: &str = "https://www.shop.example.com/a/b";
        for (from, line, to, expected) in [
            (HTTP, "a=1", HTTP, "a=1"),
            (HTTP, " a = 1 ; Path=/", HTTP, "a=1"),
            (HTTP, "a=b=c", HTTP, "a=b=c"),
            (HTTP, "a=\"x y\"", HTTP, "a=\"x y\""),
            (HTTP, "a=", HTTP, "a="),
            (HTTP, "a", HTTP, "a"),
            (HTTP, "=a", HTTP, "a"),
            (HTTP, "=", HTTP, ""),
            (HTTP, "; Path=/", HTTP, ""),
            (HTTP, "a=1", "http://www.shop.example.com:8080/a/c", "a=1"),
            (HTTP, "a=1", "https://www.shop.example.com/a/c", "a=1"),
            // Hosts.
            (HTTP, "a=1", "http://shop.example.com/a/b", ""),
            (HTTP, "a=1", "http://x.www.shop.example.com/a/b", ""),
            (HTTP, "a=1; Domain=", "http://x.www.shop.example.com/a/b", ""),
            (HTTP, "a=1; domain=.Shop.Example.COM", "http://x.shop.example.com/a/b", "a=1"),
            (HTTP, "a=1; Domain=example.com", "http://example.com/a/b", "a=1"),
            (HTTP, "a=1; Domain=example.com", "http://badexample.com/a/b", ""),
            (HTTP, "a=1; Domain=other.com", "http://other.com/a/b", ""),
            (HTTP, "a=1; Domain=x.www.shop.example.com", HTTP, ""),
            (HTTP, "a=1; Domain=com", HTTP, ""),
            ("http://a.github.io/", "a=1; Domain=github.io", "http://a.github.io/", ""),
            ("http://github.io/", "a=1; Domain=github.io", "http://a.github.io/", ""),
            ("http://github.io/", "a=1; Domain=github.io", "http://github.io/", "a=1"),
            ("http://a.corp/", "a=1; Domain=corp", "http://a.corp/", ""),
            ("http://localhost/", "a=1; Domain=localhost", "http://localhost/", "a=1"),
            ("http://127.0.0.1/", "a=1; Domain=127.0.0.1", "http://127.0.0.1:81/", "a=1"),
            ("http://127.0.0.1/", "a=1; Domain=0.0.1", "http://127.0.0.1/", ""),
            ("http://127.0.0.1/", "a=1; Domain=1", "http://127.0.0.1/", ""),
            ("http://[::1]/", "a=1; Domain=[::1]", "http://[::1]/", "a=1"),
            (
                "http://www.xn--bcher-kva.example/",
                "a=1; Domain=xn--bcher-kva.example",
                "http://bücher.example/",
                "a=1",
            ),
            // Paths.
            (HTTP, "a=1", "http://www.shop.example.com/a", "a=1"),
            (HTTP, "a=1", "http://www.shop.example.com/", ""),
            (HTTP, "a=1", "http://www.shop.example.com/ab", ""),
            (HTTP, "a=1; Path=/", "http://www.shop.example.com/", "a=1"),
            (HTTP, "a=1; Path=/x", "http://www.shop.example.com/x/y?z", "a=1"),
            (HTTP, "a=1; Path=/x/", "http://www.shop.example.com/x", ""),
            (HTTP, "a=1; Path=x", "http://www.shop.example.com/a/c", "a=1"),
            (HTTP, "a=1; Path=/x; Path=/", "http://www.shop.example.com/", "a=1"),
            // Encryption.
            (HTTPS, "a=1; Secure", HTTPS, "a=1"),
            (HTTPS, "a=1; secure=no", HTTP, ""),
            (HTTP, "a=1; Secure", HTTPS, ""),
            (HTTPS, "__Secure-a=1; Secure", HTTPS, "__Secure-a=1"),
            (HTTPS, "__Secure-a=1", HTTPS, ""),
            (HTTPS, "__Host-a=1; Secure; Path=/", HTTPS, "__Host-a=1"),
            (HTTPS, "__host-a=1; Secure; Path=/a", HTTPS, ""),
            (HTTPS, "__Host-a=1; Secure; Path=/; Domain=www.shop.example.com", HTTPS, ""),
            (HTTPS, "=__Secure-a=1; Secure", HTTPS, ""),
            // Time: it is 10 o'clock at the server.
            (HTTP, "a=1; Max-Age=60", HTTP, "a=1"),
            (HTTP, "a=1; Max-Age=99999999999999999999", HTTP, "a=1"),
            (HTTP, "a=1; Max-Age=0", HTTP, ""),
            (HTTP, "a=1; Max-Age=-1", HTTP, ""),
            (HTTP, "a=1; Max-Age=soon", HTTP, "a=1"),
            (HTTP, "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", HTTP, ""),
            (HTTP, "a=1; Expires=Sat, 28 Nov 2026 09:59:59 GMT", HTTP, ""),
            (HTTP, "a=1; Expires=Sat, 28-Nov-26 10:01:00 GMT", HTTP, "a=1"),
            (HTTP, "a=1; Expires=0", HTTP, "a=1"),
            (HTTP, "a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", HTTP, "a=1"),
        ] {
            assert_eq!(sent(from, &[line], to), expected, "{line} from {from} to {to}");
        }
    }

    #[test]
    fn a_newer_cookie_replaces_an_older_one_of_the_same_name() {
        const URL: &str = "http://example.com/a/b";
        for (lines, expected) in [
            (&["a=1", "a=2"][..], "a=2"),
            (&["a=1; Path=/", "b=1; Path=/", "a=2; Path=/"], "a=2; b=1"),
            (&["a=1; Path=/", "a=2"], "a=2; a=1"),
            (&["a=1; Path=/", "a=2; Path=/; Domain=example.com"], "a=1; a=2"),
            (&["a=1", "a=2; Max-Age=0"], ""),
            (&["a=1", "b=2", "a=; Expires=Thu, 01-Jan-70 00:00:01 GMT"], "b=2"),
            (&["a=1", "a=2; Path=/; Max-Age=0"], "a=1"),
        ] {
            assert_eq!(sent(URL, lines, URL), expected, "{lines:?}");
        }
        let jar = CookieJar::default();
        set(&jar, "https://example.com/", &["a=1; Secure"]);
        set(&jar, "http://example.com/", &["a=2", "b=2"]);
        assert_eq!(shown(&jar, "http://example.com/"), "b=2");
        assert_eq!(shown(&jar, "https://example.com/"), "a=1; b=2");
    }

    #[test]
    fn a_cookie_expires_while_it_is_kept() {
        let (jar, url) = (CookieJar::default(), "http://example.com/".parse().expect("a URL"));
        let before = Instant::now();
        set(&jar, "http://example.com/", &["a=1; Max-Age=60", "b=1"]);
        let after = Instant::now();
        let kept = jar.0.lock().expect("no panic");
        let is_sent =
            |cookie: &Cookie, now, seconds| cookie.is_for(&url, now + Duration::from_secs(seconds));
        assert!(is_sent(&kept[0], before, 59) && !is_sent(&kept[0], after, 60));
        assert!(is_sent(&kept[1], after, 600));
    }

    #[test]
    fn the_sites_own_cookies_come_first() {
        let jar = CookieJar::default();
        let url = "http://example.com/".parse().expect("a URL");
        let mut headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("own=1"))]);
        jar.add_to(&mut headers, &url);
        assert_eq!(headers[COOKIE], "own=1");
        set(&jar, "http://example.com/", &["a=1"]);
        jar.add_to(&mut headers, &url);
        assert_eq!(headers[COOKIE], "own=1; a=1");
        headers.insert(COOKIE, HeaderValue::from_static("b=x=1;a=0; c;own=1; a = 2"));
        jar.add_to(&mut headers, &url);
        assert_eq!(headers[COOKIE], "b=x=1; c; own=1; a=1");
        assert!(headers[COOKIE].is_sensitive());
    }

    #[test]
    fn cookies_of_a_server_take_bounded_memory() {
        const URL: &str = "http://example.com/";
        let many: Vec<_> = (0..1_000).map(|number| format!("c{number}=1")).collect();
        let many = sent(URL, &many.iter().map(String::as_str).collect::<Vec<_>>(), URL);
        assert_eq!(many.split("; ").count(), MAX_COOKIES);
        assert!(many.starts_with("c950=1; ") && many.ends_with("c999=1"));
        let long = |name: &str, length| format!("{name}={}", "x".repeat(length));
        let lines = [long("a", MAX_PAIR - 1), long("b", MAX_PAIR), "c=1".to_owned()];
        let kept = sent(URL, &lines.each_ref().map(String::as_str), URL);
        assert_eq!((kept.len(), kept.ends_with("; c=1")), (MAX_PAIR + 1 + "; c=1".len(), true));
        let large: Vec<_> = (0..40).map(|number| long(&number.to_string(), 4_000)).collect();
        let large = sent(URL, &large.iter().map(String::as_str).collect::<Vec<_>>(), URL);
        assert!((MAX_BYTES - 4_100..MAX_BYTES + 100).contains(&large.len()), "{}", large.len());
        let attribute = format!("a=1; Path=/{}", "x".repeat(MAX_ATTRIBUTE));
        assert_eq!(sent(URL, &[&attribute], URL), "a=1");
    }

    #[test]
    fn dates_are_read_in_every_form_that_servers_send() {
        let expected = "2026-11-28T08:05:09Z".parse::<Timestamp>().expect("a time");
        for text in [
            "Sat, 28 Nov 2026 08:05:09 GMT",
            "Saturday, 28-Nov-26 08:05:09 GMT",
            "Sat Nov 28 08:05:09 2026",
            "Sat, 28-Nov-2026 08:05:09 GMT",
            "sat, 28 november 2026 8:5:9 utc",
            "28 Nov 2026 08:05:09.000 +0000",
        ] {
            assert_eq!(date(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "0",
            "-1",
            "never",
            "Sat, 28 Nov 2026",
            "31 Feb 2026 08:00:00",
            "28 Nov 26 25:00:00",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_cookie_is_taken(line in "[\t -~\u{80}-\u{ff}]{0,80}|[a=;]{1,4}(; ?(domain|path|max-age|expires)=[ -~]{0,9}){0,4}") {
            let jar = CookieJar::default();
            set(&jar, "https://www.example.com/a/b", &[&line]);
            let bytes = shown(&jar, "https://www.example.com/a/b");
            prop_assert!(bytes.len() <= line.len(), "{bytes:?}");
        }
    }
}
