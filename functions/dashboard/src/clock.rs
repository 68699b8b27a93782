//! How a page shows times: as they are on the clocks of its reader.

use std::sync::LazyLock;

use jiff::Timestamp;
use maud::{Markup, html};
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::check::certificate_instant;
use vedette_domain::time;
use vedette_domain::time_zone::NamedZone;

static UTC: LazyLock<NamedZone> = LazyLock::new(NamedZone::utc);

/// The reader's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock<'a> {
    /// The current time.
    pub(crate) now: Timestamp,
    /// The time zone of all times on the page.
    pub(crate) zone: &'a NamedZone,
    /// Whether somebody has chosen the zone. If not, the script shows the times in the browser's zone.
    pub(crate) is_chosen: bool,
}

impl<'a> Clock<'a> {
    /// The clock of a page that a user reads about a team: in the zone of the user, or else of the team, or else in UTC.
    pub(crate) fn new(now: Timestamp, user: Option<&'a User>, team: Option<&'a Team>) -> Self {
        let of_user = user.and_then(|user| user.zone.as_ref());
        let of_team = team.map(|team| &team.zone).filter(|zone| !zone.is_utc());
        let chosen = of_user.or(of_team);
        Self { now, zone: chosen.unwrap_or(&UTC), is_chosen: chosen.is_some() }
    }

    /// How long ago something was, with the exact time for readers who want it.
    pub(crate) fn ago(&self, at: Timestamp) -> Markup {
        html! {
            time.nb datetime=(time::wire(at)) title=(self.zone.minute(at)) data-ago {
                (time::ago(at, self.now, self.zone))
            }
        }
    }

    /// How long something has lasted, with the time when it began.
    pub(crate) fn lasting(&self, since: Timestamp) -> Markup {
        html! {
            time.nb datetime=(time::wire(since)) title={ "Since " (self.zone.minute(since)) } data-lasting {
                (time::duration(self.now.duration_since(since)))
            }
        }
    }

    /// A time of the current day.
    pub(crate) fn time(&self, at: Timestamp) -> Markup {
        html! {
            time.nb datetime=(time::wire(at)) title=(self.zone.minute(at)) data-clock {
                (time::clock(at, self.zone))
            }
        }
    }

    /// The time at which something began that goes on, with the day if that is not today.
    pub(crate) fn since(&self, at: Timestamp) -> Markup {
        let is_today = self.zone.local(at).date() == self.zone.local(self.now).date();
        html! { @if !is_today { (self.day(at)) ", " } (self.time(at)) }
    }

    /// The UTC day of an instant, as checks are counted by UTC days in every time zone.
    pub(crate) fn utc_day(&self, at: Timestamp) -> String {
        time::day(at, self.now, &UTC)
    }

    /// An instant of a certificate, which is given in UTC: `YYYY-MM-DD HH:MM:SS`.
    pub(crate) fn certificate_time(&self, text: &str) -> String {
        certificate_instant(text).map_or_else(|| format!("{text} UTC"), |at| self.zone.second(at))
    }

    /// The day of an instant that is close enough to leave out the time.
    pub(crate) fn day(&self, at: Timestamp) -> Markup {
        html! {
            time.nb datetime=(time::wire(at)) title=(self.zone.minute(at)) data-day {
                (time::day(at, self.now, self.zone))
            }
        }
    }

    /// An instant of something that may have happened seconds before or after something else:
    /// `20 Nov, 09:54:07 UTC`, with the year if it is another one.
    pub(crate) fn second(&self, at: Timestamp) -> Markup {
        let day = time::day(at, self.now, self.zone);
        let time = self.zone.local(at).strftime("%H:%M:%S %Z");
        html! {
            time datetime=(time::wire(at)) title=(self.zone.second(at)) data-second {
                (day) ", " (time)
            }
        }
    }

    /// An instant, for people and for programs.
    pub(crate) fn instant(&self, at: Timestamp) -> Markup {
        html! { time datetime=(time::wire(at)) { (self.zone.minute(at)) } }
    }
}
