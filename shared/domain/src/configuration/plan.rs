//! What has to change so that a team's objects are as a document describes them.

mod channels;
mod groups;
mod heartbeats;
mod order;
mod pages;
mod sites;
mod windows;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

use self::order::{Unique, in_order, unique};
use super::current::Current;
use super::describe::{self, Described, FieldChange};
use super::document::{Entries, Entry, ObjectKind, References, is_unread, read_entries};
use super::effects::{Effects, Filters};
use super::managed::ManagedBy;
use crate::accounts::plan::Plan as TeamPlan;
use crate::accounts::team::Team;
use crate::alerts::channel::{Channel, Filter, Target, TargetEdit};
use crate::heartbeats::heartbeat::Heartbeat;
use crate::id::{HeartbeatId, SiteId, TeamId, WindowId};
use crate::input::FieldRule as _;
use crate::maintenance::MaintenanceWindow;
use crate::sites::group::{SiteGroup, SiteGroups};
use crate::sites::settings::{Settings, TEAM_PATH, parse_team_update};
use crate::sites::site::Site;
use crate::status_pages::StatusPage;
use crate::time_zone::NamedZone;
use crate::validation::{Errors, Field, Fields, ValidationError};

/// What happens to objects that the document had and no longer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// They stay.
    Never,
    /// They are deleted, unless there are more than three, or a tenth of those that the document manages.
    Few,
    /// They are deleted, at most so many.
    AtMost(usize),
}

/// What a plan depends on besides the team and the document.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// What happens to objects that the document no longer has.
    pub prune: Prune,
    /// Whether the plan is only shown. Secrets of new objects may be missing then.
    pub is_dry_run: bool,
    /// Random bytes, from which the ids and keys of new objects are derived.
    pub random: [u8; 32],
    /// Whether the team is not known, so that any URL may be that of one of its sites.
    pub knows_no_team: bool,
    /// The time.
    pub now: Timestamp,
}

/// What a plan does with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeAction {
    /// It is created.
    Create,
    /// It is as the document describes it. From now on, the document manages it.
    Adopt,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
}

/// A change of an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ConfigurationChange")
)]
pub struct Change {
    /// What happens.
    pub action: ChangeAction,
    /// What it is.
    pub kind: ObjectKind,
    /// Its key in the document; absent for settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub key: Option<String>,
    /// Its name.
    pub name: String,
    /// Whether the document adopts it.
    pub adopted: bool,
    /// The fields that change.
    pub fields: Vec<FieldChange>,
    /// Where it is in the document, for errors.
    #[serde(skip)]
    pub path: String,
    /// What only one object of the team may have, and what this one has before and after the change.
    #[serde(skip)]
    unique: [BTreeSet<Unique>; 2],
    /// What to do.
    #[serde(skip)]
    pub step: ChangeStep,
}

/// What to do for a change.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangeStep {
    /// Save the settings of the team.
    Settings(Box<Settings>),
    /// Save its time zone.
    TimeZone(NamedZone),
    /// Add a channel.
    AddChannel {
        /// Its name, target and filter.
        channel: Box<(String, Target, Filter)>,
        /// What manages it.
        managed_by: ManagedBy,
    },
    /// Change a channel.
    EditChannel {
        /// The channel as it is.
        before: Box<Channel>,
        /// Its name and filter.
        after: Box<(String, Filter)>,
        /// Where it leads.
        to: TargetEdit,
        /// What manages it, with the digest of its token.
        managed_by: ManagedBy,
    },
    /// Delete a channel.
    DeleteChannel(Box<Channel>),
    /// Create a site.
    CreateSite(Box<Site>),
    /// Save a site.
    SaveSite(Box<Site>),
    /// Delete a site.
    DeleteSite(SiteId),
    /// Create a heartbeat.
    CreateHeartbeat(Box<Heartbeat>),
    /// Save a heartbeat.
    SaveHeartbeat(Box<Heartbeat>),
    /// Delete a heartbeat.
    DeleteHeartbeat(HeartbeatId),
    /// Save the groups.
    SaveGroups {
        /// The `rev` of the groups as they are.
        rev: u64,
        /// The groups as they will be.
        groups: Vec<SiteGroup>,
    },
    /// Save a maintenance window, new or changed.
    SaveWindow(Box<MaintenanceWindow>),
    /// Delete a maintenance window.
    DeleteWindow(WindowId),
    /// Create a status page.
    CreatePage(Box<StatusPage>),
    /// Save a status page.
    SavePage {
        /// The page as it is.
        before: Box<StatusPage>,
        /// The page as it will be.
        after: Box<StatusPage>,
    },
    /// Delete a status page.
    DeletePage(Box<StatusPage>),
}

