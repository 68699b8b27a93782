//! The lists of a document, and the objects in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::ManagedBy;
use crate::heartbeats::heartbeat::Heartbeat;
use crate::id::MonitorId;
use crate::input::FieldRule as _;
use crate::sites::site::Site;
use crate::sites::site_url::SiteUrl;
use crate::validation::{Errors, Field, Fields, ValidationError};

/// The most objects in a list of a document. A document of this many sites with a few tags each is still shorter than
/// the longest request.
const OBJECTS_MAX: usize = 5_000;

/// A kind of object in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// The settings of the team.
    Settings,
    /// A channel.
    Channel,
    /// A site.
    Site,
    /// A heartbeat.
    Heartbeat,
    /// A group of sites.
    Group,
    /// A maintenance window.
    MaintenanceWindow,
    /// A status page.
    StatusPage,
}

impl ObjectKind {
    /// Those that a document has lists of, in the order in which they are written.
    pub const LISTS: [Self; 6] = [
        Self::Channel,
        Self::Site,
        Self::Heartbeat,
        Self::Group,
        Self::MaintenanceWindow,
        Self::StatusPage,
    ];

    /// The field of the document.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Channel => "channels",
            Self::Site => "sites",
            Self::Heartbeat => "heartbeats",
            Self::Group => "groups",
            Self::MaintenanceWindow => "maintenance_windows",
            Self::StatusPage => "status_pages",
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Settings => "settings",
            Self::Channel => "channel",
            Self::Site => "site",
            Self::Heartbeat => "heartbeat",
            Self::Group => "group",
            Self::MaintenanceWindow => "maintenance window",
            Self::StatusPage => "status page",
        })
    }
}

/// An object of a document.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Its key, which no other object of the document has.
    pub(super) key: String,
    /// Where it is in the document, as in `sites.3`.
    pub(super) path: String,
    /// Its other fields.
    pub(super) fields: Map<String, Value>,
}

impl Entry {
    /// The fields, for inputs whose errors have their whole path.
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields::at(self.path.clone(), &self.fields)
    }

    /// The path of one of its fields.
    pub(super) fn path_of(&self, field: &str) -> String {
        format!("{}.{field}", self.path)
    }

    /// Records a message that begins with "The … field".
    pub(super) fn refuse(&self, field: &str, predicate: impl fmt::Display, errors: &mut Errors) {
        let path = self.path_of(field);
        errors.push(path.clone(), format!("The {path} field {predicate}."));
    }

    /// Records the errors of one of its fields, or of all of them, which were read without its path.
    pub(super) fn refuse_all(&self, below: &str, error: ValidationError, errors: &mut Errors) {
        let dot = if below.is_empty() { "" } else { "." };
        let prefix = format!("{}{dot}{below}", self.path);
        errors.extend(error.renamed(|field| Some(format!("{prefix}.{field}"))));
    }
}

/// The objects in the lists of a document, by kind and key: their order in the document does not matter.
pub(super) type Entries = BTreeMap<ObjectKind, BTreeMap<String, Entry>>;

/// Reads the lists of a document.
pub(super) fn read_entries(document: &Fields<'_>, errors: &mut Errors) -> Entries {
    let mut keys = BTreeSet::new();
    let mut entries = Entries::new();
    for kind in ObjectKind::LISTS {
        let field = document.field(kind.field());
        // An object that cannot be read does not hide the errors of others.
        let read: Option<Vec<Option<Entry>>> =
            field.list(0..=OBJECTS_MAX, errors, |item, errors| Some(read_entry(item, errors)));
        for entry in read.into_iter().flatten().flatten() {
            match keys.insert(entry.key.clone()) {
                true => drop(entries.entry(kind).or_default().insert(entry.key.clone(), entry)),
                false => entry.refuse("key", "must differ from the other keys", errors),
            }
        }
    }
    entries
}

fn read_entry(item: &Field<'_>, errors: &mut Errors) -> Option<Entry> {
    let key = ManagedBy::KEY.read_required(&item.object(errors)?.field("key"), errors)?;
    let mut fields = item.value()?.as_object()?.clone();
    fields.remove("key");
    Some(Entry { key, path: item.path().to_owned(), fields })
}

/// The sites and heartbeats that a document may name: by their keys in it, or else by their URLs, slugs or ids.
#[derive(Debug, Default)]
pub(super) struct References {
    keys: BTreeMap<(ObjectKind, String), MonitorId>,
    others: BTreeMap<(ObjectKind, String), MonitorId>,
    names: BTreeMap<MonitorId, String>,
    knows_no_team: bool,
}

