//! How far back the plots of a site go.

use maud::{Markup, html};
use vedette_domain::id::SiteId;

/// A range that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl Range {
    const ALL: [Self; 5] = [Self::Day, Self::Week, Self::Month, Self::Quarter, Self::Year];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
            Self::Quarter => "90d",
            Self::Year => "1y",
        }
    }

    /// The range with this value.
    pub(super) fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|range| range.as_str() == value)
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Day => "24 hours",
            Self::Week => "7 days",
            Self::Month => "30 days",
            Self::Quarter => "90 days",
            Self::Year => "year",
        }
    }

    /// The UTC days of the range, in words.
    pub(super) const fn days_in_words(self) -> &'static str {
        match self {
            Self::Day => "since yesterday",
            Self::Week => "7 days",
            Self::Month => "30 days",
            Self::Quarter => "90 days",
            Self::Year => "1 year",
        }
    }

    /// The range in a few letters.
    pub(super) const fn short(self) -> &'static str {
        match self {
            Self::Day => "24 h",
            Self::Week => "7 d",
            Self::Month => "30 d",
            Self::Quarter => "90 d",
            Self::Year => "Year",
        }
    }

    /// The UTC days that the range touches; today is the last of them.
    pub(super) const fn days(self) -> u16 {
        match self {
            Self::Day => 2,
            Self::Week => 7,
            Self::Month => 30,
            Self::Quarter => 90,
            Self::Year => 365,
        }
    }

    /// The hours of a range that is plotted by the hour.
    pub(super) const fn hours(self) -> Option<i64> {
        match self {
            Self::Day => Some(24),
            Self::Week => Some(7 * 24),
            Self::Month | Self::Quarter | Self::Year => None,
        }
    }
}

/// Links to the other ranges.
pub(super) fn choice(site: SiteId, chosen: Range) -> Markup {
    html! {
        nav.seg.screen aria-label="Time range" {
            @for range in Range::ALL {
                a href={ "/sites/" (site) "?range=" (range.as_str()) }
                    aria-current=[(range == chosen).then_some("page")] { (range.short()) }
            }
        }
    }
}
