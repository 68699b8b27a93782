//! `vedette doctor`: whether table and reconciler are well.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use vedette_runtime::App;
use vedette_store::TableState;

use crate::Failure;
use crate::output::{Output, Show};

/// The reconciler looks every minute, and pushes back what it has looked at: work that is due for
/// longer has not been looked at for several passes.
const NEGLECT: SignedDuration = SignedDuration::from_mins(5);
/// How far the work in each shard of the index is counted; more than that is a problem, whatever its
/// exact size.
const COUNTED: usize = 1_000;

pub(crate) async fn run(app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
    let health = examine(app).await?;
    out.show(&health)?;
    match health.problems.len() {
        0 => Ok(()),
        1 => Err(Failure::refused("there is a problem")),
        count => Err(Failure::refused(format!("there are {count} problems"))),
    }
}

async fn examine(app: &App) -> Result<Health, Failure> {
    let mut health = Health::default();
    match app.store.table_state().await? {
        TableState::Missing => {
            health.problems.push("the table does not exist".to_owned());
            return Ok(health);
        }
        TableState::WithoutWorkIndex => {
            let problem =
                "the table lacks the index of outstanding work, so the reconciler is blind";
            health.problems.push(problem.to_owned());
        }
        TableState::Whole => {
            let now = app.clock.now();
            health.overdue = Some(overdue(app, now).await?);
            let neglected = overdue(app, now.saturating_sub(NEGLECT).unwrap_or(now)).await?;
            if neglected > 0 {
                health.problems.push(format!(
                    "due for more than 5 minutes: {neglected}; no reconciler runs, or it fails"
                ));
            }
        }
    }
    health.teams = Some(app.store.all_teams().await?.len());
    Ok(health)
}

async fn overdue(app: &App, by: Timestamp) -> Result<usize, Failure> {
    Ok(app.store.overdue(by, COUNTED).await?.len())
}

/// What was found; `None` if it could not be examined.
#[derive(Default, Serialize)]
struct Health {
    teams: Option<usize>,
    overdue: Option<usize>,
    problems: Vec<String>,
}

impl Show for Health {
    fn text(&self) -> String {
        let facts = [
            self.teams.map(|count| format!("teams: {count}\n")),
            self.overdue.map(|count| format!("work due: {count}\n")),
        ];
        let problems = self.problems.iter().map(|problem| format!("problem: {problem}\n"));
        facts.into_iter().flatten().chain(problems).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Bench;

    #[tokio::test]
    async fn a_healthy_table_is_counted() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        bench.json(&format!("plan set {team} growth")).await;
        let ran = bench.run("doctor").await;
        assert_eq!((ran.code, ran.said.as_str()), (0, ""));
        insta::assert_snapshot!(ran.out, @r"
        teams: 1
        work due: 1
        ");
    }

    #[tokio::test]
    async fn work_that_nobody_looks_at_is_a_problem() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        bench.json(&format!("plan set {team} growth")).await;
        bench.pass(301);
        let ran = bench.run("doctor --json").await;
        assert_eq!((ran.code, ran.said.as_str()), (1, "there is a problem"));
        insta::assert_snapshot!(ran.out, @r#"
        {
          "teams": 1,
          "overdue": 1,
          "problems": [
            "due for more than 5 minutes: 1; no reconciler runs, or it fails"
          ]
        }
        "#);
    }

    #[tokio::test]
    async fn a_missing_table_is_a_problem() {
        let bench = Bench::without_table();
        let ran = bench.run("doctor").await;
        assert_eq!((ran.code, ran.said.as_str()), (1, "there is a problem"));
        assert_eq!(ran.out, "problem: the table does not exist\n");
        // Every other command finds that out, too.
        let ran = bench.run("team list").await;
        assert_eq!(ran.code, 3);
        assert!(ran.said.contains("ResourceNotFoundException"), "{}", ran.said);
    }

    #[tokio::test]
    async fn a_table_that_does_not_answer_has_its_own_exit_code() {
        let ran = Bench::closed().await.run("doctor").await;
        assert_eq!((ran.code, ran.out.as_str()), (3, ""));
        assert!(ran.said.starts_with("the table in the data folder `data` does not answer: "));
        assert_eq!(ran.said.lines().count(), 1);
    }
}
