//! The database: DynamoDB on a file, and the one thread that works on it.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;

use dynoxide::DynoxideError;
use tokio::sync::{mpsc, oneshot};
use tracing::error;
use vedette_domain::ErrorChain;
use vedette_store::StoreError;

use crate::folder::{Folder, FolderError};
use crate::sync::{Fsync, Syncer};
use crate::{layout, operation};

/// An open database. Clones are the same one; it closes on [`close`](Self::close), or with the last clone.
///
/// All work is done by one thread of its own, one thing after another (but see
/// [`in_step`](Self::in_step)). The database has but one
/// lock, so more threads would only wait for each other, and a thread that waits for the disk must not be
/// a thread on which a check measures a site's response time.
#[derive(Clone)]
pub struct Database {
    worker: Worker,
}

/// Who works on it.
#[derive(Clone)]
enum Worker {
    Thread(mpsc::UnboundedSender<Job>),
    Caller(dynoxide::Database),
}

enum Job {
    Work(Box<dyn FnOnce(&dynoxide::Database) + Send>),
    Close(oneshot::Sender<()>),
}

impl Database {
    /// Opens the folder's database, which is made first where it is missing.
    ///
    /// # Errors
    ///
    /// When the file is not usable.
    pub async fn open(folder: &Folder, fsync: Fsync) -> Result<Self, DatabaseError> {
        let file = folder.database();
        if file.try_exists()? {
            folder.take_over_format()?;
        } else {
            folder.write_format()?;
            Self::make(folder, &file).await?;
        }
        Self::on_file(&file, fsync)
    }

    /// Makes the file with the table in it under another name, and names it when it is whole: a
    /// table whose making was cut off could neither be used nor made again.
    async fn make(folder: &Folder, file: &Path) -> Result<(), DatabaseError> {
        let draft = folder.draft(file)?;
        let database = Self::on_file(&draft, Fsync::Always)?;
        database.store().create_table().await?;
        database.close().await;
        layout::by_key(&draft)?;
        Ok(folder.put(&draft, file)?)
    }

    fn on_file(path: &Path, fsync: Fsync) -> Result<Self, DatabaseError> {
        let name = path.to_str().ok_or_else(|| DatabaseError::NotUnicode(path.to_owned()))?;
        let name = name.to_owned();
        let open = move || {
            let database = dynoxide::Database::new(&name)?;
            if fsync == Fsync::EverySecond {
                // What it restores is SQLite's `synchronous = NORMAL`: a commit does not wait for
                // the disk. There is no other way to ask for it.
                database.disable_bulk_loading()?;
            }
            Ok(database)
        };
        let syncer = match fsync {
            Fsync::Always => None,
            Fsync::EverySecond => Some(Syncer::start(path)?),
        };
        Self::over(open, syncer)
    }

    /// An empty database in memory, without a table.
    ///
    /// # Errors
    ///
    /// When the system gives no thread or no memory.
    pub fn memory() -> Result<Self, DatabaseError> {
        Self::over(dynoxide::Database::memory, None)
    }

