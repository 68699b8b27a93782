//! Writes a year of checks, faster than the service would.
//!
//! The service itself writes the first check of each day, and with it the counters of the day before, as well as the
//! first check of each kind. All other rows are copies of these under keys from the store, so they are what the service
//! would have written. Scheduled status checks that completed are packed.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;

use dynoxide::types::{AttributeValue, Item};
use dynoxide::{Database, ImportOptions};
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde_json::json;
use vedette_domain::checks::check::{Check, CheckError, Finish, Phases, StatusResult, ToolResult};
use vedette_domain::checks::history::block::{Block, BlockVersion, PackedCheck};
use vedette_domain::checks::history::{Day, Kind, day_of, day_start};
use vedette_domain::checks::pointer::Latest;
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::checks::tool_state::{DayWrite, Keeping, ToolChange, ToolState, keeps_packed};
use vedette_domain::expectations::Expectations;
use vedette_domain::id::{CheckId, SiteId, Trigger};
use vedette_embedded::{Expiry, TABLE};
use vedette_store::Changes;
use vedette_store::keys::{self, Key, PK, SK, TTL};
use vedette_testkit::status_result;

use crate::inside::Inside;

/// Days of history: as many as the agency plan keeps.
pub(crate) const DAYS: u32 = 365;
/// The number of automatic checks that failed, and of on-demand checks that were skipped, however many checks there are
/// in total.
pub(crate) const RARE: u64 = 25;

/// A check to write.
#[derive(Clone, Copy)]
struct Seed {
    tool: Tool,
    kind: Kind,
    id: CheckId,
}

/// Fills the history of a new site with evenly spread checks, up to the end of today.
pub(crate) async fn history(
    inside: &Inside,
    site: SiteId,
    checks: u64,
) -> Result<(), Box<dyn Error>> {
    let app = &inside.test.app;
    let found = app.store.site(site.partition()).await?.ok_or("no site")?;
    let mut days: BTreeMap<(Tool, Date), Vec<Seed>> = BTreeMap::new();
    for seed in seeds(site, day_of(inside.test.now()), checks)? {
        days.entry((seed.tool, day_of(seed.id.created_at()))).or_default().push(seed);
    }
    let mut states: BTreeMap<Tool, ToolState> = found.tools;
    let mut patterns: BTreeMap<(Tool, Kind), Item> = BTreeMap::new();
    let mut rows = Vec::new();
    for ((tool, date), seeds) in days {
        let mut whole = Some(counted(date, &seeds));
        let expires_at = Day::new(date, DAYS).rows_expire_at();
        let mut slots = Vec::new();
        for seed in seeds {
            let check = seed.check()?;
            if let Some(pattern) = patterns.get(&(tool, seed.kind)).filter(|_| whole.is_none()) {
                if keeps_packed(tool, seed.kind) {
                    slots.push(seed.id.created_at());
                } else {
                    rows.push(copy(pattern, &check, expires_at)?);
                }
                continue;
            }
            let state = states.get_mut(&tool).ok_or("no such tool")?;
            let tools = [changed(state, &seed, check.clone(), whole.take(), expires_at)];
            let now = check.updated_at;
            let changes =
                Changes { site: &found.site, tools: &tools, issues: &[], usage: None, now };
            app.store.commit(&changes).await?;
            let [change] = tools;
            *state = change.state;
            let pattern = stored(&inside.database, &key(&check))?;
            if copy(&pattern, &check, expires_at)? != pattern {
                return Err("a copy differs from what the service writes".into());
            }
            patterns.entry((tool, seed.kind)).or_insert(pattern);
        }
        rows.extend(packed(site, &slots, expires_at)?);
        if rows.len() > 20_000 {
            import(&inside.database, std::mem::take(&mut rows))?;
        }
    }
    import(&inside.database, rows)
}

