//! The settings of a team: how its sites are monitored, in sections with a form each. Next to them are links to the
//! team's members, plan and audit log.

mod section;
pub(crate) mod show;
pub(crate) mod update;

use maud::{Markup, html};
use vedette_domain::id::TeamId;

pub(crate) use self::section::{Section, setting_at};
use crate::look::Icon;

/// A page of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Section(Section),
    Maintenance,
    TimeZone,
    Name,
    Members,
    Plan,
    AuditLog,
}

impl Part {
    const OF_TEAM: [Self; 4] = [Self::Name, Self::Members, Self::Plan, Self::AuditLog];

    const fn word(self) -> &'static str {
        match self {
            Self::Section(section) => section.title(),
            Self::Maintenance => "Maintenance",
            Self::TimeZone => "Time zone",
            Self::Name => "Name",
            Self::Members => "Members",
            Self::Plan => "Plan",
            Self::AuditLog => "Audit log",
        }
    }

    fn path(self, team: TeamId) -> String {
        match self {
            Self::Section(section) => format!("/teams/{team}/settings/{}", section.as_str()),
            Self::Maintenance => format!("/teams/{team}/maintenance"),
            Self::TimeZone => format!("/teams/{team}/time-zone"),
            Self::Name => format!("/teams/{team}/name"),
            Self::Members => format!("/teams/{team}/members"),
            Self::Plan => format!("/teams/{team}/plan"),
            Self::AuditLog => format!("/teams/{team}/audit-log"),
        }
    }

    fn shape(self) -> Markup {
        match self {
            Self::Section(section) => section.shape(),
            Self::Maintenance => Icon::Wrench.shape(),
            Self::TimeZone => Icon::Clock.shape(),
            Self::Name => Icon::Edit.shape(),
            Self::Members => Icon::Person.shape(),
            Self::Plan => Icon::Plan.shape(),
            Self::AuditLog => Icon::Note.shape(),
        }
    }
}

/// A page of the settings, with links to the other pages next to it.
pub(crate) fn beside_others(team: TeamId, here: Part, content: &Markup) -> Markup {
    let groups = [
        (
            "Monitoring",
            Section::of_monitoring().map(Part::Section).chain([Part::Maintenance]).collect(),
        ),
        (
            "Notifications",
            Section::of_notifications()
                .map(Part::Section)
                .into_iter()
                .chain([Part::TimeZone])
                .collect(),
        ),
        ("Team", Part::OF_TEAM.to_vec()),
    ];
    let groups: [(&str, Vec<Part>); 3] = groups;
    html! {
        div.form {
            nav.screen aria-label="Settings" {
                ul.side {
                    @for (title, parts) in &groups {
                        li { b { (title) } }
                        @for part in parts {
                            li {
                                a href=(part.path(team)) aria-current=[(*part == here).then_some("page")] {
                                    (part.shape()) (part.word())
                                }
                            }
                        }
                    }
                }
            }
            div.stack { (content) }
        }
    }
}
