//! Clients of AWS services that are created when they are first needed.

use std::sync::{Arc, LazyLock};

/// A client that is created on first use. Making one reads where AWS has endpoints; many functions need the
/// table alone, and these start sooner.
pub(crate) type OnDemand<Client> = Arc<LazyLock<Client, Box<dyn FnOnce() -> Client + Send>>>;

/// The client that this makes.
pub(crate) fn on_demand<Client>(
    make: impl FnOnce() -> Client + Send + 'static,
) -> OnDemand<Client> {
    Arc::new(LazyLock::new(Box::new(make)))
}
