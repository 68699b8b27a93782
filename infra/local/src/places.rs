//! How many messages of each queue are handled at a time.

use rustix::process::{Resource, getrlimit};
use vedette_domain::checks::concurrency::Places;
use vedette_domain::checks::tool::Tool;
use vedette_runtime::Destination;

/// The number of files that this process may have open. Each connection is a file.
pub(crate) fn files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The places of a queue, in a process that may have this many files open. Each queue has its own places, so that
/// targets that hang only delay checks of the same kind: a status check waits, a crawl keeps connections open, an audit
/// uses a whole core.
///
/// Half of the files belong to the gateway. Of the other half, short checks take at most 13 of 16, and alerts that wait
/// for their receivers 1 of 16, with one file each; the rest is for crawls and the table.
pub(crate) fn places(destination: Destination, files: u64) -> Places {
    let share =
        |of: u64, most: usize| usize::try_from(files / of).unwrap_or(usize::MAX).clamp(1, most);
    match destination {
        Destination::Tool(Tool::Status) => {
            Places { running: share(16, 256), slow: share(4, 2_048) }
        }
        Destination::Tool(Tool::Ssl | Tool::Dns) => {
            Places { running: share(64, 64), slow: share(32, 256) }
        }
        Destination::Alerts => Places { running: 16, slow: share(32, 512) },
        // All of them use one mail server.
        Destination::Mailer => Places { running: 4, slow: share(64, 64) },
        Destination::Tool(Tool::BrokenLinks | Tool::Heartbeat) | Destination::Reconcile => {
            Places::running(4)
        }
        Destination::Tool(Tool::Performance) => Places::running(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_checks_leave_files_to_the_gateway_and_to_the_table() {
        for files in [64, 256, 1_024, 4_096, 10_240, 65_536, 1_048_576, u64::MAX] {
            let short = [Tool::Status, Tool::Ssl, Tool::Dns];
            let of_checks: usize = short
                .into_iter()
                .map(|tool| places(Destination::Tool(tool), files))
                .map(|places| places.running + places.slow)
                .sum();
            assert!(of_checks as u64 <= files / 2 / 16 * 13 + 6, "{of_checks} of {files}");
        }
    }

    #[test]
    fn two_thousand_sites_of_which_a_third_hang_fit_into_the_usual_limit() {
        // Each hangs for 30 s of every minute, and is checked twice a minute while its failure is confirmed.
        let hanging = 2_000 / 3;
        let Places { slow, .. } = places(Destination::Tool(Tool::Status), 4_096);
        assert!(vedette_domain::checks::concurrency::team_share(slow) >= hanging, "{slow}");
    }
}
