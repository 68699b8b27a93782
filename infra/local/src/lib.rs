//! The whole service in one process: the API's gateway, the table, the queues' consumers, the
//! scheduler and the reconciler.
//!
//! All persistent data is in the data folder. Queues and schedules are rebuilt from the table at every start, so a
//! process that was killed loses nothing. [`serve`] is the process of `vedette serve`; [`Service::start`] is the
//! service in it, also for tests.

mod access;
mod agents;
mod background;
mod clock;
mod console;
mod data_folder;
mod demo;
mod expiry;
mod gateway;
mod hosts;
mod lateness;
mod metrics;
mod operator;
mod options;
mod patient_sender;
mod pauses;
mod places;
pub mod process;
mod profiles;
mod serve;
mod service;
mod socket;
mod supervisor;
mod threads;
mod welcome;
mod worker;

pub use access::AccessError;
pub use demo::{DemoError, DemoSite, SITES};
pub use hosts::HostName;
pub use operator::{OPERATOR_URL, Operator};
pub use options::Options;
pub use serve::serve;
pub use service::{Service, StartError};

#[cfg(test)]
mod tests {
    use vedette_embedded::Database;
    use vedette_runtime::config::Service;
    use vedette_runtime::{
        App, Clock, Entropy, Health, LocalQueue, LocalScheduler, Queue, RemoteChecks, Scheduler,
        TxtRecords,
    };

    /// An app whose database has no table, so every request for an item fails.
    pub(crate) fn app_without_table(queue: &LocalQueue) -> App {
        let service = Service::read(&|_| None).expect("nothing needs to be set");
        let clock = Clock::system();
        let database = Database::memory().expect("a database");
        App {
            store: database.store(),
            queue: Queue::Local(queue.clone()),
            scheduler: Scheduler::Local(LocalScheduler::new(clock.clone(), service.time_scale)),
            clock,
            entropy: Entropy::system(),
            service,
            health: Health::default(),
            remote_checks: RemoteChecks::default(),
            txt_records: TxtRecords::default(),
        }
    }
}
