//! The table of one machine: DynamoDB in this process, on a file in the data folder.
//!
//! The ordinary SDK client uses it, with an HTTP client that passes each request to the database instead of a network,
//! so there is no port that another user or a web page could reach. Another process of the same user, such as the
//! `vedette` command, uses a socket in the data folder, or opens the file itself if no other process has it open.

mod backup;
mod client;
mod database;
mod expiry;
mod files;
mod folder;
mod integrity;
mod jobs;
mod layout;
mod lookup;
mod operation;
mod reach;
mod refusals;
mod restore;
mod schema;
mod socket;
mod sync;
mod watch;

pub use backup::{Backup, BackupDestination, BackupError, BackupRecord, Cancellation, back_up};
pub use client::{sdk_client, store};
pub use database::{Database, DatabaseError};
pub use expiry::{Expiry, Swept};
pub use files::{FileFault, FileProblem, is_read_only};
pub use folder::{Folder, FolderError, INSTALLED_LIGHTHOUSE, left_beside_table};
pub use integrity::{Damage, Examination, TableFault, examine};
pub use jobs::Priority;
pub use layout::TABLE;
pub use reach::{Reached, reach};
pub use refusals::Refusals;
pub use restore::RestoreError;
pub use socket::{Report, Socket, listen, serve};
pub use sync::Fsync;
pub use watch::Watch;
