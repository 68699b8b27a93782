//! One transaction for everything that a run, an order or a person's decision changes.

use jiff::Timestamp;
use jiff::civil::Date;
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::checks::limits::ALERT_GRACE;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::checks::tool_state::{
    CheckDeletion, DayWrite, Keeping, NewestChange, ToolChange, ToolState,
};
use vedette_domain::heartbeats::heartbeat::Heartbeat;
use vedette_domain::id::{Partition, StatusPageId};
use vedette_domain::issues::record::IssueChange;
use vedette_domain::monitor::MonitorRef;
use vedette_domain::sites::site::Site;

use crate::block::closed_item;
use crate::channel::put_outbox;
use crate::directory::put_newest;
use crate::evidence::{write_evidence, write_opening};
use crate::failing::{write_failing, write_unchecked};
use crate::item::{expiring, item, number, string};
use crate::keys;
use crate::outage::write_outage;
use crate::row::{self, Written};
use crate::site::{put_state, tool_item};
use crate::status_page::want_all;
use crate::table::{Change, Condition, Store};
use crate::transaction::Transaction;
use crate::{Audit, DirectoryRow, StoreError};

/// Changes to one site's records that are saved together.
///
/// An uneventful scheduled check writes one item if it is packed: its tool's state. If it has a row of its own, it
/// writes two.
#[derive(Debug)]
pub struct Changes<'a> {
    /// The site.
    pub site: &'a Site,
    /// Tools whose runs ended or were ordered.
    pub tools: &'a [ToolChange],
    /// Issues that open or resolve.
    pub issues: &'a [IssueChange],
    /// What is taken from the month's on-demand quota.
    pub usage: Option<Usage>,
    /// Now.
    pub now: Timestamp,
}

/// On-demand checks taken from a month's quota.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Any day of the month.
    pub month: Date,
    /// How many checks.
    pub checks: u32,
    /// The plan's quota.
    pub limit: u32,
}

impl Store {
    /// Writes all of it or nothing.
    ///
    /// # Errors
    ///
    /// A conflict when anything that the changes were decided on has changed since.
    pub async fn commit(&self, changes: &Changes<'_>) -> Result<(), StoreError> {
        let place = MonitorRef::from(changes.site);
        if let Some(change) = changes.only_packed() {
            return self.put_packed(place, change, changes.now).await;
        }
        let mut transaction = self.transaction();
        for change in changes.tools {
            transaction = write_tool(transaction, place, change, changes.now)?;
            transaction = write_failing(transaction, place, change.failing)?;
            transaction = write_unchecked(transaction, place, change.unchecked)?;
            let partition = place.id.partition();
            for write in &change.evidence {
                transaction = write_evidence(transaction, partition, write)?;
            }
        }
        transaction = write_newest(transaction, changes)?;
        transaction =
            write_issues(transaction, place, changes.tools.first(), changes.issues, changes.now)?;
        if let Some(usage) = &changes.usage {
            transaction = write_usage(transaction, changes.site, usage);
        }
        transaction.commit(Audit::None).await
    }

    /// Writes all that a report of a job changes, or nothing. `pages` are status pages that are published again.
    ///
    /// # Errors
    ///
    /// A conflict when anything that the changes were decided on has changed since.
    pub async fn commit_report(
        &self,
        heartbeat: &Heartbeat,
        change: &ToolChange,
        issues: &[IssueChange],
        pages: &[StatusPageId],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let place = MonitorRef::from(heartbeat);
        if issues.is_empty() && pages.is_empty() && is_packed(change) {
            return self.put_packed(place, change, now).await;
        }
        let transaction = write_tool(self.transaction(), place, change, now)?;
        let transaction = write_issues(transaction, place, Some(change), issues, now)?;
        want_all(transaction, place.team, pages, now).commit(Audit::None).await
    }

    /// Saves a packed check that changes nothing but its tool's state. A put costs a quarter of a transaction with two
    /// items.
    ///
    /// A full block is put first: until the state is written, its checks are in the state as well, and readers take them
    /// from there.
    async fn put_packed(
        &self,
        place: MonitorRef,
        ToolChange { state, check, closed_block, .. }: &ToolChange,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (partition, tool) = (place.id.partition(), check.id.tool());
        if let Some(closed) = closed_block {
            let (block, condition) = closed_item(partition, tool, closed, state.rev)?;
            self.put(block, condition).await?;
        }
        let stored = tool_item(partition, tool, state, now)?;
        let put = self.put(stored, Condition::Rev(state.rev.saturating_sub(1))).await;
        match put {
            // DynamoDB cannot recognize a repeated put. If the answer was lost, the repeated put finds what it has
            // written itself.
            Err(conflict) if conflict.is_conflict() => {
                let stored = self.check(check.id).await?.map(|stored| stored.check);
                if stored.as_ref() == Some(check) { Ok(()) } else { Err(conflict) }
            }
            put => put,
        }
    }

