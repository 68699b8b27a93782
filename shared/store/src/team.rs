//! Teams, their settings and their monthly usage.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;
use vedette_domain::accounts::account::Membership;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::channel::LinkKey;
use vedette_domain::checks::history::{Retention, day_of};
use vedette_domain::id::TeamId;
use vedette_domain::maintenance::Windows;
use vedette_domain::monitor::Monitor;
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::site::Site;
use vedette_domain::time_zone::NamedZone;

use crate::item::{Item, Readable, Stored, document_item, item, number, stored, string};
use crate::keys::{self, Key};
use crate::status_page::want_all;
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::{Audit, StoreError, budget, retry_on_conflict};

stored!(attributes: Team, TeamRef, UsageItem);
stored!(document: Settings);

/// The attributes of a team that say what its plan is.
const PLAN: [&str; 2] = ["plan", "plan_active"];

/// A team with what decisions about it need.
#[derive(Debug, Clone)]
pub struct TeamWithSettings {
    /// The team.
    pub team: Team,
    /// Its monitoring settings as they were saved. Cadences may be below the minimum of a smaller plan.
    pub settings: Settings,
    /// On-demand checks queued this month.
    pub manual_checks: u32,
}

impl TeamWithSettings {
    /// Its id.
    pub const fn id(&self) -> TeamId {
        self.team.id
    }

    /// Its plan, whether active or not.
    pub const fn plan(&self) -> Plan {
        self.team.plan
    }

    /// How far back its history goes.
    pub fn retention(&self, now: Timestamp) -> Retention {
        self.team.retention(now)
    }

    /// The settings in force for one of its sites.
    pub fn settings_for(&self, site: &Site) -> Settings {
        Settings::resolve(&self.settings, &site.overrides, self.plan())
    }

    /// The settings in force for one of its sites or heartbeats.
    pub fn settings_for_monitor(&self, monitor: &Monitor) -> Settings {
        Settings::resolve(&self.settings, &monitor.overrides(), self.plan())
    }
}

#[derive(Deserialize)]
struct UsageItem {
    n: u32,
}

impl Store {
    /// Adds a team with its owner.
    ///
    /// # Errors
    ///
    /// A conflict when the team is there already.
    pub async fn create_team(
        &self,
        team: &Team,
        settings: &Settings,
        owner: &Membership,
    ) -> Result<(), StoreError> {
        let mut transaction = self.transaction();
        for item in self.team_items(team, settings, owner)? {
            transaction = transaction.put(item, Condition::Absent);
        }
        transaction.commit(Audit::None).await
    }

    /// Adds a team that its owner creates.
    ///
    /// # Errors
    ///
    /// A conflict at place 0 when the owner has created [`Team::CREATED_MAX`] teams already.
    pub async fn create_own_team(
        &self,
        team: &Team,
        settings: &Settings,
        owner: &Membership,
    ) -> Result<(), StoreError> {
        let counted = Change {
            expression: "ADD teams_created :one".into(),
            values: vec![(":one", number(1_u32))],
            ..Change::default()
        };
        let may_create = Condition::When(
            "attribute_exists(pk) AND (attribute_not_exists(teams_created) OR teams_created < :max)",
            vec![(":max", number(Team::CREATED_MAX))],
        );
        let mut transaction =
            self.transaction().update(&keys::user(owner.user), counted, may_create);
        let [mut own, others @ ..] = self.team_items(team, settings, owner)?;
        // On AWS, only the operator may write a plan. Without one, a team has `Team::PLAN`.
        own.retain(|attribute, _| !PLAN.contains(&attribute.as_str()));
        for item in [own].into_iter().chain(others) {
            transaction = transaction.put(item, Condition::Absent);
        }
        transaction.commit(Audit::None).await
    }

    /// The items of a new team.
    pub(crate) fn team_items(
        &self,
        team: &Team,
        settings: &Settings,
        owner: &Membership,
    ) -> Result<[Item; 5], StoreError> {
        let user = owner.user;
        Ok([
            item(&keys::team(team.id), team)?,
            document_item(&keys::team_settings(team.id), settings)?,
            item(&keys::member(team.id, user), owner)?,
            item(&keys::membership(user, team.id), owner)?,
            item(&keys::team_listing(team.id), &TeamRef { team: team.id })?,
        ])
    }

    /// All teams that can be read.
    pub async fn all_teams(&self) -> Result<Vec<TeamId>, StoreError> {
        Ok(self.listed_teams().await?.items)
    }

    /// All teams, and how many entries cannot be read, to rebuild what is derived from the table.
    pub async fn listed_teams(&self) -> Result<Readable<TeamId>, StoreError> {
        let listed = self.query(Range::new(keys::TEAMS, Sort::All)).await?;
        Ok(Readable::of(listed, |item| TeamRef::read(item).map(|listed| listed.team)))
    }

