//! What the consumer of a tool's queue may do with the table.

use vedette_domain::checks::tool::Tool;
use vedette_store::Grant;
use vedette_store::keys::Prefix::{Directory, IssueIndex, Leases, Site, Team};

/// What every run reads and writes: the site with what is to be known of its team, the check, the
/// blocks of packed ones, the issues that it opens or resolves, and the newest state in the directory.
const RUN: Grant = Grant {
    get: &[Site],
    batch_get: &[Site, Team],
    query: &[Site],
    put: &[IssueIndex, Site],
    update: &[Directory],
    delete: &[IssueIndex, Site],
    ..Grant::NONE
};

/// What a run does that takes a lease.
const LEASE: Grant = Grant { get: &[Leases], put: &[Leases], update: &[Leases], ..Grant::NONE };

/// What the consumer of a tool's queue may do with the table.
pub const fn grants(tool: Tool) -> [&'static Grant; 2] {
    [&RUN, if tool.is_long() { &LEASE } else { &Grant::NONE }]
}
