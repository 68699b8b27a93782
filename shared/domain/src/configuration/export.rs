//! A document of everything that a team has.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::current::Current;
use super::describe::{self, Described};
use super::document::{ObjectKind, References};
use super::managed::ManagedBy;
use crate::id::SiteId;

/// A document of everything that a team has, except for what other documents manage. Objects without a key in it get one that follows from their names, and
/// secrets are references to variables that follow from the keys. Without a name, the document has that of the document
/// that manages the team's objects, or one that follows from the team's name.
pub fn export(current: &Current<'_>, name: Option<&str>, now: Timestamp) -> Map<String, Value> {
    let Current { team, plan, settings, sites, heartbeats, channels, groups, pages } = current;
    let is_known = |site: &SiteId| sites.iter().any(|one| one.id == *site);
    let mut windows = team.windows.current_ones(now);
    // Without its sites, a window would be for all of them.
    windows.retain(|window| window.sites.as_ref().is_none_or(|of| of.iter().any(is_known)));
    let documents: BTreeSet<&str> = sites
        .iter()
        .map(|site| &site.managed_by)
        .chain(heartbeats.iter().map(|heartbeat| &heartbeat.managed_by))
        .chain(channels.iter().map(|channel| &channel.managed_by))
        .chain(groups.groups.iter().map(|group| &group.managed_by))
        .chain(windows.iter().map(|window| &window.managed_by))
        .chain(pages.iter().map(|page| &page.managed_by))
        .flatten()
        .map(|by| by.document.as_str())
        .collect();
    let only = documents.first().filter(|_| documents.len() == 1).map(|name| (*name).to_owned());
    let name = name.map(str::to_owned).or(only);
    let name = name.unwrap_or_else(|| ManagedBy::key_for(&team.name, |_| false));
    let mut exporter =
        Exporter { document: &name, keys: BTreeSet::new(), variables: BTreeSet::new() };
    let taken = [
        exporter.taken(sites.iter().map(|site| site.managed_by.as_ref())),
        exporter.taken(heartbeats.iter().map(|heartbeat| heartbeat.managed_by.as_ref())),
        exporter.taken(channels.iter().map(|channel| channel.managed_by.as_ref())),
        exporter.taken(groups.groups.iter().map(|group| group.managed_by.as_ref())),
        exporter.taken(windows.iter().map(|window| window.managed_by.as_ref())),
        exporter.taken(pages.iter().map(|page| page.managed_by.as_ref())),
    ];
    exporter.keys = taken.into_iter().flatten().collect();

    let mut document = Map::new();
    let of_team = describe::settings(&team.zone, settings, *plan);
    document.insert(ObjectKind::Settings.field().to_owned(), exporter.revealed("", of_team).into());
    let mut references = References::default();
    let mut lists: Vec<(ObjectKind, Vec<Value>)> = Vec::new();
    let is_own = |by: &Option<ManagedBy>| by.as_ref().is_none_or(|by| by.document == name);
    let list = sites.iter().filter(|site| is_own(&site.managed_by)).map(|site| {
        let key = exporter.key(site.managed_by.as_ref(), site.url.domain());
        references.add(site, &key);
        exporter.object(key, describe::site(site, *plan))
    });
    lists.push((ObjectKind::Site, list.collect()));
    for site in *sites {
        references.add_other(site);
    }
    let own = heartbeats.iter().filter(|heartbeat| is_own(&heartbeat.managed_by));
    let list = own.map(|heartbeat| {
        let key = exporter.key(heartbeat.managed_by.as_ref(), &heartbeat.name);
        references.add_heartbeat(heartbeat, &key);
        exporter.object(key, describe::heartbeat(heartbeat))
    });
    lists.push((ObjectKind::Heartbeat, list.collect()));
    for heartbeat in *heartbeats {
        references.add_other_heartbeat(heartbeat);
    }
    let own = channels.iter().filter(|channel| is_own(&channel.managed_by));
    let list = own.map(|channel| {
        let key = exporter.key(channel.managed_by.as_ref(), &channel.name);
        let token = channel.token_digest.as_ref();
        let described = describe::channel(&channel.name, &channel.target, &channel.filter, token);
        exporter.object(key, described)
    });
    lists.push((ObjectKind::Channel, list.collect()));
    let own = groups.groups.iter().filter(|group| is_own(&group.managed_by));
    let list = own.map(|group| {
        let key = exporter.key(group.managed_by.as_ref(), &group.name);
        exporter.object(key, describe::group(group))
    });
    lists.push((ObjectKind::Group, list.collect()));
    let own = windows.iter().filter(|window| is_own(&window.managed_by));
    let list = own.map(|window| {
        let key = exporter.key(window.managed_by.as_ref(), &window.name);
        exporter.object(key, describe::window(window, &references))
    });
    lists.push((ObjectKind::MaintenanceWindow, list.collect()));
    let own = pages.iter().filter(|page| is_own(&page.managed_by));
    let list = own.map(|page| {
        let key = exporter.key(page.managed_by.as_ref(), page.slug.as_str());
        // Components whose site or heartbeat was deleted are left out.
        let mut page = (*page).clone();
        for group in &mut page.groups {
            group.components.retain(|one| references.name(one.monitor).is_some());
        }
        exporter.object(key, describe::page(&page, &references))
    });
    lists.push((ObjectKind::StatusPage, list.collect()));
    for (kind, objects) in lists.into_iter().filter(|(_, objects)| !objects.is_empty()) {
        document.insert(kind.field().to_owned(), objects.into());
    }
    document.insert("name".to_owned(), name.into());
    document
}

