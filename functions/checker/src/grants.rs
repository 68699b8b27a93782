//! What the consumer of a tool's queue may do with the table.

use vedette_domain::checks::tool::Tool;
use vedette_store::Grant;
use vedette_store::keys::Prefix::{Directory, IssueIndex, Leases, Site, Team};

/// What every run reads and writes: the site with what is to be known of its team, the check, the
/// issues that it opens or resolves, and the newest state in the directory.
const RUN: Grant = Grant {
    get: &[Site],
    batch_get: &[Site, Team],
    put: &[IssueIndex, Site],
    update: &[Directory],
    delete: &[IssueIndex, Site],
    ..Grant::NONE
};

/// What a run does that takes a lease.
const LEASE: Grant = Grant { get: &[Leases], put: &[Leases], update: &[Leases], ..Grant::NONE };

/// What a run does whose check may be in a closed block: it looks for it after a conflict, or where the clock was set
/// back.
const BLOCKS: Grant = Grant { query: &[Site], ..Grant::NONE };

/// What the consumer of a tool's queue may do with the table.
pub const fn grants(tool: Tool) -> [&'static Grant; 2] {
    let own = match tool {
        Tool::Status => &BLOCKS,
        Tool::BrokenLinks | Tool::Performance => &LEASE,
        Tool::Ssl | Tool::Dns => &Grant::NONE,
    };
    [&RUN, own]
}
