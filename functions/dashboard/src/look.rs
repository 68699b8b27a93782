//! How a state looks, and the icons next to words. A state always has a shape, a word and a color; a shape says nothing
//! that the words next to it do not say.

use maud::{Markup, PreEscaped, html};
use vedette_domain::alerts::channel::ChannelKind;
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::{IssueStatus, Severity};
use vedette_domain::sites::site_state::SiteState;
use vedette_store::Attention;

/// How good or bad something is, shown as a shape and a color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Up,
    Issues,
    Failing,
    Down,
    Paused,
    Pending,
    Info,
    Maintenance,
    /// A check that could not run, or a site that can't be checked.
    NotRun,
    /// A check that Vedette did not try.
    Skipped,
}

impl Look {
    /// The class that has the colors.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Issues | Self::NotRun => "issues",
            Self::Failing => "failing",
            Self::Down => "down",
            Self::Paused | Self::Skipped => "paused",
            Self::Pending => "pending",
            Self::Info | Self::Maintenance => "info",
        }
    }

    /// Its shape. Filled parts have the class `f`, and cut-outs the class `k`.
    pub(crate) fn shape(self) -> Markup {
        shape(match self {
            Self::Up => {
                r#"<circle class="f" cx="8" cy="8" r="6.5"/><path class="k" d="m5.25 8.25 2 2 3.5-4"/>"#
            }
            Self::Down => {
                r#"<rect class="f" x="1.75" y="1.75" width="12.5" height="12.5" rx="2.5"/><path class="k" d="m5.5 5.5 5 5m0-5-5 5"/>"#
            }
            Self::Failing => {
                r#"<path d="M7.05 13.9 1.3 3.65A1.1 1.1 0 0 1 2.25 2h11.5a1.1 1.1 0 0 1 .95 1.65L8.95 13.9a1.09 1.09 0 0 1-1.9 0z"/><path d="M8 5v2.9M8 10.4v.01"/>"#
            }
            Self::Issues => {
                r#"<path class="f" d="M8 1.5c.5 0 .9.25 1.15.7l5.6 10.1c.5.9-.1 1.95-1.1 1.95H2.35c-1 0-1.6-1.05-1.1-1.95L6.85 2.2c.25-.45.65-.7 1.15-.7z"/><path class="k" d="M8 5.75V9M8 11.5v.01"/>"#
            }
            Self::Paused => r#"<circle cx="8" cy="8" r="5.75"/><path d="M6.5 6v4M9.5 6v4"/>"#,
            Self::NotRun => r#"<circle cx="8" cy="8" r="5.75"/><path d="m4 12 8-8"/>"#,
            Self::Skipped => r#"<path d="m3 4 4.5 4L3 12M8.5 4 13 8l-4.5 4"/>"#,
            Self::Pending => r#"<circle cx="8" cy="8" r="5.75" stroke-dasharray="2.5 2"/>"#,
            Self::Info => r#"<circle cx="8" cy="8" r="6"/><path d="M8 7.25v3.5M8 5v.01"/>"#,
            Self::Maintenance => {
                r#"<path class="f" d="M8 1.25 14.75 8 8 14.75 1.25 8z"/><path class="k" d="M8 7.5v3M8 5.25v.01"/>"#
            }
        })
    }

    /// A tinted pill with a word.
    pub(crate) fn pill(self, word: &str) -> Markup {
        html! { span class={ "pill " (self.class()) } { (self.shape()) span { (word) } } }
    }

    /// A word with its shape, without a tint: for normal states, or on a tinted background.
    pub(crate) fn bare(self, word: &str) -> Markup {
        html! { span class={ "pill bare " (self.class()) } { (self.shape()) span { (word) } } }
    }

    /// Like [`Look::bare`], but gray if the count is 0.
    pub(crate) fn counted(self, word: &str, count: usize) -> Markup {
        let on = if count > 0 { " on" } else { "" };
        html! { span class={ "pill bare " (self.class()) (on) } { (self.shape()) span { (word) } } }
    }

    /// The shape alone, next to words that say the rest.
    pub(crate) fn mark(self) -> Markup {
        html! { span class={ "txt bare " (self.class()) } { (self.shape()) } }
    }
}

impl From<SiteState> for Look {
    fn from(state: SiteState) -> Self {
        match state {
            SiteState::Down => Self::Down,
            SiteState::Failing => Self::Failing,
            SiteState::Issues => Self::Issues,
            SiteState::Unchecked => Self::NotRun,
            SiteState::Up => Self::Up,
            SiteState::Unknown => Self::Pending,
            SiteState::Paused => Self::Paused,
        }
    }
}

/// How an active issue looks. A site that is down differs from a site that works but has a problem.
impl From<Severity> for Look {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Critical => Self::Down,
            Severity::Warning | Severity::Info => Self::Issues,
        }
    }
}

