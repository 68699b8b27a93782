//! The form for a maintenance window, a new one or one that is changed.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use vedette_domain::accounts::team::Team;
use vedette_domain::id::SiteId;
use vedette_domain::input::Input;
use vedette_domain::maintenance::{MaintenanceWindow, NewWindow, WindowResource};
use vedette_domain::time;
use vedette_http::error::ApiError;
use vedette_http::validation::ValidationError;
use vedette_store::DirectoryRow;

use super::path;
use crate::form::picker::Offered;
use crate::form::{Choice, FormInput};
use crate::layout;
use crate::time_zone::zones;

/// The lengths that can be chosen, in minutes.
const LENGTHS: [(u32, &str); 9] = [
    (15, "15 minutes"),
    (30, "30 minutes"),
    (60, "1 hour"),
    (120, "2 hours"),
    (240, "4 hours"),
    (480, "8 hours"),
    (1_440, "1 day"),
    (2_880, "2 days"),
    (10_080, "7 days"),
];

/// How often a window takes place; any other rule is typed.
const REPEATS: [(&str, &str); 5] = [
    ("", "Once"),
    ("FREQ=DAILY", "Every day"),
    ("FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR", "Monday to Friday"),
    ("FREQ=WEEKLY", "Every week on this weekday"),
    ("FREQ=MONTHLY", "Every month on this date"),
];

/// The field in which a rule is typed.
const OTHER_RULE: &str = "rule";

/// Reads what was sent. A rule that is typed counts instead of the one that is chosen.
pub(super) fn read<T: Input>(sent: &FormInput) -> Result<T, ValidationError> {
    let mut texts = sent.texts(T::FIELDS.iter());
    let rule = sent.text(OTHER_RULE);
    if !rule.trim().is_empty() {
        texts.insert("recurrence".to_owned(), rule.into());
    }
    T::from_texts(&texts)
}

fn names() -> impl Iterator<Item = &'static str> {
    NewWindow::FIELDS.iter().map(|field| field.name)
}

/// What a form shows of a window.
pub(super) fn of_window(window: &MaintenanceWindow, now: Timestamp) -> Result<FormInput, ApiError> {
    let mut input = FormInput::default();
    input.fill("", NewWindow::FIELDS, &WindowResource::new(window, now))?;
    let rule = input.text("recurrence").to_owned();
    if REPEATS.iter().all(|(offered, _)| *offered != rule) {
        input.put(OTHER_RULE, rule);
    }
    Ok(input)
}

/// The form for a new window.
pub(super) fn add(team: &Team, sites: &[DirectoryRow], refused: Option<FormInput>) -> Markup {
    let input = refused.unwrap_or_else(|| {
        let mut input = FormInput::default();
        input.put("duration_minutes", "60");
        input.put("time_zone", team.zone.name());
        input
    });
    html! {
        form.card method="post" action=(path(team.id)) novalidate {
            header { h2 { "Add window" } }
            (input.uncreated("Maintenance window", names()))
            (fields(&input, &LENGTHS.map(choice), sites))
            footer { button.main { "Add window" } }
        }
    }
}

/// The form for a window of the team.
pub(super) fn edit(
    team: &Team,
    window: &MaintenanceWindow,
    sites: &[DirectoryRow],
    input: &FormInput,
) -> Markup {
    let mut lengths: Vec<_> = LENGTHS.map(choice).into();
    if !LENGTHS.iter().any(|(minutes, _)| *minutes == window.minutes) {
        let length = time::duration(SignedDuration::from_mins(window.minutes.into()));
        lengths.insert(0, Choice::new(window.minutes, length));
    }
    let is_known = |covered: &BTreeSet<SiteId>| sites.iter().any(|site| covered.contains(&site.id));
    let has_lost_all = window.sites.as_ref().is_some_and(|covered| !is_known(covered));
    html! {
        (layout::managed(window.managed_by.as_ref()))
        form.card method="post" action={ (path(team.id)) "/" (window.id) "/edit" } novalidate {
            (input.unsaved(names()))
            @if has_lost_all {
                p.in { "The sites of this window were deleted. If you select none, it is for all sites." }
            }
            (fields(input, &lengths, sites))
            footer {
                button.main { "Save" }
                a.btn href=(path(team.id)) { "Cancel" }
            }
        }
    }
}

fn choice((value, words): (u32, &str)) -> Choice {
    Choice::new(value, words)
}

/// The fields, with the sites of the team to tick.
fn fields(input: &FormInput, lengths: &[Choice], sites: &[DirectoryRow]) -> Markup {
    let repeats = REPEATS.map(|(rule, words)| Choice::new(rule, words));
    let chosen = input.all("sites").filter_map(SiteId::parse).collect();
    let offered = Offered::of(input, sites, &chosen);
    let sites = offered.all.iter().map(|site| Choice::new(site.id, site.name.clone()));
    let sites: Vec<_> = sites.collect();
    html! {
        div.fields {
            @for field in NewWindow::FIELDS {
                @match field.name {
                    "duration_minutes" => (input.chosen(field, lengths)),
                    "starts_at" => (input.input(field.name, "datetime-local", (field.label, field.help))),
                    "time_zone" => (input.chosen(field, &zones().collect::<Vec<_>>())),
                    "recurrence" => {
                        (input.chosen(field, &repeats))
                        (input.input(OTHER_RULE, "text", ("Other rule", "An RFC 5545 rule, such as FREQ=MONTHLY;BYDAY=2TU.")))
                    }
                    "selector" => (input.selector(field, "")),
                    "sites" => {
                        (offered.search(input))
                        (input.chosen(field, &sites))
                    }
                    _ => (input.control(field)),
                }
            }
        }
    }
}
