//! The directories of large teams, which are taken for what they are for a few seconds: they take long to read, and
//! every look at the list needs them whole, for its counts and its order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use vedette_domain::accounts::team::Team;
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

#[derive(Debug)]
struct Directory {
    team: TeamId,
    read_at: Timestamp,
    rows: Arc<Vec<DirectoryRow>>,
}

impl Directory {
    /// Whether it still tells of a team. A site that was just added or deleted is seen at once.
    fn shows(&self, team: &Team, now: Timestamp) -> bool {
        self.team == team.id
            && self.rows.len() == team.sites as usize
            && now.duration_since(self.read_at).abs() < LASTS
    }
}

impl Directories {
    /// A team's directory as it is, or as it was a few seconds ago if somebody has read it then.
    pub(super) async fn read(
        &self,
        store: &Store,
        team: &Team,
        now: Timestamp,
    ) -> Result<Arc<Vec<DirectoryRow>>, StoreError> {
        if let Some(directory) = self.kept().iter().find(|directory| directory.shows(team, now)) {
            return Ok(Arc::clone(&directory.rows));
        }
        let rows = Arc::new(store.directory(team.id, team.sites as usize).await?);
        let mut kept = self.kept();
        kept.retain(|directory| directory.team != team.id);
        if rows.len() >= LARGE {
            kept.insert(0, Directory { team: team.id, read_at: now, rows: Arc::clone(&rows) });
            kept.truncate(KEPT);
        }
        Ok(rows)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Directory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