/// The state that a browser's tab and the mark in the header show. Issues that are not critical do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TabState {
    /// Nothing is down or failing.
    Up,
    /// A check failed, and no issue is open yet.
    Failing,
    /// A critical issue is active.
    Down,
    /// Nobody is signed in, or nothing is or can be checked.
    Unknown,
}

impl TabState {
    /// The state of these sites, of which one or more may have a critical issue.
    pub(crate) fn of(is_critical: bool, sites: impl IntoIterator<Item = SiteState>) -> Self {
        let mut worst = if is_critical { Self::Down } else { Self::Unknown };
        for site in sites {
            worst = match (worst, site) {
                (Self::Down, _) | (_, SiteState::Down) => return Self::Down,
                (Self::Failing, _) | (_, SiteState::Failing) => Self::Failing,
                (Self::Up, _) | (_, SiteState::Up | SiteState::Issues) => Self::Up,
                (Self::Unknown, SiteState::Unknown | SiteState::Unchecked | SiteState::Paused) => {
                    Self::Unknown
                }
            };
        }
        worst
    }

    /// The state of a team with so many sites, for a page that does not load them.
    pub(crate) const fn of_team(attention: Attention, sites: u32) -> Self {
        match attention {
            Attention { is_critical: true, .. } => Self::Down,
            Attention { is_failing: true, .. } => Self::Failing,
            Attention { unchecked, .. } if unchecked >= sites as usize => Self::Unknown,
            Attention { .. } => Self::Up,
        }
    }

    /// The class of the mark.
    const fn class(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Failing => "failing",
            Self::Down => "down",
            Self::Unknown => "unknown",
        }
    }
}

/// An issue in a list.
pub(crate) fn issue(status: IssueStatus, severity: Severity) -> Markup {
    match status {
        IssueStatus::Open => Look::from(severity).pill("Open"),
        IssueStatus::Acknowledged => Look::from(severity).pill("Acknowledged"),
        IssueStatus::Resolved => Look::Up.pill("Resolved"),
    }
}

/// A shape made of these lines.
fn shape(lines: &'static str) -> Markup {
    html! { svg.i viewBox="0 0 16 16" aria-hidden="true" { (PreEscaped(lines)) } }
}

/// A shape that is not a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Icon {
    Plus,
    Search,
    More,
    Unfold,
    Ascending,
    Descending,
    Run,
    Edit,
    Pause,
    Play,
    Delete,
    Print,
    Lock,
    Person,
    Key,
    Leave,
    Bell,
    Moon,
    Clock,
    Wrench,
    Note,
    Plan,
    Mail,
    Chat,
    Program,
    Tag,
    Remove,
}

impl Icon {
    pub(crate) fn shape(self) -> Markup {
        shape(match self {
            Self::Tag => r#"<path d="M2.5 2.5h5l6 6-5 5-6-6zM5.5 5.5v.01"/>"#,
            Self::Remove => r#"<path d="m4.5 4.5 7 7M11.5 4.5l-7 7"/>"#,
            Self::Plus => r#"<path d="M8 3v10M3 8h10"/>"#,
            Self::Search => r#"<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3.25 3.25"/>"#,
            Self::More => {
                r#"<g class="f"><circle cx="3.5" cy="8" r="1.3"/><circle cx="8" cy="8" r="1.3"/><circle cx="12.5" cy="8" r="1.3"/></g>"#
            }
            Self::Unfold => r#"<path d="m4 6 4 4 4-4"/>"#,
            Self::Ascending => r#"<path d="M8 13V3M4.5 6.5 8 3l3.5 3.5"/>"#,
            Self::Descending => r#"<path d="M8 3v10M4.5 9.5 8 13l3.5-3.5"/>"#,
            Self::Run => r#"<path d="M13 8A5 5 0 1 1 11.2 4.2M13 2.5v2.75h-2.75"/>"#,
            Self::Edit => r#"<path d="m3 13 .75-3L10.5 3.25l2.25 2.25L6 12.25z"/>"#,
            Self::Pause => r#"<path d="M5.5 3.5v9M10.5 3.5v9"/>"#,
            Self::Play => r#"<path d="M5 3.25v9.5L12.5 8z"/>"#,
            Self::Delete => r#"<path d="M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.6 9h6.8l.6-9"/>"#,
            Self::Print => r#"<path d="M4.5 6V2.5h7V6M4.5 11.5h-2V6h11v5.5h-2M4.5 9.5h7v4h-7z"/>"#,
            Self::Lock => {
                r#"<rect x="3" y="7" width="10" height="7" rx="1.5"/><path d="M5.25 7V5a2.75 2.75 0 0 1 5.5 0v2"/>"#
            }
            Self::Person => {
                r#"<circle cx="8" cy="5.5" r="2.75"/><path d="M2.75 14c.5-3 2.5-4.25 5.25-4.25S12.75 11 13.25 14"/>"#
            }
            Self::Key => {
                r#"<circle cx="5.5" cy="10.5" r="2.75"/><path d="m7.5 8.5 5.5-5.5M10.5 5.5l2 2"/>"#
            }
            Self::Leave => r#"<path d="M6.5 2.75H3v10.5h3.5M10 5l3 3-3 3M13 8H6"/>"#,
            Self::Bell => {
                r#"<path d="M4 7a4 4 0 0 1 8 0c0 3.5 1.5 4.5 1.5 4.5h-11S4 10.5 4 7M6.75 13.75a1.5 1.5 0 0 0 2.5 0"/>"#
            }
            Self::Clock => r#"<circle cx="8" cy="8" r="5.5"/><path d="M8 4.75V8l2.25 1.5"/>"#,
            Self::Wrench => {
                r#"<path d="M10 2.5a3.5 3.5 0 0 0-3.2 4.9L2.6 11.6a1.3 1.3 0 0 0 1.8 1.8l4.2-4.2A3.5 3.5 0 0 0 13.4 5L11 7 9 5l2-2.3a3.4 3.4 0 0 0-1-.2z"/>"#
            }
            Self::Moon => r#"<path d="M13 9.5A5.5 5.5 0 1 1 6.5 3 4.5 4.5 0 0 0 13 9.5z"/>"#,
            Self::Note => r#"<path d="M3 2.75h10v10.5H3zM5.5 6h5M5.5 9h3.5"/>"#,
            Self::Plan => r#"<path d="M2.6 12.5a6.25 6.25 0 1 1 10.8 0M8 9.5l3-3.5"/>"#,
            Self::Mail => {
                r#"<rect x="2" y="3.5" width="12" height="9" rx="1.5"/><path d="m2.5 4.5 5.5 4 5.5-4"/>"#
            }
            Self::Chat => r#"<path d="M2.5 3h11v8H7l-3 2.5V11H2.5z"/>"#,
            Self::Program => r#"<path d="M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4"/>"#,
        })
    }
}

