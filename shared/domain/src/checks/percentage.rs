//! Shares of checks, as everybody reads them: in the API, on pages, in print and in files.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A share of checks, in hundredths of a percent, rounded down. So it is 100 % only if no check failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Percentage(u16);

impl Percentage {
    const WHOLE: u16 = 10_000;

    /// How many of all checks `part` are; `None` without checks.
    pub fn of(part: u64, all: u64) -> Option<Self> {
        let hundredths =
            (u128::from(Self::WHOLE) * u128::from(part)).checked_div(u128::from(all))?;
        Some(Self(u16::try_from(hundredths).map_or(Self::WHOLE, |part| part.min(Self::WHOLE))))
    }

    /// The mean, rounded down; `None` of nothing.
    pub fn mean(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let (sum, count) =
            all.into_iter().fold((0, 0), |(sum, count), one| (sum + u64::from(one.0), count + 1));
        u16::try_from(u64::checked_div(sum, count)?).ok().map(Self)
    }

    /// In percent, with at most two decimals.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

/// In percent with two decimals, or `100`.
impl fmt::Display for Percentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Self::WHOLE => f.write_str("100"),
            part => write!(f, "{}.{:02}", part / 100, part % 100),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_share_is_rounded_down_to_two_decimals() {
        for (part, all, value, text) in [
            (0, 3, 0.0, "0.00"),
            (1, 3, 33.33, "33.33"),
            (2, 3, 66.66, "66.66"),
            (1, 16, 6.25, "6.25"),
            (201, 20_000, 1.0, "1.00"),
            (9_999, 10_000, 99.99, "99.99"),
            (19_999, 20_000, 99.99, "99.99"),
            (u64::MAX - 1, u64::MAX, 99.99, "99.99"),
            (3, 3, 100.0, "100"),
            // Counters that stopped counting must not add up to more than everything.
            (4, 3, 100.0, "100"),
            (u64::MAX, 1, 100.0, "100"),
        ] {
            let share = Percentage::of(part, all).expect("checks");
            assert_eq!((share.value(), &*share.to_string()), (value, text), "{part} of {all}");
        }
        assert_eq!(Percentage::of(0, 0), None);
    }

    proptest! {
        #[test]
        fn it_is_100_only_if_no_check_failed(all in 1_u64.., failed in 0_u64..1_000_000) {
            let share = Percentage::of(all.saturating_sub(failed), all).expect("checks");
            prop_assert_eq!(share.value() >= 100.0, failed == 0);
            prop_assert_eq!(share.to_string() == "100", failed == 0);
            let read: f64 = share.to_string().parse().expect("a number");
            prop_assert_eq!(read, share.value(), "pages and API say the same");
            let others = std::iter::repeat_n(Percentage(Percentage::WHOLE), 9);
            let mean = Percentage::mean(others.chain([share])).expect("checks");
            prop_assert_eq!(mean.to_string() == "100", failed == 0);
        }
    }
}