/// Writes one check of each tool of a new site, as the service does within the site's first minutes.
pub(crate) async fn first_checks(inside: &Inside, site: SiteId) -> Result<(), Box<dyn Error>> {
    let (app, now) = (&inside.test.app, inside.test.now());
    let found = app.store.site(site.partition()).await?.ok_or("no site")?;
    let kind =
        Kind { trigger: Trigger::Automatic(RunReason::Scheduled), status: CheckStatus::Completed };
    let mut tools = Vec::with_capacity(Tool::ALL.len());
    for (&tool, state) in &found.tools {
        let seed =
            Seed { tool, kind, id: CheckId::automatic(site, tool, RunReason::Scheduled, now) };
        let check = Check::finished(seed.id, Finish::Skipped, now);
        let check = Check { status: kind.status, ..check };
        let today = Day::new(day_of(now), DAYS);
        let expires_at = today.rows_expire_at();
        tools.push(changed(state, &seed, check, Some(today), expires_at));
    }
    let changes = Changes { site: &found.site, tools: &tools, issues: &[], usage: None, now };
    Ok(app.store.commit(&changes).await?)
}

/// Fills the days between two dates of a site with a status check every five minutes, as counted days. The checks of the
/// `packed_days` are also there themselves.
pub(crate) async fn counted_days(
    inside: &Inside,
    site: SiteId,
    (from, to): (Date, Date),
    packed_days: &[Date],
) -> Result<(), Box<dyn Error>> {
    let app = &inside.test.app;
    let kind =
        Kind { trigger: Trigger::Automatic(RunReason::Scheduled), status: CheckStatus::Completed };
    let found = app.store.site(site.partition()).await?.ok_or("no site")?;
    let mut state = found.tool(Tool::Status)?.clone();
    for date in from.series(1.day()).take_while(|date| *date <= to) {
        let seeds: Vec<Seed> = (0..288)
            .map(|number| {
                let at = day_start(date) + SignedDuration::from_mins(5 * number);
                let id = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, at);
                Seed { tool: Tool::Status, kind, id }
            })
            .collect();
        let day = counted(date, &seeds);
        let expires_at = day.rows_expire_at();
        let (last, others) = seeds.split_last().ok_or("no checks")?;
        let check = last.check()?;
        let now = check.updated_at;
        let tools = [changed(&state, last, check, Some(day), expires_at)];
        let changes = Changes { site: &found.site, tools: &tools, issues: &[], usage: None, now };
        app.store.commit(&changes).await?;
        let [change] = tools;
        state = change.state;
        if packed_days.contains(&date) {
            let slots: Vec<_> = others.iter().map(|seed| seed.id.created_at()).collect();
            import(&inside.database, packed(site, &slots, expires_at)?)?;
        }
    }
    Ok(())
}

/// Adds packed checks of these sites to a closed table, a minute apart, before the one that each site has. Some of the
/// oldest checks of each site have already expired: as many as the removal of expired items finds, on its way through
/// the table, when sites are checked every minute. The others stay.
pub(crate) fn ballast(data: &Path, sites: &[SiteId], checks: usize) -> Result<(), Box<dyn Error>> {
    let file = data.join("vedette.db");
    let database = Database::new(file.to_str().ok_or("a folder that is not Unicode")?)?;
    database.enable_bulk_loading()?;
    let looked_at_a_minute = Expiry::PAGE as f64 * 60.0 / Expiry::PAUSE.as_secs_f64();
    let written_a_minute = sites.len() as f64 / CHECKS_PER_BLOCK as f64;
    let one_in = (looked_at_a_minute / written_a_minute).max(1.0) as usize;
    let long_ago = Timestamp::from_second(1)?;
    let per_site = checks / sites.len();
    let kept = per_site - per_site / one_in;
    let states: Vec<(SiteId, ToolState)> = sites
        .iter()
        .map(|site| Ok((*site, tool_state(&database, *site)?)))
        .collect::<Result<_, Box<dyn Error>>>()?;
    let mut blocks = Vec::new();
    // In the order of time and not site by site, so that blocks are scattered over the file as in real use.
    let numbers: Vec<usize> = (1..=per_site).rev().collect();
    for numbers in numbers.chunks(CHECKS_PER_BLOCK) {
        for (site, state) in &states {
            let first = state.open_block().ok_or("no check")??.first_slot();
            let lasts = state.day.as_ref().ok_or("no day")?.rows_expire_at();
            let has_expired = numbers.first().is_some_and(|number| *number > kept);
            let slots = numbers
                .iter()
                .map(|number| Ok(first - SignedDuration::from_mins(i64::try_from(*number)?)));
            let slots: Vec<Timestamp> = slots.collect::<Result<_, Box<dyn Error>>>()?;
            blocks.extend(packed(*site, &slots, if has_expired { long_ago } else { lasts })?);
        }
        // Each batch writes to the pages of all sites.
        if blocks.len() >= sites.len() {
            import(&database, std::mem::take(&mut blocks))?;
        }
    }
    import(&database, blocks)
}

