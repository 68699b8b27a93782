//! `vedette metrics`: prints the metrics of the service on this machine.

use serde::Serialize;
use vedette_embedded::Report;

use crate::Failure;
use crate::output::{Output, Show};
use crate::target::Target;

/// The metrics in Prometheus's text format.
#[derive(Serialize)]
#[serde(transparent)]
struct Metrics(String);

impl Show for Metrics {
    fn text(&self) -> String {
        self.0.clone()
    }
}

pub(crate) async fn show(target: &Target, out: &mut Output<'_>) -> Result<(), Failure> {
    let report = target.report(Report::Metrics).await?.ok_or_else(|| {
        Failure::refused("the service has an older version, which has no metrics")
    })?;
    out.show(&Metrics(String::from_utf8_lossy(&report).into_owned()))?;
    Ok(())
}
