//! The directory of a team: what requests about all its sites read, which may be megabytes.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::Newest;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::sites::group::SiteGroups;
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_domain::sites::tag::Tag;
use vedette_domain::sites::tag_dictionary::TagDictionary;

use crate::item::{
    DOCUMENT, Item, REV, Stored, document, document_attribute, document_item, key_of, number,
    stored,
};
use crate::keys::{self, Key, PK, SK};
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{Audit, Readable, StoreError};

stored!(attributes: NewestOfTools);
stored!(document: SiteGroups, TagDictionary);

/// Rows that one call reads: few enough that one answer is parsed while the table looks up the next.
const ROWS: usize = 600;
/// The most calls for a directory that run at once.
const CALLS_MAX: usize = 16;

/// What a team's directory says about a site: enough to filter and sort without loading the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryRow {
    /// The site.
    pub id: SiteId,
    /// Its name.
    pub name: String,
    /// Its canonical URL.
    pub url: SiteUrl,
    /// Whether it is pinned.
    #[serde(default)]
    pub pinned: bool,
    /// Its creation.
    pub created_at: Timestamp,
    /// Tools that the site itself enables or disables; other tools follow the team.
    #[serde(default)]
    pub enabled: BTreeMap<Tool, bool>,
    /// The numbers of its tags in the team's [`TagDictionary`]. They are an attribute next to the document because they
    /// change with the dictionary.
    #[serde(skip)]
    pub tags: Vec<u16>,
    /// Whether any check of the site has ever completed. This is an attribute next to the document because checks write
    /// it.
    #[serde(skip)]
    pub is_checked: bool,
    /// Each tool's newest check, if the caller asked for it. It has an item of its own because few callers need it.
    #[serde(skip)]
    pub newest: BTreeMap<Tool, Newest>,
}

/// A team's sites, with the tags that their rows name by number.
#[derive(Debug)]
pub struct Directory {
    /// The sites.
    pub rows: Vec<DirectoryRow>,
    /// The tags that they have.
    pub tags: TagDictionary,
}

impl Directory {
    /// The tags of a site, sorted.
    pub fn tags_of(&self, row: &DirectoryRow) -> Vec<&Tag> {
        let mut tags: Vec<_> =
            row.tags.iter().filter_map(|number| self.tags.tag(*number)).collect();
        tags.sort_unstable();
        tags
    }
}

impl DirectoryRow {
    /// Whether the checks that decide whether the site is up have begun: those of `status` if it runs, otherwise any.
    /// Rows of earlier versions do not say which tools have checked the site.
    pub fn is_judged(&self, runs: impl Fn(Tool) -> bool) -> bool {
        let is_known = !runs(Tool::Status) || self.newest.is_empty();
        self.is_checked && (is_known || self.newest.contains_key(&Tool::Status))
    }
}

/// The newest checks of a site; `None` for a tool whose checks were all deleted.
type NewestOfTools = BTreeMap<Tool, Option<Newest>>;

/// The attribute that says whether any check has completed.
const CHECKED: &str = "checked";
/// The attribute with the numbers of the tags, 2 bytes each.
const TAGS: &str = "t";
/// The attribute in which version 0.1 stored the newest checks.
const NEWEST: &str = "newest";

impl DirectoryRow {
    /// The row of a site that has no checks and no tags yet.
    pub(crate) fn of(site: &Site) -> Self {
        let overrides = &site.overrides.tools;
        let enabled = Tool::ALL.into_iter();
        Self {
            id: site.id,
            name: site.name.clone(),
            url: site.url.clone(),
            pinned: site.pinned,
            created_at: site.created_at,
            enabled: enabled.filter_map(|tool| Some((tool, overrides.enabled(tool)?))).collect(),
            tags: Vec::new(),
            is_checked: false,
            newest: BTreeMap::new(),
        }
    }

    /// The range of a team's rows, or of the rows after a place.
    pub(crate) fn after(place: Option<&str>) -> Sort {
        Sort::Between(place.map_or_else(|| "0".to_owned(), |key| format!("{key} ")), END.to_owned())
    }

    /// Whether the name or the canonical URL contains a part, which is in lower case.
    pub fn contains(&self, part: &str) -> bool {
        self.name.to_lowercase().contains(part) || self.url.as_str().to_lowercase().contains(part)
    }

    /// Whether a tool is among the site's `enabled_checks`: the site or else its team enables it, and the plan includes
    /// it.
    pub fn is_enabled(&self, tool: Tool, team: &Settings, plan: Plan) -> bool {
        let own = self.enabled.get(&tool).copied();
        own.unwrap_or_else(|| team.tools.is_enabled(tool)) && plan.allows(tool)
    }

