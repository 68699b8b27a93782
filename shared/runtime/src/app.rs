use vedette_store::Store;

use crate::config::Service;
use crate::{Clock, Entropy, Queue, Scheduler};

/// What every handler works with.
#[derive(Debug, Clone)]
pub struct App {
    /// The table.
    pub store: Store,
    /// Where messages go.
    pub queue: Queue,
    /// Who fires recurring runs.
    pub scheduler: Scheduler,
    /// What time it is.
    pub clock: Clock,
    /// Where random ids come from.
    pub entropy: Entropy,
    /// How this service is set up.
    pub service: Service,
}
