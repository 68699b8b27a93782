//! Copying whole teams from one table into another, item by item.
//!
//! A team consists of whole partitions and of single items in others. To copy a part, Vedette compares both tables and
//! writes the differences, so a repeated copy finishes an interrupted one. Items that have expired are left out.
//! Sessions, sign-in links, leases and what waits to be sent are not copied.

use std::collections::{HashMap, VecDeque};

use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::accounts::account::User;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::id::{ChannelId, TeamId, UserId};
use vedette_domain::status_pages::{Slug, StatusPage};

use crate::item::{Item, Stored, expiry, item, key_of, stored};
use crate::keys::{self, Key, Prefix, QUEUED, SELF, TTL};
use crate::status_page::published_keys;
use crate::table::{Condition, Range, Sort, Store};
use crate::{DirectoryRow, StoreError, TeamWithSettings};

stored!(attributes: CopyMark);

/// Items in one writing call.
const BATCH: usize = 25;
/// The attribute that says whether a team's plan is active; see `Team::plan_active`.
const PLAN_ACTIVE: &str = "plan_active";

/// What to copy: teams and their members.
#[derive(Debug, Clone)]
pub struct CopyPlan {
    /// The teams.
    pub teams: Vec<TeamWithSettings>,
    /// The members of these teams.
    pub users: Vec<User>,
    /// The status pages of these teams.
    pub pages: Vec<StatusPage>,
    /// The parts, in the order in which they are copied.
    pub parts: Vec<CopyPart>,
}

/// A part of a team or of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyPart {
    /// All items of a partition.
    Partition(String),
    /// Single items.
    Items(Vec<Key>),
}

impl CopyPart {
    /// The item of a team that says whether its plan is active.
    pub fn team(team: TeamId) -> Self {
        Self::Items(vec![keys::team(team)])
    }
}

/// What the other table already has and a copy would overwrite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyConflict {
    /// A team with the same id.
    Team(TeamId),
    /// A user with the same id.
    User(UserId),
    /// A user with the same address.
    Email(String),
    /// A status page with the same slug.
    Slug(Slug),
}

/// Says in the target table that a copy is in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyMark {
    /// When it began.
    pub started_at: Timestamp,
    /// The teams.
    pub teams: Vec<TeamId>,
    /// Their members.
    pub users: Vec<UserId>,
}

/// How items change while they are copied.
#[derive(Debug, Clone, Copy)]
pub struct CopyRules<'a> {
    /// The time that decides which items have expired.
    pub now: Timestamp,
    /// When the copy began. The channels are disabled as of that time.
    pub started_at: Timestamp,
    /// Why the channels are disabled.
    pub reason: &'a str,
    /// Whether the teams are inactive. Nothing runs for them until the copy is complete.
    pub inactive: bool,
}

/// What was copied of a part, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Items that both tables have now.
    pub items: u64,
    /// Items among them that were written.
    pub written: u64,
    /// Items that only the target table had, and that were removed.
    pub removed: u64,
    /// Sites.
    pub sites: u64,
    /// Checks and blocks of packed checks.
    pub checks: u64,
    /// Issues.
    pub issues: u64,
}

impl std::ops::AddAssign for Copied {
    fn add_assign(&mut self, other: Self) {
        self.items += other.items;
        self.written += other.written;
        self.removed += other.removed;
        self.sites += other.sites;
        self.checks += other.checks;
        self.issues += other.issues;
    }
}

impl Copied {
    fn count(&mut self, key: &Key) {
        self.items += 1;
        if key.pk.starts_with(Prefix::Site.as_str()) {
            self.sites += u64::from(key.sk == SELF);
            self.checks += u64::from(key.sk.starts_with(keys::ROW));
            self.issues += u64::from(key.sk.starts_with(keys::ISSUE));
        }
    }
}

/// A table's items of a part, in the order of their keys.
struct Items<'a> {
    store: &'a Store,
    pk: Option<&'a str>,
    page: VecDeque<(Key, Item)>,
    next: Option<Item>,
    has_next: bool,
    now: Timestamp,
}

