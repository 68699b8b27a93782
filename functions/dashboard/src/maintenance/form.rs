//! The form for a new window.

use maud::{Markup, html};
use serde_json::{Map, Value};
use vedette_domain::accounts::team::Team;
use vedette_domain::maintenance::{SITES_MAX, WindowInput};
use vedette_domain::time_zone::NamedZone;
use vedette_http::maintenance::parse_window;
use vedette_http::validation::ValidationError;
use vedette_store::DirectoryRow;

use super::path;
use crate::form::{Choice, FormInput};

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

/// Reads the form as the API reads a request.
pub(super) fn parse(sent: &FormInput) -> Result<(WindowInput, u32), ValidationError> {
    let texts = ["name", "starts_at", "time_zone"].map(|name| (name, sent.text(name)));
    let typed = Some(sent.text(OTHER_RULE)).filter(|rule| !rule.trim().is_empty());
    let recurrence = ("recurrence", typed.unwrap_or(sent.text("recurrence")));
    let texts = texts.into_iter().chain([recurrence]);
    let mut request: Map<String, Value> =
        texts.map(|(name, text)| (name.to_owned(), Value::from(text))).collect();
    let minutes: Option<u32> = sent.text("duration_minutes").parse().ok();
    request.insert("duration_minutes".to_owned(), minutes.into());
    let sites: Vec<&str> = sent.all("sites").collect();
    if !sites.is_empty() {
        request.insert("sites".to_owned(), sites.into());
    }
    parse_window(&request)
}

pub(super) fn part(team: &Team, sites: &[DirectoryRow], refused: Option<FormInput>) -> Markup {
    let input = refused.unwrap_or_else(|| {
        let mut input = FormInput::default();
        input.put("duration_minutes", "60");
        input.put("time_zone", team.zone.name());
        input
    });
    let zones: Vec<_> =
        NamedZone::names().iter().map(|name| Choice::new(name, name.clone())).collect();
    let lengths = LENGTHS.map(|(minutes, words)| Choice::new(minutes, words));
    let repeats = REPEATS.map(|(rule, words)| Choice::new(rule, words));
    let names = ["name", "sites", "starts_at", "time_zone", "duration_minutes", "recurrence"];
    html! {
        form.card method="post" action=(path(team.id)) novalidate {
            header { h2 { "Add window" } }
            (input.unsaved(names.into_iter()))
            div.fields {
                (input.input("name", "text", ("Name", "For example Deployment.")))
                (input.select("duration_minutes", "Takes", &lengths))
                (input.input("starts_at", "datetime-local", ("Starts", "Leave it empty to start now.")))
                (input.select("time_zone", "Time zone", &zones))
                (input.select("recurrence", "Repeats", &repeats))
                (input.input(OTHER_RULE, "text", ("Other rule", "A rule of RFC 5545, such as FREQ=MONTHLY;BYDAY=2TU.")))
                (of_sites(sites, &input))
            }
            footer { button.main { "Add window" } }
        }
    }
}

/// The sites to tick; all sites if none is ticked.
fn of_sites(sites: &[DirectoryRow], input: &FormInput) -> Markup {
    let offered: Vec<_> =
        sites.iter().take(OFFERED).map(|site| Choice::new(site.id, site.name.clone())).collect();
    let help = match sites.len() > OFFERED {
        true => {
            "For all sites, tick none. The list has the first 200; others have maintenance in their own menu."
        }
        false => "For all sites, tick none.",
    };
    html! { @if !offered.is_empty() { (input.ticks("sites", ("Sites", help), &offered)) } }
}
