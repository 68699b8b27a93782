//! Outages of many sites at once, which are shown as one.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use jiff::{SignedDuration, Timestamp};

/// The fewest sites of a mass outage.
const SITES_MIN: usize = 5;
/// The fewest of the team's sites in a mass outage, in percent.
const PERCENT_MIN: usize = 2;
/// How close to each other the first and the last of these sites went down. Sites with the usual five minutes between
/// checks take this long to notice that their server fails.
const WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// The mass outages among outages that go on, as ranges of their openings, which are in order. `sites` is the number of
/// the team's sites. What opens while a mass outage still grows belongs to it.
pub fn mass_outages(opened: &[Timestamp], sites: usize) -> Vec<Range<usize>> {
    let needed = SITES_MIN.max(sites.saturating_mul(PERCENT_MIN).div_ceil(100));
    let mut found: Vec<Range<usize>> = Vec::new();
    for (start, first) in opened.iter().enumerate() {
        let is_close = |at: &Timestamp| at.duration_since(*first) <= WITHIN;
        let end = start + opened[start..].partition_point(is_close);
        if end - start < needed {
            continue;
        }
        match found.last_mut() {
            Some(last) if start < last.end => last.end = end,
            _ => found.push(start..end),
        }
    }
    found
}

/// The tags, or the addresses, that at least four fifths of many sites have, with how many of them do, the most frequent
/// first: a cause may be behind what they have in common. At most three; none if the sites are few.
pub fn in_common<T: Ord + Copy>(sites: usize, having: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    /// The most tags.
    const NAMED: usize = 3;
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    having.for_each(|one| *counts.entry(one).or_default() += 1);
    let is_common = |count: usize| sites >= SITES_MIN && count * 5 >= sites * 4;
    let mut common: Vec<_> = counts.into_iter().filter(|(_, count)| is_common(*count)).collect();
    common.sort_by_key(|(one, count)| (Reverse(*count), *one));
    common.truncate(NAMED);
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_that_go_down_together_are_one_outage() {
        let all = |minutes: &[i64]| -> Vec<Timestamp> {
            let at = |minute: &i64| Timestamp::from_second(1_795_168_440 + 60 * minute);
            minutes.iter().map(|minute| at(minute).expect("a timestamp")).collect()
        };
        for (minutes, sites, expected) in [
            (&[][..], 10, &[][..]),
            (&[0, 1, 2, 3], 10, &[]),
            (&[0, 1, 2, 3, 5], 10, &[(0, 5)]),
            (&[0, 1, 2, 3, 6], 10, &[]),
            (&[-60, 0, 0, 0, 0, 0, 60], 10, &[(1, 6)]),
            // It is not cut where the five minutes of its first site end.
            (&[0, 1, 2, 3, 4, 6, 7, 8], 10, &[(0, 8)]),
            (&[0, 0, 0, 0, 0, 6, 6, 6, 6, 6], 10, &[(0, 5), (5, 10)]),
            // Two percent of 250 sites are five, of 251 six.
            (&[0, 0, 0, 0, 0], 250, &[(0, 5)]),
            (&[0, 0, 0, 0, 0], 251, &[]),
            (&[0, 0, 0, 0, 0, 0], 251, &[(0, 6)]),
        ] {
            let found = mass_outages(&all(minutes), sites).into_iter();
            let found: Vec<_> = found.map(|range| (range.start, range.end)).collect();
            assert_eq!(found, expected, "{minutes:?} of {sites}");
        }
    }
}
