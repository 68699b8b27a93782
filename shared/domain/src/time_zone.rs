//! Time zones by their IANA names, as teams and users choose them.
//!
//! The database is compiled in, so that a zone means the same on every machine: a Lambda function may have no database,
//! and two machines may have different versions.

use jiff::civil::{Date, DateTime};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use crate::input::{TextKind, TextRule, input};

input! {
    /// The time zone that a team or a user chooses.
    ZoneChoice {
        /// An IANA time zone name, such as `Europe/Berlin`. Null means UTC for a team, and each team's time zone for a
        /// user.
        time_zone: Sent<NamedZone> = NamedZone::RULE;
    }
}

/// The longest name that is looked up, in bytes; the longest in the database has 32.
const TIME_ZONE_NAME_MAX: usize = 64;

/// A time zone with its IANA name, such as `Europe/Berlin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct NamedZone {
    name: String,
    rules: TimeZone,
}

impl NamedZone {
    /// The rule for names that people enter.
    pub const RULE: TextRule<Self> = TextRule {
        min: 0,
        max: TIME_ZONE_NAME_MAX,
        kind: TextKind::Other,
        parse: |name| {
            Self::parse(name)
                .ok_or_else(|| "must be an IANA time zone name, such as Europe/Berlin".to_owned())
        },
    };

    /// Coordinated Universal Time, the default.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), rules: TimeZone::UTC }
    }

    /// The zone with this name, in any case; `None` if the database has no such name.
    pub fn parse(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("UTC") {
            return Some(Self::utc());
        }
        // The database uses this name for an unknown zone.
        if name.len() > TIME_ZONE_NAME_MAX || name.eq_ignore_ascii_case("Etc/Unknown") {
            return None;
        }
        let rules = TimeZoneDatabase::bundled().get(name).ok()?;
        Some(Self { name: rules.iana_name()?.to_owned(), rules })
    }

    /// The names of all zones: UTC, then the others in alphabetical order.
    pub fn names() -> Vec<String> {
        let database = TimeZoneDatabase::bundled();
        let mut names: Vec<_> = database.available().map(|name| name.to_string()).collect();
        names.retain(|name| !matches!(name.as_str(), "UTC" | "Etc/Unknown"));
        names.sort_unstable();
        names.insert(0, "UTC".to_owned());
        names
    }

    /// The name, as the database spells it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is the default.
    pub fn is_utc(&self) -> bool {
        self.rules == TimeZone::UTC
    }

    /// An instant in the local time of the zone.
    pub fn local(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.rules.clone())
    }

    /// The instant at which clocks of the zone show this time. If the clocks skip it, it moves later by as much as they
    /// skip. If they show it twice, it is the first time.
    pub fn instant_of(&self, local: DateTime) -> Option<Timestamp> {
        self.rules.to_ambiguous_timestamp(local).compatible().ok()
    }

    /// The first instant of a day. Where clocks skip midnight, it is the first instant after that.
    pub fn day_start(&self, day: Date) -> Timestamp {
        self.instant_of(day.at(0, 0, 0, 0)).unwrap_or(Timestamp::MAX)
    }

    /// For people: `2026-11-21 13:01 CET`.
    pub fn minute(&self, at: Timestamp) -> String {
        self.local(at).strftime("%Y-%m-%d %H:%M %Z").to_string()
    }

    /// For people who need the second: `2026-11-21 13:01:59 CET`.
    pub fn second(&self, at: Timestamp) -> String {
        self.local(at).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    }
}

impl Default for NamedZone {
    fn default() -> Self {
        Self::utc()
    }
}

/// Reads what is stored. A name that this version's database lacks is kept and counts as UTC, so that no team becomes
/// unreadable.
impl From<String> for NamedZone {
    fn from(name: String) -> Self {
        Self::parse(&name).unwrap_or(Self { name, rules: TimeZone::UTC })
    }
}

impl From<NamedZone> for String {
    fn from(zone: NamedZone) -> Self {
        zone.name
    }
}

impl std::fmt::Display for NamedZone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    #[test]
    fn a_zone_is_found_by_its_name_in_any_case() {
        for (name, found) in [
            ("Europe/Berlin", Some("Europe/Berlin")),
            ("europe/berlin", Some("Europe/Berlin")),
            ("America/Argentina/ComodRivadavia", Some("America/Argentina/ComodRivadavia")),
            ("utc", Some("UTC")),
            ("Etc/GMT+12", Some("Etc/GMT+12")),
            ("Etc/Unknown", None),
            ("Europe/Atlantis", None),
            ("+02:00", None),
            ("CET-1CEST,M3.5.0,M10.5.0/3", None),
            ("../Europe/Berlin", None),
            ("", None),
            (&"A".repeat(1_000_000), None),
        ] {
            assert_eq!(NamedZone::parse(name).as_ref().map(NamedZone::name), found, "{name:.40}");
        }
    }

    #[test]
    fn every_name_that_is_offered_is_a_zone() {
        let names = NamedZone::names();
        assert!(names.len() > 400, "{}", names.len());
        for name in names {
            assert_eq!(NamedZone::parse(&name).expect("a zone").name(), name);
        }
    }

    #[test]
    fn people_read_the_time_of_their_clocks() {
        for (zone, instant, written) in [
            ("UTC", "2026-11-21T12:01:59Z", "2026-11-21 12:01 UTC"),
            ("Europe/Berlin", "2026-11-21T12:01:59Z", "2026-11-21 13:01 CET"),
            ("Europe/Berlin", "2026-07-21T12:01:00Z", "2026-07-21 14:01 CEST"),
            ("America/St_Johns", "2026-11-21T02:00:00Z", "2026-11-20 22:30 NST"),
            ("Pacific/Kiritimati", "2026-11-21T12:00:00Z", "2026-11-22 02:00 +14"),
            ("Asia/Kathmandu", "2026-11-21T12:00:00Z", "2026-11-21 17:45 +0545"),
        ] {
            assert_eq!(NamedZone::parse(zone).expect("a zone").minute(at(instant)), written);
        }
    }

    #[test]
    fn a_time_that_clocks_skip_or_show_twice_is_one_instant() {
        let berlin = NamedZone::parse("Europe/Berlin").expect("a zone");
        for (local, instant) in [
            ("2026-03-29T02:30", "2026-03-29T01:30:00Z"),
            ("2026-10-25T02:30", "2026-10-25T00:30:00Z"),
            ("2026-10-25T03:00", "2026-10-25T02:00:00Z"),
        ] {
            let local: DateTime = local.parse().expect("a time");
            assert_eq!(berlin.instant_of(local), Some(at(instant)), "{local}");
        }
        assert_eq!(berlin.instant_of(DateTime::MIN), None);
    }

    #[test]
    fn a_zone_is_stored_by_its_name_even_if_the_database_has_lost_it() {
        let read =
            |name: &str| -> NamedZone { serde_json::from_value(name.into()).expect("a zone") };
        for name in ["Europe/Berlin", "UTC", "Europe/Atlantis"] {
            assert_eq!(serde_json::to_value(read(name)).expect("json"), name);
        }
        assert!(read("Europe/Atlantis").is_utc());
        assert!(!read("Europe/Berlin").is_utc());
    }
}
