//! What has to change so that a team's objects are as a document describes them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

use super::current::Current;
use super::describe::{self, Described, FieldChange};
use super::document::{Entries, Entry, ObjectKind, SiteReferences, is_unread, read_entries};
use super::effects::{Effects, Filters};
use super::managed::ManagedBy;
use crate::accounts::plan::Plan as TeamPlan;
use crate::accounts::team::Team;
use crate::alerts::channel::{
    CHANNELS_MAX, Channel, ChannelInput, ChannelKind, Filter, LinkKey, PublicTarget, SigningKey,
    Target, TargetEdit, sha256,
};
use crate::expectations::{CONTENT_TYPE_DEFAULT, Expectations, PostRequest};
use crate::id::{ComponentId, SiteId, StatusPageId, TeamId, WindowId};
use crate::input::{FieldRule as _, FlagRule, read_beside, read_object};
use crate::maintenance::{MaintenanceWindow, NewWindow, WINDOWS_MAX};
use crate::sites::group::{SITE_GROUPS_MAX, SiteGroup, SiteGroupInput, SiteGroups};
use crate::sites::input::NewSite;
use crate::sites::settings::{
    Settings, SiteOverrides, TEAM_PATH, parse_site_overrides, parse_team_update,
};
use crate::sites::site::Site;
use crate::sites::site_url::SiteUrl;
use crate::status_pages::{
    COMPONENTS_MAX, Component, ComponentInput, Group, NewPage, PAGES_MAX, StatusPage,
};
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

/// What only one object of a team may have: the URL of a site, the name or the URL of a channel, the slug of a page. The
/// field comes first.
type Unique = (&'static str, String);

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
        references: SiteReferences::new(choices.knows_no_team),
        changes: Vec::new(),
        deletions: Vec::new(),
        lists,
        left_over: Vec::new(),
        random: 0,
        settings: current.settings.clone(),
        zone: current.team.zone.clone(),
        sites: BTreeMap::new(),
        channels: BTreeMap::new(),
    };
    planner.settings(&fields.field("settings"));
    planner.channels();
    planner.sites();
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
    references: SiteReferences,
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
        let effects = Effects::of(self.current, (&self.settings, &self.sites), &self.channels);
        let plan =
            ChangePlan { document: self.document, changes, left_over: self.left_over, effects };
        self.errors.finish(Some(plan))
    }

    /// What objects of the team have that only one may have.
    fn held(&self) -> BTreeSet<Unique> {
        let Current { sites, channels, pages, .. } = self.current;
        let of_sites = sites.iter().map(|site| unique(ObjectKind::Site, &describe::site(site)));
        let of_channels =
            channels.iter().map(|channel| unique(ObjectKind::Channel, &describe_channel(channel)));
        let of_pages = pages
            .iter()
            .map(|page| unique(ObjectKind::StatusPage, &describe::page(page, &self.references)));
        of_sites.chain(of_channels).chain(of_pages).flatten().collect()
    }

    /// How many objects of the team the document manages.
    fn managed(&self) -> usize {
        let Current { team, sites, channels, groups, pages, .. } = self.current;
        let of_team = sites
            .iter()
            .map(|site| &site.managed_by)
            .chain(channels.iter().map(|channel| &channel.managed_by))
            .chain(groups.groups.iter().map(|group| &group.managed_by))
            .chain(team.windows.iter().map(|window| &window.managed_by))
            .chain(pages.iter().map(|page| &page.managed_by));
        of_team.flatten().filter(|by| by.document == self.document).count()
    }
}

