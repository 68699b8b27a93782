//! Checks regularly whether the data folder is still the one that the service has open.
//!
//! A file that is deleted or replaced stays open, and everything seems to work until the service stops. So the file
//! that was opened under each name is compared with the file that has the name now.

use std::io;
use std::path::PathBuf;

use crate::Folder;
use crate::files::{
    self, DATABASE, FORMAT, FORMAT_VERSION, FileFault, FileProblem, Found, Held, Identity, Kind,
    LOCK, LOG, LOG_INDEX, SOCKET, TOKEN,
};
use crate::integrity;

/// Watches the files of a data folder while a service has it.
#[derive(Debug)]
pub struct Watch {
    path: PathBuf,
    folder: Identity,
    held: Held,
    /// Whether there is a token file, which is optional.
    has_token: bool,
    /// Only SQLite itself shortens these two files.
    database: Length,
    log: Length,
}

/// The length of a file when it was last checked, and what was cut off since the service started.
#[derive(Debug, Default)]
struct Length {
    of: Option<(Identity, u64)>,
    cut: Option<FileProblem>,
}

impl Watch {
    /// Watches the folder of a service that has opened its files, including its socket.
    pub fn new(folder: &Folder) -> Self {
        Self {
            path: folder.path().to_owned(),
            folder: folder.identity(),
            held: folder.held().clone(),
            has_token: folder.token().exists(),
            database: Length::default(),
            log: Length::default(),
        }
    }

    /// Returns what is wrong now. Blocks on the file system.
    pub fn inspect(&mut self) -> Vec<FileFault> {
        let folder = match Found::folder(&self.path) {
            Ok(found) => open_file(found.as_ref(), self.folder, Kind::Folder),
            Err(error) => Err(unreadable(&error)),
        };
        if let Err(problem) = folder {
            // Problems with the files in it follow from this one.
            return vec![FileFault::new(self.path.clone(), problem)];
        }
        let open = [
            (DATABASE, Kind::Regular),
            (LOG, Kind::Regular),
            (LOG_INDEX, Kind::Regular),
            (LOCK, Kind::Regular),
            (SOCKET, Kind::Socket),
        ];
        let open = open.map(|(name, kind)| (name, self.look_at_open(name, kind)));
        let read = [(FORMAT, self.look_at_format()), (TOKEN, self.look_at_token())];
        let fault = |(name, looked): (&str, Result<(), FileProblem>)| {
            Some(FileFault::new(self.path.join(name), looked.err()?))
        };
        open.into_iter().chain(read).filter_map(fault).collect()
    }

    fn find(&self, name: &str) -> Result<Option<Found>, FileProblem> {
        Found::at(&self.path.join(name)).map_err(|error| unreadable(&error))
    }

    fn look_at_open(&mut self, name: &'static str, kind: Kind) -> Result<(), FileProblem> {
        let Some(held) = self.held.get(name) else { return Ok(()) };
        let found = self.find(name)?;
        open_file(found.as_ref(), held, kind)?;
        let Some(found) = found else { return Ok(()) };
        let file = self.path.join(DATABASE);
        match name {
            DATABASE => self
                .database
                .follow(&found, |was| integrity::was_compacted(&file, was).unwrap_or_default()),
            LOG => self.log.follow(&found, |_| {
                let log = Found::at(&self.path.join(LOG)).ok().flatten();
                let needed = integrity::length_of_log(&file);
                log.is_some_and(|log| needed.is_ok_and(|needed| needed <= log.size))
            }),
            _ => Ok(()),
        }
    }

    fn look_at_format(&self) -> Result<(), FileProblem> {
        kept_file(self.find(FORMAT)?.as_ref())?;
        let kept = files::read_beginning(&self.path.join(FORMAT));
        let kept = kept.map_err(|error| unreadable(&error))?;
        match kept.trim().parse() {
            Ok(FORMAT_VERSION) => Ok(()),
            _ => Err(FileProblem::Overwritten),
        }
    }

    /// Which token the file contains is up to the operator.
    fn look_at_token(&self) -> Result<(), FileProblem> {
        if !self.has_token {
            return Ok(());
        }
        let found = self.find(TOKEN)?;
        kept_file(found.as_ref())?;
        match found {
            Some(Found { size: 0, .. }) => Err(FileProblem::Overwritten),
            _ => Ok(()),
        }
    }
}

