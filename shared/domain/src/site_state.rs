//! How a site is, in one word: what a list of many sites shows of each.

use crate::issue::Fingerprint;

/// How a site is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteState {
    /// It cannot be reached.
    Down,
    /// It can be reached, and something else is wrong.
    Issues,
    /// Nothing of it was checked yet.
    Unknown,
    /// No tool finds anything wrong.
    Up,
    /// No tool looks at it.
    Paused,
}

impl SiteState {
    /// All states, the worst first.
    pub const ALL: [Self; 5] = [Self::Down, Self::Issues, Self::Unknown, Self::Up, Self::Paused];

    /// The value used in addresses of pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Issues => "issues",
            Self::Unknown => "unknown",
            Self::Up => "up",
            Self::Paused => "paused",
        }
    }

    /// The state with this value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == value)
    }

    /// The state of a site with these active issues; whether any tool looks at it, and whether any of
    /// these has finished a check. Issues stay active while nobody looks, and so they come first.
    pub fn of(
        active: impl IntoIterator<Item = Fingerprint>,
        is_watched: bool,
        is_checked: bool,
    ) -> Self {
        let worst = active.into_iter().map(|fingerprint| match fingerprint {
            Fingerprint::StatusDown => Self::Down,
            _ => Self::Issues,
        });
        worst.min().unwrap_or(match (is_watched, is_checked) {
            (false, _) => Self::Paused,
            (true, false) => Self::Unknown,
            (true, true) => Self::Up,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_that_is_known_of_a_site_is_its_state() {
        use Fingerprint::{SslInvalid, StatusDown};
        for (active, is_watched, is_checked, state) in [
            (&[SslInvalid, StatusDown][..], true, true, SiteState::Down),
            (&[StatusDown], false, false, SiteState::Down),
            (&[SslInvalid], true, true, SiteState::Issues),
            (&[], true, true, SiteState::Up),
            (&[], true, false, SiteState::Unknown),
            (&[], false, true, SiteState::Paused),
        ] {
            let found = SiteState::of(active.iter().copied(), is_watched, is_checked);
            assert_eq!(found, state, "{active:?}");
        }
        assert!(SiteState::ALL.is_sorted());
        for state in SiteState::ALL {
            assert_eq!(SiteState::parse(state.as_str()), Some(state));
        }
    }
}
