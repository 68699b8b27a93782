//! Applies documents to teams; see [`configuration`](vedette_domain::configuration).

use std::time::Duration;

use vedette_domain::accounts::audit::{By, WindowChange};
use vedette_domain::alerts::channel::{Channel, Target};
use vedette_domain::configuration::{Change, ChangeStep, Current};
use vedette_domain::heartbeats::heartbeat::Heartbeat;
use vedette_domain::id::SiteId;
use vedette_domain::sites::group::SiteGroups;
use vedette_domain::sites::site::Site;
use vedette_domain::status_pages::StatusPage;
use vedette_runtime::App;
use vedette_store::{MayConflict, StoreError, TeamWithSettings};

use crate::access::{Caller, SiteAccess};
use crate::channels::{add_managed_channel, edit_managed_channel};
use crate::error::{ChannelError, HeartbeatError, PageError, WindowError};
use crate::heartbeats::{add_heartbeat, delete_heartbeat, save_heartbeat};
use crate::maintenance::put_window;
use crate::site_groups::save_site_groups;
use crate::status_pages::{add_status_page, save_status_page};
use crate::{
    GrowingTeam, SiteError, change_monitoring, change_time_zone, create_site, delete_site,
    delete_status_page, delete_window, remove_channel, save_site,
};

/// The most changes that one request makes.
pub const CHANGES_MAX: usize = 100;
/// No change begins after this long: a gateway gives up after 30 seconds, and the client would not learn what is left.
const BUDGET: Duration = Duration::from_secs(20);

/// Everything of a team that a document describes.
#[derive(Debug)]
pub struct TeamObjects {
    sites: Vec<Site>,
    heartbeats: Vec<Heartbeat>,
    channels: Vec<Channel>,
    groups: SiteGroups,
    pages: Vec<StatusPage>,
}

impl TeamObjects {
    /// Reads everything of a team that a document describes.
    ///
    /// # Errors
    ///
    /// A fault of the table.
    pub async fn load(app: &App, team: &TeamWithSettings) -> Result<Self, StoreError> {
        let (store, id) = (&app.store, team.id());
        let sites = async {
            let rows = store.directory(id, team.team.sites as usize).await?;
            let ids: Vec<SiteId> = rows.into_iter().map(|row| row.id).collect();
            store.sites_of_team(id, ids).await
        };
        let (sites, heartbeats, channels, groups, pages) = futures::try_join!(
            sites,
            store.heartbeats(id),
            store.channels(id),
            store.site_groups(id),
            store.status_pages(id),
        )?;
        let heartbeats = heartbeats.into_iter().map(|stored| stored.heartbeat).collect();
        Ok(Self { sites, heartbeats, channels, groups, pages })
    }

    /// The objects, with the team that they were read for.
    pub fn of<'a>(&'a self, team: &'a TeamWithSettings) -> Current<'a> {
        Current {
            team: &team.team,
            plan: team.plan(),
            settings: &team.settings,
            sites: &self.sites,
            heartbeats: &self.heartbeats,
            channels: &self.channels,
            groups: &self.groups,
            pages: &self.pages,
        }
    }
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// A site was not created or changed.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A heartbeat was not created or changed.
    #[error(transparent)]
    Heartbeat(#[from] HeartbeatError),
    /// A channel was not added or changed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A maintenance window was not saved.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// A status page was not saved.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The table failed, or a conflict.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MayConflict for ChangeError {
    fn is_conflict(&self) -> bool {
        match self {
            Self::Site(error) => error.is_conflict(),
            Self::Heartbeat(error) => error.is_conflict(),
            Self::Channel(error) => error.is_conflict(),
            Self::Window(error) => error.is_conflict(),
            Self::Page(error) => error.is_conflict(),
            Self::Store(error) => error.is_conflict(),
        }
    }
}

/// The changes that were made.
#[derive(Debug, Default)]
pub struct Applied {
    /// How many were made: the first ones.
    pub done: usize,
    /// The new webhooks, with the keys that sign their requests.
    pub webhooks: Vec<Channel>,
    /// Why the next one was not made. A conflict goes away if the plan is made again.
    pub stopped: Option<ChangeError>,
}

/// Makes changes one after another, each in one transaction, at most [`CHANGES_MAX`] and for 20 seconds.
pub async fn make_changes(
    app: &App,
    caller: &Caller,
    team: TeamWithSettings,
    changes: &[Change],
) -> Applied {
    let mut applied = Applied::default();
    let mut work = Work { app, caller, team, growing: None };
    for (place, change) in changes.iter().take(CHANGES_MAX).enumerate() {
        let spent = app.clock.now().duration_since(caller.now);
        if place > 0 && Duration::try_from(spent).unwrap_or_default() > BUDGET {
            break;
        }
        match work.step(&change.step).await {
            Ok(webhook) => applied.webhooks.extend(webhook),
            Err(error) => {
                applied.stopped = Some(error);
                break;
            }
        }
        applied.done += 1;
    }
    applied
}

/// A team in the course of changes.
struct Work<'a> {
    app: &'a App,
    caller: &'a Caller,
    team: TeamWithSettings,
    /// What new sites need, kept from one to the next.
    growing: Option<GrowingTeam>,
}