/// The changes after which a team's objects are as a document describes them.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePlan {
    /// The name of the document.
    pub document: String,
    /// The changes, in an order in which they can be made.
    pub changes: Vec<Change>,
    /// Objects that the document managed and no longer has, which stay.
    pub left_over: Vec<(ObjectKind, String)>,
    /// What they change for the team.
    pub effects: Effects,
}

/// Plans the changes after which a team's objects are as a document describes them.
///
/// # Errors
///
/// Everything that is wrong with the document.
pub fn plan(
    current: &Current<'_>,
    document: &Map<String, Value>,
    choices: &Choices,
) -> Result<ChangePlan, ValidationError> {
    let mut errors = Errors::new();
    let fields = Fields::body(document);
    let name = ManagedBy::KEY.read_required(&fields.field("name"), &mut errors);
    let entries = read_entries(&fields, &mut errors);
    let lists = ObjectKind::LISTS.into_iter();
    let lists = lists.filter(|kind| fields.field(kind.field()).is_sent()).collect();
    let known = ObjectKind::LISTS.map(ObjectKind::field);
    fields.only(&[&["name", "settings"], known.as_slice()].concat(), &mut errors);
    let document = name.unwrap_or_default();
    let mut planner = Planner {
        current,
        choices,
        document,
        entries,
        errors,
        references: References::new(choices.knows_no_team),
        changes: Vec::new(),
        deletions: Vec::new(),
        lists,
        left_over: Vec::new(),
        random: 0,
        settings: current.settings.clone(),
        zone: current.team.zone.clone(),
        sites: BTreeMap::new(),
        heartbeats: BTreeMap::new(),
        channels: BTreeMap::new(),
    };
    planner.settings(&fields.field("settings"));
    planner.channels();
    planner.sites();
    planner.heartbeats();
    planner.groups();
    planner.windows();
    planner.pages();
    planner.finish()
}

/// Validates a document without its team: as for a team without objects and with the largest plan.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn validate(document: &Map<String, Value>, now: Timestamp) -> Result<(), ValidationError> {
    let team = Team::new(TeamId(Uuid::nil()), "", TeamPlan::Agency, now);
    let current = Current {
        team: &team,
        plan: TeamPlan::Agency,
        settings: &Settings::defaults(TeamPlan::Agency),
        sites: &[],
        heartbeats: &[],
        channels: &[],
        groups: &SiteGroups::default(),
        pages: &[],
    };
    let choices = Choices {
        prune: Prune::Never,
        is_dry_run: true,
        random: [0; 32],
        knows_no_team: true,
        now,
    };
    plan(&current, document, &choices).map(drop)
}

/// A plan in the making.
struct Planner<'a> {
    current: &'a Current<'a>,
    choices: &'a Choices,
    /// The name of the document.
    document: String,
    entries: Entries,
    errors: Errors,
    references: References,
    changes: Vec<Change>,
    /// They come last, in the opposite order of the kinds.
    deletions: Vec<Change>,
    /// The lists that the document has.
    lists: BTreeSet<ObjectKind>,
    left_over: Vec<(ObjectKind, String)>,
    /// How many random values were used.
    random: u64,
    /// The settings after the plan.
    settings: Settings,
    zone: NamedZone,
    /// The sites after the plan.
    sites: BTreeMap<SiteId, Site>,
    /// The heartbeats after the plan.
    heartbeats: BTreeMap<HeartbeatId, Heartbeat>,
    /// The filters of channels before and after the plan, by their ids or, for new channels, their keys.
    channels: BTreeMap<String, Filters>,
}