/// The status checks of a site so far.
fn tool_state(database: &Database, site: SiteId) -> Result<ToolState, Box<dyn Error>> {
    let item = stored(database, &keys::tool(site.partition(), Tool::Status))?;
    match item.get("doc") {
        Some(AttributeValue::B(document)) => Ok(rmp_serde::from_slice(document)?),
        _ => Err("no document".into()),
    }
}

/// Checks in a block, if addresses have the usual length and response times differ.
const CHECKS_PER_BLOCK: usize = 60;

/// Packs status checks of a site at these slots into closed blocks.
fn packed(
    site: SiteId,
    slots: &[Timestamp],
    expires_at: Timestamp,
) -> Result<Vec<Item>, Box<dyn Error>> {
    let mut items = Vec::new();
    for day in slots.chunk_by(|slot, next| day_of(*slot) == day_of(*next)) {
        for slots in day.chunks(CHECKS_PER_BLOCK) {
            let mut block: Option<Block> = None;
            for slot in slots {
                let check = packed_check(*slot)?;
                match &mut block {
                    Some(block) => block.push(&check)?,
                    None => block = Some(Block::begin(BlockVersion::Two, &check)?),
                }
            }
            let Some(block) = block else { continue };
            let key = keys::block(site.partition(), Tool::Status, block.first_slot());
            items.push(Item::from([
                (PK.to_owned(), AttributeValue::S(key.pk)),
                (SK.to_owned(), AttributeValue::S(key.sk)),
                (TTL.to_owned(), AttributeValue::N(expires_at.as_second().to_string())),
                ("b".to_owned(), AttributeValue::B(block.into_bytes())),
            ]));
        }
    }
    Ok(items)
}

/// A check that took between 100 and 300 ms.
fn packed_check(slot: Timestamp) -> Result<PackedCheck, Box<dyn Error>> {
    let hundredths = 10_000 + slot.as_millisecond().wrapping_mul(7_919) / 1_000 % 20_000;
    let response_time = f64::from(u32::try_from(hundredths)?) / 100.0;
    let completed_at = slot.checked_add(SignedDuration::from_millis(hundredths / 100 + 3))?;
    let tens = u32::try_from(hundredths / 1_000)?;
    let phases = Phases { lookup: Some(tens), connect: Some(2 * tens), tls: Some(3 * tens) };
    let result = StatusResult { response_time, phases: Some(phases), ..result(true) };
    Ok(PackedCheck { slot, completed_at, has_failed: Some(false), result })
}

fn seeds(site: SiteId, today: Date, checks: u64) -> Result<Vec<Seed>, Box<dyn Error>> {
    let first = day_start(today.checked_sub(i64::from(DAYS - 1).days())?);
    let span = u64::from(DAYS) * 24 * 60 * 60 * 1_000;
    let every = (checks / RARE).max(2);
    (0..checks)
        .map(|number| {
            let place = i64::try_from((2 * number + 1) * span / (2 * checks))?;
            let at = first.checked_add(SignedDuration::from_millis(place))?;
            let (tool, kind) = drawn(number, number % every);
            let id = match kind.trigger {
                Trigger::Automatic(reason) => CheckId::automatic(site, tool, reason, at),
                Trigger::OnDemand => CheckId::on_demand(site, tool, at, 0),
            };
            Ok(Seed { tool, kind, id })
        })
        .collect()
}

