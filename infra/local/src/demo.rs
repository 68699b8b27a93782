//! `--demo`: example sites with a month of history, in a folder of their own.
//!
//! The history is written as checkers, notifiers and people write it. After that, the sites are checked like any others.
//! This process itself serves them and receives the alerts about them, on a loopback address.

mod history;
mod server;
mod sites;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use vedette_checker::{Config, EngineConfig};
use vedette_domain::checks::tool::Tool;
use vedette_embedded::Folder;
use vedette_notifier::send::SendConfig;
use vedette_runtime::config::Service;
use vedette_store::Store;

pub(crate) use self::server::Server;
pub use self::sites::{DemoSite, SITES};

use self::server::Fault;

/// The file that marks a data folder as the demo's, and says whether its history is complete.
const MARK: &str = "demo";
const COMPLETE: &str = "complete\n";

/// Why the demo cannot start.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The folder is used for something else.
    #[error(
        "the data folder {} is not for the demo: choose another one with --data, or start without --demo", .0.display()
    )]
    InUse(PathBuf),
    /// The first start was interrupted while it wrote the history.
    #[error("the demo in {} is incomplete: remove the folder and start again", .0.display())]
    Incomplete(PathBuf),
    /// The folder is the demo's, and the service was started without it.
    #[error(
        "the data folder {} contains the demo: start with --demo, or choose another folder with --data", .0.display()
    )]
    Unwanted(PathBuf),
    /// Nothing can be written, or no address is free.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The sites cannot be served, or their history cannot be written.
    #[error(transparent)]
    Other(#[from] Fault),
}

/// Refuses a folder that is not for this mode. `has_table` says whether the folder contains a table.
pub(crate) fn judge(folder: &Path, is_demo: bool, has_table: bool) -> Result<(), DemoError> {
    let mark = fs::read_to_string(folder.join(MARK));
    match (is_demo, mark) {
        (true, Ok(mark)) if has_table && mark != COMPLETE => {
            Err(DemoError::Incomplete(folder.to_owned()))
        }
        (true, Err(_)) if has_table => Err(DemoError::InUse(folder.to_owned())),
        (false, Ok(_)) => Err(DemoError::Unwanted(folder.to_owned())),
        _ => Ok(()),
    }
}

/// Writes the demo into an empty table or continues it. Returns what must be served.
pub(crate) async fn begin(
    folder: &Folder,
    store: &Store,
    config: &mut Config,
    send: &mut SendConfig,
    now: Timestamp,
) -> Result<Server, DemoError> {
    config.service.tools = vec![Tool::Status, Tool::Ssl];
    config.engines = EngineConfig::default();
    let server = Server::listen([&mut config.outbound, &mut send.receivers], now).await?;
    seed(folder, store, &config.service, now).await?;
    Ok(server)
}

