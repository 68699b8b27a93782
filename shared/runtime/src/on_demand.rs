//! Clients of AWS services that are created when they are first needed.

use std::sync::{Arc, LazyLock};

/// A client that is created on first use. Creating one reads the list of AWS's endpoints. Many functions need only the
/// table and start sooner without it.
pub(crate) type OnDemand<Client> = Arc<LazyLock<Client, Box<dyn FnOnce() -> Client + Send>>>;

/// The client that this function creates.
pub(crate) fn on_demand<Client>(
    make: impl FnOnce() -> Client + Send + 'static,
) -> OnDemand<Client> {
    Arc::new(LazyLock::new(Box::new(make)))
}