impl From<ChannelKind> for Icon {
    fn from(kind: ChannelKind) -> Self {
        match kind {
            ChannelKind::Email => Self::Mail,
            kind if kind.is_for_people() => Self::Chat,
            _ => Self::Program,
        }
    }
}

/// The shape of a tool.
pub(crate) fn tool(tool: Tool) -> Markup {
    match tool {
        Tool::Status => shape(r#"<path d="M1.5 8.5h3l2-5 3 9 2-4h3"/>"#),
        Tool::Ssl => Icon::Lock.shape(),
        Tool::Dns => shape(
            r#"<circle cx="8" cy="8" r="6"/><path d="M2 8h12M8 2c2 2 2.5 4 2.5 6S10 12 8 14c-2-2-2.5-4-2.5-6S6 4 8 2"/>"#,
        ),
        Tool::BrokenLinks => shape(
            r#"<path d="M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2A2.6 2.6 0 1 0 9 3.3l-.8.8M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9A2.6 2.6 0 1 0 7 12.7l.8-.8"/>"#,
        ),
        Tool::Performance => Icon::Plan.shape(),
        Tool::Heartbeat => Icon::Clock.shape(),
    }
}

/// The logo of Vedette: a V that is also a tick.
pub(crate) fn logo(size: u8) -> Markup {
    mark(size, TabState::Up)
}

/// The logo with a dot or, if something is down, a square in the color of the state.
pub(crate) fn mark(size: u8, state: TabState) -> Markup {
    html! {
        svg class={ "mark " (state.class()) } width=(size) height=(size) viewBox="0 0 28 28" aria-hidden="true" {
            rect width="28" height="28" rx="7.5" {}
            path d="M7 11.5 12.5 20.5 19 11.8" {}
            // The class decides which of the two is shown, so that the script has to change only the class.
            circle cx="20.75" cy="7.75" r="2.6" {}
            rect.sq x="17.5" y="4.5" width="6.5" height="6.5" rx="1.5" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tab_shows_the_worst_site() {
        use SiteState::{Down, Failing, Issues, Paused, Unchecked, Unknown, Up};
        for (is_critical, sites, state) in [
            (false, &[][..], TabState::Unknown),
            (false, &[Unknown, Paused, Unchecked], TabState::Unknown),
            (false, &[Unchecked, Up], TabState::Up),
            (false, &[Paused, Issues], TabState::Up),
            (false, &[Up, Paused], TabState::Up),
            (false, &[Up, Failing, Issues], TabState::Failing),
            (false, &[Failing, Down, Up], TabState::Down),
            (true, &[Issues], TabState::Down),
        ] {
            assert_eq!(TabState::of(is_critical, sites.iter().copied()), state, "{sites:?}");
        }
    }
}