/// What only one object of a team may have.
fn unique(kind: ObjectKind, of: &Described) -> BTreeSet<Unique> {
    let text = |field: &'static str, name: &str| {
        let text = of.fields.get(name).and_then(Value::as_str);
        text.map(|text| (field, text.to_owned()))
    };
    match kind {
        ObjectKind::Site => text("url", "url").into_iter().collect(),
        ObjectKind::StatusPage => text("slug", "slug").into_iter().collect(),
        ObjectKind::Channel => {
            // Sites have URLs, too, but not these.
            let url = of.secrets.get(describe::URL).map(|digest| ("url", digest.clone()));
            text("name", "name").into_iter().chain(url).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// The changes in an order in which everything that only one object may have is free when an object gets it. Deletions
/// come last, unless they free something. What stays taken is refused.
fn in_order(
    changes: Vec<Change>,
    mut deletions: Vec<Change>,
    mut held: BTreeSet<Unique>,
    errors: &mut Errors,
) -> Vec<Change> {
    let mut ordered = Vec::new();
    let mut waiting = changes;
    while !waiting.is_empty() {
        let is_blocked = |change: &Change, held: &BTreeSet<Unique>| {
            let [before, after] = &change.unique;
            after.difference(before).any(|one| held.contains(one))
        };
        let mut blocked = Vec::new();
        let before = ordered.len();
        for change in waiting {
            if is_blocked(&change, &held) {
                blocked.push(change);
                continue;
            }
            let [before, after] = &change.unique;
            held.retain(|one| !before.contains(one));
            held.extend(after.iter().cloned());
            ordered.push(change);
        }
        let wanted: BTreeSet<Unique> =
            blocked.iter().flat_map(|change| change.unique[1].iter().cloned()).collect();
        let frees = |deletion: &mut Change| !deletion.unique[0].is_disjoint(&wanted);
        let sooner: Vec<_> = deletions.extract_if(.., frees).collect();
        for deletion in &sooner {
            held.retain(|one| !deletion.unique[0].contains(one));
        }
        ordered.extend(sooner);
        if ordered.len() == before {
            for change in &blocked {
                let [before, after] = &change.unique;
                for (field, _) in after.difference(before).filter(|one| held.contains(*one)) {
                    let path = format!("{}.{field}", change.path);
                    let why =
                        format!("The {path} field belongs to another {} of the team.", change.kind);
                    errors.push(path, why);
                }
            }
            break;
        }
        waiting = blocked;
    }
    ordered.append(&mut deletions);
    ordered
}

fn describe_channel(channel: &Channel) -> Described {
    let token = channel.token_digest.as_ref();
    describe::channel(&channel.name, &channel.target, &channel.filter, token)
}

/// The channels of the document.
impl Planner<'_> {
    fn channels(&mut self) {
        let channels = self.current.channels;
        for channel in channels {
            let filters = [0, 1].map(|_| Some(channel.filter.clone()));
            let filters = Filters { name: channel.name.clone(), filters };
            self.channels.insert(channel.id.to_string(), filters);
        }
        let leads_to = |entry: &Entry| {
            let kind = ChannelKind::parse(text_of(entry, "kind"))?;
            if kind == ChannelKind::Email {
                return Some(text_of(entry, "address").to_lowercase());
            }
            let key = SigningKey::from_random([0; SigningKey::BYTES]);
            let Ok(read) = kind.read(&Fields::body(&entry.fields), || Ok::<_, Infallible>(key));
            Some(read.ok()?.0.url()?.masked().digest)
        };
        // The address of a channel cannot change, so a channel with another one is another.
        let is_called = |entry: &Entry| {
            let name = text_of(entry, "name");
            let parts = [text_of(entry, "kind"), &text_of(entry, "address").to_lowercase(), name];
            Some(parts.join(" ")).filter(|_| !name.is_empty())
        };
        let matches = self.match_up(
            ObjectKind::Channel,
            channels,
            |channel| channel.managed_by.as_ref(),
            &[
                Likeness {
                    of_entry: &leads_to,
                    of_object: &|channel| match &channel.target {
                        PublicTarget::Email { address } => Some(address.to_lowercase()),
                        target => target.masked().map(|masked| masked.digest.clone()),
                    },
                },
                Likeness {
                    of_entry: &is_called,
                    of_object: &|channel| {
                        let address = channel.target.address().unwrap_or_default().to_lowercase();
                        let kind = channel.target.kind();
                        Some(format!("{kind} {address} {}", channel.name))
                    },
                },
            ],
        );
        let mut names: BTreeSet<String> = BTreeSet::new();
        for (entry, before) in matches.pairs {
            let Some(wanted) = self.read_channel(&entry) else { continue };
            let name = wanted.input.name.clone();
            let name = name.unwrap_or_else(|| wanted.target.default_name().to_owned());
            if !names.insert(name.clone()) {
                entry.refuse(
                    "name",
                    "must differ from the names of other channels",
                    &mut self.errors,
                );
            }
            self.plan_channel(&entry, before, wanted, name);
        }
        for channel in matches.gone {
            let kind = ObjectKind::Channel;
            let described = describe_channel(channel);
            let step = ChangeStep::DeleteChannel(Box::new(channel.clone()));
            let by = channel.managed_by.as_ref();
            self.remove(kind, (&channel.name, &described), by, step);
            if self.prunes(kind)
                && let Some(audience) = self.channels.get_mut(&channel.id.to_string())
            {
                audience.filters[1] = None;
            }
        }
        self.limit(ObjectKind::Channel, channels.len(), CHANNELS_MAX, "a team");
    }

    fn read_channel(&mut self, entry: &Entry) -> Option<WantedChannel> {
        let fields = entry.fields();
        let kind = ChannelKind::ALL.read_required(&fields.field("kind"), &mut self.errors)?;
        let mut known: Vec<_> = kind.fields().map(|field| field.name).collect();
        known.push("kind");
        fields.only(&known, &mut self.errors);
        let mut sent = entry.fields.clone();
        let knows_url = !sent.get("url").is_some_and(is_unread);
        if !knows_url {
            sent.insert("url".to_owned(), UNREAD_URL.into());
        }
        let knows_token = !sent.get("token").is_some_and(is_unread);
        if !knows_token {
            sent.remove("token");
        }
        let key = SigningKey::from_random(self.random());
        let Ok(read) = kind.read(&Fields::body(&sent), || Ok::<_, Infallible>(key));
        match read {
            Ok((target, input)) => Some(WantedChannel { target, input, knows_url, knows_token }),
            Err(error) => {
                entry.refuse_all("", error, &mut self.errors);
                None
            }
        }
    }

    fn plan_channel(
        &mut self,
        entry: &Entry,
        before: Option<&Channel>,
        WantedChannel { target, input, knows_url, knows_token }: WantedChannel,
        name: String,
    ) {
        let (filter, managed_by) = (input.filter(), self.managed_by(entry));
        let shown = name.clone();
        let Some(before) = before else {
            let is_known = knows_url && knows_token;
            if !self.choices.is_dry_run && !is_known {
                let field = if knows_url { "token" } else { "url" };
                entry.refuse(field, "needs a value for a new channel", &mut self.errors);
            }
            let token = target.token().map(|token| sha256(token.reveal()));
            let after = describe::channel(&name, &target.public(), &filter, token.as_ref());
            let filters = [None, Some(filter.clone())];
            let filters = Filters { name: name.clone(), filters };
            self.channels.insert(format!("new {}", entry.key), filters);
            let channel = Box::new((name, target, filter));
            let step = ChangeStep::AddChannel { channel, managed_by };
            self.change(ObjectKind::Channel, entry, &shown, (None, &after), false, step);
            return;
        };
        if before.target.kind() != target.kind() {
            entry.refuse(
                "kind",
                "cannot change; to add another channel, use another key",
                &mut self.errors,
            );
            return;
        }
        let address = |of: &PublicTarget| of.address().map(str::to_lowercase);
        if address(&before.target) != address(&target.public()) {
            entry.refuse(
                "address",
                "cannot change; to add another channel, use another key",
                &mut self.errors,
            );
            return;
        }
        let url = target.url().filter(|_| knows_url).cloned();
        let token = target.token().cloned();
        let token_digest = token.as_ref().map(|token| sha256(token.reveal()));
        let changes_token = knows_token && token_digest != before.token_digest;
        let to = TargetEdit { url, token: changes_token.then_some(token) };
        let to = to.beyond(&before.target).unwrap_or_default();
        let mut after = before.clone();
        if let Some(edited) =
            before.edited(&name, filter.clone(), Some(&to), None, self.choices.now)
        {
            after = edited;
        }
        let described = [before, &after].map(|channel| {
            describe::channel(
                &channel.name,
                &channel.target,
                &channel.filter,
                channel.token_digest.as_ref(),
            )
        });
        let is_managed = before.managed_by.as_ref() == Some(&managed_by);
        let filters = [Some(before.filter.clone()), Some(filter.clone())];
        let filters = Filters { name: name.clone(), filters };
        self.channels.insert(before.id.to_string(), filters);
        let after = Box::new((name, filter));
        let step =
            ChangeStep::EditChannel { before: Box::new(before.clone()), after, to, managed_by };
        let described = (Some(&described[0]), &described[1]);
        self.change(ObjectKind::Channel, entry, &shown, described, is_managed, step);
    }
}

/// A channel as a document describes it.
struct WantedChannel {
    target: Target,
    input: ChannelInput,
    knows_url: bool,
    knows_token: bool,
}

/// Stands for a URL that the client could not read, in the form that every kind of channel accepts.
const UNREAD_URL: &str = "https://unread.invalid/unread";
/// Stands for a secret text that the client could not read.
const UNREAD: &str = "unread";

fn text_of<'e>(entry: &'e Entry, field: &str) -> &'e str {
    entry.fields.get(field).and_then(Value::as_str).map(str::trim).unwrap_or_default()
}