    pub(crate) fn item(&self, key: &Key) -> Result<Item, StoreError> {
        let mut item = document_item(key, self)?;
        if self.is_checked {
            item.insert(CHECKED.to_owned(), AttributeValue::Bool(true));
        }
        if !self.tags.is_empty() {
            item.insert(TAGS.to_owned(), self.tags_attribute());
        }
        Ok(item)
    }

    /// The change to the row of a site that has been checked.
    pub(crate) fn checked() -> Change {
        Change {
            expression: format!("SET {CHECKED} = :yes").into(),
            values: vec![(":yes", AttributeValue::Bool(true))],
            ..Change::default()
        }
    }

    /// The change that turns a row into this one, which has no tags unless `sets_tags`; otherwise the row keeps its tags.
    pub(crate) fn change(&self, sets_tags: bool) -> Result<Change, StoreError> {
        let mut expression = format!("SET {DOCUMENT} = :row");
        let mut values = vec![(":row", document_attribute(self)?)];
        match (sets_tags, self.tags.is_empty()) {
            (true, true) => expression.push_str(&format!(" REMOVE {TAGS}")),
            (true, false) => {
                expression.push_str(&format!(", {TAGS} = :tags"));
                values.push((":tags", self.tags_attribute()));
            }
            (false, _) => {}
        }
        Ok(Change { expression: expression.into(), values, ..Change::default() })
    }

    fn tags_attribute(&self) -> AttributeValue {
        let bytes: Vec<u8> = self.tags.iter().flat_map(|tag| tag.to_be_bytes()).collect();
        AttributeValue::B(Blob::new(bytes))
    }
}

impl Stored for DirectoryRow {
    fn read(mut item: Item) -> Result<Self, StoreError> {
        let newest: BTreeMap<Tool, Newest> = match item.remove(NEWEST) {
            Some(newest) => serde_dynamo::from_attribute_value(newest)?,
            None => BTreeMap::new(),
        };
        // An old row does not say whether a check that is not the newest has completed.
        let is_checked = item.contains_key(CHECKED) || !newest.is_empty();
        let tags = match item.get(TAGS) {
            Some(AttributeValue::B(tags)) => tags
                .as_ref()
                .chunks_exact(2)
                .map(|tag| u16::from_be_bytes([tag[0], tag[1]]))
                .collect(),
            _ => Vec::new(),
        };
        Ok(Self { is_checked, newest, tags, ..document(item)? })
    }
}

/// Writes a team's tags after a change.
pub(crate) fn write_tags<'a>(
    transaction: Transaction<'a>,
    team: TeamId,
    tags: Option<&TagDictionary>,
) -> Result<Transaction<'a>, StoreError> {
    let Some(tags) = tags else { return Ok(transaction) };
    let mut stored = document_item(&keys::tags(team), tags)?;
    stored.insert(REV.to_owned(), number(tags.rev));
    Ok(transaction.put(stored, Condition::after(tags.rev - 1)))
}

impl Store {
    /// A team's sites with the dictionary of their tags.
    pub async fn tagged_directory(
        &self,
        team: TeamId,
        sites: usize,
    ) -> Result<Directory, StoreError> {
        let (rows, tags) = futures::try_join!(self.directory(team, sites), self.tags(team))?;
        Ok(Directory { rows, tags })
    }

    /// The tags that a team's sites have.
    pub async fn tags(&self, team: TeamId) -> Result<TagDictionary, StoreError> {
        self.beside_directory(keys::tags(team)).await
    }

    /// The groups of a team's sites.
    pub async fn site_groups(&self, team: TeamId) -> Result<SiteGroups, StoreError> {
        self.beside_directory(keys::site_groups(team)).await
    }

    /// Saves the groups of a team's sites.
    ///
    /// # Errors
    ///
    /// A conflict when they have changed since they were read.
    pub async fn save_site_groups(
        &self,
        team: TeamId,
        groups: &SiteGroups,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let mut stored = document_item(&keys::site_groups(team), groups)?;
        stored.insert(REV.to_owned(), number(groups.rev));
        self.transaction().put(stored, Condition::after(groups.rev - 1)).commit(audit).await
    }

    /// An item of a directory that is no row. A query for it costs what reading it costs, and every route that lists
    /// sites may make queries.
    async fn beside_directory<T: Stored + Default>(
        &self,
        Key { pk, sk }: Key,
    ) -> Result<T, StoreError> {
        let stored = self.query(Range::new(&pk, Sort::Prefix(sk))).await?;
        stored.into_iter().next().map_or_else(|| Ok(T::default()), Stored::read)
    }

    /// The same if they are needed; otherwise none.
    pub async fn tags_if(
        &self,
        is_needed: bool,
        team: TeamId,
    ) -> Result<TagDictionary, StoreError> {
        if is_needed { self.tags(team).await } else { Ok(TagDictionary::default()) }
    }

