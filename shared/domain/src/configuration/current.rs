//! The objects of a team that a document describes.

use crate::accounts::plan::Plan;
use crate::accounts::team::Team;
use crate::alerts::channel::Channel;
use crate::heartbeats::heartbeat::Heartbeat;
use crate::sites::group::SiteGroups;
use crate::sites::settings::Settings;
use crate::sites::site::Site;
use crate::status_pages::StatusPage;

/// The objects of a team as they are.
#[derive(Debug, Clone, Copy)]
pub struct Current<'a> {
    /// The team, with its maintenance windows.
    pub team: &'a Team,
    /// Its plan.
    pub plan: Plan,
    /// Its monitoring settings.
    pub settings: &'a Settings,
    /// All its sites.
    pub sites: &'a [Site],
    /// All its heartbeats.
    pub heartbeats: &'a [Heartbeat],
    /// Its channels.
    pub channels: &'a [Channel],
    /// Its groups.
    pub groups: &'a SiteGroups,
    /// Its status pages.
    pub pages: &'a [StatusPage],
}