/// A site as a document describes it.
struct WantedSite {
    new: NewSite,
    pinned: bool,
    overrides: SiteOverrides,
    expectations: Expectations,
    knows_body: bool,
}

/// The sites of the document.
impl Planner<'_> {
    fn sites(&mut self) {
        let sites = self.current.sites;
        self.sites = sites.iter().map(|site| (site.id, site.clone())).collect();
        let url_of = |entry: &Entry| {
            SiteUrl::parse(text_of(entry, "url")).ok().map(|url| url.as_str().to_owned())
        };
        let alike = Likeness {
            of_entry: &url_of,
            of_object: &|site: &Site| Some(site.url.as_str().to_owned()),
        };
        let matches =
            self.match_up(ObjectKind::Site, sites, |site| site.managed_by.as_ref(), &[alike]);
        let mut planned = Vec::new();
        let mut urls: BTreeSet<SiteUrl> = BTreeSet::new();
        for (entry, before) in matches.pairs {
            let Some(wanted) = self.read_site(&entry, before) else { continue };
            if !urls.insert(wanted.new.url.clone()) {
                entry.refuse("url", "must differ from the URLs of other sites", &mut self.errors);
            }
            let after = self.site_after(&entry, before, wanted);
            self.references.add(after.id, &after.url, &entry.key);
            planned.push((entry, before, after));
        }
        let gone: BTreeSet<SiteId> = match self.prunes(ObjectKind::Site) {
            true => matches.gone.iter().map(|site| site.id).collect(),
            false => BTreeSet::new(),
        };
        for site in sites.iter().filter(|site| !gone.contains(&site.id)) {
            self.references.add_other(site.id, &site.url);
        }
        for (entry, before, after) in planned {
            let described = describe::site(&after);
            let is_managed = before.is_some_and(|before| before.managed_by == after.managed_by);
            let name = after.name.clone();
            self.sites.insert(after.id, after.clone());
            let step = match before {
                None => ChangeStep::CreateSite(Box::new(after)),
                Some(_) => ChangeStep::SaveSite(Box::new(after)),
            };
            let before = before.map(describe::site);
            self.change(
                ObjectKind::Site,
                &entry,
                &name,
                (before.as_ref(), &described),
                is_managed,
                step,
            );
        }
        for site in matches.gone {
            let described = describe::site(site);
            let step = ChangeStep::DeleteSite(site.id);
            let by = site.managed_by.as_ref();
            self.remove(ObjectKind::Site, (&site.name, &described), by, step);
            if self.prunes(ObjectKind::Site) {
                self.sites.remove(&site.id);
            }
        }
        let most = self.current.plan.limits().sites;
        let most = most.map_or(usize::MAX, |most| most as usize);
        self.limit(ObjectKind::Site, sites.len(), most, "the plan");
    }

    fn read_site(&mut self, entry: &Entry, before: Option<&Site>) -> Option<WantedSite> {
        let mut sent = Value::from(entry.fields.clone());
        let stored = before.and_then(|site| site.overrides.request_header.as_ref());
        let stored = stored.map(|header| (header.name.clone(), header.value.clone()));
        self.read_header(&mut sent, stored, &entry.path);
        let errors = &mut self.errors;
        let fields = Field::at(entry.path.clone(), &sent).object(errors)?;
        let before = errors.len();
        let new: Option<NewSite> =
            read_beside(&["pinned", TEAM_PATH, "expectations"], &fields, errors);
        let pinned = FlagRule.read(&fields.field("pinned"), errors).unwrap_or_default();
        let sent = fields.field(TEAM_PATH);
        let domain = new.as_ref().map(|new| new.url.domain());
        let plan = self.current.plan;
        let overrides = match sent.is_sent() {
            true => parse_site_overrides(&sent, &self.settings, plan, domain, errors),
            false => SiteOverrides::default(),
        };
        let (expectations, knows_body) = read_expectations(entry, &fields, errors);
        let wanted = WantedSite { new: new?, pinned, overrides, expectations, knows_body };
        (errors.len() == before).then_some(wanted)
    }

    /// The site after the plan.
    fn site_after(
        &mut self,
        entry: &Entry,
        before: Option<&Site>,
        WantedSite { new, pinned, overrides, mut expectations, knows_body }: WantedSite,
    ) -> Site {
        let (team, now) = (self.current.team.id, self.choices.now);
        // What belongs to the old URL is removed with it.
        let kept = match before {
            Some(site) => site.moved_to(new.url.clone()),
            None => Site::new(SiteId(self.uuid()), team, new.url.clone(), now),
        };
        if let Some(post) = expectations.post.as_mut().filter(|_| !knows_body) {
            match &kept.expectations.post {
                Some(stored) => post.body.clone_from(&stored.body),
                None if self.choices.is_dry_run => {}
                None => entry.refuse(
                    describe::POST_BODY,
                    "needs a value: the site has no stored one yet",
                    &mut self.errors,
                ),
            }
        }
        let expected_records = new.dns_expected_records.unwrap_or_default();
        // Without expected records, the next check learns them again.
        let clears = expected_records.is_empty() && !kept.expected_records.is_empty();
        let site = Site {
            name: new.name.unwrap_or_else(|| new.url.generated_name().to_owned()),
            notes: new.notes,
            tags: new.tags.unwrap_or_default(),
            js_rendered: new.js_rendered,
            pinned,
            overrides,
            expected_records,
            expectations,
            managed_by: Some(self.managed_by(entry)),
            records: kept.records + u64::from(clears),
            ..kept
        };
        if let Err(refusal) = site.check_texts() {
            entry.refuse("notes", refusal, &mut self.errors);
        }
        site
    }
}

