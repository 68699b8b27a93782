//! Keys of status pages.

use vedette_domain::id::{IncidentId, StatusPageId, TeamId};
use vedette_domain::status_pages::PageAddress;

use super::{Key, Prefix, SELF};

/// The part of a team's status pages with the pages themselves.
pub(crate) const STATUS_PAGE: &str = "P#";

pub(crate) fn status_page_partition(team: TeamId) -> String {
    Prefix::StatusPage.key(team)
}

/// What the team has chosen for a status page.
pub(crate) fn status_page(team: TeamId, page: StatusPageId) -> Key {
    Key::new(status_page_partition(team), format!("{STATUS_PAGE}{page}"))
}

/// Prefix of the incidents of a status page.
pub(crate) fn incident_prefix(page: StatusPageId) -> String {
    format!("I#{page}#")
}

/// An incident of a status page. Ids begin with the time of their creation, so incidents are in that order.
pub(crate) fn incident(team: TeamId, page: StatusPageId, incident: IncidentId) -> Key {
    let sort = format!("{}{incident}", incident_prefix(page));
    Key::new(status_page_partition(team), sort)
}

pub(crate) fn publication_partition(team: TeamId) -> String {
    Prefix::Publication.key(team)
}

/// What is outstanding for a status page. It is not stored with the page, so that a process that requests a
/// publication, or publishes, cannot change what the team has chosen.
pub(crate) fn publication(team: TeamId, page: StatusPageId) -> Key {
    Key::new(publication_partition(team), page.to_string())
}

/// The published page at an address. Nothing else is stored with it, so that the process that serves readers can read
/// nothing else.
pub(crate) fn published(address: &PageAddress) -> Key {
    Key::new(Prefix::Published.key(address.reveal()), SELF)
}
