//! When recurring runs happen.
//!
//! A tool of a site runs every `cadence` minutes, shifted by an offset that is derived from the site and the tool. This
//! spreads the load of all sites evenly, and saving settings never moves a run. Minutes are counted from the Unix
//! epoch, so every slot is known without remembering the last one. A cadence of 0, which no setting allows, counts as
//! 1.

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::checks::tool::Tool;
use crate::id::SiteId;

const MINUTES_PER_HOUR: u32 = 60;
const MINUTES_PER_DAY: u32 = 24 * MINUTES_PER_HOUR;
const MINUTES_PER_WEEK: u32 = 7 * MINUTES_PER_DAY;

/// Days of the week in cron, starting with the day of the epoch: 1970-01-01 was a Thursday.
const DAYS_FROM_EPOCH: [&str; 7] = ["THU", "FRI", "SAT", "SUN", "MON", "TUE", "WED"];

/// The offset of a tool's runs on a site, in minutes from the Unix epoch, less than the cadence.
///
/// It is the first eight bytes (big-endian) of the SHA-256 of the sixteen bytes of the site's UUID and the tool's name
/// in the API, modulo the cadence. The formula is part of the stored state: slots identify runs, so another formula
/// would shift every schedule. If one cadence divides another, every slot of the longer one is also a slot of the
/// shorter one.
pub fn offset(site: SiteId, tool: Tool, cadence_minutes: u32) -> u32 {
    let (minutes, _) = hashes(site, tool);
    // The remainder fits into a u32.
    (minutes % u64::from(cadence_minutes.max(1))) as u32
}

/// The second of a minute at which a tool's run on a site begins, if the polling scheduler sends all runs of that
/// minute at once. This spreads them as evenly as schedules do.
pub fn second(site: SiteId, tool: Tool) -> u32 {
    let (_, within) = hashes(site, tool);
    (within % 60) as u32
}

/// The position of a tool's runs on a site among the minutes, and within the minute: the first and the second eight
/// bytes of the hash that [`offset`] uses.
fn hashes(site: SiteId, tool: Tool) -> (u64, u64) {
    let digest = Sha256::new()
        .chain_update(site.as_uuid().as_bytes())
        .chain_update(tool.as_str())
        .finalize();
    let part = |from: usize| {
        let mut part = [0; 8];
        part.copy_from_slice(&digest[from..from + 8]);
        u64::from_be_bytes(part)
    };
    (part(0), part(8))
}

/// The `cron()` expression in UTC whose instants are the slots of the tool on the site, in the
/// syntax of EventBridge Scheduler: minute, hour, day of month, month, day of week, year, where
/// `3/15` means 3, 18, 33, 48, and one of the two days must be `?`.
///
/// `None` for a cadence that cron cannot express. It can express minutes that divide an hour, whole hours that divide a
/// day, and a week, so it can express every preset.
pub fn cron(site: SiteId, tool: Tool, cadence_minutes: u32) -> Option<String> {
    let offset = offset(site, tool, cadence_minutes);
    let cadence = cadence_minutes.max(1);
    let (minute, hour) = (offset % MINUTES_PER_HOUR, offset / MINUTES_PER_HOUR % 24);
    if cadence == 1 {
        Some("cron(* * * * ? *)".to_owned())
    } else if cadence == MINUTES_PER_HOUR {
        Some(format!("cron({minute} * * * ? *)"))
    } else if MINUTES_PER_HOUR.is_multiple_of(cadence) {
        Some(format!("cron({minute}/{cadence} * * * ? *)"))
    } else if cadence == MINUTES_PER_DAY {
        Some(format!("cron({minute} {hour} * * ? *)"))
    } else if MINUTES_PER_DAY.is_multiple_of(cadence) && cadence.is_multiple_of(MINUTES_PER_HOUR) {
        Some(format!("cron({minute} {hour}/{} * * ? *)", cadence / MINUTES_PER_HOUR))
    } else if cadence == MINUTES_PER_WEEK {
        let day = DAYS_FROM_EPOCH.get((offset / MINUTES_PER_DAY) as usize)?;
        Some(format!("cron({minute} {hour} ? * {day} *)"))
    } else {
        None
    }
}

