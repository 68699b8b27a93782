//! The single DynamoDB table of Vedette.
//!
//! There is one file for each entity. Every key is in [`keys`], and every call to DynamoDB is in [`table`] and
//! [`transaction`]. Every write has a condition. Reads that a decision depends on, or that follow a write, are strongly
//! consistent; the read at the start of a run is the exception. `ACCESS_PATTERNS.md` lists the access patterns.
//!
//! # Errors
//!
//! Every call fails with [`StoreError::Unavailable`] if DynamoDB does not answer, and with
//! [`StoreError::Corrupt`] if an item is not what this version writes. A call that can fail in
//! another way says so.

mod account;
mod agent;
mod audit;
mod block;
mod changes;
mod channel;
mod clock;
mod configuration;
mod copying;
mod days;
mod definition;
mod directory;
mod error;
mod evidence;
mod failing;
mod grant;
mod heartbeat;
mod history;
mod incident;
mod invitation;
mod issue;
mod item;
pub mod keys;
mod monitor;
mod notification;
mod outage;
mod polled_run;
mod rate_limit;
mod report;
mod retry;
mod row;
mod run;
mod session;
mod setup;
mod site;
mod status_page;
mod subscription;
mod sync;
mod table;
mod team;
mod throttling;
mod transaction;
mod work;

pub use account::{Account, MemberRow};
pub use audit::{Audit, AuditPage};
pub use block::fits_a_unit;
pub use changes::{Changes, Usage};
pub use channel::{ChannelRef, ChannelSync, Deliveries, FanOut, Off, UrlClaim};
pub use copying::{Copied, CopyConflict, CopyMark, CopyPart, CopyPlan, CopyRules};
pub use days::HistoryAccess;
pub use definition::TableState;
pub use directory::{Directory, DirectoryRow};
pub use error::{StoreError, unless_conflict};
pub use evidence::{EVIDENCE_MAX, IssueEvidence};
pub use failing::{Attention, Trouble};
pub use grant::{Action, Grant};
pub use heartbeat::{
    HeartbeatConflict, HeartbeatDeletion, HeartbeatUpdate, StoredHeartbeat, heartbeat_conflict,
};
pub use history::StoredCheck;
pub use invitation::Newcomer;
pub use issue::{IndexRow, IssueWithMonitor};
pub use item::Readable;
pub use polled_run::{PolledPage, PolledPlace, PolledRun};
pub use rate_limit::{Requests, Taken};
pub use report::ReportPart;
pub use retry::{Backoff, MayConflict, budget, retry_on_conflict};
pub use run::RunContext;
pub use site::{
    CreateRefusal, DeletedSite, Purged, SiteDeletion, SiteUpdate, SiteWithTools, create_refusal,
    is_taken_url,
};
pub use status_page::{PageConflict, is_taken_slug, page_conflict};
pub use subscription::is_full;
pub use sync::{SyncSlice, Versions};
pub use table::Store;
pub use team::TeamWithSettings;
pub use throttling::retry_config;
pub use work::Outstanding;
