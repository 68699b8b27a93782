//! The table: DynamoDB on a file, served on a port of the loopback.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::error;
use vedette_runtime::aws::{LOCAL_TABLE, local_store};
use vedette_store::{Store, StoreError};

use crate::folder::{Folder, FolderError};

/// The running database.
#[derive(Debug)]
pub(crate) struct Database {
    address: SocketAddr,
    /// Stops the server when it is sent, and also when it is dropped.
    stop: oneshot::Sender<()>,
    /// Comes, or is dropped, when the file is closed.
    closed: oneshot::Receiver<()>,
}

/// A handle by which items are forgotten whose time has passed.
#[derive(Clone)]
pub(crate) struct Sweeper(dynoxide::Database);

/// How long requests may take to finish at the end.
const GRACE: Duration = Duration::from_secs(3);

impl Database {
    /// Opens the folder's database and serves it; makes it first where it is missing.
    pub(crate) async fn open(
        folder: &Folder,
        listener: TcpListener,
    ) -> Result<(Self, Sweeper), DatabaseError> {
        let file = folder.database();
        if !file.try_exists()? {
            Self::make(folder, &file).await?;
        }
        Self::serve(&file, listener)
    }

    /// Makes the file with the table in it under another name, and names it when it is whole: a
    /// table whose making was cut off could neither be used nor made again.
    async fn make(folder: &Folder, file: &Path) -> Result<(), DatabaseError> {
        let draft = folder.draft(file)?;
        let (database, _) = Self::serve(&draft, TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?)?;
        database.store().create_table().await?;
        if !database.stop().await {
            return Err(DatabaseError::Broken(format!("{} is not closed", draft.display())));
        }
        Ok(folder.put(&draft, file)?)
    }

    /// Serves a file.
    ///
    /// The server works on threads of its own: it waits for the disk on them, and a check that
    /// measures a site's response time must not wait with it. Two, since a request that is being
    /// read or answered need not wait for the one that has the file.
    fn serve(path: &Path, listener: TcpListener) -> Result<(Self, Sweeper), DatabaseError> {
        let name = path.to_str().ok_or_else(|| {
            DatabaseError::Broken(format!("the path {} is not Unicode", path.display()))
        })?;
        let database = dynoxide::Database::new(name)
            .map_err(|error| DatabaseError::Broken(format!("{name}: {error}")))?;
        let sweeper = Sweeper(database.clone());
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("database")
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let (closing, closed) = oneshot::channel();
        thread::Builder::new().name("database".to_owned()).spawn(move || {
            let served = runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)
                    .map_err(|error| error.to_string())?;
                let stopped = async { drop(stopped.await) };
                dynoxide::server::serve_with_shutdown(listener, database, stopped).await
            });
            if let Err(error) = served {
                error!(%error, "the table is served no more");
            }
            drop(runtime);
            // Nobody listens where the service itself was dropped.
            let _ = closing.send(());
        })?;
        Ok((Self { address, stop, closed }, sweeper))
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The table in it.
    pub(crate) fn store(&self) -> Store {
        local_store(&format!("http://{}", self.address), LOCAL_TABLE)
    }

    /// Lets running requests finish and closes the file; says whether that was done in time. If
    /// not, what was answered is on the disk all the same, and the next start finds it.
    pub(crate) async fn stop(self) -> bool {
        // It fails where the server has ended already.
        let _ = self.stop.send(());
        tokio::time::timeout(GRACE, self.closed).await.is_ok()
    }
}

impl Sweeper {
    /// Removes the items whose time has passed, and says how many; waits for the disk.
    pub(crate) fn sweep(&self) -> Result<usize, DatabaseError> {
        self.0.sweep_ttl().map_err(|error| DatabaseError::Broken(error.to_string()))
    }
}

/// What can go wrong with the table's file.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file is not usable.
    #[error("{0}")]
    Broken(String),
    /// The table cannot be made.
    #[error(transparent)]
    Store(#[from] StoreError),
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
        let folder = Folder::lock(temporary.path()).expect("locked");
        for left_over in ["vedette.db.new", "vedette.db.new-wal", "vedette.db.new-shm"] {
            fs::write(temporary.path().join(left_over), "half").expect("written");
        }
        for _ in 0..2 {
            let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            let (database, sweeper) = Database::open(&folder, socket).await.expect("opened");
            assert!(database.store().all_teams().await.expect("an answer").is_empty());
            assert_eq!(sweeper.sweep().expect("swept"), 0);
            drop(sweeper);
            assert!(database.stop().await);
        }
        let mut files: Vec<_> = fs::read_dir(temporary.path())
            .expect("a folder")
            .map(|entry| entry.expect("a file").file_name())
            .collect();
        files.sort();
        assert_eq!(files, ["lock", "vedette.db"]);
    }
}