    /// A team, with its usage in the month of `now`.
    pub async fn team(
        &self,
        team: TeamId,
        now: Timestamp,
    ) -> Result<Option<TeamWithSettings>, StoreError> {
        Ok(self.teams([team], now).await?.remove(&team))
    }

    /// A team without its settings, perhaps as of a moment ago.
    pub async fn team_alone(&self, team: TeamId) -> Result<Option<Team>, StoreError> {
        let key = keys::team(team);
        let mut found = self.batches(vec![key.clone()], false).await?;
        found.remove(&key).map(Stored::read).transpose()
    }

    /// Teams by id; unknown ones are left out.
    pub async fn teams(
        &self,
        ids: impl IntoIterator<Item = TeamId>,
        now: Timestamp,
    ) -> Result<BTreeMap<TeamId, TeamWithSettings>, StoreError> {
        let month = day_of(now);
        let ids: Vec<TeamId> = ids.into_iter().collect();
        retry_on_conflict(budget::READ, || async {
            let keys = ids.iter().flat_map(|&team| team_keys(team, month));
            teams_of(&ids, now, self.batch_get(keys).await?)
        })
        .await
    }

    /// Gives a team another plan, or takes the plan away. The next run of the reconciler makes the schedules of its
    /// sites follow.
    ///
    /// # Errors
    ///
    /// A conflict when there is no such team.
    pub async fn set_plan(
        &self,
        team: TeamId,
        plan: Plan,
        is_active: bool,
        now: Timestamp,
    ) -> Result<Team, StoreError> {
        let change = Change {
            expression: "SET #plan = :plan, plan_active = :active, updated_at = :now, \
                         cfg = cfg + :one, w = :w, due = :due REMOVE resync"
                .into(),
            names: vec![("#plan", "plan".to_owned())],
            values: vec![
                (":plan", string(plan.as_str())),
                (":active", aws_sdk_dynamodb::types::AttributeValue::Bool(is_active)),
                (":now", string(now.to_string())),
                (":one", number(1)),
                (":w", string(keys::team_shard(team))),
                (":due", number(now.as_millisecond())),
            ],
        };
        Stored::read(self.update(&keys::team(team), change, Some(Condition::Present)).await?)
    }

    /// Saves a team's monitoring settings. `next` is the team with these settings.
    ///
    /// # Errors
    ///
    /// A conflict when the plan or the settings changed since the team was `read`.
    pub async fn save_settings(
        &self,
        read: &Team,
        next: &Team,
        settings: &Settings,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let mut change = Change {
            expression: "SET cfg = :cfg, settings_cfg = :cfg, synced = :synced, updated_at = :now \
                         REMOVE resync, w, due"
                .into(),
            values: vec![
                (":cfg", number(next.cfg)),
                (":synced", number(next.synced)),
                (":now", string(next.updated_at.to_string())),
            ],
            ..Change::default()
        };
        if let Some(due) = next.work_due() {
            change.expression =
                "SET cfg = :cfg, settings_cfg = :cfg, synced = :synced, updated_at = :now, \
                                 w = :w, due = :due REMOVE resync"
                    .into();
            change.values.extend([
                (":w", string(keys::team_shard(read.id))),
                (":due", number(due.as_millisecond())),
            ]);
        }
        let unchanged = Condition::When("cfg = :seen", vec![(":seen", number(read.cfg))]);
        let mut stored = document_item(&keys::team_settings(read.id), settings)?;
        stored.insert(SAVED_WITH.to_owned(), number(next.cfg));
        let transaction = self
            .transaction()
            .update(&keys::team(read.id), change, unchanged)
            .put(stored, Condition::Present);
        want_all(transaction, read.id, &read.status_pages, next.updated_at).commit(audit).await
    }

    /// Saves a team's time zone.
    ///
    /// # Errors
    ///
    /// A conflict when the zone was changed since the team was `read`.
    pub async fn save_time_zone(
        &self,
        read: &Team,
        zone: &NamedZone,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let change = Change {
            expression: "SET #zone = :zone, updated_at = :now".into(),
            names: vec![("#zone", "zone".to_owned())],
            values: vec![(":zone", string(zone.name())), (":now", string(now.to_string()))],
        };
        let unchanged = match read.zone.is_utc() {
            // Without a chosen time zone, the attribute is absent.
            true => Condition::When(
                "attribute_exists(pk) AND (attribute_not_exists(#zone) OR #zone = :seen)",
                vec![(":seen", string(read.zone.name()))],
            ),
            false => Condition::When("#zone = :seen", vec![(":seen", string(read.zone.name()))]),
        };
        let transaction = self.transaction().update(&keys::team(read.id), change, unchanged);
        want_all(transaction, read.id, &read.status_pages, now).commit(audit).await
    }