/// By what an entry and an object that has no key yet belong together: a text that both have.
struct Likeness<'a, T> {
    of_entry: &'a dyn Fn(&Entry) -> Option<String>,
    of_object: &'a dyn Fn(&T) -> Option<String>,
}

/// How objects of a document and of a team belong together.
struct Matches<'o, T> {
    /// What the document has, each with the object that it describes.
    pairs: Vec<(Entry, Option<&'o T>)>,
    /// Objects that the document managed and no longer has.
    gone: Vec<&'o T>,
}

impl Planner<'_> {
    /// Finds the object that each entry describes: the one with its key; otherwise one that is alike, unless another
    /// document manages it.
    fn match_up<'o, T>(
        &mut self,
        kind: ObjectKind,
        objects: &'o [T],
        managed_by: impl Fn(&T) -> Option<&ManagedBy>,
        alike: &[Likeness<'_, T>],
    ) -> Matches<'o, T> {
        let entries = self.entries.remove(&kind).unwrap_or_default();
        let key_of = |object: &T| {
            managed_by(object).filter(|by| by.document == self.document).map(|by| by.key.clone())
        };
        let is_others =
            |object: &T| managed_by(object).is_some_and(|by| by.document != self.document);
        let mut free: Vec<Option<&T>> = Vec::new();
        let mut by_key: BTreeMap<String, &T> = BTreeMap::new();
        for object in objects {
            match key_of(object).filter(|key| entries.contains_key(key)) {
                Some(key) => drop(by_key.insert(key, object)),
                // The names of windows may be the same, so those of other documents are others.
                None if kind == ObjectKind::MaintenanceWindow && is_others(object) => {}
                None => free.push(Some(object)),
            }
        }
        let mut pairs: Vec<(Entry, Option<&T>)> = Vec::new();
        for (key, entry) in entries {
            pairs.push((entry, by_key.remove(&key)));
        }
        for Likeness { of_entry, of_object } in alike {
            let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (place, object) in free.iter().enumerate().rev() {
                if let Some(text) = object.and_then(of_object) {
                    places.entry(text).or_default().push(place);
                }
            }
            for (entry, found) in pairs.iter_mut().filter(|(_, found)| found.is_none()) {
                let place = of_entry(entry).and_then(|text| places.get_mut(&text)?.pop());
                *found = place.and_then(|place| free[place].take());
            }
        }
        let document = self.document.clone();
        let is_own = |object: &&T| managed_by(object).is_some_and(|by| by.document == document);
        let errors = &mut self.errors;
        pairs.retain(|(entry, found)| {
            let by = found.and_then(&managed_by).filter(|by| by.document != document);
            if let Some(by) = by {
                let why = format!("matches a {kind} managed by the document {}", by.document);
                entry.refuse("key", why, errors);
            }
            by.is_none()
        });
        let gone = free.into_iter().flatten().filter(|object| is_own(object)).collect();
        Matches { pairs, gone }
    }

    fn managed_by(&self, entry: &Entry) -> ManagedBy {
        ManagedBy { document: self.document.clone(), key: entry.key.clone() }
    }

    /// Random bytes, which differ from all others of this plan.
    fn random<const N: usize>(&mut self) -> [u8; N] {
        self.random += 1;
        let block =
            Sha256::new().chain_update(self.choices.random).chain_update(self.random.to_be_bytes());
        let mut bytes = [0; N];
        for (byte, random) in bytes.iter_mut().zip(block.finalize()) {
            *byte = random;
        }
        bytes
    }

    fn uuid(&mut self) -> Uuid {
        Builder::from_random_bytes(self.random()).into_uuid()
    }

    /// Adds the change of an object, if there is one.
    fn change(
        &mut self,
        kind: ObjectKind,
        entry: &Entry,
        name: &str,
        (before, after): (Option<&Described>, &Described),
        is_managed: bool,
        step: ChangeStep,
    ) {
        let unique =
            [before, Some(after)].map(|of| of.map(|of| unique(kind, of)).unwrap_or_default());
        let fields = before.cloned().unwrap_or_default().changes_to(after);
        let action = match (before, fields.is_empty()) {
            (None, _) => ChangeAction::Create,
            (Some(_), false) => ChangeAction::Update,
            (Some(_), true) if is_managed => return,
            (Some(_), true) => ChangeAction::Adopt,
        };
        self.changes.push(Change {
            action,
            kind,
            key: Some(entry.key.clone()),
            name: name.to_owned(),
            adopted: before.is_some() && !is_managed,
            fields,
            path: entry.path.clone(),
            unique,
            step,
        });
    }

    /// Deletes what the document no longer has, or leaves it.
    fn remove(
        &mut self,
        kind: ObjectKind,
        (name, described): (&str, &Described),
        by: Option<&ManagedBy>,
        step: ChangeStep,
    ) {
        if !self.prunes(kind) {
            self.left_over.push((kind, name.to_owned()));
            return;
        }
        self.deletions.push(Change {
            action: ChangeAction::Delete,
            kind,
            key: by.map(|by| by.key.clone()),
            name: name.to_owned(),
            adopted: false,
            fields: Vec::new(),
            path: kind.field().to_owned(),
            unique: [unique(kind, described), BTreeSet::new()],
            step,
        });
    }

    /// Whether objects that the document no longer has are deleted. A list that it omits says nothing about them.
    fn prunes(&self, kind: ObjectKind) -> bool {
        self.choices.prune != Prune::Never && self.lists.contains(&kind)
    }

    /// Refuses more objects than there may be, counting those that are deleted last.
    fn limit(&mut self, kind: ObjectKind, existing: usize, most: usize, of: &str) {
        let created =
            |change: &&Change| change.kind == kind && change.action == ChangeAction::Create;
        let all = existing + self.changes.iter().filter(created).count();
        if all > most && all > existing {
            let field = kind.field();
            let why = format!(
                "The {field} field would lead to {all} {field} (deletions come last); {of} has at most {most}."
            );
            self.errors.push(field, why.replace('_', " "));
        }
    }

    fn settings(&mut self, field: &Field<'_>) {
        let Some(mut sent) = field.value().cloned() else { return };
        let stored = self.settings.request_header.pair();
        let stored = stored.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.read_header(&mut sent, stored, ObjectKind::Settings.field());
        let field = Field::at(ObjectKind::Settings.field(), &sent);
        let Some(fields) = field.object(&mut self.errors) else { return };
        let zone = NamedZone::RULE.read(&fields.field("time_zone"), &mut self.errors);
        let plan = self.current.plan;
        let sent = fields.field(TEAM_PATH);
        let defaults = Settings::defaults(plan);
        let update = parse_team_update(&sent, false, plan, &defaults, &mut self.errors);
        fields.only(&["time_zone", TEAM_PATH], &mut self.errors);
        let before = describe::settings(&self.zone, &self.settings, plan);
        if let Some(zone) = zone.filter(|zone| *zone != self.zone) {
            self.zone = zone.clone();
            self.change_settings(&before, ChangeStep::TimeZone(zone));
        }
        let before = describe::settings(&self.zone, &self.settings, plan);
        let settings = defaults.merge(&update);
        if sent.is_sent() && settings != self.settings {
            self.settings = settings.clone();
            self.change_settings(&before, ChangeStep::Settings(Box::new(settings)));
        }
    }

    /// Replaces the value of a request header that the client could not read by the stored one of the same header.
    fn read_header(&mut self, sent: &mut Value, stored: Option<(String, String)>, path: &str) {
        let header =
            sent.get_mut(TEAM_PATH).and_then(|settings| settings.get_mut("request_header"));
        let Some(header) = header.filter(|header| header.get("value").is_some_and(is_unread))
        else {
            return;
        };
        let is_it = |(name, _): &(String, String)| header["name"].as_str() == Some(name);
        header["value"] = match stored.filter(is_it) {
            Some((_, value)) => value.into(),
            None if self.choices.is_dry_run => UNREAD.into(),
            None => {
                let path = format!("{path}.{}", describe::HEADER);
                let why = format!("The {path} field needs a value for a new header.");
                self.errors.push(path, why);
                UNREAD.into()
            }
        };
    }

    fn change_settings(&mut self, before: &Described, step: ChangeStep) {
        let after = describe::settings(&self.zone, &self.settings, self.current.plan);
        self.changes.push(Change {
            action: ChangeAction::Update,
            kind: ObjectKind::Settings,
            key: None,
            name: self.current.team.name.clone(),
            adopted: false,
            fields: before.changes_to(&after),
            path: ObjectKind::Settings.field().to_owned(),
            unique: Default::default(),
            step,
        });
    }

    /// Ends the plan: deletions, limits, and what the changes mean.
    fn finish(mut self) -> Result<ChangePlan, ValidationError> {
        self.deletions.sort_by_key(|change| (Reverse(change.kind), change.name.clone()));
        let count = self.deletions.len();
        let most = match self.choices.prune {
            Prune::Never => 0,
            Prune::AtMost(most) => most,
            Prune::Few => 3.max(self.managed() / 10),
        };
        if count > most {
            let names = self.deletions.iter().map(|change| change.name.as_str());
            let names: Vec<_> = names.take(5).collect();
            let why = format!(
                "The request would delete {count} objects, such as {}. The limit is {most}. To delete more, set prune_max (--prune-max).",
                names.join(", ")
            );
            self.errors.push("prune", why);
        }
        let held = self.held();
        let changes = std::mem::take(&mut self.changes);
        let deletions = std::mem::take(&mut self.deletions);
        let changes = in_order(changes, deletions, held, &mut self.errors);
        let after = (&self.settings, &self.sites);
        let effects = Effects::of(self.current, after, &self.heartbeats, &self.channels);
        let plan =
            ChangePlan { document: self.document, changes, left_over: self.left_over, effects };
        self.errors.finish(Some(plan))
    }

    /// What objects of the team have that only one may have.
    fn held(&self) -> BTreeSet<Unique> {
        let Current { plan, sites, heartbeats, channels, pages, .. } = self.current;
        let of_sites =
            sites.iter().map(|site| unique(ObjectKind::Site, &describe::site(site, *plan)));
        let of_heartbeats =
            heartbeats.iter().map(|one| unique(ObjectKind::Heartbeat, &describe::heartbeat(one)));
        let of_channels =
            channels.iter().map(|channel| unique(ObjectKind::Channel, &describe_channel(channel)));
        let of_pages = pages
            .iter()
            .map(|page| unique(ObjectKind::StatusPage, &describe::page(page, &self.references)));
        of_sites.chain(of_heartbeats).chain(of_channels).chain(of_pages).flatten().collect()
    }

    /// How many objects of the team the document manages.
    fn managed(&self) -> usize {
        let Current { team, sites, heartbeats, channels, groups, pages, .. } = self.current;
        let of_team = sites
            .iter()
            .map(|site| &site.managed_by)
            .chain(heartbeats.iter().map(|heartbeat| &heartbeat.managed_by))
            .chain(channels.iter().map(|channel| &channel.managed_by))
            .chain(groups.groups.iter().map(|group| &group.managed_by))
            .chain(team.windows.iter().map(|window| &window.managed_by))
            .chain(pages.iter().map(|page| &page.managed_by));
        of_team.flatten().filter(|by| by.document == self.document).count()
    }
}

fn describe_channel(channel: &Channel) -> Described {
    let token = channel.token_digest.as_ref();
    describe::channel(&channel.name, &channel.target, &channel.filter, token)
}

/// Stands for a secret text that the client could not read.
const UNREAD: &str = "unread";

fn text_of<'e>(entry: &'e Entry, field: &str) -> &'e str {
    entry.fields.get(field).and_then(Value::as_str).map(str::trim).unwrap_or_default()
}