    /// Deletes an on-demand check, with everything that its tool, its day and the directory know about it.
    ///
    /// # Errors
    ///
    /// A conflict when its tool has changed since, or its run has ended.
    pub async fn delete_check(
        &self,
        site: &Site,
        deletion: &CheckDeletion,
        has_body: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let CheckDeletion { state, check, status, day, newest } = deletion;
        let (partition, tool) = (site.id.partition(), check.tool());
        let row = keys::check(*check, *status);
        // The counters depend on this state. The `rev` alone would accept a row that was read before the check ended.
        let unchanged = Condition::When("s = :status", vec![(":status", string(status.as_str()))]);
        let transaction = self.transaction().delete(&row, unchanged);
        let mut transaction = put_state(transaction, partition, tool, state, now)?;
        if has_body {
            transaction = transaction.delete(&keys::body(*check, *status), Condition::Present);
        }
        let transaction = write_day(transaction, partition, tool, day.as_ref())?;
        let change = match newest {
            NewestChange::Same => return transaction.commit(Audit::None).await,
            NewestChange::Now(newest) => Some(*newest),
            NewestChange::Gone => None,
        };
        put_newest(transaction, site, [(tool, change)])?.commit(Audit::None).await
    }

    /// Saves a person's decision about an issue, with the tool's state where a resolution resets its tracker.
    ///
    /// # Errors
    ///
    /// A conflict when the issue or the state has changed since.
    pub async fn commit_issue(
        &self,
        place: MonitorRef,
        change: &IssueChange,
        tool: Option<(Tool, &ToolState, &ToolState)>,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        // The process that saves the decision may have no queue to send through.
        let now = change.after.updated_at;
        let Some((tool, read, next)) = tool else {
            let written = write_issue(self.transaction(), place, change, None, now)?;
            return written.commit(audit).await;
        };
        let change = read.keep_observations(change.clone());
        let transaction = write_issue(self.transaction(), place, &change, Some(next), now)?;
        let transaction = write_failing(transaction, place, next.failing_change(read))?;
        let partition = place.id.partition();
        put_state(transaction, partition, tool, next, now)?.commit(audit).await
    }
}

impl Changes<'_> {
    /// The change of a packed check, if only its tool's state needs to be written.
    pub fn only_state(&self) -> Option<&ToolChange> {
        self.only_packed().filter(|change| change.closed_block.is_none())
    }

    /// The change of a packed check, if nothing needs to be written but its tool's state, and perhaps a full block.
    fn only_packed(&self) -> Option<&ToolChange> {
        let Self { tools: [change], issues: [], usage: None, .. } = self else { return None };
        is_packed(change).then_some(change)
    }
}

/// Whether nothing needs to be written for a check but its tool's state, and perhaps a full block.
fn is_packed(change: &ToolChange) -> bool {
    change.keeping == Keeping::Packed
        && change.evidence.is_empty()
        && change.day.is_none()
        && change.failing.is_none()
        && change.unchecked.is_none()
        && change.newest.is_none()
        && !change.is_first
}

fn write_tool<'a>(
    transaction: Transaction<'a>,
    place: MonitorRef,
    change: &ToolChange,
    now: Timestamp,
) -> Result<Transaction<'a>, StoreError> {
    let ToolChange { state, check, keeping, closed_block, day, .. } = change;
    let (partition, tool) = (place.id.partition(), check.id.tool());
    let transaction = match keeping {
        Keeping::Row => write_row(transaction, change)?,
        Keeping::Packed => transaction,
    };
    let transaction = put_state(transaction, partition, tool, state, now)?;
    let transaction = match closed_block {
        Some(closed) => {
            let (block, condition) = closed_item(partition, tool, closed, state.rev)?;
            transaction.put(block, condition)
        }
        None => transaction,
    };
    write_day(transaction, partition, tool, day.as_ref())
}

fn write_row<'a>(
    transaction: Transaction<'a>,
    ToolChange { check, was_pending, expires_at, .. }: &ToolChange,
) -> Result<Transaction<'a>, StoreError> {
    let Written { row, body } = row::write(check)?;
    let row = expiring(row, *expires_at);
    // An automatic check or an order creates a row. The end of an on-demand check replaces its row, unless somebody
    // deleted it.
    let transaction = if *was_pending {
        let pending = keys::check(check.id, CheckStatus::Pending);
        let status = string(CheckStatus::Pending.as_str());
        let condition = Condition::When("s = :pending", vec![(":pending", status)]);
        if keys::check(check.id, check.status) == pending {
            transaction.put(row, condition)
        } else {
            transaction.delete(&pending, condition).put(row, Condition::Absent)
        }
    } else {
        transaction.put(row, Condition::Absent)
    };
    Ok(match body {
        Some(body) => transaction.put(expiring(body, *expires_at), Condition::Absent),
        None => transaction,
    })
}