impl References {
    /// Nothing. If the team is not known, any URL may be that of one of its sites, and any slug that of a heartbeat.
    pub(super) fn new(knows_no_team: bool) -> Self {
        Self { knows_no_team, ..Self::default() }
    }

    /// Adds a site of the document.
    pub(super) fn add(&mut self, site: &Site, key: &str) {
        self.put((ObjectKind::Site, site.id), site.url.as_str(), key);
    }

    /// Adds another site of the team. A URL that a site of the document has leads to that.
    pub(super) fn add_other(&mut self, site: &Site) {
        self.put_other((ObjectKind::Site, site.id), site.url.as_str());
    }

    /// Adds a heartbeat of the document.
    pub(super) fn add_heartbeat(&mut self, heartbeat: &Heartbeat, key: &str) {
        self.put((ObjectKind::Heartbeat, heartbeat.id), &heartbeat.slug, key);
    }

    /// Adds another heartbeat of the team, after all of the document. If it has no slug, or one that is a key of the
    /// document, only its id leads to it.
    pub(super) fn add_other_heartbeat(&mut self, heartbeat: &Heartbeat) {
        let (place, slug) = ((ObjectKind::Heartbeat, heartbeat.id), &heartbeat.slug);
        if !slug.is_empty() && !self.keys.contains_key(&(ObjectKind::Heartbeat, slug.clone())) {
            self.put_other(place, slug);
        }
        self.put_other(place, &heartbeat.id.to_string());
    }

    fn put(&mut self, (kind, id): (ObjectKind, MonitorId), other: &str, key: &str) {
        self.names.insert(id, key.to_owned());
        self.others.insert((kind, other.to_owned()), id);
        self.keys.insert((kind, key.to_owned()), id);
    }

    fn put_other(&mut self, (kind, id): (ObjectKind, MonitorId), name: &str) {
        self.others.entry((kind, name.to_owned())).or_insert(id);
        self.names.entry(id).or_insert_with(|| name.to_owned());
    }

    fn id(&self, kind: ObjectKind, name: &str) -> Option<MonitorId> {
        let place = (kind, name.to_owned());
        self.keys.get(&place).or_else(|| self.others.get(&place)).copied()
    }

    /// What a document calls a site or heartbeat: its key or, if it is not in the document, its URL, slug or id; `None`
    /// if it is gone.
    pub(super) fn name(&self, monitor: MonitorId) -> Option<String> {
        self.names.get(&monitor).cloned()
    }

    /// Replaces the name of a site by its id.
    pub(super) fn resolve(&self, name: &mut Value, path: String, errors: &mut Errors) {
        let text = name.as_str().map(str::trim).unwrap_or_default();
        let url = SiteUrl::parse(text).ok();
        let id = |name: &str| self.id(ObjectKind::Site, name);
        let found = id(text).or_else(|| id(url.as_ref()?.as_str()));
        let why =
            "must be the key of a site in the document, or the URL of another site of the team";
        *name = self.found(found, url.is_some(), (path, why), errors);
    }

    /// Replaces the name of a heartbeat by its id.
    pub(super) fn resolve_heartbeat(&self, name: &mut Value, path: String, errors: &mut Errors) {
        let text = name.as_str().map(str::trim).unwrap_or_default();
        let found = self.id(ObjectKind::Heartbeat, text).filter(|_| !text.is_empty());
        let why = "must be the key of a heartbeat in the document, or the slug or UUID of another heartbeat of the team";
        *name = self.found(found, !text.is_empty(), (path, why), errors);
    }

    /// The id that was found. If there is none, reading goes on with the nil id, so that nothing else is reported.
    fn found(
        &self,
        found: Option<MonitorId>,
        may_exist: bool,
        (path, why): (String, &str),
        errors: &mut Errors,
    ) -> Value {
        if found.is_none() && !(self.knows_no_team && may_exist) {
            errors.push(path.clone(), format!("The {path} field {why}."));
        }
        found.unwrap_or(MonitorId(Uuid::nil())).to_string().into()
    }
}

/// Whether a value is a reference to a secret that the client could not read: `{env: NAME}` or `{file: PATH}`.
pub(super) fn is_unread(value: &Value) -> bool {
    let Value::Object(reference) = value else { return false };
    let is_reference = |(name, value): (&String, &Value)| {
        matches!(name.as_str(), "env" | "file") && value.is_string()
    };
    reference.len() == 1 && reference.iter().all(is_reference)
}
