//! The database: DynamoDB on a file, and the threads that work on it.

use std::fmt;
use std::io;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;

use dynoxide::DynoxideError;
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tracing::error;
use vedette_ops::ErrorChain;
use vedette_store::StoreError;

use crate::folder::{Folder, FolderError, Format};
use crate::integrity::TableFault;
use crate::jobs::{Jobs, Priority};
use crate::layout::TABLE;
use crate::lookup::{Lookup, Opened};
use crate::operation::Access;
use crate::refusals::{self, Noted, Refusals};
use crate::sync::{Fsync, Syncer};
use crate::{files, folder, integrity, layout, operation};

/// The most threads that read. Each has two connections with a cache of 2 MB each: one for items by their keys, and one
/// for everything else.
const READERS_MAX: usize = 4;

/// The size of the trial item in bytes. A small item could still fit into existing pages of the file when nothing else
/// does.
const TRIAL: usize = 64 * 1024;

/// An open database. Clones share it; it closes with [`close`](Self::close), or with the last clone.
///
/// The database has its own threads for all work (except with [`in_step`](Self::in_step)), because a check must not
/// measure a site's response time on a thread that waits for the disk. One thread writes, since SQLite has one writer
/// at a time. A database on a file has more threads that read, each with its own connection: SQLite's write-ahead log
/// lets them read what was committed while another commit waits for the disk. A read that begins after a write was
/// answered sees that write.
#[derive(Clone)]
pub struct Database {
    worker: Worker,
    pub(crate) refusals: Noted,
}

/// What does the work.
#[derive(Clone)]
enum Worker {
    Threads(Arc<Threads>),
    Caller(dynoxide::Database),
}

/// They end after this is dropped, once no job waits for them.
struct Threads {
    writer: Arc<Jobs<Job>>,
    /// If there are none, the writer reads.
    readers: Option<Arc<Jobs<Job>>>,
    /// Closed when the last thread has ended.
    running: watch::Receiver<()>,
}

type Job = Box<dyn FnOnce(&Opened) + Send>;
type Open = Arc<dyn Fn() -> dynoxide::Result<Opened> + Send + Sync>;

impl Threads {
    fn jobs(&self, access: Access) -> &Jobs<Job> {
        match access {
            Access::Read => self.readers.as_ref().unwrap_or(&self.writer),
            Access::Write => &self.writer,
        }
    }

    fn close(&self) {
        self.writer.close();
        self.readers.iter().for_each(|jobs| jobs.close());
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.close();
    }
}

/// Starts a thread that runs jobs on its own connection until there are no more. It calls `before_close` before it
/// closes the connection, and drops what it is to `keep` after that.
fn start(
    name: &str,
    jobs: &Arc<Jobs<Job>>,
    open: &Open,
    before_close: impl FnOnce() + Send + 'static,
    keep: impl Send + 'static,
) -> Result<(), DatabaseError> {
    let (mut database, jobs, open) = (open()?, Arc::clone(jobs), Arc::clone(open));
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        while let Some(work) = jobs.next() {
            if catch_unwind(AssertUnwindSafe(|| work(&database))).is_ok() {
                continue;
            }
            // The caller of the job gets no answer. The other jobs continue on a reopened database, because this one's
            // lock is poisoned and a transaction may be open.
            error!("a request to the table panicked");
            drop(database);
            match open() {
                Ok(reopened) => database = reopened,
                Err(failed) => {
                    error!(error = %ErrorChain(&failed), "could not open the table again");
                    jobs.abandon();
                    return;
                }
            }
        }
        before_close();
        drop(database);
        drop(keep);
    });
    thread.map(drop).map_err(DatabaseError::Thread)
}

