//! What the reconciler's functions may do with the table.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{
    Channel, ChannelSecret, Delivery, Directory, PolledRun, Site, Team, Teams, Work,
};

/// Redelivery reads what is overdue, puts off when to look again, and ends on-demand checks that
/// waited too long; these drive no issue. Its gauge looks at some sites of each team that it takes. Every night it has
/// what is outstanding for all teams rebuilt.
pub const REDELIVERY: Grant = Grant {
    get: &[Site],
    batch_get: &[Site, Team],
    query: &[Directory, Site, Teams, Work],
    put: &[Site],
    update: &[Delivery, Directory, Site, Team],
    delete: &[Site],
    ..Grant::NONE
};

/// Maintenance says of sites and teams that their schedules follow, forgets what idle tools had
/// outstanding, and purges deleted sites with the notifications about their issues. It stores apart the secrets of channels that an earlier version
/// wrote, and deletes claims of channels that are gone.
pub const MAINTENANCE: Grant = Grant {
    get: &[Site, Team],
    batch_get: &[Site, Team],
    query: &[Channel, Delivery, Directory, Site],
    put: &[Channel, ChannelSecret, Site],
    update: &[PolledRun, Site, Team],
    delete: &[Channel],
    batch_delete: &[Delivery, PolledRun, Site],
    check: &[Channel],
};

/// The polling scheduler reads the runs, and notes up to when it has sent them.
pub const DISPATCH: Grant =
    Grant { get: &[PolledRun], query: &[PolledRun], update: &[PolledRun], ..Grant::NONE };