    /// A team's directory in its order, as far as it can be read. The number of parallel calls follows from the number
    /// of sites.
    pub async fn directory(
        &self,
        team: TeamId,
        sites: usize,
    ) -> Result<Vec<DirectoryRow>, StoreError> {
        let pk = keys::directory_partition(team);
        let calls = ranges(sites).into_iter().map(|(from, to)| {
            let range = Range::new(&pk, Sort::Between(from, to));
            async {
                let rows = self.query(range).await?;
                Ok::<_, StoreError>(Readable::of(rows, DirectoryRow::read).items)
            }
        });
        Ok(try_join_all(calls).await?.into_iter().flatten().collect())
    }

    /// A team's directory with each tool's newest check.
    pub async fn directory_with_newest(
        &self,
        team: TeamId,
        sites: usize,
    ) -> Result<Vec<DirectoryRow>, StoreError> {
        let pk = keys::directory_partition(team);
        let newest = self.query(Range::new(&pk, Sort::Prefix(keys::NEWEST.to_owned())));
        let (mut rows, newest) = futures::try_join!(self.directory(team, sites), newest)?;
        let mut newest: HashMap<String, NewestOfTools> =
            Readable::of(newest, newest_of).items.into_iter().collect();
        for row in &mut rows {
            let of_tools = newest.remove(&keys::newest(team, row.id).sk).unwrap_or_default();
            for (tool, newest) in of_tools {
                match newest {
                    Some(newest) => row.newest.insert(tool, newest),
                    None => row.newest.remove(&tool),
                };
            }
        }
        Ok(rows)
    }
}

/// Saves the newest checks of some tools of a site, or that a tool has none left.
pub(crate) fn put_newest<'a>(
    transaction: Transaction<'a>,
    site: &Site,
    newest: impl IntoIterator<Item = (Tool, impl Into<Option<Newest>>)>,
) -> Result<Transaction<'a>, StoreError> {
    // By code.
    const PLACEHOLDERS: [(&str, &str); Tool::CODES] = [
        ("#t0", ":t0"),
        ("#t1", ":t1"),
        ("#t2", ":t2"),
        ("#t3", ":t3"),
        ("#t4", ":t4"),
        ("#t5", ":t5"),
        ("#t6", ":t6"),
        ("#t7", ":t7"),
    ];
    let mut change = Change::default();
    let mut sets = Vec::new();
    for (tool, newest) in newest {
        let (name, value) = PLACEHOLDERS[usize::from(tool.code())];
        let newest: Option<Newest> = newest.into();
        sets.push(format!("{name} = {value}"));
        change.names.push((name, tool.to_string()));
        change.values.push((value, serde_dynamo::to_attribute_value(newest)?));
    }
    if sets.is_empty() {
        return Ok(transaction);
    }
    change.expression = format!("SET {}", sets.join(", ")).into();
    Ok(transaction.update(&keys::newest(site.team, site.id), change, Condition::Always))
}

/// The newest checks of a site by tool (`None` if a tool has none left), and the item's place.
fn newest_of(mut item: Item) -> Result<(String, NewestOfTools), StoreError> {
    let Key { sk, .. } = key_of(&item)?;
    item.retain(|name, _| name != PK && name != SK);
    Ok((sk, Stored::read(item)?))
}

/// Sort keys are hexadecimal hashes, so their first four digits are spread evenly over this many numbers.
const KEYS: usize = 0x1_0000;
/// Sorts after all of them.
const END: &str = "g";

/// The ranges of sort keys in which to read a directory of this many sites.
fn ranges(sites: usize) -> Vec<(String, String)> {
    let count = sites.div_ceil(ROWS).clamp(1, CALLS_MAX);
    let bound = |number: usize| match KEYS * number / count {
        KEYS => END.to_owned(),
        bound => format!("{bound:04x}"),
    };
    (0..count).map(|number| (bound(number), bound(number + 1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_a_directory_is_in_one_of_its_ranges() {
        for sites in [0, 1, 1_000, 100_000] {
            let ranges = ranges(sites);
            for digits in 0..=0xffff {
                let sk = format!("{digits:04x}{}", "a".repeat(60));
                let holds = |(from, to): &&(String, String)| {
                    (from.as_str()..=to.as_str()).contains(&sk.as_str())
                };
                assert_eq!(ranges.iter().filter(holds).count(), 1, "{sk} of {sites}");
            }
        }
    }

    #[test]
    fn a_directory_is_read_by_as_many_calls_as_its_rows_take() {
        let calls = |sites| ranges(sites).len();
        assert_eq!([calls(0), calls(600), calls(601), calls(9_600)], [1, 1, 2, 16]);
        assert_eq!(calls(1_000_000), 16);
    }
}