impl Database {
    /// Opens the folder's database, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// When the file is unusable.
    pub async fn open(folder: &Folder, fsync: Fsync) -> Result<Self, DatabaseError> {
        let file = folder.database();
        if folder::has_table(folder.path())? {
            let format = folder.check_format()?;
            integrity::recognize(&file)?;
            if format == Format::Older {
                // Items are rewritten over time, and the previous version could not read them.
                folder.write_format()?;
            }
        } else {
            Self::make(folder, &file).await?;
        }
        let (held, path) = (folder.held().clone(), folder.path().to_owned());
        Self::on_file(&file, fsync, move || {
            if held.get(files::DATABASE).is_none() {
                held.note(&path, files::DATABASE)?;
            }
            // SQLite removes these with the last connection, and creates them again with the next one.
            held.note(&path, files::LOG)?;
            held.note(&path, files::LOG_INDEX)
        })
    }

    /// Creates the file with the table under another name, and renames it once it is complete: a table whose creation
    /// was interrupted could be neither used nor created again.
    ///
    /// The format is written last before the rename. So a format without a table means that a table was lost, unless
    /// the complete draft lies next to it.
    async fn make(folder: &Folder, file: &Path) -> Result<(), DatabaseError> {
        folder.remove_format()?;
        let draft = folder.first_draft()?;
        let database = Self::on_file(&draft, Fsync::Always, || Ok(()))?;
        let created = database.store().create_table().await;
        let refused = database.refusals.borrow().write.clone();
        database.close().await;
        if let Some(why) = refused {
            return Err(DatabaseError::Unusable(why));
        }
        created?;
        layout::by_key(&draft)?;
        folder.write_format()?;
        Ok(folder.put(&draft, file)?)
    }

    /// Opens a file, and calls `opened` each time.
    fn on_file(
        path: &Path,
        fsync: Fsync,
        opened: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Result<Self, DatabaseError> {
        let name = path.to_str().ok_or_else(|| DatabaseError::NotUnicode(path.to_owned()))?;
        let name = name.to_owned();
        let refusals = Noted::default();
        let noted = refusals.clone();
        let open = move || -> dynoxide::Result<Opened> {
            let database = dynoxide::Database::new(&name)
                .inspect(|_| refusals::note_read_only(Path::new(&name), &noted))
                .or_else(|refused| refusals::open_read_only(&name, refused, &noted))?;
            if fsync == Fsync::EverySecond {
                // What it restores is SQLite's `synchronous = NORMAL`: a commit does not wait for the disk. There is no
                // other way to set this.
                database.disable_bulk_loading()?;
            }
            opened().map_err(|error| DynoxideError::InternalServerError(error.to_string()))?;
            Ok(Opened::from(database))
        };
        let open = Arc::new(open);
        let (open_first, file) = (Arc::clone(&open), path.to_owned());
        // If the file cannot be opened a second time, for example because the disk is full, dynoxide answers all
        // requests.
        let open_reader = move || -> dynoxide::Result<Opened> {
            Ok(Opened { lookup: Lookup::open(&file).ok(), ..open_first()? })
        };
        let syncer = match fsync {
            Fsync::Always => None,
            Fsync::EverySecond => {
                Some(Syncer::start(path, refusals.clone()).map_err(DatabaseError::Thread)?)
            }
        };
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let readers = (cores.min(READERS_MAX), Arc::new(open_reader) as Open);
        Self::over(open, Some(readers), syncer, refusals)
    }

    /// An empty database in memory, without a table.
    ///
    /// # Errors
    ///
    /// When the system provides no thread or no memory.
    pub fn memory() -> Result<Self, DatabaseError> {
        let open = || dynoxide::Database::memory().map(Opened::from);
        Self::over(Arc::new(open), None, None, Noted::default())
    }

    /// A database that was opened elsewhere and is also used by this database's clients.
    ///
    /// # Errors
    ///
    /// When the system provides no thread.
    pub fn on(database: dynoxide::Database) -> Result<Self, DatabaseError> {
        let open = move || -> dynoxide::Result<Opened> { Ok(database.clone().into()) };
        Self::over(Arc::new(open), None, None, Noted::default())
    }

    /// A database whose writer and readers open it in different ways. There may be no readers.
    fn over(
        open: Open,
        readers: Option<(usize, Open)>,
        syncer: Option<Syncer>,
        refusals: Noted,
    ) -> Result<Self, DatabaseError> {
        let (running, ended) = watch::channel(());
        // Created first: if one thread cannot start, those that have already started must end.
        let threads = Arc::new(Threads {
            writer: Arc::new(Jobs::new()),
            readers: readers.is_some().then(|| Arc::new(Jobs::new())),
            running: ended,
        });
        // Only the last connection that closes removes SQLite's log, and if two close at once, neither may be the last
        // one. So the writer waits until all readers are closed.
        let (reading, read) = mpsc::channel::<()>();
        let no_reader_is_left = move || while read.recv().is_ok() {};
        start("table", &threads.writer, &open, no_reader_is_left, (syncer, running.clone()))?;
        if let (Some(jobs), Some((readers, open))) = (&threads.readers, readers) {
            for _ in 0..readers {
                start("table-read", jobs, &open, || {}, (reading.clone(), running.clone()))?;
            }
        }
        Ok(Self { worker: Worker::Threads(threads), refusals })
    }

    /// An empty database in memory, without a table, on which each caller works immediately and in turn: for
    /// simulations, in which nothing may depend on the scheduling of threads.
    ///
    /// # Errors
    ///
    /// When the system provides no memory.
    pub fn in_step() -> Result<Self, DatabaseError> {
        let worker = Worker::Caller(dynoxide::Database::memory()?);
        Ok(Self { worker, refusals: Noted::default() })
    }

    /// Runs a job on the database; `None` if it is closed. A job is not started if its caller no longer waits.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        access: Access,
        priority: Priority,
        work: impl FnOnce(&Opened) -> T + Send + 'static,
    ) -> Option<T> {
        let threads = match &self.worker {
            Worker::Threads(threads) => threads,
            Worker::Caller(database) => return Some(work(&Opened::from(database.clone()))),
        };
        let (reply, replied) = oneshot::channel();
        let job: Job = Box::new(move |database| {
            if !reply.is_closed() {
                // The caller may no longer exist.
                let _ = reply.send(work(database));
            }
        });
        threads.jobs(access).push(priority, job);
        replied.await.ok()
    }

