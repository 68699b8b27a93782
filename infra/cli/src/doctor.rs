//! `vedette doctor`: finds problems with a table and its reconciler, or with a whole deployment, and says what to do
//! about them.

mod deployment;

use std::path::Path;
use std::time::Duration;

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use tokio::time::timeout;
use vedette_domain::clock::Jump;
use vedette_domain::time::wire_time_or_null;
use vedette_embedded::Examination;
use vedette_runtime::App;
use vedette_runtime::health::{Notice, ServiceProblem as Reported};
use vedette_store::{StoreError, TableState, budget, retry_on_conflict};

use crate::Failure;
use crate::aws::Account;
use crate::output::{Output, Show, moment};

/// How long work may be overdue. The reconciler handles overdue work every minute and postpones it, so several of its
/// passes have missed work that is overdue for longer.
const NEGLECT: SignedDuration = SignedDuration::from_mins(5);
/// Up to how many pieces of work are counted in each shard of the index. More is a problem, whatever the exact number.
const COUNTED: usize = 1_000;

/// How long the table of a service may take to answer everything.
const PATIENCE: Duration = Duration::from_secs(60);
/// What to do about a service that does not answer.
const SILENT: &str = "check whether the process is suspended or the machine is overloaded; if the service still does \
                      not answer, restart it";
/// What to do about a service on a read-only data folder.
const READ_ONLY: &str = "make the folder writable; the service then continues by itself";

/// The options of `vedette doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Confirm that this machine's clock is right after a jump
    ///
    /// Until then, no history expires. Without this option, Vedette trusts the clock again when it has not jumped for
    /// 24 hours.
    #[arg(long)]
    accept_clock: bool,
}

impl Doctor {
    /// Examines a table and its reconciler. `notices` are the problems that the service reports about itself. `data` is
    /// the folder with the table, if it is on this machine.
    pub(crate) async fn run(
        &self,
        app: &App,
        notices: &[Notice],
        data: Option<&Path>,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let mut health = Health::default();
        health.problems.extend(notices.iter().cloned().map(ServiceProblem::from));
        if let Some(data) = data {
            examine_file(data, &mut health).await;
        }
        if self.accept_clock
            && let Some(jump) = accept_clock(app).await?
        {
            // The service notices it within seconds.
            let accepted = Reported::ClockJumped { jump }.what();
            health.problems.retain(|problem| problem.what != accepted);
        }
        let examined = timeout(PATIENCE, examine(app, &mut health)).await.unwrap_or_else(|_| {
            let seconds = PATIENCE.as_secs();
            Err(Failure::Silent(format!("the table has not answered for {seconds} seconds")))
        });
        match examined {
            // The problems that the service reports may be the reason why the table does not answer.
            Err(failure) if !health.problems.is_empty() => {
                out.show(&health)?;
                Err(failure)
            }
            examined => examined.and_then(|_| tell(&health, out)),
        }
    }

    /// Examines what can be examined of a data folder whose service cannot be asked. The reason is a problem. If the
    /// service is silent, nobody knows whether it works.
    pub(crate) async fn run_without_service(
        reason: Failure,
        data: &Path,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let mut health = Health::default();
        let is_silent = matches!(reason, Failure::Silent(_));
        health.problem(reason.to_string(), if is_silent { SILENT } else { READ_ONLY });
        examine_file(data, &mut health).await;
        if !is_silent {
            return tell(&health, out);
        }
        out.show(&health)?;
        Err(reason)
    }

    /// Examines a deployment.
    pub(crate) async fn run_aws(
        &self,
        account: &Account,
        stack: Option<&str>,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        if self.accept_clock {
            return Err(Failure::Usage("AWS sets the clocks of a deployment".to_owned()));
        }
        tell(&deployment::examine(account, stack).await?, out)
    }
}

/// Confirms the clock. Returns the unconfirmed jump, if there was one.
async fn accept_clock(app: &App) -> Result<Option<Jump>, Failure> {
    let accepted = retry_on_conflict(budget::WRITE, || async {
        let Some(record) = app.store.clock().await? else { return Ok(None) };
        let Some(accepted) = record.accepted() else { return Ok(None) };
        app.store.put_clock(&accepted).await?;
        Ok::<_, StoreError>(record.doubt.map(|doubt| doubt.jump))
    });
    Ok(accepted.await?)
}

