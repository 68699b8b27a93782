//! What the notifier may do with the table.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{
    Channel, Delivery, Invitation, IssueIndex, SignIn, Site, Team, User,
};

/// The notifier reads what alerts say, and writes what is outstanding for channels, and the links of the
/// letters that it sends. It talks to strangers, so it cannot write where a channel leads.
pub const NOTIFIER: Grant = Grant {
    get: &[Channel, Delivery, Invitation, User],
    batch_get: &[Delivery, Site, Team, User],
    query: &[Channel, Delivery, IssueIndex, Site],
    put: &[Delivery, Invitation, SignIn],
    delete: &[Channel, Delivery, Site],
    batch_delete: &[Delivery],
    check: &[Channel, Delivery, Site],
    ..Grant::NONE
};
