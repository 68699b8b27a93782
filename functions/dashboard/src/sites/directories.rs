//! A cache for the directories of large teams, for a few seconds. They take long to read, and each view of the list
//! needs the whole directory for its counts and its order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use vedette_domain::accounts::team::Team;
use vedette_domain::id::TeamId;
use vedette_store::{Directory, Store, StoreError};

/// How long a directory is cached.
const LASTS: SignedDuration = SignedDuration::from_secs(10);
/// The smallest directory that is cached, in sites. Smaller ones are read quickly.
const LARGE: usize = 1_000;
/// How many directories are cached, each a few megabytes.
const KEPT: usize = 4;

/// The directories that were read recently.
#[derive(Debug, Default)]
pub(crate) struct Directories(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    team: TeamId,
    read_at: Timestamp,
    directory: Arc<Directory>,
}

impl Kept {
    /// Whether it is still valid for a team. A site that was just added or deleted shows at once.
    fn shows(&self, team: &Team, now: Timestamp) -> bool {
        self.team == team.id
            && self.directory.rows.len() == team.sites as usize
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
    ) -> Result<Arc<Directory>, StoreError> {
        if let Some(kept) = self.kept().iter().find(|kept| kept.shows(team, now)) {
            return Ok(Arc::clone(&kept.directory));
        }
        let directory = Arc::new(store.tagged_directory(team.id, team.sites as usize).await?);
        let mut kept = self.kept();
        kept.retain(|kept| kept.team != team.id);
        if directory.rows.len() >= LARGE {
            let directory = Arc::clone(&directory);
            kept.insert(0, Kept { team: team.id, read_at: now, directory });
            kept.truncate(KEPT);
        }
        Ok(directory)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