/// Writes a month of history up to now into an empty table.
async fn seed(
    folder: &Folder,
    store: &Store,
    service: &Service,
    now: Timestamp,
) -> Result<(), DemoError> {
    if !store.all_teams().await.map_err(Fault::from)?.is_empty() {
        return Ok(());
    }
    fs::write(folder.path().join(MARK), "incomplete\n")?;
    history::write(store, service, now).await?;
    Ok(fs::write(folder.path().join(MARK), COMPLETE)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use jiff::SignedDuration;
    use vedette_domain::alerts::channel::SecretUrl;
    use vedette_domain::checks::history::day_of;
    use vedette_domain::issues::Fingerprint;
    use vedette_embedded::{Database, Fsync, Reached, reach};
    use vedette_notifier::send::{MailConfig, MailTransport, SendOutcome, Sender};
    use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
    use vedette_runtime::Clock;

    use super::*;

    #[tokio::test]
    async fn an_empty_table_gets_a_month_in_blocks_once() {
        let temporary = tempfile::tempdir().expect("a folder");
        let Ok(Reached::Free(folder)) = reach(temporary.path()).await else {
            panic!("nobody else has it");
        };
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("a database");
        let store = database.store();
        let service = Service::read(&|_| None).expect("nothing needs to be set");
        let now = Timestamp::from_second(1_795_000_000).expect("an instant");
        for _ in 0..2 {
            seed(&folder, &store, &service, now).await.expect("written");
        }
        assert!(judge(temporary.path(), true, true).is_ok());
        let team = store.all_teams().await.expect("teams")[0];
        assert_eq!(store.members(team).await.expect("members").len(), 3);

        // Each outage is a record. People acknowledged most of them.
        let begin = now - SignedDuration::from_hours(24 * history::DAYS);
        let outages = store.outages(team, (begin, now), 100).await.expect("outages");
        let open: Vec<_> = outages.iter().filter(|outage| outage.ended_at.is_none()).collect();
        let [open] = &open[..] else { panic!("{open:?}") };
        assert_eq!(outages.len(), sites::OUTAGES.len() - 1, "{outages:?}");
        assert!(outages.iter().filter(|outage| outage.acknowledged.is_some()).count() > 4);

        // The incident starts with its outage.
        let pages = store.status_pages(team).await.expect("pages");
        let [page] = &pages[..] else { panic!("{pages:?}") };
        let incidents = store.incidents(team, page.id).await.expect("incidents");
        assert!(incidents.iter().any(|incident| incident.started_at == open.began_at));

        let (mut failing, mut in_maintenance, mut packed) = (0, 0, 0);
        let directory = store.directory(team, 20).await.expect("sites");
        assert_eq!(directory.len(), SITES.len());
        let calendar = store.team(team, now).await.expect("read").expect("a team").team.windows;
        for site in directory {
            let partition = site.id.partition();
            let (_, state) =
                store.site_tool(partition, Tool::Status).await.expect("read").expect("a site");
            failing += usize::from(state.failing_since.is_some());
            in_maintenance += usize::from(calendar.until(site.id, [], now, now).is_some());
            let newest = state.automatic.expect("a check").check;
            packed += usize::from(newest.block.is_some());
            let last = newest.id.created_at();
            assert!(last <= now && now.duration_since(last).as_mins() < 5);
            assert_eq!(state.day.expect("an open day").date, day_of(last));
        }
        assert_eq!((failing, in_maintenance), (1, 1));
        // All others are uneventful.
        assert!(packed >= SITES.len() - 3, "{packed}");

        let reports = store.reports(team).await.expect("reports");
        let week = reports.first().expect("a report of the last week");
        let figures = store.period_figures(team, week.period).await.expect("read");
        let figures = figures.expect("figures");
        assert!(figures.monitors.iter().any(|site| site.counts.checks > 0), "{reports:?}");

        let mut states = Vec::new();
        for channel in store.channels(team).await.expect("channels") {
            states.push(store.channel_state((&channel).into()).await.expect("a state"));
        }
        assert_eq!(states.len(), 4);
        assert!(states.iter().all(|state| state.delivered_at.is_some()), "{states:?}");
        let active = store.issue_index(team, true).await.expect("issues");
        let active: BTreeSet<_> = active.iter().map(|row| row.fingerprint).collect();
        assert_eq!(active, [Fingerprint::StatusDown, Fingerprint::SslExpiring].into());
        database.close().await;
    }

    #[test]
    fn a_folder_is_the_demos_or_it_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        assert!(judge(path, true, false).is_ok() && judge(path, false, true).is_ok());
        assert!(matches!(judge(path, true, true), Err(DemoError::InUse(_))));
        fs::write(path.join(MARK), "incomplete\n").expect("written");
        assert!(matches!(judge(path, true, true), Err(DemoError::Incomplete(_))));
        fs::write(path.join(MARK), COMPLETE).expect("written");
        assert!(judge(path, true, true).is_ok());
        assert!(matches!(judge(path, false, true), Err(DemoError::Unwanted(_))));
    }

    #[tokio::test]
    async fn alerts_arrive_at_the_demo() {
        let (mut checks, mut receivers) = (Outbound::default(), Outbound::default());
        let (clock, now) = (Clock::system(), Clock::system().now());
        let server = Server::listen([&mut checks, &mut receivers], now).await.expect("an address");
        let serving = tokio::spawn(server.serve(clock));
        let mail = MailConfig::read(&|_| None, MailTransport::Folder("mail".into()));
        let guard = Arc::new(SsrfGuard::new(receivers).expect("a guard"));
        let sender = Sender::new(guard, mail.expect("a folder"));
        for host in server::RECEIVERS {
            let url = SecretUrl::new(format!("https://{host}/vedette"));
            let outcome = sender.post(&url, "id", b"{}", now).await;
            assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{host}: {outcome:?}");
        }
        serving.abort();
    }
}
