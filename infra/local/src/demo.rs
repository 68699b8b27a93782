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

use self::history::Fault;

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
    use vedette_domain::issues::Fingerprint;
    use vedette_embedded::{Database, Fsync, Reached, reach};

    use super::*;

    #[tokio::test]
    async fn an_empty_table_gets_a_month_once() {
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
        let team = store.all_teams().await.expect("teams")[0];
        let sites = store.directory(team, 10).await.expect("sites");
        assert_eq!(sites.len(), 4);
        let mut issues = store.issue_index(team, true).await.expect("issues");
        issues.extend(store.issue_index(team, false).await.expect("issues"));
        let count =
            |fingerprint| issues.iter().filter(|row| row.fingerprint == fingerprint).count();
        assert_eq!(count(Fingerprint::SslExpiring), 1);
        assert!(count(Fingerprint::StatusDown) >= 2, "{issues:?}");
        let pages = store.status_pages(team).await.expect("pages");
        let [page] = &pages[..] else { panic!("{pages:?}") };
        assert_eq!(page.components().count(), STORIES.len());
        let incidents = store.incidents(team, page.id).await.expect("incidents");
        let [incident] = &incidents[..] else { panic!("{incidents:?}") };
        let hours = incident.updates.iter().map(|update| now.duration_since(update.at).as_hours());
        assert!(hours.eq(WRITTEN.map(|(hours, ..)| hours)), "{incident:?}");
        assert!(judge(temporary.path(), true, true).is_ok());
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
    async fn one_demo_site_is_down_from_time_to_time() {
        let listener = listen().await.expect("an address");
        let address = listener.local_addr().expect("an address");
        let up = Timestamp::from_second(60 * 30 * 1_000 + 60 * DOWN.0).expect("an instant");
        let down = Timestamp::from_second(60 * 30 * 1_000).expect("an instant");
        let now = Month(Arc::new(AtomicI64::new(0)));
        let answering = tokio::spawn(answer(listener, now.clock()));
        for (host, at, code) in [
            ("shop.demo.example", up, "200"),
            ("shop.demo.example", down, "503"),
            ("docs.demo.example", down, "200"),
        ] {
            now.set(at);
            let mut stream = TcpStream::connect(address).await.expect("connected");
            let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("read");
            assert_eq!(answer.split(' ').nth(1), Some(code), "{host}");
        }
        answering.abort();
    }
}