impl Length {
    /// A file that was cut stays broken, even if SQLite extends it to the same length again. `may_be_shorter` says
    /// whether SQLite itself made it shorter: an operator may compact the database, or empty the log, while the service
    /// runs.
    fn follow(
        &mut self,
        found: &Found,
        may_be_shorter: impl FnOnce(u64) -> bool,
    ) -> Result<(), FileProblem> {
        match self.of {
            Some((identity, was)) if identity == found.identity => {
                if found.size < was && self.cut.is_none() && !may_be_shorter(was) {
                    self.cut = Some(FileProblem::Truncated { size: found.size, was });
                }
            }
            // After a panic, the database was reopened, and its log was recreated.
            _ => self.cut = None,
        }
        self.of = Some((found.identity, found.size));
        self.cut.clone().map_or(Ok(()), Err)
    }
}

/// Checks what exists in the place of an open file.
fn open_file(found: Option<&Found>, held: Identity, kind: Kind) -> Result<(), FileProblem> {
    let found = found.ok_or(FileProblem::Deleted)?;
    files::judge(found, kind)?;
    if found.identity == held { Ok(()) } else { Err(FileProblem::Replaced) }
}

/// Checks a file that is read from time to time, and may be replaced.
fn kept_file(found: Option<&Found>) -> Result<(), FileProblem> {
    files::judge(found.ok_or(FileProblem::Deleted)?, Kind::Regular)
}

