//! How much a deployment has to run, what that takes on AWS, and which schedules cost less for it.

use std::collections::BTreeMap;

use super::tool::Tool;

const MINUTES_PER_WEEK: u32 = 7 * 24 * 60;
const SECONDS_PER_WEEK: u64 = 60 * MINUTES_PER_WEEK as u64;
/// Short runs of a place in a second, which fill a batch of 50 in the window of its event source. A place that is always
/// busy does 63 if 1 % of the targets hang; the rest is for times when more of them do.
const RUNS_PER_PLACE_SECOND: u64 = 12;
/// How long a crawl or an audit usually takes. A place runs one at a time.
const LONG_RUN_SECONDS: u64 = 60;

/// What a million recurring runs cost with a schedule for each site and tool and a table that is billed by request, in
/// dollars at list prices. A test compares it with the table of costs.
pub const MILLION_DOLLARS: f64 = 2.59;

/// What a million recurring runs cost less with buckets than with a schedule for each site and tool, in dollars at list
/// prices. The polling scheduler runs every minute either way, so this is all of the difference. A test compares it
/// with the table of costs.
pub const BUCKETS_SAVE_PER_MILLION: f64 = 1.45;

/// The recurring runs of a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Load(BTreeMap<Tool, u64>);

impl Load {
    /// Adds a tool of a site.
    pub fn add(&mut self, tool: Tool, cadence_minutes: u32) {
        *self.0.entry(tool).or_default() += u64::from(MINUTES_PER_WEEK / cadence_minutes.max(1));
    }

    /// How many places a tool needs: functions that run its checks at the same time.
    pub fn places(&self, tool: Tool) -> u64 {
        let runs = self.0.get(&tool).copied().unwrap_or(0);
        if tool.is_long() {
            (runs * LONG_RUN_SECONDS).div_ceil(SECONDS_PER_WEEK)
        } else {
            runs.div_ceil(SECONDS_PER_WEEK * RUNS_PER_PLACE_SECOND)
        }
    }

    /// The recurring runs of all tools in 30 days.
    pub fn runs_per_month(&self) -> u64 {
        self.0.values().sum::<u64>() * 30 / 7
    }

    /// What these runs cost less a month with buckets than with a schedule for each site and tool, in dollars.
    pub fn saved_by_buckets(&self) -> f64 {
        self.runs_per_month() as f64 / 1e6 * BUCKETS_SAVE_PER_MILLION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sites: usize, tool: Tool, cadence_minutes: u32) -> Load {
        let mut load = Load::default();
        (0..sites).for_each(|_| load.add(tool, cadence_minutes));
        load
    }

    #[test]
    fn places_follow_the_runs_of_a_second() {
        for (sites, tool, cadence, places) in [
            (0, Tool::Status, 1, 0),
            (1, Tool::Status, 1, 1),
            (720, Tool::Status, 1, 1),
            (721, Tool::Status, 1, 2),
            (1_000, Tool::Status, 1, 2),
            (5_000, Tool::Status, 1, 7),
            (100_000, Tool::Status, 5, 28),
            (5_000, Tool::Dns, 60, 1),
            (10_080, Tool::BrokenLinks, 10_080, 1),
            (10_081, Tool::BrokenLinks, 10_080, 2),
            (5_000, Tool::Performance, 1_440, 4),
        ] {
            let load = of(sites, tool, cadence);
            assert_eq!(load.places(tool), places, "{sites} {tool} {cadence}");
        }
    }

    #[test]
    fn savings_of_buckets_are_computed_from_the_runs_of_a_month() {
        let load = of(7_000, Tool::Status, 1);
        assert_eq!(load.runs_per_month(), 302_400_000);
        assert!((load.saved_by_buckets() - 438.48).abs() < 0.001, "{}", load.saved_by_buckets());
        assert!(Load::default().saved_by_buckets().abs() < f64::EPSILON);
    }
}
