//! The directories of large teams, which are taken for what they are for a few seconds: they take long to read, and
//! every look at the list needs them whole, for its counts and its order. Later they still tell how much there is to
//! read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use vedette_domain::id::TeamId;
use vedette_store::{DirectoryRow, Store, StoreError};

/// How long a directory is taken for what it is.
const LASTS: SignedDuration = SignedDuration::from_secs(10);
/// The least sites of a directory that is kept: fewer are read in no time.
const LARGE: usize = 1_000;
/// How many directories are kept, each of some megabytes.
const KEPT: usize = 4;

/// The directories that were read lately.
#[derive(Debug, Default)]
pub(crate) struct Directories(Mutex<Vec<Directory>>);

#[derive(Debug, Clone)]
struct Directory {
    team: TeamId,
    read_at: Timestamp,
    rows: Arc<Vec<DirectoryRow>>,
}

impl Directory {
    fn is_recent(&self, now: Timestamp) -> bool {
        now.duration_since(self.read_at).abs() < LASTS
    }
}

impl Directories {
    /// A team's directory as it was a few seconds ago, if somebody has read it then.
    pub(super) fn recent(&self, team: TeamId, now: Timestamp) -> Option<Arc<Vec<DirectoryRow>>> {
        self.last(team).filter(|directory| directory.is_recent(now)).map(|directory| directory.rows)
    }

    /// A team's directory as it is.
    pub(super) async fn read(
        &self,
        store: &Store,
        team: TeamId,
        now: Timestamp,
    ) -> Result<Arc<Vec<DirectoryRow>>, StoreError> {
        let about = self.last(team).map(|directory| directory.rows.len());
        let rows = Arc::new(store.directory(team, about).await?);
        let mut kept = self.kept();
        kept.retain(|directory| directory.team != team);
        if rows.len() >= LARGE {
            kept.insert(0, Directory { team, read_at: now, rows: Arc::clone(&rows) });
            kept.truncate(KEPT);
        }
        Ok(rows)
    }

    /// A team's directory as it was when it was read last, however long ago.
    fn last(&self, team: TeamId) -> Option<Directory> {
        self.kept().iter().find(|directory| directory.team == team).cloned()
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Directory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