fn unreadable(error: &io::Error) -> FileProblem {
    FileProblem::Unreadable { why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{chown, symlink};

    use aws_sdk_dynamodb::types::AttributeValue;
    use rustix::process::geteuid;
    use tempfile::TempDir;
    use vedette_store::keys::{PK, SK};

    use super::*;
    use crate::operation::Access;
    use crate::{Database, Fsync, Priority, TABLE, listen, sdk_client};

    struct Running {
        temporary: TempDir,
        database: Database,
        folder: Folder,
        _socket: tokio::net::UnixListener,
        watch: Watch,
    }

    impl Running {
        async fn start() -> Self {
            let temporary = tempfile::tempdir().expect("a folder");
            let data = temporary.path().join("data");
            Folder::make(&data).expect("made");
            let folder = Folder::alone(&data).await;
            let database = Database::open(&folder, Fsync::EverySecond).await.expect("opened");
            let socket = listen(&folder).expect("a socket");
            fs::write(folder.token(), "vdt_of_the_demo_user").expect("written");
            let mut watch = Watch::new(&folder);
            assert_eq!(watch.inspect(), []);
            Self { temporary, database, folder, _socket: socket, watch }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        async fn write(&self) {
            let client = sdk_client(self.database.http_client());
            let key = |value: &str| AttributeValue::S(value.to_owned());
            let put = client.put_item().table_name(TABLE).item(PK, key("R#1")).item(SK, key("A"));
            put.send().await.expect("written");
        }

        /// Cuts or extends a file. Another process does this, because this one would lose SQLite's locks on it.
        fn set_length(&self, name: &str, length: u64) {
            let mut truncate = std::process::Command::new("truncate");
            let done = truncate.arg(format!("--size={length}")).arg(self.path(name)).status();
            assert!(done.expect("started").success());
        }

        /// The only fault, which must belong to this file.
        fn fault_of(&mut self, name: &str) -> FileFault {
            let faults = self.watch.inspect();
            let [fault] = &faults[..] else { panic!("{name}: {faults:?}") };
            assert_eq!(fault.path, self.path(name));
            assert!(!fault.remedy().is_empty());
            fault.clone()
        }
    }

    const ALL: [&str; 7] = [DATABASE, LOG, LOG_INDEX, LOCK, SOCKET, FORMAT, TOKEN];

    #[tokio::test]
    async fn a_file_that_is_gone_is_noticed_until_it_is_back() {
        let mut running = Running::start().await;
        let aside = running.temporary.path().join("aside");
        for name in ALL {
            let path = running.path(name);
            fs::rename(&path, &aside).expect("moved");
            let fault = running.fault_of(name);
            assert_eq!(fault.problem, FileProblem::Deleted);
            assert!(fault.to_string().contains("was deleted while the service was running"));

            symlink(&aside, &path).expect("a link");
            assert_eq!(running.fault_of(name).problem, FileProblem::Symlink);
            fs::remove_file(&path).expect("removed");
            fs::create_dir(&path).expect("made");
            assert_eq!(running.fault_of(name).problem, FileProblem::WrongKind);
            fs::remove_dir(&path).expect("removed");

            fs::rename(&aside, &path).expect("moved back");
            assert_eq!(running.watch.inspect(), []);
        }
        assert!(running.database.store().all_teams().await.expect("an answer").is_empty());
    }

    #[tokio::test]
    async fn a_copy_of_a_file_is_not_the_file() {
        let mut running = Running::start().await;
        let aside = running.temporary.path().join("aside");
        for name in [DATABASE, LOG, LOG_INDEX, LOCK] {
            let path = running.path(name);
            fs::rename(&path, &aside).expect("moved");
            fs::copy(&aside, &path).expect("copied");
            assert_eq!(running.fault_of(name).problem, FileProblem::Replaced);
            fs::rename(&aside, &path).expect("moved back");
        }
        for name in [FORMAT, TOKEN] {
            let path = running.path(name);
            fs::copy(&path, &aside).expect("copied");
            fs::rename(&aside, &path).expect("replaced");
            assert_eq!(running.watch.inspect(), [], "an editor does that");
            File::create(&path).expect("emptied");
            assert_eq!(running.fault_of(name).problem, FileProblem::Overwritten);
            fs::write(&path, FORMAT_VERSION.to_string()).expect("written");
            assert_eq!(running.watch.inspect(), []);
        }
    }

    #[tokio::test]
    async fn a_file_that_was_cut_stays_broken() {
        for name in [DATABASE, LOG] {
            let mut running = Running::start().await;
            running.write().await;
            assert_eq!(running.watch.inspect(), []);
            let path = running.path(name);
            let was = fs::metadata(&path).expect("a file").len();
            running.set_length(name, was / 2);
            let expected = FileProblem::Truncated { size: was / 2, was };
            assert_eq!(running.fault_of(name).problem, expected);
            running.set_length(name, was);
            assert_eq!(running.fault_of(name).problem, expected);
        }
    }

    #[tokio::test]
    async fn a_file_that_sqlite_truncates_is_not_reported() {
        let mut running = Running::start().await;
        running.write().await;
        // Opened as another process would do it, but with SQLite's locks in this process.
        let other = rusqlite::Connection::open(running.path(DATABASE)).expect("opened");
        let checkpoint = || {
            let done = other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
            assert_eq!(done, Ok(0), "nobody is in the way");
        };
        other.execute_batch("CREATE TABLE filler AS SELECT zeroblob(100000)").expect("filled");
        checkpoint();
        running.write().await;
        assert_eq!(running.watch.inspect(), []);
        let long = [DATABASE, LOG].map(|name| running.path(name).metadata().expect("it").len());
        other.execute_batch("DROP TABLE filler; VACUUM").expect("compacted");
        checkpoint();
        let short = [DATABASE, LOG].map(|name| running.path(name).metadata().expect("it").len());
        assert!(short[0] < long[0] && short[1] <= long[1], "{short:?} {long:?}");
        assert_eq!(running.watch.inspect(), []);
        running.write().await;
        assert_eq!(running.watch.inspect(), []);
    }

    #[tokio::test]
    async fn files_of_another_user_are_noticed() {
        // Only root can change the owner of a file.
        if !geteuid().is_root() {
            return;
        }
        let mut running = Running::start().await;
        for name in ALL {
            let path = running.path(name);
            chown(&path, Some(12_345), None).expect("given away");
            assert_eq!(running.fault_of(name).problem, FileProblem::NotOurs { owner: 12_345 });
            chown(&path, Some(0), None).expect("taken back");
        }
        chown(running.folder.path(), Some(12_345), None).expect("given away");
        assert_eq!(running.fault_of("").problem, FileProblem::NotOurs { owner: 12_345 });
    }

    #[tokio::test]
    async fn a_folder_that_is_gone_is_one_fault() {
        let mut running = Running::start().await;
        let data = running.folder.path().to_owned();
        let aside = running.temporary.path().join("aside");
        fs::rename(&data, &aside).expect("moved");
        let faults = running.watch.inspect();
        let expected = [FileFault::new(data.clone(), FileProblem::Deleted)];
        assert_eq!(faults, expected);
        assert!(faults[0].to_string().ends_with("will be lost when it stops"), "{}", faults[0]);
        Folder::make(&data).expect("made");
        let replaced = [FileFault::new(data.clone(), FileProblem::Replaced)];
        assert_eq!(running.watch.inspect(), replaced);
        fs::remove_dir(&data).expect("removed");
        symlink(&aside, &data).expect("a link");
        assert_eq!(running.watch.inspect(), [], "the operator's own link leads to the same folder");
    }

    #[tokio::test]
    async fn a_reopened_database_is_no_fault() {
        let mut running = Running::start().await;
        for access in [Access::Write, Access::Read] {
            let panics = |_: &_| -> u8 { panic!("of one request") };
            assert_eq!(running.database.run(access, Priority::Background, panics).await, None);
        }
        assert!(running.database.store().all_teams().await.expect("an answer").is_empty());
        assert_eq!(running.watch.inspect(), []);
    }
}
