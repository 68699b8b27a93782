//! `/teams/{team}/metrics`.

use vedette_ops::exposition::Exposition;

pub(crate) mod get;
mod heartbeats;

/// A metric with at most one series for each site or heartbeat.
struct Gauge<T> {
    name: &'static str,
    help: &'static str,
    /// `None` if nothing is known.
    value: fn(&T) -> Option<f64>,
}

impl<T> Gauge<T> {
    /// Adds it to the exposition. `all` are the sites or heartbeats with their ids.
    fn add<'a>(
        &self,
        exposition: &mut Exposition,
        label: &str,
        all: impl Iterator<Item = (&'a str, &'a T)>,
    ) where
        T: 'a,
    {
        let mut metric = exposition.gauge(self.name, self.help);
        for (id, of) in all {
            if let Some(value) = (self.value)(of) {
                metric.series(&[(label, id)], value);
            }
        }
    }
}