/// The kind of the n-th check. The two tools take turns, so that both have checks on every day. Most checks are
/// scheduled and complete.
fn drawn(number: u64, rare: u64) -> (Tool, Kind) {
    let rare = match rare {
        0 => Some((Trigger::OnDemand, CheckStatus::Skipped)),
        1 => Some((Trigger::Automatic(RunReason::Scheduled), CheckStatus::Failed)),
        _ => None,
    };
    if let Some((trigger, status)) = rare {
        return (Tool::Status, Kind { trigger, status });
    }
    let random = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let random = (random ^ (random >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let percent = |shift: u32| (random >> shift) % 100;
    let tool = if number.is_multiple_of(2) { Tool::Status } else { Tool::Dns };
    let trigger = match percent(24) {
        0..4 => Trigger::OnDemand,
        4..7 => Trigger::Automatic(RunReason::ConfirmationRetry),
        7..13 if tool == Tool::Status => Trigger::Automatic(RunReason::IncidentFollowUp),
        _ => Trigger::Automatic(RunReason::Scheduled),
    };
    let has_failed = trigger == Trigger::OnDemand && percent(8) < 10;
    let status = if has_failed { CheckStatus::Failed } else { CheckStatus::Completed };
    (tool, Kind { trigger, status })
}

/// A result of usual length.
pub(crate) fn result(is_up: bool) -> StatusResult {
    status_result("https://shop.example/catalogue", if is_up { 200 } else { 503 }, 184.27)
}

impl Seed {
    fn finish(&self) -> Finish {
        match self.kind.status {
            CheckStatus::Completed => Finish::Completed(ToolResult::Status(result(true))),
            CheckStatus::Failed => Finish::Failed(CheckError {
                message: "the target is forbidden: 10.0.0.1 is a private address (10.0.0.0/8)"
                    .to_owned(),
                code: "target_forbidden".to_owned(),
                data: json!({ "address": "10.0.0.1" }),
            }),
            CheckStatus::Pending | CheckStatus::Skipped => Finish::Skipped,
        }
    }

    fn check(&self) -> Result<Check, Box<dyn Error>> {
        let ended = self.id.created_at().checked_add(SignedDuration::from_millis(321))?;
        Ok(Check::finished(self.id, self.finish(), ended))
    }
}

fn counted(date: Date, seeds: &[Seed]) -> Day {
    let mut day = Day::new(date, DAYS);
    for seed in seeds {
        day.counters.add(seed.kind, seed.id.created_at());
        if let Some(sample) = seed
            .finish()
            .sample(&Expectations::default())
            .filter(|_| seed.kind.trigger.is_automatic())
        {
            day.add_sample(sample, seed.id.created_at());
        }
    }
    day
}

/// The items that the service writes with a check: its row, the state with the day's counters, and, if it is the first
/// of a day, the day before.
fn changed(
    read: &ToolState,
    seed: &Seed,
    check: Check,
    opened: Option<Day>,
    expires_at: Timestamp,
) -> ToolChange {
    let mut state = ToolState { rev: read.rev + 1, timer: None, ..read.clone() };
    let latest = Some(Latest::row(seed.id, seed.kind.status));
    match seed.kind.trigger {
        Trigger::Automatic(_) => state.automatic = latest,
        Trigger::OnDemand => state.on_demand = latest,
    }
    let closed = opened.and_then(|day| state.day.replace(day));
    let day = closed.map(|day| DayWrite::Close(Day { rev: 1, ..day }));
    let newest = state.newest();
    ToolChange {
        state,
        check,
        keeping: Keeping::Row,
        closed_block: None,
        was_pending: false,
        expires_at,
        day,
        events: Vec::new(),
        evidence: Vec::new(),
        failing: None,
        unchecked: None,
        is_first: newest.is_some(),
        newest,
        timer: None,
    }
}

fn key(check: &Check) -> Key {
    keys::check(check.id, check.status)
}

fn copy(pattern: &Item, check: &Check, expires_at: Timestamp) -> Result<Item, Box<dyn Error>> {
    let mut row = pattern.clone();
    let ended = AttributeValue::S(check.updated_at.to_string());
    row.insert(SK.to_owned(), AttributeValue::S(key(check).sk));
    row.insert("id".to_owned(), AttributeValue::S(check.id.to_string()));
    row.insert("u".to_owned(), ended.clone());
    row.insert("c".to_owned(), ended);
    row.insert(TTL.to_owned(), AttributeValue::N(expires_at.as_second().to_string()));
    Ok(row)
}

fn stored(database: &Database, key: &Key) -> Result<Item, Box<dyn Error>> {
    let request = serde_json::from_value(json!({
        "TableName": TABLE,
        "Key": { PK: { "S": key.pk }, SK: { "S": key.sk } },
    }))?;
    let found: HashMap<_, _> = database.get_item(request)?.item.ok_or("no such row")?;
    Ok(found)
}

fn import(database: &Database, rows: Vec<Item>) -> Result<(), Box<dyn Error>> {
    database.import_items(TABLE, rows, ImportOptions::default())?;
    Ok(())
}