fn write_day<'a>(
    transaction: Transaction<'a>,
    partition: Partition,
    tool: Tool,
    write: Option<&DayWrite>,
) -> Result<Transaction<'a>, StoreError> {
    let (day, condition) = match write {
        None => return Ok(transaction),
        Some(DayWrite::Close(day)) => (day, Condition::Absent),
        Some(DayWrite::Amend(day)) if day.rev == 1 => (day, Condition::Absent),
        Some(DayWrite::Amend(day)) => {
            (day, Condition::When("v = :rev", vec![(":rev", number(day.rev - 1))]))
        }
    };
    let stored = item(&keys::day(partition, tool, day.date), day)?;
    Ok(transaction.put(expiring(stored, day.item_expires_at()), condition))
}

/// Updates the newest checks in the directory, with one update for all tools, and whether the site was ever checked.
fn write_newest<'a>(
    transaction: Transaction<'a>,
    changes: &Changes<'_>,
) -> Result<Transaction<'a>, StoreError> {
    let newest =
        changes.tools.iter().filter_map(|change| Some((change.check.id.tool(), change.newest?)));
    let transaction = put_newest(transaction, changes.site, newest)?;
    // If a newer check was ordered meanwhile, the first one to complete is not the newest.
    if changes.tools.iter().any(|change| change.is_first) {
        let row = keys::directory(changes.site.team, &changes.site.url);
        return Ok(transaction.update(&row, DirectoryRow::checked(), Condition::Present));
    }
    Ok(transaction)
}

/// Writes issues that open or resolve because of a run.
fn write_issues<'a>(
    mut transaction: Transaction<'a>,
    place: MonitorRef,
    run: Option<&ToolChange>,
    issues: &[IssueChange],
    now: Timestamp,
) -> Result<Transaction<'a>, StoreError> {
    let due = now.saturating_add(ALERT_GRACE).unwrap_or(now);
    for change in issues {
        transaction = write_issue(transaction, place, change, run.map(|run| &run.state), due)?;
        if let (Some(opening), Some(run)) = (&change.opening, run) {
            transaction = write_opening(transaction, opening, run.expires_at)?;
        }
    }
    Ok(transaction)
}

/// Writes an issue, its outbox, and the outage that begins or ends. `state` is that of the tool after the change. The
/// reconciler looks at the outbox at `due`, unless a message was faster.
fn write_issue<'a>(
    transaction: Transaction<'a>,
    place: MonitorRef,
    change: &IssueChange,
    state: Option<&ToolState>,
    due: Timestamp,
) -> Result<Transaction<'a>, StoreError> {
    let IssueChange { before, after, .. } = change;
    let MonitorRef { id, team } = place;
    let partition = id.partition();
    let unchanged = before.as_ref().map_or(Condition::Absent, |issue| Condition::Rev(issue.rev));
    let row = crate::issue::index_row(id, after);
    let listing = keys::issue_index(team, after.id, after.status());
    let listed = item(&listing, &row)?;
    let old = before.as_ref().map(|issue| keys::issue_index(team, issue.id, issue.status()));
    let issue = item(&keys::issue(partition, after.id.fingerprint()), after)?;
    let transaction = transaction.put(issue, unchanged);
    let transaction = put_outbox(transaction, &OutboxEntry::of(team, change), due)?;
    let transaction = write_outage(transaction, place, change, state)?;
    Ok(match old {
        None => transaction.put(listed, Condition::Absent),
        Some(old) if old == listing => transaction.put(listed, Condition::Present),
        Some(old) => transaction.delete(&old, Condition::Present).put(listed, Condition::Absent),
    })
}

fn write_usage<'a>(transaction: Transaction<'a>, site: &Site, usage: &Usage) -> Transaction<'a> {
    let change = Change {
        expression: "ADD n :checks".into(),
        values: vec![(":checks", number(usage.checks))],
        ..Change::default()
    };
    // The caller has seen that the quota has room; this condition enforces it.
    let room = usage.limit.saturating_sub(usage.checks);
    let within =
        Condition::When("attribute_not_exists(n) OR n <= :room", vec![(":room", number(room))]);
    transaction.update(&keys::usage(site.team, usage.month), change, within)
}
