//! Parses arguments. An invalid argument is a usage error, which is reported before the table is
//! read.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use uuid::Uuid;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::email::{EmailError, parse_email};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::name::{NameError, parse_name};

/// The fewest digits of a hash. Fewer could match another token by mistake.
const HASH_PREFIX_MIN: usize = 6;

/// The most bytes of a secret that are read. Longer than the longest URL, so that a URL that is too long is refused and
/// not cut.
pub(crate) const READ_MAX: u64 = 16 * 1024;

/// Reads a secret, such as a token, from the file that an option names.
pub(crate) fn read_secret(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(READ_MAX).read_to_string(&mut text)?;
    Ok(text)
}

pub(crate) fn team_id(text: &str) -> Result<TeamId, &'static str> {
    TeamId::parse(text).ok_or("expected a uuid")
}

pub(crate) fn site_id(text: &str) -> Result<SiteId, &'static str> {
    SiteId::parse(text).ok_or("expected the uuid of a site")
}

/// Any uuid. One that cannot belong to an issue is treated like one that does not exist.
pub(crate) fn issue_id(text: &str) -> Result<Uuid, &'static str> {
    team_id(text).map(TeamId::as_uuid)
}

pub(crate) fn name(text: &str) -> Result<String, NameError> {
    parse_name(text).map(str::to_owned)
}

pub(crate) fn email(text: &str) -> Result<String, EmailError> {
    parse_email(text).map(str::to_owned)
}

pub(crate) fn hash_prefix(text: &str) -> Result<String, &'static str> {
    if text.len() < HASH_PREFIX_MIN || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("expected at least 6 hexadecimal digits, as `token list` shows them");
    }
    Ok(text.to_ascii_lowercase())
}

pub(crate) fn role() -> impl TypedValueParser<Value = Role> {
    one_of(Role::ALL.map(Role::as_str), Role::parse)
}

/// The address of the dashboard, without a slash at the end. The API's base URL is accepted as well.
pub(crate) fn pages_base(text: &str) -> Result<String, &'static str> {
    let base = text.trim_end_matches('/');
    let base = base.strip_suffix("/api/v1").unwrap_or(base);
    let host = base.strip_prefix("https://").or_else(|| base.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && !host.contains(char::is_whitespace) => {
            Ok(base.to_owned())
        }
        _ => Err("expected an address such as https://monitor.example.com"),
    }
}

/// A role for a new member.
pub(crate) fn new_role() -> impl TypedValueParser<Value = Role> {
    one_of(Role::NEW.map(Role::as_str), Role::parse)
}

pub(crate) fn plan() -> impl TypedValueParser<Value = Plan> {
    one_of(Plan::ALL.map(Plan::as_str), Plan::parse)
}

/// How long something lasts: `2h`, `90 minutes`, `1d 12h`; a day has 24 hours.
pub(crate) fn duration(text: &str) -> Result<SignedDuration, &'static str> {
    let span: Span = text.parse().map_err(|_| NO_DURATION)?;
    let duration =
        span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| NO_DURATION)?;
    if duration.is_positive() { Ok(duration) } else { Err(NO_DURATION) }
}

const NO_DURATION: &str = "expected a duration such as 2h, 90m or 3d";

pub(crate) fn instant(text: &str) -> Result<Timestamp, &'static str> {
    text.parse().map_err(|_| "expected a time such as 2026-11-20T18:00:00Z")
}

fn one_of<T, const N: usize>(
    values: [&'static str; N],
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(values)
        .try_map(move |value| parse(&value).ok_or_else(|| format!("`{value}` is not known")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_file_is_not_read_to_its_end() {
        let read = read_secret(Path::new("/dev/zero")).expect("read");
        assert_eq!(read.len() as u64, READ_MAX);
    }

    #[test]
    fn texts_are_read_or_refused() {
        assert_eq!(email(" ada@example.com ").as_deref(), Ok("ada@example.com"));
        for other in ["", "ada", "@example.com", "ada@", "ada lace@example.com", "a\n@example.com"]
        {
            assert!(email(other).is_err(), "{other}");
        }
        for (text, hours) in [("2h", 2), ("1d 12h", 36), ("120 minutes", 2), ("3 days", 72)] {
            assert_eq!(duration(text), Ok(SignedDuration::from_hours(hours)), "{text}");
        }
        for other in ["", "2", "0h", "-2h", "2h ago", "1 month", "tomorrow"] {
            assert!(duration(other).is_err(), "{other}");
        }
        assert_eq!(instant("2026-11-20T10:54:00+01:00"), instant("2026-11-20T09:54:00Z"));
        assert!(instant("2026-11-20").is_err());
        assert_eq!(name(" Ada ").as_deref(), Ok("Ada"));
        assert_eq!(name(" "), Err(NameError::Empty));
        for text in ["http://a.test", "http://a.test/", "http://a.test/api/v1"] {
            assert_eq!(pages_base(text).as_deref(), Ok("http://a.test"), "{text}");
        }
        for other in ["", "a.test", "https://", "https://a test", "ftp://a.test"] {
            assert!(pages_base(other).is_err(), "{other}");
        }
        assert_eq!(hash_prefix("ABCDEF12").as_deref(), Ok("abcdef12"));
        for other in ["", "abcde", "abcdeg"] {
            assert!(hash_prefix(other).is_err(), "{other}");
        }
    }
}