/// How long a monitoring minute lasts: a minute, unless a service runs faster for a demonstration or a test. Cadences,
/// offsets and delays are counted in monitoring minutes; everything else is in real time.
///
/// The default matches [`cron`], whose slots are whole minutes; EventBridge itself fires at any time within them. Where
/// Vedette has its own timers, [`TimeScale::new`] also spreads slots over the minute, by whole milliseconds. Otherwise,
/// all sites with a check every minute would be due at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeScale {
    minute: Duration,
    is_spread: bool,
}

/// A length that a monitoring minute cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a monitoring minute must last whole milliseconds, from 1 ms to 24 h")]
pub struct InvalidTimeScale;

impl Default for TimeScale {
    fn default() -> Self {
        Self { minute: Duration::from_secs(60), is_spread: false }
    }
}

impl TimeScale {
    /// A time scale with monitoring minutes of this length, over which slots are spread.
    ///
    /// # Errors
    ///
    /// When it is not a whole number of milliseconds, from 1 ms to 24 h.
    pub fn new(minute: Duration) -> Result<Self, InvalidTimeScale> {
        let whole = minute.subsec_nanos().is_multiple_of(1_000_000);
        let bounds = Duration::from_millis(1)..=Duration::from_secs(24 * 60 * 60);
        if whole && bounds.contains(&minute) {
            Ok(Self { minute, is_spread: true })
        } else {
            Err(InvalidTimeScale)
        }
    }

    /// How long a monitoring minute lasts.
    pub const fn minute(self) -> Duration {
        self.minute
    }

    /// How long a number of monitoring minutes lasts.
    pub const fn minutes(self, count: u32) -> Duration {
        self.minute.saturating_mul(count)
    }

    /// The latest slot that is not after `instant`.
    ///
    /// Clamped to [`Timestamp::MIN`] for instants less than a cadence after the earliest one.
    pub fn latest_at_or_before(
        self,
        site: SiteId,
        tool: Tool,
        cadence_minutes: u32,
        instant: Timestamp,
    ) -> Timestamp {
        let (offset, cadence) = self.grid(site, tool, cadence_minutes);
        let nth = (millisecond_floor(instant) - offset).div_euclid(cadence);
        clamped(offset + nth * cadence)
    }

    /// The first slot after `instant`.
    ///
    /// Clamped to [`Timestamp::MAX`], for instants less than a cadence before the latest one.
    pub fn next_after(
        self,
        site: SiteId,
        tool: Tool,
        cadence_minutes: u32,
        instant: Timestamp,
    ) -> Timestamp {
        let (offset, cadence) = self.grid(site, tool, cadence_minutes);
        let nth = (millisecond_floor(instant) - offset).div_euclid(cadence);
        clamped(offset + (nth + 1) * cadence)
    }

    /// Offset and cadence in milliseconds. Each is below 2^59 (2^32 minutes of at most a day), so 128 bits have room
    /// for every sum with an instant.
    fn grid(self, site: SiteId, tool: Tool, cadence_minutes: u32) -> (i128, i128) {
        let minute = self.minute.as_millis() as i128;
        let cadence = i128::from(cadence_minutes.max(1));
        let (minutes, within) = hashes(site, tool);
        let offset = i128::from(minutes) % cadence * minute;
        let within = if self.is_spread { i128::from(within) % minute } else { 0 };
        (offset + within, cadence * minute)
    }
}

/// Whole milliseconds since the epoch, rounded down even before it.
fn millisecond_floor(instant: Timestamp) -> i128 {
    instant.as_nanosecond().div_euclid(1_000_000)
}