impl<'a> Items<'a> {
    async fn of(store: &'a Store, part: &'a CopyPart, now: Timestamp) -> Result<Self, StoreError> {
        let empty =
            Self { store, pk: None, page: VecDeque::new(), next: None, has_next: false, now };
        match part {
            CopyPart::Partition(pk) => Ok(Self { pk: Some(pk), has_next: true, ..empty }),
            CopyPart::Items(keys) => {
                let found = store.batch_get(keys.iter().cloned()).await?;
                let mut found: Vec<_> = found.into_iter().collect();
                found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                let page = found.into_iter().filter(|(key, item)| lasts(key, item, now)).collect();
                Ok(Self { page, ..empty })
            }
        }
    }

    /// The next item, without taking it.
    async fn peek(&mut self) -> Result<Option<&Key>, StoreError> {
        while let (true, true, Some(pk)) = (self.page.is_empty(), self.has_next, self.pk) {
            let range = Range::new(pk, Sort::All);
            let (page, next) = self.store.query_page(&range, None, self.next.take()).await?;
            self.has_next = next.is_some();
            self.next = next;
            for item in page {
                let key = key_of(&item)?;
                if lasts(&key, &item, self.now) {
                    self.page.push_back((key, item));
                }
            }
        }
        Ok(self.page.front().map(|(key, _)| key))
    }

    fn take(&mut self) -> Option<(Key, Item)> {
        self.page.pop_front()
    }
}

/// Whether an item is copied: it has not expired and does not wait to be sent.
fn lasts(key: &Key, item: &Item, now: Timestamp) -> bool {
    let is_of =
        |prefix: Prefix, part| key.pk.starts_with(prefix.as_str()) && key.sk.starts_with(part);
    let is_queued = is_of(Prefix::Delivery, QUEUED) || is_of(Prefix::Subscription, keys::MAILING);
    let has_passed = item.contains_key(TTL) && expiry(item).is_ok_and(|at| at <= now);
    !is_queued && !has_passed
}

impl CopyRules<'_> {
    /// An item as it is written to the target table.
    fn apply(&self, key: &Key, mut item: Item) -> Result<Item, StoreError> {
        if self.inactive && key.pk.starts_with(Prefix::Team.as_str()) && key.sk == SELF {
            item.insert(PLAN_ACTIVE.to_owned(), AttributeValue::Bool(false));
        }
        if key.pk.starts_with(Prefix::Channel.as_str()) && !keys::is_channel_claim(key) {
            let channel = Channel::read(item.clone())?;
            if let Some(disabled) = channel.disabled_by_hand(self.reason, self.started_at) {
                item.extend(crate::item::item(key, &disabled)?);
            }
        }
        Ok(item)
    }
}

impl Store {
    /// Everything that belongs to teams; unknown teams are left out.
    pub async fn copy_plan(
        &self,
        teams: &[TeamId],
        now: Timestamp,
    ) -> Result<CopyPlan, StoreError> {
        let teams: Vec<_> = self.teams(teams.iter().copied(), now).await?.into_values().collect();
        let mut parts = Vec::new();
        let (mut members, mut pages) = (Vec::new(), Vec::new());
        for team in &teams {
            let id = team.id();
            let rows = self.members(id).await?;
            members.extend(rows.iter().map(|row| row.user));
            let of_team = self.status_pages(id).await?;
            parts.extend(self.parts_of_team(team, &of_team).await?);
            pages.extend(of_team);
        }
        members.sort_unstable();
        members.dedup();
        let mut users: Vec<_> = self.users(members).await?.into_values().collect();
        users.sort_unstable_by_key(|user| user.id);
        for user in &users {
            parts.push(self.items_of_user(user, &teams).await?);
        }
        // The list of teams comes last: code that walks over all teams finds them once they are complete.
        parts.push(CopyPart::Items(
            teams.iter().map(|team| keys::team_listing(team.id())).collect(),
        ));
        Ok(CopyPlan { teams, users, pages, parts })
    }