    /// Answers a request of DynamoDB's protocol with a status and a body; `None` if the
    /// database is closed.
    pub async fn answer(&self, operation: String, body: Vec<u8>) -> Option<(u16, String)> {
        self.answer_for(Priority::Background, operation, body).await
    }

    pub(crate) async fn answer_for(
        &self,
        priority: Priority,
        operation: String,
        body: Vec<u8>,
    ) -> Option<(u16, String)> {
        let access = operation::access(&operation);
        let work = move |database: &_| operation::answer(database, &operation, &body);
        let answered = self.run(access, priority, work).await?;
        if access == Access::Write {
            refusals::note_write(&self.refusals, &answered);
        }
        Some(answered)
    }

    /// What the file refuses, now and later.
    pub fn refusals(&self) -> watch::Receiver<Refusals> {
        self.refusals.subscribe()
    }

    /// Writes an item and removes it again, to see whether writes work again. Only this reports the end of the problem.
    pub async fn try_write(&self) {
        let key = json!({ "pk": { "S": "write-trial" }, "sk": { "S": "A" } });
        let mut item = key.clone();
        item["filler"] = json!({ "S": "x".repeat(TRIAL) });
        let put = json!({ "TableName": TABLE, "Item": item });
        let delete = json!({ "TableName": TABLE, "Key": key });
        for (operation, request) in [("PutItem", put), ("DeleteItem", delete)] {
            let answered = self.answer(operation.to_owned(), request.to_string().into()).await;
            if !matches!(answered, Some((200, _))) {
                return;
            }
        }
        self.refusals.send_if_modified(|known| known.write.take().is_some());
    }

