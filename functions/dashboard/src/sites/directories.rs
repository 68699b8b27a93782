//! A cache for the directories of large teams, for a few seconds. They take long to read, and each view of the list
//! needs the whole directory for its counts and its order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use vedette_domain::accounts::team::Team;
use vedette_domain::id::TeamId;
use vedette_store::{DirectoryRow, Store, StoreError};

/// How long a directory is cached.
const LASTS: SignedDuration = SignedDuration::from_secs(10);
/// The smallest directory that is cached, in sites. Smaller ones are read quickly.
const LARGE: usize = 1_000;
/// How many directories are cached, each a few megabytes.
const KEPT: usize = 4;

/// The directories that were read recently.
#[derive(Debug, Default)]
pub(crate) struct Directories(Mutex<Vec<Directory>>);

#[derive(Debug)]
struct Directory {
    team: TeamId,
    read_at: Timestamp,
    rows: Arc<Vec<DirectoryRow>>,
}

impl Directory {
    /// Whether it is still valid for a team. A site that was just added or deleted shows at once.
    fn shows(&self, team: &Team, now: Timestamp) -> bool {
        self.team == team.id
            && self.rows.len() == team.sites as usize
            && now.duration_since(self.read_at).abs() < LASTS
    }
}

impl Directories {
    /// A team's directory, as it is now or was a few seconds ago if it is cached.
    pub(crate) async fn read(
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