    /// Saves a team's name.
    ///
    /// # Errors
    ///
    /// A conflict when the name has changed since the team was read.
    pub async fn save_team_name(
        &self,
        read: &Team,
        name: &str,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let change = Change {
            expression: "SET #name = :name, updated_at = :now".into(),
            names: vec![("#name", "name".to_owned())],
            values: vec![(":name", string(name)), (":now", string(now.to_string()))],
        };
        let unchanged = Condition::When("#name = :seen", vec![(":seen", string(&read.name))]);
        self.transaction().update(&keys::team(read.id), change, unchanged).commit(audit).await
    }

    /// Saves the key of a team's calendar feed, or removes it.
    ///
    /// # Errors
    ///
    /// A conflict when there is no such team.
    pub async fn save_calendar(
        &self,
        team: TeamId,
        key: Option<&LinkKey>,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let change = match key {
            Some(key) => Change {
                expression: "SET calendar = :key".into(),
                values: vec![(":key", string(key.reveal()))],
                ..Change::default()
            },
            None => Change { expression: "REMOVE calendar".into(), ..Change::default() },
        };
        let transaction = self.transaction().update(&keys::team(team), change, Condition::Present);
        transaction.commit(audit).await
    }

    /// Saves a team's maintenance windows.
    ///
    /// # Errors
    ///
    /// A conflict when they were changed since the team was `read`.
    pub async fn save_windows(
        &self,
        read: &Team,
        windows: &Windows,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let mut change = Change {
            expression: "SET windows_rev = :rev, updated_at = :now REMOVE #windows".into(),
            names: vec![("#windows", "windows".to_owned())],
            values: vec![(":rev", number(read.windows_rev + 1)), (":now", string(now.to_string()))],
        };
        if !windows.is_unused() {
            change.expression =
                "SET windows_rev = :rev, updated_at = :now, #windows = :windows".into();
            change.values.push((":windows", serde_dynamo::to_attribute_value(windows)?));
        }
        let unchanged = match read.windows_rev {
            0 => Condition::When(
                "attribute_exists(pk) AND attribute_not_exists(windows_rev)",
                Vec::new(),
            ),
            rev => Condition::When("windows_rev = :seen", vec![(":seen", number(rev))]),
        };
        let transaction = self.transaction().update(&keys::team(read.id), change, unchanged);
        want_all(transaction, read.id, &read.status_pages, now).commit(audit).await
    }
}

/// The team still has the members and invitations that it had.
pub(crate) fn unchanged(team: &Team) -> Condition {
    let members = (":members", number(team.members));
    if team.invited == 0 {
        // Teams of earlier versions do not have this number.
        let seen = "members = :members AND (attribute_not_exists(invited) OR invited = :seen)";
        return Condition::When(seen, vec![members, (":seen", number(0))]);
    }
    let seen = vec![members, (":seen", number(team.invited))];
    Condition::When("members = :members AND invited = :seen", seen)
}

#[derive(serde::Serialize, Deserialize)]
struct TeamRef {
    team: TeamId,
}

fn team_keys(team: TeamId, month: Date) -> [Key; 3] {
    [keys::team(team), keys::team_settings(team), keys::usage(team, month)]
}

/// An attribute of the settings: the `cfg` that they were saved with. The team has the same number as `settings_cfg`. A
/// batch may read items at different moments; comparing the two shows it.
const SAVED_WITH: &str = "cfg";

fn teams_of(
    ids: &[TeamId],
    now: Timestamp,
    mut found: HashMap<Key, Item>,
) -> Result<BTreeMap<TeamId, TeamWithSettings>, StoreError> {
    let mut teams = BTreeMap::new();
    for &id in ids {
        let [team, settings, usage] = team_keys(id, day_of(now)).map(|key| found.remove(&key));
        let Some(team) = team else { continue };
        let (team, settings) = of_one_moment(team, settings)?;
        let team = team.as_of(now);
        let usage = usage.map(UsageItem::read).transpose()?;
        let manual_checks = usage.map_or(0, |usage| usage.n);
        teams.insert(id, TeamWithSettings { team, settings, manual_checks });
    }
    Ok(teams)
}

/// A team with its settings, from the items of one batch; a conflict if they were read at different moments.
pub(crate) fn of_one_moment(
    team: Item,
    settings: Option<Item>,
) -> Result<(Team, Settings), StoreError> {
    let saved_with = settings.as_ref().and_then(|settings| settings.get(SAVED_WITH));
    if team.get("settings_cfg") != saved_with {
        return Err(StoreError::STALE);
    }
    let team: Team = Stored::read(team)?;
    let settings = match settings {
        Some(settings) => Stored::read(settings)?,
        None => Settings::defaults(team.plan),
    };
    Ok((team, settings))
}