    /// A database that somebody else has opened, to be used by this one's clients as well.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub fn on(database: dynoxide::Database) -> Result<Self, DatabaseError> {
        Self::over(move || Ok(database.clone()), None)
    }

    fn over(
        open: impl Fn() -> dynoxide::Result<dynoxide::Database> + Send + 'static,
        syncer: Option<Syncer>,
    ) -> Result<Self, DatabaseError> {
        let mut database = open()?;
        let (jobs, mut waiting) = mpsc::unbounded_channel();
        thread::Builder::new().name("table".to_owned()).spawn(move || {
            let closing = loop {
                match waiting.blocking_recv() {
                    Some(Job::Work(work)) => {
                        if catch_unwind(AssertUnwindSafe(|| work(&database))).is_ok() {
                            continue;
                        }
                        // Its caller has no answer. The others go on, on a database opened anew: this
                        // one's lock is poisoned, and a transaction may be open.
                        error!("a request to the table ended in a panic");
                        drop(database);
                        match open() {
                            Ok(anew) => database = anew,
                            Err(failed) => {
                                error!(error = %ErrorChain(&failed), "the table cannot be opened again");
                                return;
                            }
                        }
                    }
                    Some(Job::Close(closed)) => break Some(closed),
                    None => break None,
                }
            };
            drop(waiting);
            drop(syncer);
            drop(database);
            if let Some(closed) = closing {
                // Nobody listens where the service itself was dropped.
                let _ = closed.send(());
            }
        })?;
        Ok(Self { worker: Worker::Thread(jobs) })
    }

    /// An empty database in memory, without a table, on which every caller works at once and in turn: for
    /// simulations, in which nothing may depend on when a thread gets its time.
    ///
    /// # Errors
    ///
    /// When the system gives no memory.
    pub fn in_step() -> Result<Self, DatabaseError> {
        Ok(Self { worker: Worker::Caller(dynoxide::Database::memory()?) })
    }

    /// Runs a job on the database; `None` if it is closed. What nobody waits for any more is not begun.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dynoxide::Database) -> T + Send + 'static,
    ) -> Option<T> {
        let jobs = match &self.worker {
            Worker::Thread(jobs) => jobs,
            Worker::Caller(database) => return Some(work(database)),
        };
        let (reply, replied) = oneshot::channel();
        let job = Job::Work(Box::new(move |database| {
            if !reply.is_closed() {
                // The caller may be gone by now.
                let _ = reply.send(work(database));
            }
        }));
        jobs.send(job).ok()?;
        replied.await.ok()
    }

    /// Answers a request of DynamoDB's protocol with a status and a body; `None` if the
    /// database is closed.
    pub async fn answer(&self, operation: String, body: Vec<u8>) -> Option<(u16, String)> {
        self.run(move |database| operation::answer(database, &operation, &body)).await
    }

    /// Lets waiting jobs finish and closes the file; later requests get no answer.
    pub async fn close(&self) {
        let Worker::Thread(jobs) = &self.worker else { return };
        let (closed, is_closed) = oneshot::channel();
        if jobs.send(Job::Close(closed)).is_ok() {
            // It is dropped where somebody else has closed it meanwhile.
            let _ = is_closed.await;
        }
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
    /// The file is not usable.
    #[error(transparent)]
    Unusable(#[from] DynoxideError),
    /// SQLite takes no such path.
    #[error("the path {} is not Unicode", .0.display())]
    NotUnicode(PathBuf),
    /// The table was closed meanwhile.
    #[error("the table is closed")]
    Closed,
    /// The table cannot be made.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its rows cannot be laid out.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The data folder does not take it.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The system does not let us.
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_database_whose_making_was_cut_off_is_made_anew() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        for left_over in ["vedette.db.new", "vedette.db.new-wal", "vedette.db.new-shm"] {
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
        for other in ["0", "1000", "soon", ""] {
            fs::write(&format, other).expect("written");
            let refused = Database::open(&folder, Fsync::Always).await.expect_err("refused");
            assert!(refused.to_string().contains("another version of Vedette"), "{refused}");
        }
        fs::write(&format, "1").expect("written");
        Database::open(&folder, Fsync::Always).await.expect("opened").close().await;
        assert_eq!(fs::read_to_string(&format).expect("read"), "3", "taken over");
        fs::remove_file(&format).expect("removed");
        Database::open(&folder, Fsync::Always).await.expect_err("made before formats were told");
    }

    #[tokio::test]
    async fn a_closed_database_answers_nobody() {
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
    async fn a_panic_is_one_callers_own() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("opened");
        assert_eq!(database.run(|_| -> u8 { panic!("of one request") }).await, None);
        assert!(database.store().all_teams().await.expect("an answer").is_empty());
    }
}
