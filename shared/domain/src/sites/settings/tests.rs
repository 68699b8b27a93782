//! Which settings are accepted, how they are stored, and how those of a team and a site are combined.

use std::num::{NonZeroU16, NonZeroU32};

use serde_json::{Value, json};

use super::*;

mod resolving;
mod shape;

fn overrides(value: serde_json::Value) -> SiteOverrides {
    serde_json::from_value(value).expect("overrides")
}

fn time(text: &str) -> TimeOfDay {
    TimeOfDay::parse(text).expect("a time")
}

fn count(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("not zero")
}
