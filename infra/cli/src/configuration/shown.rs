//! What an apply changes, for people.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};
use vedette_domain::checks::load::{BUCKETS_SAVE_PER_MILLION, MILLION_DOLLARS};
use vedette_runtime::Scheduler;

use crate::api::Api;
use crate::output::{Show, printable, text_at};

/// The most names of sites in a line.
const NAMES_MAX: usize = 10;

/// What an apply changes, or would change.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Shown {
    answer: Value,
    /// Whether nothing has changed yet.
    #[serde(skip)]
    is_planned: bool,
    /// What a million checks cost, if the team is on AWS.
    #[serde(skip)]
    million_dollars: Option<f64>,
}

impl Shown {
    /// What would change.
    pub(super) fn planned(answer: Value, api: &Api<'_>) -> Self {
        Self { answer, is_planned: true, million_dollars: million_dollars(api) }
    }

    /// What has changed.
    pub(super) fn applied(
        mut answer: Value,
        made: Vec<Value>,
        keys: Vec<Value>,
        api: &Api<'_>,
    ) -> Self {
        answer["changes"] = made.into();
        answer["left"] = json!(0);
        if !keys.is_empty() {
            answer["signing_keys"] = keys.into();
        }
        Self { answer, is_planned: false, million_dollars: million_dollars(api) }
    }

    /// How many objects are created, changed or deleted. What is only adopted stays as it is.
    pub(super) fn changes(&self) -> usize {
        self.list("changes").filter(|change| change["action"] != "adopt").count()
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.answer[name].as_array().into_iter().flatten()
    }

    fn count(&self, action: &str) -> usize {
        self.list("changes").filter(|change| change["action"] == action).count()
    }

    fn summary(&self) -> String {
        let [create, update, delete, adopt] =
            ["create", "update", "delete", "adopt"].map(|action| self.count(action));
        if create + update + delete + adopt == 0 {
            return "No changes.\n".to_owned();
        }
        match self.is_planned {
            true => format!(
                "{create} to create, {update} to update, {delete} to delete, {adopt} to adopt.\n"
            ),
            false => {
                format!("{create} created, {update} updated, {delete} deleted, {adopt} adopted.\n")
            }
        }
    }
}

/// What a million checks cost where a command works.
const fn million_dollars(api: &Api<'_>) -> Option<f64> {
    match api {
        Api::Here(app, _) => match app.scheduler {
            Scheduler::EventBridge(_) => Some(MILLION_DOLLARS),
            Scheduler::Polling(_) => Some(MILLION_DOLLARS - BUCKETS_SAVE_PER_MILLION),
            _ => None,
        },
        Api::There(..) => None,
    }
}

impl Show for Shown {
    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write(&mut text);
        text
    }
}

impl Shown {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        for change in self.list("changes") {
            let sign = match change["action"].as_str() {
                Some("create") => '+',
                Some("delete") => '-',
                Some("adopt") => '=',
                _ => '~',
            };
            let kind = text_at(change, "/kind").replace('_', " ");
            let key = change["key"].as_str().map(|key| format!(" {key}")).unwrap_or_default();
            let name = text_at(change, "/name");
            let adopted = match (change["action"].as_str(), change["adopted"] == true) {
                (Some("update"), true) => ", adopted",
                (Some("adopt"), _) => ", adopted without a change",
                _ => "",
            };
            writeln!(text, "{sign} {kind}{key} ({}){adopted}", printable(&name))?;
            for field in change["fields"].as_array().into_iter().flatten() {
                let name = text_at(field, "/field");
                let line = match (field.get("before"), field.get("after")) {
                    (None, Some(after)) => format!("{name}: {after}"),
                    (Some(before), None) => format!("{name}: {before} → default"),
                    (Some(before), Some(after)) if before == after => {
                        format!("{name}: changed")
                    }
                    (before, after) => {
                        let shown = |value: Option<&Value>| value.map(ToString::to_string);
                        let [before, after] =
                            [before, after].map(|of| shown(of).unwrap_or_default());
                        format!("{name}: {before} → {after}")
                    }
                };
                writeln!(text, "    {}", printable(&line))?;
            }
        }
        if self.list("changes").next().is_some() {
            text.push('\n');
        }
        text.push_str(&self.summary());
        let left_over = self.list("left_over").count();
        if left_over > 0 {
            let names = names(self.list("left_over").map(|one| text_at(one, "/name")).collect());
            writeln!(text, "No longer in the document (--prune deletes them): {names}.")?;
        }
        self.write_effects(text)?;
        for key in self.list("signing_keys") {
            let (channel, key) = (text_at(key, "/channel"), text_at(key, "/signing_key"));
            let channel = printable(&channel);
            writeln!(text, "Signing key of {channel}, shown only once: {key}")?;
        }
        Ok(())
    }

    fn write_effects(&self, text: &mut String) -> std::fmt::Result {
        let checks = &self.answer["effects"]["checks_per_month"];
        let [before, after] = ["before", "after"].map(|when| checks[when].as_u64().unwrap_or(0));
        writeln!(text, "Checks a month: {before} before, {after} after.")?;
        if let Some(dollars) = self.million_dollars {
            let difference = (after as f64 - before as f64) / 1e6 * dollars;
            writeln!(text, "Change in cost a month: {difference:+.2} dollars.")?;
        }
        for channel in self.answer["effects"]["channels"].as_array().into_iter().flatten() {
            let of = |change: &str| -> Vec<String> {
                let sites = channel[change].as_array().into_iter().flatten();
                sites.filter_map(|site| Some(site.as_str()?.to_owned())).collect()
            };
            let mut parts = Vec::new();
            for change in ["gains", "loses"] {
                let sites = of(change);
                if !sites.is_empty() {
                    parts.push(format!("{change} {}", names(sites)));
                }
            }
            let name = text_at(channel, "/channel");
            writeln!(text, "Channel {}: {}.", printable(&name), parts.join("; "))?;
        }
        Ok(())
    }
}

/// A list of names, of which only the first are shown.
fn names(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let shown = printable(&names.join(", "));
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_aws_a_plan_ends_with_the_difference_in_dollars() {
        let checks = json!({ "before": 1_000_000, "after": 600_000 });
        let answer = json!({ "effects": { "checks_per_month": checks } });
        let shown = Shown { answer, is_planned: true, million_dollars: Some(MILLION_DOLLARS) };
        let expected = "No changes.\n\
            Checks a month: 1000000 before, 600000 after.\n\
            Change in cost a month: -1.04 dollars.\n";
        assert_eq!(shown.text(), expected);
    }
}