fn clamped(millisecond: i128) -> Timestamp {
    let limit = if millisecond < 0 { Timestamp::MIN } else { Timestamp::MAX };
    i64::try_from(millisecond)
        .ok()
        .and_then(|millisecond| Timestamp::from_millisecond(millisecond).ok())
        .unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::accounts::plan::CADENCE_MINUTES;

    fn site(number: u128) -> SiteId {
        SiteId(Uuid::from_u128(number))
    }

    /// The minutes of the week, counted from Thursday 00:00, at which such an expression fires. This follows the
    /// documented syntax, not the code under test: day 1 is Sunday.
    fn week_of(expression: &str) -> BTreeSet<u32> {
        let fields: Vec<&str> = expression
            .strip_prefix("cron(")
            .and_then(|rest| rest.strip_suffix(')'))
            .expect("cron(...)")
            .split(' ')
            .collect();
        let [minute, hour, day_of_month, month, day_of_week, year] = fields[..] else {
            panic!("six fields: {expression}");
        };
        assert_eq!((month, year), ("*", "*"));
        let names = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
        let days: BTreeSet<u32> = match (day_of_month, day_of_week) {
            ("*", "?") => (1..=7).collect(),
            ("?", name) => {
                let index = names.iter().position(|known| *known == name).expect("a day");
                BTreeSet::from([u32::try_from(index).expect("small") + 1])
            }
            other => panic!("exactly one day field is `?`: {other:?}"),
        };
        let mut week = BTreeSet::new();
        for since_thursday in 0..MINUTES_PER_WEEK {
            let (day, of_day) =
                (since_thursday / MINUTES_PER_DAY, since_thursday % MINUTES_PER_DAY);
            // Thursday is day 5 of a week whose day 1 is Sunday.
            let day_of_week = (day + 4) % 7 + 1;
            if days.contains(&day_of_week)
                && matches(hour, of_day / 60, 24)
                && matches(minute, of_day % 60, 60)
            {
                week.insert(since_thursday);
            }
        }
        week
    }

    fn matches(field: &str, value: u32, bound: u32) -> bool {
        let number = |text: &str| {
            let number: u32 = text.parse().expect("a number");
            assert!(number < bound, "{field} is out of range");
            number
        };
        match field.split_once('/') {
            None if field == "*" => true,
            None => value == number(field),
            Some((start, step)) => {
                let (start, step) = (number(start), number(step));
                value >= start && (value - start).is_multiple_of(step)
            }
        }
    }

    #[test]
    fn offsets_are_stable() {
        // Pinned: if this fails, every schedule of every installation moves.
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let offsets = Tool::ALL.map(|tool| offset(site, tool, 10_080));
        assert_eq!(offsets, [2659, 2153, 1892, 8129, 3716]);
    }

    #[test]
    fn expressions_read_as_documented() {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let expected = [
            "cron(* * * * ? *)",
            "cron(4/5 * * * ? *)",
            "cron(9/10 * * * ? *)",
            "cron(4/15 * * * ? *)",
            "cron(19/30 * * * ? *)",
            "cron(19 * * * ? *)",
            "cron(19 0/2 * * ? *)",
            "cron(19 2/6 * * ? *)",
            "cron(19 8/12 * * ? *)",
            "cron(19 20 * * ? *)",
            // 2659 minutes into a week that begins on Thursday.
            "cron(19 20 ? * FRI *)",
        ];
        for (cadence, expected) in CADENCE_MINUTES.into_iter().zip(expected) {
            assert_eq!(cron(site, Tool::Status, cadence).as_deref(), Some(expected), "{cadence}");
        }
    }

    #[test]
    fn cadences_that_cron_cannot_say_are_refused() {
        for cadence in [7, 45, 90, 300, 660, 1441, 2880, 20_160, u32::MAX] {
            assert_eq!(cron(site(1), Tool::Dns, cadence), None, "{cadence}");
        }
    }

    #[test]
    fn ten_thousand_sites_spread_evenly() {
        // Consecutive numbers are the hardest case for a hash.
        const SITES: u32 = 10_000;
        for tool in Tool::ALL {
            for cadence in [5, 15, 60, 1440] {
                let mut counts = vec![0_u32; cadence as usize];
                for number in 0..SITES {
                    let offset = offset(site(u128::from(number)), tool, cadence);
                    counts[offset as usize] += 1;
                }
                // Pearson's chi-squared over `cadence` equally likely minutes has the mean
                // `cadence - 1` and the variance twice that; five deviations are allowed.
                let expected = f64::from(SITES) / f64::from(cadence);
                let chi_squared: f64 =
                    counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
                let freedom = f64::from(cadence - 1);
                let limit = freedom + 5.0 * (2.0 * freedom).sqrt();
                assert!(chi_squared < limit, "{tool} every {cadence}: {chi_squared} > {limit}");
            }
        }
    }

    #[test]
    fn our_own_timers_spread_every_cadence_over_its_minute() {
        let time_scale = TimeScale::new(Duration::from_secs(60)).expect("a minute");
        for cadence in [1, 5] {
            let mut seconds = [0_u32; 60];
            for number in 0..10_000 {
                let slot = time_scale.next_after(
                    site(number),
                    Tool::Status,
                    cadence,
                    Timestamp::UNIX_EPOCH,
                );
                let second = usize::try_from(slot.as_second() % 60).expect("small");
                seconds[second] += 1;
                let whole = TimeScale::default();
                let minute = whole.latest_at_or_before(site(number), Tool::Status, cadence, slot);
                assert_eq!(minute.as_second(), slot.as_second() / 60 * 60, "the minute of cron");
            }
            // The mean is 167; five standard deviations are 65.
            assert!(seconds.iter().all(|sites| (102..232).contains(sites)), "{seconds:?}");
        }
        // Pinned like the offset.
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let slot = time_scale.next_after(site, Tool::Status, 1, Timestamp::UNIX_EPOCH);
        assert_eq!(slot.as_millisecond(), 38_403);
    }

    #[test]
    fn a_pace_is_whole_milliseconds() {
        assert_eq!(TimeScale::default().minute(), Duration::from_secs(60));
        let day = Duration::from_secs(24 * 60 * 60);
        for fine in [Duration::from_millis(1), Duration::from_secs(1), day] {
            let time_scale = TimeScale::new(fine).expect("within bounds");
            assert_eq!((time_scale.minute(), time_scale.minutes(3)), (fine, fine * 3));
        }
        let micro = Duration::from_micros(1);
        for wrong in [Duration::ZERO, micro, Duration::from_secs(1) + micro, day + micro * 1000] {
            assert_eq!(TimeScale::new(wrong), Err(InvalidTimeScale), "{wrong:?}");
        }
    }

    #[test]
    fn the_ends_of_time_are_clamped() {
        let time_scale = TimeScale::new(Duration::from_secs(24 * 60 * 60)).expect("a day");
        for cadence in [1, 10_080, u32::MAX] {
            for instant in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
                let latest = time_scale.latest_at_or_before(site(3), Tool::Ssl, cadence, instant);
                let next = time_scale.next_after(site(3), Tool::Ssl, cadence, instant);
                assert!(latest <= instant || latest == Timestamp::MIN);
                assert!(next > instant || next == Timestamp::MAX);
            }
        }
    }

    #[test]
    fn a_nanosecond_before_a_slot_is_before_it() {
        let (time_scale, nanosecond) = (TimeScale::default(), jiff::SignedDuration::from_nanos(1));
        for around in ["1965-05-05T05:05:05Z", "2026-11-20T10:00:00Z"] {
            let around = around.parse().expect("a timestamp");
            let slot = time_scale.next_after(site(4), Tool::Dns, 60, around);
            let latest = |instant| time_scale.latest_at_or_before(site(4), Tool::Dns, 60, instant);
            let next = |instant| time_scale.next_after(site(4), Tool::Dns, 60, instant);
            assert_eq!(latest(slot), slot);
            assert_eq!(latest(slot - nanosecond), slot - Duration::from_secs(3600));
            assert_eq!(next(slot - nanosecond), slot);
            assert_eq!(next(slot), slot + Duration::from_secs(3600));
        }
    }

    fn tools() -> impl Strategy<Value = Tool> {
        prop::sample::select(Tool::ALL.to_vec())
    }

    fn instants() -> impl Strategy<Value = Timestamp> {
        prop_oneof![
            // Around now, at any nanosecond.
            (0_i64..4_000_000_000, 0_i32..1_000_000_000)
                .prop_map(|(second, nanosecond)| Timestamp::new(second, nanosecond).expect("ok")),
            // Anything that can be represented.
            (Timestamp::MIN.as_nanosecond()..=Timestamp::MAX.as_nanosecond())
                .prop_map(|nanosecond| Timestamp::from_nanosecond(nanosecond).expect("in range")),
        ]
    }

    fn paces() -> impl Strategy<Value = TimeScale> {
        prop_oneof![
            Just(TimeScale::default()),
            (1_u64..=86_400_000).prop_map(
                |millis| TimeScale::new(Duration::from_millis(millis)).expect("in bounds")
            ),
        ]
    }

    proptest! {
        // Each case walks through a whole week, eleven times.
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Cron and arithmetic agree on every minute of a week, for every preset.
        #[test]
        fn cron_fires_at_the_slots(number: u128, tool in tools(), week in -50_i64..5_000) {
            // A week that begins on a Thursday at 00:00, like the epoch.
            let thursday = week * i64::from(MINUTES_PER_WEEK) * 60;
            let end = Timestamp::from_second(thursday + i64::from(MINUTES_PER_WEEK) * 60)
                .expect("in range");
            for cadence in CADENCE_MINUTES {
                let expression = cron(site(number), tool, cadence).expect("presets can be said");
                let before = Timestamp::from_millisecond(thursday * 1000 - 1).expect("in range");
                let time_scale = TimeScale::default();
                let mut slot = time_scale.next_after(site(number), tool, cadence, before);
                let mut slots = BTreeSet::new();
                while slot < end {
                    let second = slot.as_second() - thursday;
                    prop_assert_eq!((second % 60, slot.subsec_nanosecond()), (0, 0));
                    slots.insert(u32::try_from(second / 60).expect("within the week"));
                    slot = time_scale.next_after(site(number), tool, cadence, slot);
                }
                prop_assert_eq!(slots.len(), (MINUTES_PER_WEEK / cadence) as usize);
                prop_assert_eq!(week_of(&expression), slots, "{}", expression);
            }
        }
    }

    proptest! {
        /// The two slots around an instant are a cadence apart, and lie on the grid.
        #[test]
        fn slots_enclose_the_instant(
            number: u128,
            tool in tools(),
            cadence in prop_oneof![prop::sample::select(CADENCE_MINUTES.to_vec()), 1..=u32::MAX],
            time_scale in paces(),
            instant in instants(),
        ) {
            let latest = time_scale.latest_at_or_before(site(number), tool, cadence, instant);
            let next = time_scale.next_after(site(number), tool, cadence, instant);
            prop_assert!(latest <= instant);
            prop_assert!(next > instant || next == Timestamp::MAX);
            if latest != Timestamp::MIN && next != Timestamp::MAX {
                let apart = next.as_nanosecond() - latest.as_nanosecond();
                prop_assert_eq!(apart as u128, time_scale.minutes(cadence).as_nanos());
                let shift = time_scale.minutes(offset(site(number), tool, cadence)).as_nanos() as i128;
                let within = (latest.as_nanosecond() - shift).rem_euclid(apart);
                prop_assert!(within < time_scale.minute().as_nanos() as i128);
                prop_assert_eq!(within % 1_000_000, 0);
                prop_assert!(time_scale.is_spread || within == 0);
                // A slot is its own latest one, and the one before the next.
                let again = time_scale.latest_at_or_before(site(number), tool, cadence, latest);
                prop_assert_eq!(again, latest);
                prop_assert_eq!(time_scale.next_after(site(number), tool, cadence, latest), next);
            }
        }

        /// Slots of a longer cadence are slots of every cadence that divides it.
        #[test]
        fn cadences_nest(number: u128, tool in tools(), short in 1_u32..5000, times in 1_u32..5000) {
            let long = offset(site(number), tool, short * times);
            prop_assert!(long < short * times);
            prop_assert_eq!(long % short, offset(site(number), tool, short));
        }
    }
}
