//! The form for a maintenance window, a new one or one that is changed.

use jiff::SignedDuration;
use maud::{Markup, html};
use serde_json::{Map, Value};
use vedette_domain::accounts::team::Team;
use vedette_domain::maintenance::{MaintenanceWindow, SITES_MAX, WindowInput};
use vedette_domain::time;
use vedette_http::maintenance::{parse_window, parse_window_update};
use vedette_http::validation::ValidationError;
use vedette_store::DirectoryRow;

use super::path;
use crate::form::{Choice, FormInput};
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

/// The most sites that can be ticked. Larger teams name sites through the API or on the page of a site.
const OFFERED: usize = 2 * SITES_MAX;

/// The field in which a rule is typed.
const OTHER_RULE: &str = "rule";

/// The fields, by the names that the API gives them.
const NAMES: [&str; 6] =
    ["name", "sites", "starts_at", "time_zone", "duration_minutes", "recurrence"];

/// Reads a new window as the API reads a request.
pub(super) fn parse(sent: &FormInput) -> Result<(WindowInput, u32), ValidationError> {
    parse_window(&request(sent))
}

/// Reads a change of a window as the API reads a request.
pub(super) fn parse_update(sent: &FormInput) -> Result<WindowInput, ValidationError> {
    parse_window_update(&request(sent))
}

fn request(sent: &FormInput) -> Map<String, Value> {
    let texts = ["name", "starts_at", "time_zone"].map(|name| (name, sent.text(name)));
    let typed = Some(sent.text(OTHER_RULE)).filter(|rule| !rule.trim().is_empty());
    let recurrence = ("recurrence", typed.unwrap_or(sent.text("recurrence")));
    let texts = texts.into_iter().chain([recurrence]);
    let mut request: Map<String, Value> =
        texts.map(|(name, text)| (name.to_owned(), Value::from(text))).collect();
    let minutes: Option<u32> = sent.text("duration_minutes").parse().ok();
    request.insert("duration_minutes".to_owned(), minutes.into());
    let sites: Vec<&str> = sent.all("sites").collect();
    let sites = if sites.is_empty() { Value::Null } else { sites.into() };
    request.insert("sites".to_owned(), sites);
    request
}

/// What a form shows of a window.
pub(super) fn of_window(window: &MaintenanceWindow) -> FormInput {
    let mut input = FormInput::default();
    input.put("name", &*window.name);
    // A window that started at once has seconds.
    let format = if window.start.second() == 0 { "%Y-%m-%dT%H:%M" } else { "%Y-%m-%dT%H:%M:%S" };
    input.put("starts_at", window.start.strftime(format).to_string());
    input.put("time_zone", window.zone.name());
    input.put("duration_minutes", window.minutes.to_string());
    let rule = window.rule.as_ref().map(ToString::to_string).unwrap_or_default();
    let is_offered = REPEATS.iter().any(|(offered, _)| *offered == rule);
    input.put(if is_offered { "recurrence" } else { OTHER_RULE }, rule);
    for site in window.sites.iter().flatten() {
        input.put("sites", site.to_string());
    }
    input
}

/// The form for a new window.
pub(super) fn add(team: &Team, sites: &[DirectoryRow], refused: Option<FormInput>) -> Markup {
    let input = refused.unwrap_or_else(|| {
        let mut input = FormInput::default();
        input.put("duration_minutes", "60");
        input.put("time_zone", team.zone.name());
        input
    });
    let offered: Vec<_> = sites.iter().take(OFFERED).collect();
    let start = "Leave it empty to start now.";
    html! {
        form.card method="post" action=(path(team.id)) novalidate {
            header { h2 { "Add window" } }
            (input.unsaved(NAMES.into_iter()))
            (fields(&input, start, &LENGTHS.map(choice), &of_sites(&offered, sites.len(), &input)))
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
    // The sites that it is for come first, so that none of them is missing.
    let covers = |site: &&DirectoryRow| {
        window.sites.as_ref().is_some_and(|covered| covered.contains(&site.id))
    };
    let (covered, others): (Vec<_>, Vec<_>) = sites.iter().partition(covers);
    let has_lost_all = window.sites.is_some() && covered.is_empty();
    let offered: Vec<_> = covered.into_iter().chain(others).take(OFFERED).collect();
    html! {
        form.card method="post" action={ (path(team.id)) "/" (window.id) "/edit" } novalidate {
            (input.unsaved(NAMES.into_iter()))
            @if has_lost_all {
                p.in { "The sites of this window were deleted. If you select none, it is for all sites." }
            }
            (fields(input, "", &lengths, &of_sites(&offered, sites.len(), input)))
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

fn fields(input: &FormInput, start: &str, lengths: &[Choice], sites: &Markup) -> Markup {
    let repeats = REPEATS.map(|(rule, words)| Choice::new(rule, words));
    html! {
        div.fields {
            (input.input("name", "text", ("Name", "For example, Deployment.")))
            (input.select("duration_minutes", "Duration", lengths))
            (input.input("starts_at", "datetime-local", ("Starts", start)))
            (input.select("time_zone", "Time zone", &zones().collect::<Vec<_>>()))
            (input.select("recurrence", "Repeats", &repeats))
            (input.input(OTHER_RULE, "text", ("Other rule", "An RFC 5545 rule, such as FREQ=MONTHLY;BYDAY=2TU.")))
            (sites)
        }
    }
}

/// The sites to tick, of so many of the team; all sites if none is ticked.
fn of_sites(sites: &[&DirectoryRow], of: usize, input: &FormInput) -> Markup {
    let offered: Vec<_> =
        sites.iter().map(|site| Choice::new(site.id, site.name.clone())).collect();
    let help = match of > OFFERED {
        true => {
            "Select none for all sites. The list has the first 200. Start maintenance of other sites from the menu on their pages."
        }
        false => "Select none for all sites.",
    };
    html! { @if !offered.is_empty() { (input.ticks("sites", ("Sites", help), &offered)) } }
}