impl Work<'_> {
    /// Makes a change; returns the webhook that it has added.
    async fn step(&mut self, step: &ChangeStep) -> Result<Option<Channel>, ChangeError> {
        let (app, by) = (self.app, self.caller.by());
        match step {
            ChangeStep::Settings(settings) => {
                let team = self.team.clone();
                self.team = change_monitoring(app, team, (**settings).clone(), by).await?;
            }
            ChangeStep::TimeZone(zone) => {
                let team = self.team.team.clone();
                self.team.team = change_time_zone(app, team, zone.clone(), by).await?;
            }
            ChangeStep::AddChannel { channel, managed_by } => {
                let (name, target, filter) = (**channel).clone();
                let new = (Some(name.as_str()), target, filter);
                let managed_by = Some(managed_by.clone());
                let channel = add_managed_channel(app, self.team.id(), new, managed_by, by).await?;
                let is_signed = channel.secret.as_ref().and_then(Target::keys).is_some();
                return Ok(is_signed.then_some(channel));
            }
            ChangeStep::EditChannel { before, after, to, managed_by } => {
                let (name, filter) = (after.0.as_str(), after.1.clone());
                let (to, managed_by) = (to.clone(), Some(managed_by.clone()));
                edit_managed_channel(app, before, (name, filter), to, managed_by, by).await?;
            }
            ChangeStep::DeleteChannel(channel) => remove_channel(app, channel, by).await?,
            ChangeStep::CreateSite(site) => {
                let team = &self.team;
                let growing = self.growing.get_or_insert_with(|| GrowingTeam::new(team.clone()));
                create_site(app, self.caller, growing, (**site).clone()).await?;
            }
            ChangeStep::SaveSite(site) => self.save_site(site, by).await?,
            ChangeStep::DeleteSite(site) => {
                // Sites that are gone by now need not be deleted.
                if let Some(stored) = app.store.site(site.partition()).await? {
                    delete_site(app, &self.team.team, &stored, by).await?;
                }
            }
            ChangeStep::CreateHeartbeat(heartbeat) => {
                let team = &self.team.team;
                add_heartbeat(app, team, (**heartbeat).clone(), Some(by)).await?;
            }
            ChangeStep::SaveHeartbeat(heartbeat) => self.save_heartbeat(heartbeat, by).await?,
            ChangeStep::DeleteHeartbeat(id) => {
                // Heartbeats that are gone by now need not be deleted.
                if let Some(stored) = app.store.heartbeat(id.partition()).await? {
                    delete_heartbeat(app, &self.team.team, &stored, by).await?;
                }
            }
            ChangeStep::SaveGroups { rev, groups } => {
                let before = app.store.site_groups(self.team.id()).await?;
                // The first change of a group saves all of them.
                if before.groups != *groups {
                    if before.rev != *rev {
                        return Err(StoreError::STALE.into());
                    }
                    let after = SiteGroups { rev: rev + 1, groups: groups.clone() };
                    save_site_groups(app, self.team.id(), before, after, by).await?;
                }
            }
            ChangeStep::SaveWindow(window) => {
                let before = self.team.team.windows.get(window.id);
                let change = match before {
                    None => WindowChange::Added,
                    Some(_) => WindowChange::Edited,
                };
                put_window(app, &self.team.team, (before, window), change, by).await?;
                self.read_team().await?;
            }
            ChangeStep::DeleteWindow(id) => {
                if let Some(window) = self.team.team.windows.get(*id) {
                    delete_window(app, &self.team.team, window, by).await?;
                    self.read_team().await?;
                }
            }
            ChangeStep::CreatePage(page) => {
                add_status_page(app, page, by).await?;
                self.read_team().await?;
            }
            ChangeStep::SavePage { before, after } => {
                save_status_page(app, before, after, by).await?;
            }
            ChangeStep::DeletePage(page) => {
                delete_status_page(app, &self.team.team, page, by).await?;
                self.read_team().await?;
            }
        }
        Ok(None)
    }

    /// Saves a site with what was planned for it, unless somebody has changed it since.
    async fn save_site(&mut self, planned: &Site, by: By) -> Result<(), ChangeError> {
        let stored = self.app.store.site(planned.id.partition()).await?;
        let stored = stored.filter(|stored| stored.site.rev == planned.rev);
        let stored = stored.ok_or(StoreError::STALE)?;
        let Site { cfg, synced, .. } = stored.site;
        let wanted = Site { cfg, synced, ..planned.clone() };
        // The dictionary of tags may change with it.
        self.growing = None;
        let mut access = SiteAccess { team: self.team.clone(), stored };
        Ok(save_site(self.app, &mut access, wanted, by).await?)
    }

    /// Saves a heartbeat with what was planned for it, unless somebody has changed it since.
    async fn save_heartbeat(&self, planned: &Heartbeat, by: By) -> Result<(), ChangeError> {
        let stored = self.app.store.heartbeat(planned.id.partition()).await?;
        let stored = stored.filter(|stored| stored.heartbeat.rev == planned.rev);
        let stored = stored.ok_or(StoreError::STALE)?;
        let wanted = (planned.clone(), stored.state.reports().paused);
        save_heartbeat(self.app, &self.team.team, &stored, wanted, by).await?;
        Ok(())
    }

    async fn read_team(&mut self) -> Result<(), StoreError> {
        let team = self.app.store.team(self.team.id(), self.caller.now).await?;
        self.team = team.ok_or(StoreError::STALE)?;
        Ok(())
    }
}