fn tell(health: &Health, out: &mut Output<'_>) -> Result<(), Failure> {
    out.show(health)?;
    match health.problems.len() {
        0 => Ok(()),
        1 => Err(Failure::refused("there is a problem")),
        count => Err(Failure::refused(format!("there are {count} problems"))),
    }
}

/// Checks the structure of the table's file, however long that takes, and looks for what was left beside it.
async fn examine_file(data: &Path, health: &mut Health) {
    for name in vedette_embedded::left_beside_table(data) {
        let left = data.join(name);
        health.problem(
            format!("{} was left by a start or a restore that was interrupted", left.display()),
            "remove it, and the files whose names begin with its name; the service does not use them",
        );
    }
    match vedette_embedded::examine(data, None).await {
        Ok(Examination::Sound) => health.file = Some("sound"),
        Ok(Examination::Unfinished | Examination::Impossible) => {}
        Err(fault) => {
            health.file = Some("damaged");
            health.problem(format!("{} {}", fault.file.display(), fault.damage), fault.remedy());
        }
    }
}

/// Examines the table and the outstanding work in it. Returns whether there is a table.
async fn examine(app: &App, health: &mut Health) -> Result<bool, Failure> {
    match app.store.table_state().await? {
        TableState::Missing => {
            health.problem(
                "the table does not exist",
                "restore it from a backup, or let `vedette serve` or the template create a new one",
            );
            return Ok(false);
        }
        TableState::WithoutWorkIndex => health.problem(
            "the table lacks the index of outstanding work, so the reconciler finds none",
            "add the index `work` as template.yaml declares it",
        ),
        TableState::Whole => {
            if let Some(doubt) = app.store.clock().await?.and_then(|record| record.doubt) {
                let reported = Reported::ClockJumped { jump: doubt.jump };
                // A running service reports this itself.
                if health.problems.iter().all(|problem| problem.what != reported.what()) {
                    health.problem(reported.what(), reported.remedy());
                }
            }
            let now = app.clock.now();
            health.overdue = Some(overdue(app, now).await?);
            let neglected = overdue(app, now.saturating_sub(NEGLECT).unwrap_or(now)).await?;
            if neglected > 0 {
                health.problem(
                    format!(
                        "work that is overdue by more than 5 minutes: {neglected}; the reconciler is not running, or it fails"
                    ),
                    "run `vedette serve`, or look at the log of the function `redelivery`",
                );
            }
        }
    }
    let unreadable = app.store.unreadable_blocks(COUNTED).await?;
    if unreadable > 0 {
        health.problem(
            format!("blocks of checks that cannot be read, and are missing from the history: {unreadable}"),
            "stop other versions of Vedette that write to this table; the unreadable blocks were set aside, and will expire",
        );
    }
    health.teams = Some(app.store.all_teams().await?.len());
    Ok(true)
}

async fn overdue(app: &App, by: Timestamp) -> Result<usize, Failure> {
    Ok(app.store.overdue(by, COUNTED).await?.len())
}

/// The findings. A field is `None` if it could not be examined, or does not apply.
#[derive(Default, Serialize)]
struct Health {
    /// The state of the structure of the table's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'static str>,
    teams: Option<usize>,
    overdue: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deployment: Option<Found>,
    problems: Vec<ServiceProblem>,
}

