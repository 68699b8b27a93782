//! `vedette health`: reports whether the service on this machine runs and can do its work.

use serde::Serialize;
use vedette_runtime::health::Notice;

use crate::Failure;
use crate::output::{Output, Show};

/// The service's report about its own health.
#[derive(Serialize)]
struct Health<'a> {
    problems: &'a [Notice],
}

impl Show for Health<'_> {
    fn text(&self) -> String {
        let problems = self.problems.iter();
        let problems: String = problems
            .map(|Notice { what, remedy, .. }| format!("{what}\n  to do: {remedy}\n"))
            .collect();
        if problems.is_empty() { "healthy\n".to_owned() } else { problems }
    }
}

pub(crate) fn tell(problems: &[Notice], out: &mut Output<'_>) -> Result<(), Failure> {
    out.show(&Health { problems })?;
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Failure::refused("the service cannot do all of its work"))
    }
}

#[cfg(test)]
mod tests {
    use vedette_runtime::health::ServiceProblem;

    use crate::testing::Bench;

    #[tokio::test]
    async fn a_service_that_cannot_save_is_not_healthy() {
        let bench = Bench::new().await;
        let ran = bench.run("health").await;
        assert_eq!((ran.code, ran.out.as_str()), (0, "healthy\n"));
        let disk_full = ServiceProblem::NotWritable { why: "disk full".to_owned() };
        bench.app.health.report(disk_full, bench.app.clock.now());
        let ran = bench.run("health").await;
        assert_eq!((ran.code, ran.said.as_str()), (1, "the service cannot do all of its work"));
        assert!(ran.out.starts_with("Nothing can be saved (disk full)"), "{}", ran.out);
    }
}
