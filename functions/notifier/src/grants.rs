//! What the notifier may do with the table.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{
    Channel, ChannelSecret, Delivery, Email, Host, IssueIndex, Publication, Site, Team, User,
};

/// The notifier reads the content of alerts, and writes what is outstanding for channels. Only the notifier reads the
/// secrets of channels and counts what it sends to a host. It requests that status pages are published. It talks to strangers, so it can neither change where a
/// channel leads nor create anything that lets somebody in.
pub const NOTIFIER: Grant = Grant {
    get: &[Channel, ChannelSecret, Delivery, Email],
    batch_get: &[Delivery, Site, Team, User],
    query: &[Channel, Delivery, IssueIndex, Publication, Site],
    put: &[Delivery],
    update: &[Host, Publication],
    delete: &[Delivery, Site],
    batch_delete: &[Delivery],
    check: &[Channel, Delivery, Site],
};