    /// Lets waiting jobs finish and closes the file; later requests get no answer.
    pub async fn close(&self) {
        let Worker::Threads(threads) = &self.worker else { return };
        threads.close();
        let mut running = threads.running.clone();
        while running.changed().await.is_ok() {}
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

/// What can go wrong with the table's file.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file is unusable, for this reason.
    #[error("{0}")]
    Unusable(String),
    /// SQLite does not accept the path.
    #[error("the path {} is not Unicode", .0.display())]
    NotUnicode(PathBuf),
    /// It contains something other than the table, or only parts of it.
    #[error(transparent)]
    Damaged(#[from] TableFault),
    /// The table was closed in the meantime.
    #[error("the table is closed")]
    Closed,
    /// The table cannot be created.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The layout of its rows cannot be set.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The data folder does not accept it.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The system provides no thread.
    #[error(
        "the system provides no thread for the table; raise the limit of processes (`ulimit -u`)"
    )]
    Thread(#[source] io::Error),
    /// The system does not allow access.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<DynoxideError> for DatabaseError {
    fn from(refused: DynoxideError) -> Self {
        Self::Unusable(refusals::in_plain_words(&refused.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use aws_sdk_dynamodb::types::AttributeValue;
    use vedette_store::keys::{PK, SK};

    use super::*;
    use crate::files::FORMAT_VERSION;
    use crate::{TABLE, sdk_client};

    #[tokio::test]
    async fn a_database_whose_creation_was_interrupted_is_created_again() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let draft = "vedette.db.first";
        let beside = ["-wal", "-shm"].map(|suffix| format!("{draft}{suffix}"));
        for left_over in ["format", draft].into_iter().chain(beside.iter().map(String::as_str)) {
            fs::write(temporary.path().join(left_over), "half").expect("written");
        }
        for fsync in [Fsync::Always, Fsync::EverySecond] {
            let database = Database::open(&folder, fsync).await.expect("opened");
            assert!(database.store().all_teams().await.expect("an answer").is_empty());
            database.close().await;
        }
        let mut files: Vec<_> = fs::read_dir(temporary.path())
            .expect("a folder")
            .map(|entry| entry.expect("a file").file_name())
            .collect();
        files.sort();
        assert_eq!(files, ["format", "lock", "vedette.db"]);
    }

    #[tokio::test]
    async fn a_folder_of_another_format_is_refused_untouched() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        Database::open(&folder, Fsync::Always).await.expect("opened").close().await;
        let format = temporary.path().join("format");
        for other in ["0", "soon"] {
            fs::write(&format, other).expect("written");
            let refused = Database::open(&folder, Fsync::Always).await.expect_err("refused");
            assert!(refused.to_string().contains("another version of Vedette"), "{refused}");
        }
        fs::write(&format, "1000").expect("written");
        let refused = Database::open(&folder, Fsync::Always).await.expect_err("refused");
        let expected = format!(
            "has format 1000, written by a newer version of Vedette; this version reads formats 1 to {FORMAT_VERSION}. \
             Install the newer version again"
        );
        assert!(refused.to_string().contains(&expected), "{refused}");
        fs::write(&format, "1").expect("written");
        Database::open(&folder, Fsync::Always).await.expect("opened").close().await;
        let taken_over = fs::read_to_string(&format).expect("read");
        assert_eq!(taken_over, FORMAT_VERSION.to_string());
        fs::write(&format, "").expect("written");
        Database::open(&folder, Fsync::Always).await.expect_err("says nothing");
        fs::remove_file(&format).expect("removed");
        Database::open(&folder, Fsync::Always).await.expect_err("made before formats were told");
    }

    #[tokio::test]
    async fn a_closed_database_answers_no_call() {
        let database = Database::memory().expect("a database");
        let store = database.store();
        store.create_table().await.expect("a table");
        database.close().await;
        database.close().await;
        let refused = store.all_teams().await.expect_err("closed");
        let why = ErrorChain(&refused).to_string();
        assert!(why.contains("the table is closed"), "{why}");
    }

    #[tokio::test]
    async fn a_panic_fails_only_the_call_that_panicked() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("opened");
        for access in [Access::Write, Access::Read] {
            for _ in 0..2 * READERS_MAX {
                let panics = |_: &_| -> u8 { panic!("of one request") };
                assert_eq!(database.run(access, Priority::Background, panics).await, None);
            }
        }
        assert!(database.store().all_teams().await.expect("an answer").is_empty());
        let answered = database.run(Access::Write, Priority::Background, |_| ()).await;
        assert_eq!(answered, Some(()), "the writer goes on as well");
    }

    /// Makes the writer wait until the returned value is dropped.
    async fn hold_writer(database: &Database) -> mpsc::Sender<()> {
        let (release, released) = mpsc::channel::<()>();
        let (held, is_held) = oneshot::channel();
        let database = database.clone();
        tokio::spawn(async move {
            let wait = move |_: &_| {
                let _ = held.send(());
                let _ = released.recv();
            };
            database.run(Access::Write, Priority::Background, wait).await
        });
        is_held.await.expect("it has begun");
        release
    }

    #[tokio::test]
    async fn reads_do_not_wait_for_a_write_that_waits_for_the_disk() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("opened");
        let writing = hold_writer(&database).await;
        assert!(database.store().all_teams().await.expect("an answer").is_empty());
        drop(writing);
        database.close().await;
    }

