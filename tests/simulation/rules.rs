//! Tags of sites and rules of channels: those that people choose, and what they mean, in the plainest way.

use std::num::NonZeroU32;

use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_domain::alerts::channel::Filter;
use vedette_domain::sites::tag::Tags;

use crate::random::Random;

const TAGS: [&str; 4] = ["env:prod", "team:shop", "team:web", "legacy"];

/// Whether a selector means a site, which has some tags.
type Meaning = fn(&dyn Fn(&str) -> bool) -> bool;

const SELECTORS: [(&str, Meaning); 3] = [
    ("env:prod", |has| has("env:prod")),
    ("team in (shop,web)", |has| has("team:shop") || has("team:web")),
    ("env:prod, !legacy", |has| has("env:prod") && !has("legacy")),
];

/// Whether a channel is about the sites with these tags.
pub(crate) fn is_about(filter: &Filter, tags: &Tags) -> bool {
    let Some(selector) = filter.selector.as_ref().map(ToString::to_string) else { return true };
    let known = SELECTORS.into_iter().find(|(known, _)| *known == selector);
    known.expect("one of the selectors").1(&|wanted| tags.iter().any(|tag| tag.as_str() == wanted))
}

/// A number of minutes.
pub(crate) fn length(minutes: Option<NonZeroU32>) -> Option<SignedDuration> {
    minutes.map(|minutes| SignedDuration::from_mins(minutes.get().into()))
}

/// The tags that somebody gives a site.
pub(crate) fn tags(random: &mut Random) -> Value {
    TAGS.into_iter().filter(|_| random.happens(500)).collect()
}

/// What somebody changes of a channel's rules. Each minute is `slowness` minutes long.
pub(crate) fn changed(random: &mut Random, is_for_people: bool, slowness: u32) -> Value {
    let mut minutes = |of: &[u32]| {
        let minutes = random.one_of(of) * slowness;
        (minutes > 0).then_some(minutes)
    };
    let [delay, repeat] = [minutes(&[0, 1, 5, 20]), minutes(&[0, 5, 30])];
    match random.below(if is_for_people { 4 } else { 2 }) {
        0 => json!({ "selector": null }),
        1 => json!({ "selector": random.one_of(&SELECTORS).0 }),
        2 => json!({ "delay_minutes": delay }),
        _ => json!({ "repeat_minutes": repeat }),
    }
}
