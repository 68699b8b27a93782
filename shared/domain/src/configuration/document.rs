//! The lists of a document, and the objects in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::ManagedBy;
use crate::id::SiteId;
use crate::input::FieldRule as _;
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

/// The sites that a document may name: by their keys in it, or by their URLs.
#[derive(Debug, Default)]
pub(super) struct SiteReferences {
    ids: BTreeMap<String, SiteId>,
    names: BTreeMap<SiteId, String>,
    knows_no_team: bool,
}

impl SiteReferences {
    /// No sites. If the team is not known, any URL may be that of one of its sites.
    pub(super) fn new(knows_no_team: bool) -> Self {
        Self { knows_no_team, ..Self::default() }
    }

    /// Adds a site of the document.
    pub(super) fn add(&mut self, site: SiteId, url: &SiteUrl, key: &str) {
        self.names.insert(site, key.to_owned());
        self.ids.insert(url.as_str().to_owned(), site);
        self.ids.insert(key.to_owned(), site);
    }

    /// Adds another site of the team. A URL that a site of the document has leads to that.
    pub(super) fn add_other(&mut self, site: SiteId, url: &SiteUrl) {
        self.names.entry(site).or_insert_with(|| url.as_str().to_owned());
        self.ids.entry(url.as_str().to_owned()).or_insert(site);
    }

    /// What a document calls a site: its key or, if it is not in the document, its URL; `None` if the site is gone.
    pub(super) fn name(&self, site: SiteId) -> Option<String> {
        self.names.get(&site).cloned()
    }

    /// Replaces the name of a site by its id.
    pub(super) fn resolve(&self, name: &mut Value, path: String, errors: &mut Errors) {
        let text = name.as_str().map(str::trim).unwrap_or_default();
        let by_url = || self.ids.get(SiteUrl::parse(text).ok()?.as_str());
        match self.ids.get(text).or_else(by_url) {
            Some(site) => *name = site.to_string().into(),
            None if self.knows_no_team && SiteUrl::parse(text).is_ok() => {
                *name = SiteId(Uuid::nil()).to_string().into();
            }
            None => {
                let why = "must be the key of a site in the document, or the URL of another site of the team";
                errors.push(path.clone(), format!("The {path} field {why}."));
                // What is missing is said once.
                *name = SiteId(Uuid::nil()).to_string().into();
            }
        }
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