    async fn parts_of_team(
        &self,
        team: &TeamWithSettings,
        pages: &[StatusPage],
    ) -> Result<Vec<CopyPart>, StoreError> {
        let id = team.id();
        let mut parts = vec![
            CopyPart::Partition(keys::team_partition(id)),
            CopyPart::Partition(keys::channel_partition(id)),
            CopyPart::Partition(Prefix::ChannelSecret.key(id)),
            CopyPart::Partition(keys::team_alerts(id).pk),
            CopyPart::Partition(keys::audit_partition(id)),
            CopyPart::Partition(keys::status_page_partition(id)),
            CopyPart::Partition(keys::publication_partition(id)),
            CopyPart::Partition(keys::report_partition(id)),
            CopyPart::Partition(keys::subscription_partition(id.into())),
            CopyPart::Items(pages.iter().flat_map(published_keys).collect()),
            CopyPart::Items(
                team.team
                    .invitations
                    .iter()
                    .map(|pending| keys::invitation(&pending.hash))
                    .collect(),
            ),
        ];
        parts.extend(
            pages
                .iter()
                .map(|page| CopyPart::Partition(keys::subscription_partition(page.id.into()))),
        );
        let channels: Vec<ChannelId> =
            self.channels(id).await?.iter().map(|channel| channel.id).collect();
        parts.extend(
            channels
                .into_iter()
                .map(|channel| CopyPart::Partition(keys::delivery_partition(id, channel))),
        );
        for listed in self.heartbeats(id).await? {
            let heartbeat = listed.heartbeat.id.partition();
            parts.push(CopyPart::Partition(keys::site_partition(heartbeat)));
            parts.push(CopyPart::Partition(keys::notification_partition(heartbeat)));
        }
        if let Some(key) = self.team_ping_key(id).await? {
            parts.push(CopyPart::Items(vec![keys::ping_key(&key.hash())]));
        }
        parts.push(CopyPart::Partition(keys::heartbeat_list(id)));
        // A row that cannot be read ends the copy: no site may be left out silently.
        let directory = keys::directory_partition(id);
        let rows = Range::new(&directory, Sort::Before(keys::NEWEST.to_owned()));
        for row in self.query(rows).await? {
            let site = DirectoryRow::read(row)?.id.partition();
            parts.push(CopyPart::Partition(keys::site_partition(site)));
            parts.push(CopyPart::Partition(keys::notification_partition(site)));
        }
        // A site appears in the list after it was copied.
        parts.push(CopyPart::Partition(directory));
        parts.push(CopyPart::Partition(keys::issue_index_partition(id)));
        Ok(parts)
    }

    async fn items_of_user(
        &self,
        user: &User,
        teams: &[TeamWithSettings],
    ) -> Result<CopyPart, StoreError> {
        let mut keys = vec![keys::user(user.id), keys::email(&user.email)];
        keys.extend(teams.iter().map(|team| keys::membership(user.id, team.id())));
        for (token, _) in self.tokens_of(user.id).await? {
            keys.extend([
                keys::user_token(user.id, &token.hash),
                keys::token(&token.hash),
                keys::token_use(&token.hash),
            ]);
        }
        Ok(CopyPart::Items(keys))
    }

