//! The state of a site in one word, for lists of many sites.

use crate::checks::tool::Tool;
use crate::issues::Fingerprint;

/// The state of a site, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteState {
    /// It cannot be reached.
    Down,
    /// Its newest status check failed, but there is no active issue for it: the failures are below the threshold, or a
    /// person resolved the issue.
    Failing,
    /// It can be reached, but something else is wrong.
    Issues,
    /// Its status checks could not run for a while, so nothing is known about it.
    Unchecked,
    /// It has not been checked yet.
    Unknown,
    /// No tool finds a problem.
    Up,
    /// No tool checks it.
    Paused,
}

impl SiteState {
    /// All states, worst first.
    pub const ALL: [Self; 7] = [
        Self::Down,
        Self::Failing,
        Self::Issues,
        Self::Unchecked,
        Self::Unknown,
        Self::Up,
        Self::Paused,
    ];

    /// The value in URLs of pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Failing => "failing",
            Self::Issues => "issues",
            Self::Unchecked => "unchecked",
            Self::Unknown => "unknown",
            Self::Up => "up",
            Self::Paused => "paused",
        }
    }

    /// The state with this value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == value)
    }

    /// The state of a site with these active issues. The other arguments are whether it is failing
    /// ([`ToolState::failing_since`](crate::checks::tool_state::ToolState::failing_since)), whether it can't be checked
    /// ([`ToolState::unchecked`](crate::checks::tool_state::ToolState::unchecked)), which tools check it, and whether a
    /// check has completed: a status check if these run, otherwise any.
    ///
    /// Issues stay active while no tool checks the site, so they come first. A failing check and one that could not run
    /// count only while status checks run; otherwise nothing would notice that the site recovers.
    pub fn of(
        active: impl IntoIterator<Item = Fingerprint>,
        is_failing: bool,
        is_unchecked: bool,
        looks: impl Fn(Tool) -> bool,
        is_checked: bool,
    ) -> Self {
        let worst = active.into_iter().map(|fingerprint| match fingerprint {
            Fingerprint::StatusDown => Self::Down,
            _ => Self::Issues,
        });
        let has_status = looks(Tool::Status);
        let failing = (is_failing && has_status).then_some(Self::Failing);
        let unchecked = (is_unchecked && has_status).then_some(Self::Unchecked);
        worst.chain(failing).chain(unchecked).min().unwrap_or_else(|| {
            match (Tool::ALL.into_iter().any(&looks), is_checked) {
                (false, _) => Self::Paused,
                (true, false) => Self::Unknown,
                (true, true) => Self::Up,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_that_is_known_of_a_site_is_its_state() {
        use Fingerprint::{SslInvalid, StatusDown};
        let all = &Tool::ALL[..];
        let no_status = &[Tool::Ssl][..];
        for (active, is_failing, tools, is_checked, state) in [
            (&[SslInvalid, StatusDown][..], false, all, true, SiteState::Down),
            (&[StatusDown], false, &[], false, SiteState::Down),
            (&[SslInvalid], true, all, true, SiteState::Failing),
            (&[], true, all, true, SiteState::Failing),
            (&[SslInvalid], true, no_status, true, SiteState::Issues),
            (&[], true, no_status, true, SiteState::Up),
            (&[], true, &[], true, SiteState::Paused),
            (&[SslInvalid], false, all, true, SiteState::Issues),
            (&[], false, all, true, SiteState::Up),
            (&[], false, all, false, SiteState::Unknown),
            (&[], false, &[], true, SiteState::Paused),
        ] {
            let looks = |tool| tools.contains(&tool);
            let found = |is_unchecked| {
                SiteState::of(active.iter().copied(), is_failing, is_unchecked, looks, is_checked)
            };
            assert_eq!(found(false), state, "{active:?} {is_failing} {tools:?}");
            // What is known to be wrong comes first, and nothing is asked of a site without status checks.
            let is_worse = state <= SiteState::Issues || !looks(Tool::Status);
            let unchecked = if is_worse { state } else { SiteState::Unchecked };
            assert_eq!(found(true), unchecked, "{active:?} {is_failing} {tools:?}");
        }
        assert!(SiteState::ALL.is_sorted());
        for state in SiteState::ALL {
            assert_eq!(SiteState::parse(state.as_str()), Some(state));
        }
    }
}
