//! `vedette reconcile`: rebuilds all schedules of a deployment from the table.

use indicatif::{ProgressBar, ProgressStyle};
use vedette_reconciler::{ReconcileProgress, Reconciled, ReconcilerError};
use vedette_runtime::{App, Scheduler};

use crate::Failure;
use crate::output::{Output, Record};

pub(crate) async fn run(app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
    // This process cannot change the timers of another process.
    if matches!(app.scheduler, Scheduler::Local(_)) {
        return Err(Failure::Usage(
            "the schedules of a table on this machine live inside the process of `vedette serve`, which \
             rebuilds them whenever it starts; --aws reconciles a deployment"
                .to_owned(),
        ));
    }
    let bar = progress_bar();
    let progress = |ReconcileProgress { done, total }: ReconcileProgress| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let reconciled = vedette_reconciler::reconcile(app, &progress).await;
    bar.finish_and_clear();
    let Reconciled { sites, put, missing, removed, unreadable, retired } =
        reconciled.map_err(|error| match error {
            ReconcilerError::Store(error) => error.into(),
            other => Failure::because(other),
        })?;
    let mut text = format!(
        "{sites} sites: {put} schedules written, of which {missing} were missing; {removed} removed.\n"
    );
    if retired > 0 {
        text += &format!("Removed {retired} schedules that the current mode does not use.\n");
    }
    let record = Record::default()
        .with("sites", "", sites)
        .with("put", "", put)
        .with("missing", "", missing)
        .with("removed", "", removed)
        .with("unreadable", "", unreadable)
        .with("retired", "", retired);
    out.show(&record.saying(text))?;
    match unreadable {
        0 => Ok(()),
        count => Err(Failure::refused(format!(
            "entries that cannot be read: {count}; VEDETTE_LOG=error names them"
        ))),
    }
}

/// Draws progress on standard error if that is a terminal, and otherwise nothing.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} sites, {eta} left");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use crate::testing::Bench;

    #[tokio::test]
    async fn a_table_on_this_machine_is_none_of_its_business() {
        let bench = Bench::new().await;
        let ran = bench.run("reconcile").await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.said.contains("inside the process of `vedette serve`"), "{}", ran.said);
    }
}
