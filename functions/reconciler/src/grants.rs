//! What the reconciler's functions may do with the table.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{
    Audit, Channel, ChannelSecret, Delivery, Directory, Heartbeats, IssueIndex, PolledRun,
    Publication, Published, Report, Site, StatusPage, Subscription, Team, Teams, Work,
};

/// Redelivery reads overdue work, postpones it, and ends on-demand checks that waited too long; these affect no issue.
/// Its gauge reads some sites of each team. Every night, it requests a rebuild of outstanding work for all teams.
pub const REDELIVERY: Grant = Grant {
    get: &[Site, Subscription],
    batch_get: &[Site, Team],
    query: &[Directory, Site, Teams, Work],
    put: &[Site],
    update: &[Delivery, Directory, Publication, Report, Site, Subscription, Team],
    delete: &[Site],
    ..Grant::NONE
};

/// The reconciler records that schedules of sites and teams are up to date, removes the outstanding work of idle tools,
/// and purges deleted sites with their outages and the notifications about their issues. It moves secrets of channels
/// that an earlier version stored with the channel, and deletes claims of deleted channels. It publishes status pages,
/// adds and removes the components that their selectors select, starts the emails to their subscribers, and removes the
/// incidents and subscribers of deleted ones. It looks at heartbeats whose deadline has passed, and opens their issues.
/// It makes reports, and starts the emails to their recipients.
pub const RECONCILE: Grant = Grant {
    get: &[Publication, Published, Report, Site, StatusPage, Team],
    batch_get: &[Site, Team],
    query: &[
        Channel,
        Delivery,
        Directory,
        Heartbeats,
        IssueIndex,
        Report,
        Site,
        StatusPage,
        Subscription,
    ],
    put: &[
        Audit,
        Channel,
        ChannelSecret,
        IssueIndex,
        Published,
        Report,
        Site,
        StatusPage,
        Subscription,
    ],
    update: &[PolledRun, Publication, Site, Team],
    delete: &[Channel, IssueIndex],
    batch_delete: &[Delivery, IssueIndex, PolledRun, Publication, Site, StatusPage, Subscription],
    check: &[Channel],
};

/// The polling scheduler reads the runs, and records the minute up to which it has sent them.
pub const DISPATCH: Grant =
    Grant { get: &[PolledRun], query: &[PolledRun], update: &[PolledRun], ..Grant::NONE };