/// Gives out keys and the names of variables.
struct Exporter<'n> {
    document: &'n str,
    keys: BTreeSet<String>,
    variables: BTreeSet<String>,
}

impl Exporter<'_> {
    /// The keys that objects already have in this document.
    fn taken<'a>(&self, objects: impl Iterator<Item = Option<&'a ManagedBy>>) -> Vec<String> {
        let own = objects.flatten().filter(|by| by.document == self.document);
        own.map(|by| by.key.clone()).collect()
    }

    /// The key of an object, or a new one that follows from a name.
    fn key(&mut self, managed_by: Option<&ManagedBy>, name: &str) -> String {
        if let Some(by) = managed_by.filter(|by| by.document == self.document) {
            return by.key.clone();
        }
        let key = ManagedBy::key_for(name, |key| self.keys.contains(key));
        self.keys.insert(key.clone());
        key
    }

    fn object(&mut self, key: String, described: Described) -> Value {
        let mut fields = self.revealed(&key, described);
        fields.insert("key".to_owned(), key.into());
        fields.into()
    }

    /// The fields of an object, with references to its secrets.
    fn revealed(&mut self, key: &str, described: Described) -> Map<String, Value> {
        let mut fields = Value::from(described.fields);
        for path in described.secrets.into_keys() {
            let what = match path {
                describe::HEADER => "header",
                describe::POST_BODY => "post_body",
                other => other,
            };
            let reference = json!({ "env": self.variable(key, what) });
            let place = path.split('.').fold(&mut fields, |object, name| &mut object[name]);
            *place = reference;
        }
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// The name of a variable, such as `VEDETTE_OPS_URL`, which no other secret has.
    fn variable(&mut self, key: &str, what: &str) -> String {
        let parts = ["vedette", key, what].into_iter().filter(|part| !part.is_empty());
        let name = parts.collect::<Vec<_>>().join("_").to_uppercase().replace(['-', '.'], "_");
        let numbered = (2..).map(|number: u32| format!("{name}_{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let name = names.find(|name| !self.variables.contains(name)).unwrap_or_default();
        self.variables.insert(name.clone());
        name
    }
}
