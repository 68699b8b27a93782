//! `vedette doctor`: what is wrong with a table and its reconciler, or with a whole deployment, and
//! what to do about it.

mod deployment;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use vedette_runtime::App;
use vedette_runtime::health::Notice;
use vedette_store::TableState;

use crate::Failure;
use crate::aws::Account;
use crate::output::{Output, Show, moment, wire};

/// The reconciler looks every minute, and pushes back what it has looked at: work that is due for
/// longer has not been looked at for several passes.
const NEGLECT: SignedDuration = SignedDuration::from_mins(5);
/// How far the work in each shard of the index is counted; more than that is a problem, whatever its
/// exact size.
const COUNTED: usize = 1_000;

/// Examines a table and its reconciler. `notices` are what the service says of its own health.
pub(crate) async fn run(
    app: &App,
    notices: &[Notice],
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let mut health = Health::default();
    health.problems.extend(notices.iter().cloned().map(Problem::from));
    match examine(app, &mut health).await {
        // What the service says may be why the table does not answer.
        Err(failure) if !health.problems.is_empty() => {
            out.show(&health)?;
            Err(failure)
        }
        examined => examined.and_then(|_| tell(&health, out)),
    }
}

/// Examines a deployment.
pub(crate) async fn run_aws(
    account: &Account,
    stack: Option<&str>,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    tell(&deployment::examine(account, stack).await?, out)
}

fn tell(health: &Health, out: &mut Output<'_>) -> Result<(), Failure> {
    out.show(health)?;
    match health.problems.len() {
        0 => Ok(()),
        1 => Err(Failure::refused("there is a problem")),
        count => Err(Failure::refused(format!("there are {count} problems"))),
    }
}

/// Looks at the table, and at what is outstanding in it. Says no where there is no table to look
/// further at.
async fn examine(app: &App, health: &mut Health) -> Result<bool, Failure> {
    match app.store.table_state().await? {
        TableState::Missing => {
            health.problem(
                "the table does not exist",
                "restore it from a backup, or let vedette-local or the template make a new one",
            );
            return Ok(false);
        }
        TableState::WithoutWorkIndex => health.problem(
            "the table lacks the index of outstanding work, so the reconciler is blind",
            "add the index `work` as template.yaml declares it",
        ),
        TableState::Whole => {
            let now = app.clock.now();
            health.overdue = Some(overdue(app, now).await?);
            let neglected = overdue(app, now.saturating_sub(NEGLECT).unwrap_or(now)).await?;
            if neglected > 0 {
                health.problem(
                    format!(
                        "due for more than 5 minutes: {neglected}; no reconciler runs, or it fails"
                    ),
                    "start vedette-local, or look at the log of the function `redelivery`",
                );
            }
        }
    }
    health.teams = Some(app.store.all_teams().await?.len());
    Ok(true)
}

async fn overdue(app: &App, by: Timestamp) -> Result<usize, Failure> {
    Ok(app.store.overdue(by, COUNTED).await?.len())
}

/// What was found; `None` if it could not be examined, or belongs to no deployment.
#[derive(Default, Serialize)]
struct Health {
    teams: Option<usize>,
    overdue: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deployment: Option<Found>,
    problems: Vec<Problem>,
}

/// What was found of a deployment.
#[derive(Default, Serialize)]
struct Found {
    /// The stack's state, in CloudFormation's word.
    stack: Option<String>,
    sites: Option<u64>,
    schedules: Option<u64>,
    dead_letters: Option<u64>,
    /// Functions that the account may run at once.
    places: Option<u64>,
    /// What these credentials may not look at.
    unseen: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Problem {
    /// Since when the service reports it; `None` for what was found just now.
    #[serde(skip_serializing_if = "Option::is_none", with = "wire::optional")]
    since: Option<Timestamp>,
    what: String,
    remedy: String,
}

impl From<Notice> for Problem {
    fn from(Notice { since, what, remedy }: Notice) -> Self {
        Self { since: Some(since), what, remedy }
    }
}

impl Health {
    fn problem(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem { since: None, what: what.into(), remedy: remedy.into() });
    }

    fn found(&mut self) -> &mut Found {
        self.deployment.get_or_insert_default()
    }
}

impl Show for Health {
    fn text(&self) -> String {
        let found = self.deployment.as_ref();
        let count = |count: Option<u64>| count.map(|count| count.to_string());
        let facts = [
            ("stack", found.and_then(|found| found.stack.clone())),
            ("teams", self.teams.map(|count| count.to_string())),
            ("sites", found.and_then(|found| count(found.sites))),
            ("schedules", found.and_then(|found| count(found.schedules))),
            ("dead letters", found.and_then(|found| count(found.dead_letters))),
            ("functions at once", found.and_then(|found| count(found.places))),
            ("work due", self.overdue.map(|count| count.to_string())),
        ];
        let facts = facts.into_iter().filter_map(|(name, fact)| Some((name, fact?)));
        let facts = facts.map(|(name, fact)| format!("{name}: {fact}\n"));
        let unseen = found.iter().flat_map(|found| &found.unseen);
        let unseen = unseen.map(|what| format!("not looked at: {what}\n"));
        let problems = self.problems.iter().map(|Problem { since, what, remedy }| {
            let since = since.map(|since| format!(" since {}", moment(since))).unwrap_or_default();
            format!("problem{since}: {what}\n  to do: {remedy}\n")
        });
        facts.chain(unseen).chain(problems).collect()
    }
}

#[cfg(test)]
mod tests {
    use vedette_runtime::health::Problem;

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
    async fn what_the_service_says_of_itself_is_a_problem() {
        let disk_full = || Problem::NotWritable { why: "disk full".to_owned() };
        let bench = Bench::new().await;
        bench.app.health.report(disk_full(), bench.app.clock.now());
        bench.pass(60);
        let ran = bench.run("doctor").await;
        assert_eq!((ran.code, ran.said.as_str()), (1, "there is a problem"));
        let problem = "problem since 2026-11-20 09:54:00 UTC: Nothing can be saved (disk full)";
        assert!(ran.out.contains(problem), "{}", ran.out);
        let ran = bench.run("doctor --json").await;
        assert!(ran.out.contains(r#""since": "2026-11-20T09:54:00+00:00""#), "{}", ran.out);

        let bench = Bench::closed().await;
        bench.app.health.report(disk_full(), bench.app.clock.now());
        let ran = bench.run("doctor").await;
        assert_eq!(ran.code, 3, "the table does not answer");
        assert!(ran.out.contains(problem), "{}", ran.out);
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
            {
              "what": "due for more than 5 minutes: 1; no reconciler runs, or it fails",
              "remedy": "start vedette-local, or look at the log of the function `redelivery`"
            }
          ]
        }
        "#);
    }

    #[tokio::test]
    async fn a_missing_table_is_a_problem() {
        let bench = Bench::without_table();
        let ran = bench.run("doctor").await;
        assert_eq!((ran.code, ran.said.as_str()), (1, "there is a problem"));
        assert!(ran.out.starts_with("problem: the table does not exist\n  to do: restore it"));
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
