use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// The clock.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
        Self(Arc::new(Timestamp::now))
    }

    /// A clock that reads a function.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Now, in whole milliseconds. This is the resolution of ids and keys, so that an instant compares the same before
    /// and after it was stored.
    pub fn now(&self) -> Timestamp {
        let now = (self.0)();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    /// The time until an instant in milliseconds of the Unix epoch, such as an invocation's
    /// deadline.
    pub fn until(&self, deadline: u64) -> Duration {
        let now = u64::try_from(self.now().as_millisecond()).unwrap_or(0);
        Duration::from_millis(deadline.saturating_sub(now))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}
