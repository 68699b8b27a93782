//! The parts of a Vedette process: configuration, clock, randomness, ports, telemetry.
//!
//! This is the only crate that reads the environment or the clock, or draws random ids. All others get them as values.

mod app;
pub mod aws;
mod clock;
pub mod config;
mod consumer;
mod destination;
mod entropy;
pub mod health;
pub mod metrics;
mod on_demand;
mod queue;
mod remote_checks;
mod running;
mod scheduler;
mod sdk_http;
mod secret;
pub mod signed;
mod sqs;
pub mod telemetry;
pub mod terminal;
mod txt_records;

pub use app::App;
pub use clock::Clock;
pub use consumer::{Consumer, REFILL_AFTER, SLOW_AFTER};
pub use destination::{Destination, QueueError};
pub use entropy::{Entropy, EntropyError};
pub use health::Health;
pub use queue::{Backlog, LocalQueue, Queue, QueueDelivery};
pub use remote_checks::{PrivateTargets, RemoteChecks, RemoteLocations};
pub use running::{running_time, uninterrupted};
pub use scheduler::{
    EventBridgeScheduler, LocalScheduler, PollingScheduler, Presence, SLOT_PLACEHOLDER, Schedule,
    Scheduler, SchedulerError,
};
pub use secret::{SecretError, secret};
pub use sqs::{SQS_CALL, SqsBody, SqsQueue};
pub use txt_records::TxtRecords;
