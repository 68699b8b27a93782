//! What the consumer of a tool's queue may do with the table.

use vedette_domain::checks::tool::Tool;
use vedette_store::Grant;
use vedette_store::keys::Prefix::{Directory, IssueIndex, Leases, Site, Team, Throttle};

/// What every run reads and writes: the site and what the run needs of its team, the check, the issues that it opens or
/// resolves, and the newest state in the directory.
const RUN: Grant = Grant {
    get: &[Site],
    batch_get: &[Site, Team],
    put: &[IssueIndex, Site],
    update: &[Directory],
    delete: &[IssueIndex, Site],
    ..Grant::NONE
};

/// What a run with a lease does in addition.
const LEASE: Grant = Grant { get: &[Leases], put: &[Leases], update: &[Leases], ..Grant::NONE };

/// What a run does in addition if its check may be in a closed block: it looks for the check after a conflict, or if
/// the clock was set back.
const BLOCKS: Grant = Grant { query: &[Site], ..Grant::NONE };

/// What a status check does in addition: it counts POSTs by address.
const STATUS: Grant = Grant { update: &[Throttle], ..BLOCKS };

/// What the consumer of a tool's queue may do with the table.
pub const fn grants(tool: Tool) -> [&'static Grant; 2] {
    let own = match tool {
        Tool::Status => &STATUS,
        Tool::BrokenLinks | Tool::Performance => &LEASE,
        Tool::Ssl | Tool::Dns | Tool::Heartbeat => &Grant::NONE,
    };
    [&RUN, own]
}