    #[tokio::test]
    async fn a_write_for_a_person_goes_before_those_of_checks() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("opened");
        let writing = hold_writer(&database).await;
        let done = Arc::new(Mutex::new(Vec::new()));
        let mut jobs = Vec::new();
        let of_checks = std::iter::repeat_n(Priority::Background, 300);
        for priority in of_checks.chain([Priority::Interactive]) {
            let (database, done) = (database.clone(), Arc::clone(&done));
            let note = move |_: &_| done.lock().expect("a list").push(priority);
            let mut job = Box::pin(async move {
                database.run(Access::Write, priority, note).await.expect("an answer");
            });
            // Once it was polled, it is in the queue.
            assert!(futures::poll!(job.as_mut()).is_pending());
            jobs.push(job);
        }
        drop(writing);
        futures::future::join_all(jobs).await;
        let done = done.lock().expect("a list").clone();
        assert_eq!((done.len(), done[0]), (301, Priority::Interactive));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_read_sees_every_write_that_was_answered_before_it() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("opened");
        let writers = (0..3).map(|writer| {
            let client = sdk_client(database.http_client());
            tokio::spawn(async move {
                let pk = AttributeValue::S(format!("R#{writer}"));
                let sk = AttributeValue::S("A".to_owned());
                for number in 0..300_u32 {
                    let number = AttributeValue::N(number.to_string());
                    let put = client.put_item().table_name(TABLE).item(PK, pk.clone());
                    let put = put.item(SK, sk.clone()).item("n", number.clone());
                    put.send().await.expect("written");
                    let get = client.get_item().table_name(TABLE).key(PK, pk.clone());
                    let read = get.key(SK, sk.clone()).send().await.expect("read");
                    assert_eq!(read.item.expect("an item").get("n"), Some(&number));
                }
            })
        });
        for ended in futures::future::join_all(writers).await {
            ended.expect("every write was seen");
        }
        database.close().await;
    }

    #[tokio::test]
    async fn writes_that_fail_are_noted_until_one_on_trial_succeeds() {
        let database = Database::memory().expect("a database");
        database.store().create_table().await.expect("a table");
        let mut refusals = database.refusals();
        let error =
            |status: u16, message: &str| (status, json!({ "message": message }).to_string());
        refusals::note_write(&database.refusals, &error(400, "The conditional request failed"));
        assert!(!refusals.has_changed().expect("open"), "a condition is no fault");
        refusals::note_write(
            &database.refusals,
            &error(500, "Internal error: database or disk is full"),
        );
        let why = refusals.borrow_and_update().write.clone();
        assert_eq!(why.as_deref(), Some("the disk is full"));
        refusals::note_write(&database.refusals, &(200, "{}".to_owned()));
        assert!(!refusals.has_changed().expect("open"), "a small write may still fit");
        database.try_write().await;
        assert_eq!(*refusals.borrow_and_update(), Refusals::default());
        assert!(database.store().all_teams().await.expect("an answer").is_empty());
    }
}
