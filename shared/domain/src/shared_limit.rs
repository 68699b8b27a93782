//! Limits that teams share: an address, a host or a mailbox gets so much from all teams together, and no team can use up
//! what the others need.
//!
//! A team's share becomes smaller with each team that has used the same thing in the same window. A counter of each
//! team and the number of teams are enough to decide, so a use takes one write. What a team has used before others came
//! is not taken back. So all teams together get more than what is divided, but no more than
//! [`total`](SharedLimit::total), however many teams somebody creates.

use jiff::{SignedDuration, Timestamp};

/// A limit that teams share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedLimit {
    /// The most that one team gets in a window.
    pub of_team: u32,
    /// What is divided among the teams. There are at most this many in a window; another one gets nothing.
    pub divided: u32,
    /// The length of the window; windows begin at whole multiples of it.
    pub window: SignedDuration,
}

/// How much of a limit has been used in a window, with this use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedUse {
    /// How often the team has tried.
    pub own: u32,
    /// How many teams have tried.
    pub teams: u32,
}

impl SharedLimit {
    /// What each team gets in a window in which so many teams have tried.
    pub const fn share(self, teams: u32) -> u32 {
        let part = self.divided.checked_div(teams);
        match part {
            Some(part) if part < self.of_team => part,
            _ => self.of_team,
        }
    }

    /// Whether a use is within the team's share.
    pub const fn admits(self, used: SharedUse) -> bool {
        used.own <= self.share(used.teams)
    }

    /// The number of the window that contains an instant.
    pub fn window_at(self, now: Timestamp) -> i64 {
        now.as_second().div_euclid(self.window.as_secs().max(1))
    }

    /// The most that all teams together get in a window. The first team gets at most its share among one, the second
    /// one its share among two, and so on.
    pub fn total(self) -> u32 {
        (1..=self.divided).map(|teams| self.share(teams)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::accounts::mail_limits::REQUESTS_TO_MAILBOX;
    use crate::alerts::host_limit::MESSAGES_TO_HOST;
    use crate::expectations::POSTS_TO_ADDRESS;

    /// How often each team tries, and how much it gets, if the teams try in this order.
    fn used(limit: SharedLimit, order: &[u8]) -> BTreeMap<u8, (u32, u32)> {
        let mut teams: BTreeMap<u8, (u32, u32)> = BTreeMap::new();
        for team in order {
            if teams.len() as u32 == limit.divided && !teams.contains_key(team) {
                continue;
            }
            teams.entry(*team).or_default().0 += 1;
            let used = SharedUse { own: teams[team].0, teams: teams.len() as u32 };
            if limit.admits(used) {
                teams.entry(*team).or_default().1 += 1;
            }
        }
        teams
    }

    #[test]
    fn one_team_gets_its_maximum_and_two_get_half_each() {
        let limit = SharedLimit { of_team: 60, divided: 60, window: SignedDuration::from_mins(1) };
        assert_eq!([1, 2, 3, 60, 61].map(|teams| limit.share(teams)), [60, 30, 20, 1, 0]);
        let alone = used(limit, &[1; 70]);
        assert_eq!(alone[&1], (70, 60));
        let late = used(limit, &[vec![1; 100], vec![2; 100], vec![1; 100]].concat());
        assert_eq!((late[&1].1, late[&2].1), (60, 30), "what is used up is not taken back");
    }

    #[test]
    fn the_page_about_security_names_the_totals() {
        let page = include_str!("../../../docs/explanation/security.md");
        let (posts, messages) = (POSTS_TO_ADDRESS.total(), MESSAGES_TO_HOST.total());
        assert_eq!(posts, messages);
        let mails = REQUESTS_TO_MAILBOX.total();
        let totals = format!("at most {posts} POSTs or messages a minute and {mails} emails a day");
        assert!(page.contains(&totals), "{totals}");
    }

    proptest! {
        /// Whatever the others do: each team gets what it tries to get, up to its share, and all together get no more
        /// than the total.
        #[test]
        fn no_team_uses_up_the_share_of_another(
            of_team in 1_u32..20,
            divided in 1_u32..40,
            order in vec(0_u8..50, 0..400),
        ) {
            let limit = SharedLimit { of_team, divided, window: SignedDuration::from_mins(1) };
            let teams = used(limit, &order);
            let share = limit.share(teams.len() as u32);
            for (team, (tried, got)) in &teams {
                prop_assert!(*got >= share.min(*tried), "{team}: {got} of {tried}");
                prop_assert!(*got <= of_team, "{team}: {got}");
            }
            prop_assert!(teams.values().map(|(_, got)| got).sum::<u32>() <= limit.total());
        }
    }
}
