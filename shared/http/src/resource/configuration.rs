//! What applying a document changes, as the API shows it.

use serde::Serialize;
use vedette_actions::Applied;
use vedette_domain::alerts::channel::Target;
use vedette_domain::configuration::{Change, ChangePlan, Effects, ObjectKind};

/// What a document changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Configuration"))]
pub struct ConfigurationResource<'a> {
    /// The name of the document.
    document: &'a str,
    /// The changes that were made or, in a dry run, would be, in their order.
    changes: &'a [Change],
    /// How many changes are left. Send the request again, with the lease.
    left: usize,
    /// What the next request sends as `lease`; absent if no change is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    lease: Option<&'a str>,
    /// Objects that the document managed and no longer has, and that stay because the request does not prune.
    left_over: Vec<LeftOver<'a>>,
    /// How all changes affect the team.
    effects: &'a Effects,
    /// The keys that sign the requests of new webhooks. They are shown only once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    signing_keys: Vec<NewSigningKey<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct LeftOver<'a> {
    /// What it is.
    kind: ObjectKind,
    /// Its name.
    name: &'a str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct NewSigningKey<'a> {
    /// The name of the channel.
    channel: &'a str,
    /// The key.
    signing_key: String,
}

impl<'a> ConfigurationResource<'a> {
    /// What a document would change.
    pub fn planned(plan: &'a ChangePlan) -> Self {
        Self {
            document: &plan.document,
            changes: &plan.changes,
            left: plan.changes.len(),
            lease: None,
            left_over: plan
                .left_over
                .iter()
                .map(|(kind, name)| LeftOver { kind: *kind, name })
                .collect(),
            effects: &plan.effects,
            signing_keys: Vec::new(),
        }
    }

    /// What a document has changed so far.
    pub fn applied(plan: &'a ChangePlan, applied: &'a Applied, lease: Option<&'a str>) -> Self {
        let keys = applied.webhooks.iter().filter_map(|channel| {
            let keys = channel.secret.as_ref().and_then(Target::keys)?;
            Some(NewSigningKey { channel: &channel.name, signing_key: keys.current.reveal() })
        });
        Self {
            changes: &plan.changes[..applied.done],
            left: plan.changes.len() - applied.done,
            lease,
            signing_keys: keys.collect(),
            ..Self::planned(plan)
        }
    }
}