    /// What this table already has of a plan, apart from what a copy in progress has brought.
    pub async fn copy_conflicts(
        &self,
        plan: &CopyPlan,
        mark: Option<&CopyMark>,
    ) -> Result<Vec<CopyConflict>, StoreError> {
        let is_ours = |user: UserId| mark.is_some_and(|mark| mark.users.contains(&user));
        let teams: Vec<TeamId> = plan
            .teams
            .iter()
            .map(TeamWithSettings::id)
            .filter(|team| mark.is_none_or(|mark| !mark.teams.contains(team)))
            .collect();
        let users: Vec<&User> = plan.users.iter().filter(|user| !is_ours(user.id)).collect();
        let wanted = teams
            .iter()
            .map(|&team| keys::team(team))
            .chain(users.iter().flat_map(|user| [keys::user(user.id), keys::email(&user.email)]));
        let pages = plan.pages.iter().filter(|page| teams.contains(&page.team));
        let slugs: Vec<_> = pages.map(|page| page.slug.clone()).collect();
        let addresses = slugs.iter().map(|slug| keys::published(&slug.into()));
        let found = self.batch_get(wanted.chain(addresses)).await?;
        let has = |key: Key| found.contains_key(&key);
        let mut conflicts: Vec<_> = teams
            .iter()
            .copied()
            .filter(|&team| has(keys::team(team)))
            .map(CopyConflict::Team)
            .collect();
        let is_taken = |slug: &Slug| has(keys::published(&slug.into()));
        conflicts
            .extend(slugs.iter().filter(|slug| is_taken(slug)).cloned().map(CopyConflict::Slug));
        for user in users {
            if has(keys::user(user.id)) {
                conflicts.push(CopyConflict::User(user.id));
            } else if has(keys::email(&user.email)) {
                conflicts.push(CopyConflict::Email(user.email.clone()));
            }
        }
        Ok(conflicts)
    }

    /// The copy into this table that is in progress.
    pub async fn copy_mark(&self) -> Result<Option<CopyMark>, StoreError> {
        self.get(&keys::copy_mark()).await?.map(Stored::read).transpose()
    }

    /// Records that a copy into this table begins or continues.
    ///
    /// # Errors
    ///
    /// A conflict when another copy has begun since.
    pub async fn begin_copy(&self, mark: &CopyMark, goes_on: bool) -> Result<(), StoreError> {
        let unchanged = if goes_on { Condition::Present } else { Condition::Absent };
        self.put(item(&keys::copy_mark(), mark)?, unchanged).await
    }

    /// Records that the copy into this table is complete.
    pub async fn end_copy(&self) -> Result<(), StoreError> {
        self.batch_delete(&[keys::copy_mark()]).await
    }

    /// Makes a part of this table the same as in another table.
    pub async fn copy_part(
        &self,
        from: &Self,
        part: &CopyPart,
        rules: &CopyRules<'_>,
    ) -> Result<Copied, StoreError> {
        let mut there = Items::of(from, part, rules.now).await?;
        let mut here = Items::of(self, part, rules.now).await?;
        let (mut copied, mut writes) = (Copied::default(), Vec::new());
        loop {
            let (theirs, ours) = (there.peek().await?.cloned(), here.peek().await?.cloned());
            // Only this table has the item.
            let is_left_over = match (&theirs, &ours) {
                (None, None) => break,
                (Some(theirs), Some(ours)) => ours < theirs,
                (theirs, _) => theirs.is_none(),
            };
            if is_left_over {
                if let Some((key, _)) = here.take() {
                    copied.removed += 1;
                    writes.push(deletion(&key)?);
                }
            } else if let Some((key, item)) = there.take() {
                let item = rules.apply(&key, item)?;
                copied.count(&key);
                let known = if ours.as_ref() == Some(&key) { here.take() } else { None };
                if known.is_none_or(|(_, known)| known != item) {
                    copied.written += 1;
                    let put = PutRequest::builder().set_item(Some(item)).build()?;
                    writes.push(WriteRequest::builder().put_request(put).build());
                }
            }
            if writes.len() == BATCH {
                self.batch_write(std::mem::take(&mut writes)).await?;
            }
        }
        if !writes.is_empty() {
            self.batch_write(writes).await?;
        }
        Ok(copied)
    }
}

fn deletion(key: &Key) -> Result<WriteRequest, StoreError> {
    let delete = DeleteRequest::builder().set_key(Some(HashMap::from(key.attributes())));
    Ok(WriteRequest::builder().delete_request(delete.build()?).build())
}
