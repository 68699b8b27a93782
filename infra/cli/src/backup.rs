//! `vedette backup` and `vedette restore`: copy the table of this machine into a file, and back.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use vedette_embedded::{
    Backup as Made, BackupDestination, BackupError, BackupRecord, Cancellation, Folder,
    FolderError, Reached, back_up, reach,
};
use vedette_ops::ErrorChain;
use vedette_runtime::Clock;

use crate::Failure;
use crate::output::{Output, Record, moment};
use crate::target::{no_table, not_opened};

/// The version that made a backup, which `restore` prints.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The file to write; it must not exist yet
    #[arg(value_name = "FILE", required_unless_present = "to", conflicts_with = "to")]
    file: Option<PathBuf>,
    /// Write the backup to this folder, and name it after the current time. Creates the folder if it does not exist
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
    /// How many backups to keep in the folder. Deletes the oldest ones [default: all]
    #[arg(long, value_name = "COUNT", requires = "to", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
}

impl Backup {
    pub(crate) async fn run(
        &self,
        data: &Path,
        clock: &Clock,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let keep = self.keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX));
        let destination = match (&self.file, &self.to) {
            (_, Some(path)) => BackupDestination::Folder { path: path.clone(), keep },
            (Some(file), None) => BackupDestination::File(file.clone()),
            (None, None) => return Err(Failure::Usage("a backup needs a FILE or --to".to_owned())),
        };
        let (folder, now) = (data.to_owned(), clock.now());
        let cancellation = Cancellation::default();
        let stopped = asked_to_stop().map_err(Failure::because)?;
        let mut work = spawn_blocking({
            let cancellation = cancellation.clone();
            move || back_up(&folder, &destination, VERSION, now, &cancellation)
        });
        let made = tokio::select! {
            made = &mut work => made,
            () = stopped => {
                cancellation.cancel();
                work.await
            }
        };
        let made = made.map_err(Failure::because)?.map_err(|error| not_made(data, error))?;
        Ok(out.show(&backed_up(&made))?)
    }
}

/// Completes when this process is interrupted or terminated.
fn asked_to_stop() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The backup; its checksum is in FILE.sha256
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Restore without the checksum file, if it was lost
    #[arg(long)]
    no_checksum: bool,
}

impl Restore {
    pub(crate) async fn run(&self, data: &Path, out: &mut Output<'_>) -> Result<(), Failure> {
        if !self.file.is_file() {
            return Err(Failure::refused(format!("there is no file {}", self.file.display())));
        }
        Folder::make(data).map_err(Failure::because)?;
        let folder = match reach(data).await {
            Ok(Reached::Free(folder)) => folder,
            Ok(Reached::Served(_)) => {
                let why = FolderError::InUse(data.to_owned());
                return Err(Failure::refused(format!(
                    "{why}: stop the service, or choose another folder with --data"
                )));
            }
            Err(error) => return Err(Failure::because(error)),
        };
        let (file, checksum) = (self.file.clone(), !self.no_checksum);
        let restored = spawn_blocking(move || folder.restore(&file, checksum)).await;
        let record = restored.map_err(Failure::because)?.map_err(Failure::because)?;
        let text = format!(
            "Restored into {}: {}, as of {}.\nStart the service on this folder to continue.",
            data.display(),
            contents(&record),
            moment(record.created_at)
        );
        let restored = Record::default().with("data", "", data.display().to_string());
        Ok(out.show(&restored.with("record", "", json!(record)).saying(text))?)
    }
}

fn not_made(data: &Path, error: BackupError) -> Failure {
    let why = ErrorChain(&error).to_string();
    match error {
        BackupError::NoTable(_) => no_table(data),
        BackupError::Folder(_) | BackupError::Unreadable { .. } | BackupError::Damaged(_) => {
            not_opened(data, &error)
        }
        BackupError::InDataFolder(_) | BackupError::Partial(_) => Failure::Usage(why),
        BackupError::Exists(_)
        | BackupError::UnderWay(_)
        | BackupError::Cancelled
        | BackupError::Full { .. }
        | BackupError::Copy { .. }
        | BackupError::Io { .. } => Failure::Refused(why),
    }
}

/// The contents of a backup, for people.
fn contents(record: &BackupRecord) -> String {
    let BackupRecord { items, users, teams, sites, .. } = record;
    format!("{sites} sites of {teams} teams, {users} users, {items} items in total")
}

fn backed_up(made: &Made) -> Record {
    let Made { file, checksum, size, record, removed } = made;
    let mut text = format!(
        "{}: {}, {size} bytes.\nIts checksum is in {}.\n",
        file.display(),
        contents(record),
        checksum.display()
    );
    let removed: Vec<_> = removed.iter().map(|old| old.display().to_string()).collect();
    for old in &removed {
        text += &format!("Removed {old}.\n");
    }
    Record::default()
        .with("file", "", file.display().to_string())
        .with("checksum_file", "", checksum.display().to_string())
        .with("bytes", "", *size)
        .at("created_at", "", record.created_at)
        .with("format", "", record.format)
        .with("items", "", record.items)
        .with("users", "", record.users)
        .with("teams", "", record.teams)
        .with("sites", "", record.sites)
        .with("removed", "", removed)
        .saying(text)
}