/// Reads what a site's checks expect, and whether the client knew what they post.
fn read_expectations(
    entry: &Entry,
    fields: &Fields<'_>,
    errors: &mut Errors,
) -> (Expectations, bool) {
    const EXPECTATIONS: &str = "expectations";
    let field = fields.field(EXPECTATIONS);
    if field.object(errors).is_none() {
        return (Expectations::default(), true);
    }
    let mut sent = field.value().and_then(Value::as_object).cloned().unwrap_or_default();
    sent.entry(EXPECTATIONS).or_insert_with(|| Value::Array(Vec::new()));
    let unread =
        PostRequest { content_type: CONTENT_TYPE_DEFAULT.to_owned(), body: UNREAD.to_owned() };
    let post = sent.get_mut("post").and_then(Value::as_object_mut);
    let knows_body = match post {
        Some(post) if post.get("body").is_some_and(is_unread) => {
            post.remove("body");
            false
        }
        _ => true,
    };
    let stored = (!knows_body).then_some(&unread);
    match Expectations::read(sent, |sent| Fields::body(sent), stored) {
        Ok(expectations) => (expectations, knows_body),
        Err(error) => {
            entry.refuse_all(EXPECTATIONS, error, errors);
            (Expectations::default(), true)
        }
    }
}

/// The groups, maintenance windows and status pages of the document.
impl Planner<'_> {
    fn groups(&mut self) {
        let SiteGroups { rev, groups } = self.current.groups;
        let rev = *rev;
        let matches = self.match_up(
            ObjectKind::Group,
            groups,
            |group| group.managed_by.as_ref(),
            &[Likeness {
                of_entry: &|entry| Some(text_of(entry, "name").to_lowercase()),
                of_object: &|group| Some(group.name.to_lowercase()),
            }],
        );
        let removed = match self.prunes(ObjectKind::Group) {
            true => matches.gone.clone(),
            false => Vec::new(),
        };
        let described = matches.pairs.iter().filter_map(|(_, before)| *before);
        let replaced: Vec<_> = described.chain(removed).map(|group| group.name.clone()).collect();
        let mut after: Vec<SiteGroup> = groups.clone();
        after.retain(|group| !replaced.contains(&group.name));
        for (entry, before) in matches.pairs {
            let read: Option<SiteGroupInput> = read_object(&entry.fields(), &mut self.errors);
            let Some(SiteGroupInput { name, selector }) = read else { continue };
            let managed_by = Some(self.managed_by(&entry));
            let group = SiteGroup { name, selector, managed_by };
            if after.iter().any(|other| other.name.to_lowercase() == group.name.to_lowercase()) {
                entry.refuse(
                    "name",
                    "must differ from the names of other groups",
                    &mut self.errors,
                );
            }
            let described = (before.map(describe::group), describe::group(&group));
            let is_managed = before.is_some_and(|before| before.managed_by == group.managed_by);
            let name = group.name.clone();
            after.push(group);
            // The last change of a group saves all of them.
            let step = ChangeStep::SaveGroups { rev, groups: Vec::new() };
            self.change(
                ObjectKind::Group,
                &entry,
                &name,
                (described.0.as_ref(), &described.1),
                is_managed,
                step,
            );
        }
        for group in matches.gone {
            let step = ChangeStep::SaveGroups { rev, groups: Vec::new() };
            let described = describe::group(group);
            let by = group.managed_by.as_ref();
            self.remove(ObjectKind::Group, (&group.name, &described), by, step);
        }
        if after.len() > SITE_GROUPS_MAX {
            let why = format!(
                "The groups field would lead to {} groups; a team has at most {SITE_GROUPS_MAX}.",
                after.len()
            );
            self.errors.push("groups", why);
        }
        for change in self.changes.iter_mut().chain(&mut self.deletions) {
            if let ChangeStep::SaveGroups { groups, .. } = &mut change.step {
                groups.clone_from(&after);
            }
        }
    }

    fn windows(&mut self) {
        let (team, now) = (self.current.team, self.choices.now);
        let windows: Vec<MaintenanceWindow> = team.windows.iter().cloned().collect();
        let starts_then = |entry: &Entry| {
            let start = crate::maintenance::parse_start(text_of(entry, "starts_at"))?;
            Some(format!("{start} {}", text_of(entry, "name")))
        };
        let matches = self.match_up(
            ObjectKind::MaintenanceWindow,
            &windows,
            |window| window.managed_by.as_ref(),
            &[
                Likeness {
                    of_entry: &starts_then,
                    of_object: &|window| Some(format!("{} {}", window.start, window.name)),
                },
                Likeness {
                    of_entry: &|entry| Some(text_of(entry, "name").to_owned()),
                    of_object: &|window| Some(window.name.clone()),
                },
            ],
        );
        let mut next = team.windows.clone();
        for (entry, before) in matches.pairs {
            let Some(new) = self.read_window(&entry) else { continue };
            let id = before.map_or_else(|| WindowId(self.uuid()), |before| before.id);
            let managed_by = Some(self.managed_by(&entry));
            let window = MaintenanceWindow { managed_by, ..new.into_window(id, &self.zone, now) };
            // An instance that somebody ended does not start again, unless it takes place at another time.
            let ended_at = before
                .filter(|before| {
                    let time = |of: &MaintenanceWindow| {
                        (of.start, of.zone.clone(), of.minutes, of.rule.clone())
                    };
                    time(before) == time(&window)
                })
                .and_then(|before| before.ended_at);
            let window = MaintenanceWindow { ended_at, ..window };
            // The service drops a window that is over.
            if window.is_over(now) {
                if let Some(before) = before.filter(|before| !before.is_over(now)) {
                    self.end_window(&entry, before);
                }
                continue;
            }
            match next.with(window.clone(), now) {
                Ok(windows) => next = windows,
                Err(refusal) => {
                    let why = refusal.to_string();
                    self.errors.push(entry.path.clone(), why);
                    continue;
                }
            }
            let described = (
                before.map(|before| describe::window(before, &self.references)),
                describe::window(&window, &self.references),
            );
            let is_managed = before.is_some_and(|before| before.managed_by == window.managed_by);
            let name = window.name.clone();
            let step = ChangeStep::SaveWindow(Box::new(window));
            self.change(
                ObjectKind::MaintenanceWindow,
                &entry,
                &name,
                (described.0.as_ref(), &described.1),
                is_managed,
                step,
            );
        }
        for window in matches.gone {
            if !window.is_over(now) {
                let step = ChangeStep::DeleteWindow(window.id);
                let described = describe::window(window, &self.references);
                let by = window.managed_by.as_ref();
                let kind = ObjectKind::MaintenanceWindow;
                self.remove(kind, (&window.name, &described), by, step);
            }
        }
        self.limit(
            ObjectKind::MaintenanceWindow,
            team.windows.current_ones(now).len(),
            WINDOWS_MAX,
            "a team",
        );
    }

    /// Deletes a window that would be over.
    fn end_window(&mut self, entry: &Entry, window: &MaintenanceWindow) {
        self.deletions.push(Change {
            action: ChangeAction::Delete,
            kind: ObjectKind::MaintenanceWindow,
            key: Some(entry.key.clone()),
            name: window.name.clone(),
            adopted: false,
            fields: Vec::new(),
            path: entry.path.clone(),
            unique: Default::default(),
            step: ChangeStep::DeleteWindow(window.id),
        });
    }

    fn read_window(&mut self, entry: &Entry) -> Option<NewWindow> {
        let mut entry = entry.clone();
        if let Some(Value::Array(sites)) = entry.fields.get_mut("sites") {
            for (place, site) in sites.iter_mut().enumerate() {
                let path = format!("{}.sites.{place}", entry.path);
                self.references.resolve(site, path, &mut self.errors);
            }
        }
        let fields = entry.fields();
        // A window that starts now would start again with every document.
        if fields.field("starts_at").is_absent() {
            entry.refuse("starts_at", "is required", &mut self.errors);
        }
        read_object(&fields, &mut self.errors)
    }

    fn pages(&mut self) {
        let (pages, team) = (self.current.pages, self.current.team);
        let matches = self.match_up(
            ObjectKind::StatusPage,
            pages,
            |page| page.managed_by.as_ref(),
            &[Likeness {
                of_entry: &|entry| Some(text_of(entry, "slug").to_owned()),
                of_object: &|page| Some(page.slug.as_str().to_owned()),
            }],
        );
        for (entry, before) in matches.pairs {
            let Some(new) = self.read_page(&entry) else { continue };
            let after = self.page_after(&entry, before, new);
            let described = (
                before.map(|before| describe::page(before, &self.references)),
                describe::page(&after, &self.references),
            );
            let is_managed = before.is_some_and(|before| before.managed_by == after.managed_by);
            let name = after.name.clone();
            let after = Box::new(after);
            let step = match before {
                None => ChangeStep::CreatePage(after),
                Some(before) => ChangeStep::SavePage { before: Box::new(before.clone()), after },
            };
            self.change(
                ObjectKind::StatusPage,
                &entry,
                &name,
                (described.0.as_ref(), &described.1),
                is_managed,
                step,
            );
        }
        for page in matches.gone {
            let step = ChangeStep::DeletePage(Box::new(page.clone()));
            let described = describe::page(page, &self.references);
            let by = page.managed_by.as_ref();
            self.remove(ObjectKind::StatusPage, (&page.name, &described), by, step);
        }
        self.limit(ObjectKind::StatusPage, team.status_pages.len(), PAGES_MAX, "a team");
    }

    fn read_page(&mut self, entry: &Entry) -> Option<NewPage> {
        let mut entry = entry.clone();
        let groups = entry.fields.get_mut("groups").and_then(Value::as_array_mut);
        for (place, group) in groups.into_iter().flatten().enumerate() {
            let components = group.get_mut("components").and_then(Value::as_array_mut);
            for (part, component) in components.into_iter().flatten().enumerate() {
                let path = format!("{}.groups.{place}.components.{part}", entry.path);
                if component.get("uuid").is_some() {
                    self.errors.push(
                        format!("{path}.uuid"),
                        format!("The {path}.uuid field is not known."),
                    );
                }
                if let Some(site) = component.get_mut("site") {
                    self.references.resolve(site, format!("{path}.site"), &mut self.errors);
                }
            }
        }
        read_object(&entry.fields(), &mut self.errors)
    }

    /// The page after the plan. Components that its selector has added stay, unless the document has their sites.
    fn page_after(
        &mut self,
        entry: &Entry,
        before: Option<&StatusPage>,
        new: NewPage,
    ) -> StatusPage {
        let (team, now) = (self.current.team.id, self.choices.now);
        let kept: Vec<_> = before.into_iter().flat_map(StatusPage::components).cloned().collect();
        let mut groups = Vec::new();
        let mut shown = BTreeSet::new();
        for group in new.groups.iter().flatten() {
            let mut components = Vec::new();
            for ComponentInput { name, site, response_time, hidden, .. } in group.components.clone()
            {
                let id = kept.iter().find(|one| one.site == site && !shown.contains(&one.id));
                let id = id.map_or_else(|| ComponentId(self.uuid()), |one| one.id);
                shown.insert(id);
                components.push(Component {
                    id,
                    name,
                    site,
                    publishes_response_time: response_time,
                    is_hidden: hidden.unwrap_or_default(),
                    is_selected: false,
                });
            }
            groups.push(Group { name: group.name.clone(), components });
        }
        for group in before.into_iter().flat_map(|before| &before.groups) {
            let others = group.components.iter();
            let others = others.filter(|one| one.is_selected && !shown.contains(&one.id));
            let count: usize = groups.iter().map(|group: &Group| group.components.len()).sum();
            let room = COMPONENTS_MAX.saturating_sub(count);
            let others: Vec<_> = others.take(room).cloned().collect();
            if others.is_empty() {
                continue;
            }
            match groups.iter_mut().find(|one| one.name == group.name) {
                Some(one) => one.components.extend(others),
                None => groups.push(Group { name: group.name.clone(), components: others }),
            }
        }
        let key = LinkKey::from_random(self.random());
        let link = before.and_then(|before| before.link.clone()).unwrap_or(key);
        StatusPage {
            id: before.map_or_else(|| StatusPageId(self.uuid()), |before| before.id),
            team,
            slug: new.slug,
            name: new.name,
            message: new.message,
            groups,
            selector: new.selector,
            publishes_new_sites: new.publish_new_sites,
            left: before.map(|before| before.left.clone()).unwrap_or_default(),
            link: new.unlisted.then_some(link),
            names_windows: new.maintenance_names,
            offers_subscriptions: new.subscriptions,
            managed_by: Some(self.managed_by(entry)),
            rev: before.map_or(1, |before| before.rev + 1),
            created_at: before.map_or(now, |before| before.created_at),
            updated_at: now,
        }
    }
}
