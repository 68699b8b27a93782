//! The state of a team's sites, in one sentence that answers the first question of a visitor.

use vedette_domain::sites::site_state::SiteState;

use crate::form::capitalized;
use crate::words::{counted, listed, spelled};

/// States in the order of their importance.
const WRONG: [SiteState; 4] =
    [SiteState::Down, SiteState::Failing, SiteState::Issues, SiteState::Unchecked];

fn count(states: &[SiteState], state: SiteState) -> usize {
    states.iter().filter(|one| **one == state).count()
}

/// The verb and the state for a number of sites.
pub(in crate::sites) fn are(number: usize, state: SiteState) -> &'static str {
    match (state, number) {
        (SiteState::Down, 1) => "is down",
        (SiteState::Down, _) => "are down",
        (SiteState::Failing, 1) => "is failing",
        (SiteState::Failing, _) => "are failing",
        (SiteState::Issues, 1) => "has issues",
        (SiteState::Issues, _) => "have issues",
        (SiteState::Unchecked, _) => "can’t be checked",
        (SiteState::Unknown, 1) => "is waiting for its first check",
        (SiteState::Unknown, _) => "are waiting for their first check",
        (SiteState::Up, 1) => "is up",
        (SiteState::Up, _) => "are up",
        (SiteState::Paused, 1) => "is paused",
        (SiteState::Paused, _) => "are paused",
    }
}

/// The state that the heading is about: the worst one, or else the state of the monitored sites.
fn leading(states: &[SiteState]) -> SiteState {
    let others = [SiteState::Up, SiteState::Unknown, SiteState::Paused];
    let found = WRONG.into_iter().chain(others).find(|state| count(states, *state) > 0);
    found.unwrap_or(SiteState::Up)
}

/// `One of 12 sites is down`, about some or all of a team's sites. `whole` is the number of all.
pub(super) fn of(states: &[SiteState], whole: usize) -> String {
    let (total, leading) = (states.len(), leading(states));
    let number = count(states, leading);
    let are = are(number, leading);
    match (number, total) {
        (_, 0) => "No sites with these tags".to_owned(),
        (_, 1) if whole > 1 => format!("One site {are}"),
        (_, 1) => format!("Your site {are}"),
        _ if number == total => format!("All {} {are}", counted(total, "site", "sites")),
        _ => {
            format!(
                "{} of {} {are}",
                capitalized(&spelled(number)),
                counted(total, "site", "sites")
            )
        }
    }
}

/// What the heading does not say: `One is failing, two have issues and seven are up.`
pub(super) fn rest(states: &[SiteState]) -> String {
    let leading = leading(states);
    let parts: Vec<String> = SiteState::ALL
        .into_iter()
        .filter(|state| *state != leading)
        .map(|state| (count(states, state), state))
        .filter(|(number, _)| *number > 0)
        .map(|(number, state)| format!("{} {}", spelled(number), are(number, state)))
        .collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("{}.", capitalized(&listed(&parts))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_says_the_worst_and_the_line_below_it_the_rest() {
        use SiteState::{Down, Failing, Issues, Paused, Unchecked, Unknown, Up};
        for (states, heading, below) in [
            (
                &[Down, Failing, Issues, Issues, Up, Paused][..],
                "One of 6 sites is down",
                "One is failing, two have issues, one is up and one is paused.",
            ),
            (&[Up, Up], "All 2 sites are up", ""),
            (&[Up], "Your site is up", ""),
            (
                &[Up, Unknown, Paused],
                "One of 3 sites is up",
                "One is waiting for its first check and one is paused.",
            ),
            (&[Issues, Issues, Up], "Two of 3 sites have issues", "One is up."),
            (&[Unchecked, Unchecked, Up], "Two of 3 sites can’t be checked", "One is up."),
            (&[Unchecked, Issues], "One of 2 sites has issues", "One can’t be checked."),
            (&[Unknown, Unknown], "All 2 sites are waiting for their first check", ""),
            (&[Paused, Paused], "All 2 sites are paused", ""),
        ] {
            let heading_of_all = of(states, states.len());
            assert_eq!((heading_of_all.as_str(), rest(states).as_str()), (heading, below));
        }
        assert_eq!(of(&[Up], 3), "One site is up");
        assert_eq!(of(&[], 3), "No sites with these tags");
    }
}
