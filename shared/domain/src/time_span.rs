//! Spans of time, and what several of them cover together.

use jiff::{SignedDuration, Timestamp};

/// The time from one instant up to another, which is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan {
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub to: Timestamp,
}

impl TimeSpan {
    /// A span; empty if it would end before it begins.
    pub fn new(from: Timestamp, to: Timestamp) -> Self {
        Self { from, to: to.max(from) }
    }

    /// How long it lasts.
    pub fn lasts(self) -> SignedDuration {
        self.to.duration_since(self.from)
    }

    /// The part of it within another span, possibly empty.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self::new(self.from.max(other.from), self.to.min(other.to))
    }

    /// Whether it lasts no time.
    pub fn is_empty(self) -> bool {
        self.from == self.to
    }

    /// Whether an instant is in it.
    pub fn contains(self, at: Timestamp) -> bool {
        self.from <= at && at < self.to
    }
}

/// Spans that cover the same time as all of `spans`, in order, without overlaps.
pub fn union(spans: impl IntoIterator<Item = TimeSpan>) -> Vec<TimeSpan> {
    let mut spans: Vec<TimeSpan> = spans.into_iter().filter(|span| !span.is_empty()).collect();
    spans.sort_unstable();
    let mut covered: Vec<TimeSpan> = Vec::new();
    for span in spans {
        match covered.last_mut() {
            Some(last) if span.from <= last.to => last.to = last.to.max(span.to),
            _ => covered.push(span),
        }
    }
    covered
}

/// What is left of a union of spans without the time that another union covers.
pub fn without(spans: &[TimeSpan], excluded: &[TimeSpan]) -> Vec<TimeSpan> {
    let mut left = Vec::new();
    for span in spans {
        let mut from = span.from;
        for gap in excluded.iter().map(|gap| gap.within(*span)).filter(|gap| !gap.is_empty()) {
            left.push(TimeSpan::new(from, gap.from));
            from = gap.to;
        }
        left.push(TimeSpan::new(from, span.to));
    }
    left.retain(|span| !span.is_empty());
    left
}

/// How long some spans last, one after another.
pub fn total(spans: &[TimeSpan]) -> SignedDuration {
    spans.iter().map(|span| span.lasts()).fold(SignedDuration::ZERO, SignedDuration::saturating_add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a timestamp")
    }

    fn spans(of: &[(i64, i64)]) -> Vec<TimeSpan> {
        of.iter().map(|&(from, to)| TimeSpan::new(at(from), at(to))).collect()
    }

    #[test]
    fn overlapping_spans_count_once() {
        for (given, covered) in [
            (&[][..], &[][..]),
            (&[(5, 9), (1, 3)], &[(1, 3), (5, 9)]),
            (&[(1, 5), (5, 9)], &[(1, 9)]),
            (&[(1, 9), (2, 3), (4, 12)], &[(1, 12)]),
            (&[(4, 4)], &[]),
        ] {
            assert_eq!(union(spans(given)), spans(covered), "{given:?}");
        }
    }

    #[test]
    fn excluded_time_is_cut_out() {
        let left = without(&spans(&[(0, 10), (20, 30)]), &spans(&[(2, 4), (8, 22), (40, 50)]));
        assert_eq!(left, spans(&[(0, 2), (4, 8), (22, 30)]));
        assert_eq!(total(&left), SignedDuration::from_secs(14));
    }

    proptest! {
        #[test]
        fn each_second_is_covered_once_or_not_at_all(
            given in proptest::collection::vec((0_i64..100, 0_i64..20), 0..12),
            excluded in proptest::collection::vec((0_i64..100, 0_i64..20), 0..6),
        ) {
            let of = |pairs: &[(i64, i64)]| -> Vec<TimeSpan> {
                pairs.iter().map(|&(from, lasts)| TimeSpan::new(at(from), at(from + lasts))).collect()
            };
            let (given, excluded) = (of(&given), union(of(&excluded)));
            let left = without(&union(given.clone()), &excluded);
            for second in 0..130 {
                let has = |spans: &[TimeSpan]| spans.iter().filter(|span| span.contains(at(second))).count();
                let expected = usize::from(has(&given) > 0 && has(&excluded) == 0);
                prop_assert_eq!(has(&left), expected, "second {}", second);
            }
        }
    }
}