/// The findings about a deployment.
#[derive(Default, Serialize)]
struct Found {
    /// The stack's state as CloudFormation names it.
    stack: Option<String>,
    /// Whether checks are packed, and whether they may be.
    blocks: Option<&'static str>,
    sites: Option<u64>,
    schedules: Option<u64>,
    /// Recurring checks of all sites in 30 days.
    checks_per_month: Option<u64>,
    /// The cost of the deployment's kind of schedules, compared with the other.
    schedules_cost: Option<String>,
    dead_letters: Option<u64>,
    /// The account's limit of concurrent executions.
    places: Option<u64>,
    /// Regions whose outposts answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outposts: Vec<String>,
    /// What these credentials are not allowed to examine.
    unseen: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ServiceProblem {
    /// Since when the service reports it. `None` for a problem that this command has found.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "wire_time_or_null")]
    since: Option<Timestamp>,
    what: String,
    remedy: String,
}

impl From<Notice> for ServiceProblem {
    fn from(Notice { since, what, remedy }: Notice) -> Self {
        Self { since: Some(since), what, remedy }
    }
}

impl Health {
    fn problem(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(ServiceProblem {
            since: None,
            what: what.into(),
            remedy: remedy.into(),
        });
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
            ("blocks", found.and_then(|found| found.blocks.map(str::to_owned))),
            ("table file", self.file.map(str::to_owned)),
            ("teams", self.teams.map(|count| count.to_string())),
            ("sites", found.and_then(|found| count(found.sites))),
            ("schedules", found.and_then(|found| count(found.schedules))),
            ("checks a month", found.and_then(|found| count(found.checks_per_month))),
            ("cost of schedules", found.and_then(|found| found.schedules_cost.clone())),
            ("dead letters", found.and_then(|found| count(found.dead_letters))),
            ("functions at once", found.and_then(|found| count(found.places))),
            (
                "outposts that answer",
                found.map(|found| found.outposts.join(", ")).filter(|names| !names.is_empty()),
            ),
            ("work due", self.overdue.map(|count| count.to_string())),
        ];
        let facts = facts.into_iter().filter_map(|(name, fact)| Some((name, fact?)));
        let facts = facts.map(|(name, fact)| format!("{name}: {fact}\n"));
        let unseen = found.iter().flat_map(|found| &found.unseen);
        let unseen = unseen.map(|what| format!("not examined: {what}\n"));
        let problems = self.problems.iter().map(|ServiceProblem { since, what, remedy }| {
            let since = since.map(|since| format!(" since {}", moment(since))).unwrap_or_default();
            format!("problem{since}: {what}\n  to do: {remedy}\n")
        });
        facts.chain(unseen).chain(problems).collect()
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use vedette_domain::clock::ClockRecord;
    use vedette_runtime::health::ServiceProblem;

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
        let disk_full = || ServiceProblem::NotWritable { why: "disk full".to_owned() };
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
    async fn overdue_work_is_a_problem() {
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
          "overdue": 2,
          "problems": [
            {
              "what": "work that is overdue by more than 5 minutes: 1; the reconciler is not running, or it fails",
              "remedy": "run `vedette serve`, or look at the log of the function `redelivery`"
            }
          ]
        }
        "#);
    }

    #[tokio::test]
    async fn a_clock_that_has_jumped_is_a_problem_until_it_is_accepted() {
        let bench = Bench::new().await;
        assert_eq!(bench.run("doctor --accept-clock").await.code, 0, "nobody has looked at it");
        let (now, ran) = (bench.app.clock.now(), SignedDuration::from_secs(5));
        let (record, _) =
            ClockRecord::new(now + SignedDuration::from_hours(1)).looked(now, Some(ran));
        let record = bench.app.store.put_clock(&record).await.expect("written");
        let ran = bench.run("doctor").await;
        assert_eq!((ran.code, ran.said.as_str()), (1, "there is a problem"));
        insta::assert_snapshot!(ran.out, @r"
        teams: 0
        work due: 0
        problem: The clock was set back from 2026-11-20 10:54:05 UTC to 2026-11-20 09:54:00 UTC. No history expires until the clock is confirmed.
          to do: Check the machine's time. If it is right, run `vedette doctor --accept-clock`. Otherwise, Vedette trusts the clock again when it has not jumped for 24 hours.
        ");
        let ran = bench.run("doctor --accept-clock").await;
        assert_eq!((ran.code, ran.said.as_str()), (0, ""));
        let accepted = bench.app.store.clock().await.expect("read").expect("a record");
        assert_eq!((accepted.rev, accepted.doubt), (record.rev + 1, None));
        assert_eq!(bench.run("doctor").await.code, 0);
    }

    #[tokio::test]
    async fn a_missing_table_is_a_problem() {
        let bench = Bench::without_table();
        let ran = bench.run("doctor").await;
        assert_eq!((ran.code, ran.said.as_str()), (1, "there is a problem"));
        assert!(ran.out.starts_with("problem: the table does not exist\n  to do: restore it"));
        // Every other command reports this, too.
        let ran = bench.run("team list").await;
        assert_eq!(ran.code, 3);
        assert!(ran.said.contains("ResourceNotFoundException"), "{}", ran.said);
    }

    #[tokio::test]
    async fn a_table_that_does_not_answer_has_its_own_exit_code() {
        let ran = Bench::closed().await.run("doctor").await;
        assert_eq!((ran.code, ran.out.as_str()), (3, ""));
        assert!(ran.said.starts_with("the table in the data folder `/"), "{}", ran.said);
        assert!(ran.said.contains("/data` does not answer: "), "{}", ran.said);
        assert_eq!(ran.said.lines().count(), 1);
    }
}
