//! A deployment on an AWS emulator, with each of the problems that the doctor finds.

use std::collections::BTreeMap;

use serde_json::Value;
use vedette_domain::checks::load::Load;
use vedette_domain::checks::tool::Tool;
use vedette_runtime::config::Schedules;
use vedette_testkit::aws::AwsAccount;

use super::{Health, judge_load};
use crate::output::Show as _;
use crate::testing::{Deployment, Ran};

impl Deployment {
    async fn doctor(&self) -> Ran {
        self.run("doctor").await
    }

    /// What the doctor says, after something went wrong.
    async fn diagnosis(break_it: impl FnOnce(&mut AwsAccount)) -> String {
        let deployment = Self::start().await;
        break_it(&mut deployment.aws.account());
        let ran = deployment.doctor().await;
        assert_eq!((ran.code, ran.said.as_str()), (1, "there is a problem"), "{}", ran.out);
        let problem = ran.out.find("problem: ").expect("a problem");
        ran.out[problem..].to_owned()
    }
}

#[tokio::test]
async fn a_healthy_deployment_has_no_problems() {
    let deployment = Deployment::start().await;
    let ran = deployment.doctor().await;
    assert_eq!((ran.code, ran.said.as_str()), (0, ""), "{}", ran.out);
    insta::assert_snapshot!(ran.out, @r"
    stack: vedette, CREATE_COMPLETE
    blocks: off; once every function has the version of this command, you can deploy `Blocks=2`
    teams: 0
    sites: 0
    schedules: 0
    checks a month: 0
    dead letters: 0
    functions at once: 1000
    work due: 0
    ");
    let account = deployment.aws.account();
    let changes = ["CreateSchedule", "UpdateSchedule", "DeleteSchedule", "ReceiveMessage"];
    assert!(changes.iter().all(|operation| account.calls_of(operation) == 0), "it only looks");
}

#[tokio::test]
async fn it_says_when_checks_may_be_packed() {
    let blocks = async |output: Option<&str>, status: &str| {
        let deployment = Deployment::start().await;
        {
            let mut account = deployment.aws.account();
            account.outputs.remove("WritesBlocks");
            let output = output.map(|output| ("WritesBlocks".to_owned(), output.to_owned()));
            account.outputs.extend(output);
            account.stack_status = status.to_owned();
        }
        let out = deployment.doctor().await.out;
        out.lines().find_map(|line| line.strip_prefix("blocks: ").map(str::to_owned))
    };
    let safe =
        "off; once every function has the version of this command, you can deploy `Blocks=2`";
    let wait = "off; wait for a complete deployment before `Blocks=2`";
    let without = "on, without phases; once every function has the version of this command, you can deploy \
                   `Blocks=2`";
    for (output, status, expected) in [
        (Some("false"), "UPDATE_COMPLETE", Some(safe)),
        (Some("false"), "UPDATE_IN_PROGRESS", Some(wait)),
        (Some("false"), "UPDATE_ROLLBACK_COMPLETE", Some(wait)),
        (Some("true"), "UPDATE_COMPLETE", Some(without)),
        (Some("2"), "UPDATE_IN_PROGRESS", Some("on")),
        (None, "UPDATE_COMPLETE", None),
    ] {
        assert_eq!(blocks(output, status).await.as_deref(), expected, "{output:?} {status}");
    }
}

#[tokio::test]
async fn each_thing_that_can_be_wrong_is_told_with_what_to_do() {
    let mut told = String::new();
    for break_it in [
        (|account| account.stack_status.clear()) as fn(&mut AwsAccount),
        |account| account.stack_status = "UPDATE_ROLLBACK_FAILED".to_owned(),
        |account| account.stack_status = "UPDATE_ROLLBACK_COMPLETE".to_owned(),
        |account| account.stack_status = "ROLLBACK_COMPLETE".to_owned(),
        |account| assert!(account.outputs.remove("Auditor").is_some()),
        |account| account.refuse_after("cloudformation", 0, "ExpiredToken"),
        |account| _ = account.outputs.insert("TableName".to_owned(), "gone".to_owned()),
        |account| account.forgets_expired = false,
        |account| account.is_recoverable = false,
        |account| assert!(account.queues.remove("dns").is_some()),
        |account| assert!(account.queues.remove("schedules-dlq").is_some()),
        |account| _ = account.put_message("ssl-dlq", "{}", None),
        |account| assert!(account.disabled.insert("reconcile".to_owned())),
        |account| account.places = 10,
        |account| _ = account.schedules.insert(STRAY.to_owned(), Value::Null),
    ] {
        told += &Deployment::diagnosis(break_it).await;
    }
    insta::assert_snapshot!(told, @r"
    problem: there is no stack `vedette` in eu-central-1
      to do: correct --stack or AWS_REGION, or deploy it
    problem: the stack is in a failed state, UPDATE_ROLLBACK_FAILED
      to do: fix it before anything else; the stack's events in CloudFormation say why
    problem: the stack's last update failed and was rolled back
      to do: fix the cause and deploy again; the stack's events in CloudFormation say why
    problem: the stack could not be created
      to do: delete it and deploy again; the stack's events in CloudFormation say why
    problem: the stack `vedette` and this command have different versions: its output Auditor is not set
      to do: deploy the stack again with this version's template.yaml
    problem: there are no valid AWS credentials: ExpiredToken: by a test
      to do: sign in again (`aws sso login`), or choose a profile with AWS_PROFILE
    problem: the table does not exist
      to do: restore it from a backup, or let `vedette serve` or the template create a new one
    problem: the table's time to live is off, so expired checks stay and cost money
      to do: turn it on for the attribute `ttl`
    problem: point-in-time recovery is off, so items that are deleted by mistake are lost
      to do: turn it on for the table
    problem: the queue `dns` does not exist
      to do: deploy the stack again with this version's template.yaml
    problem: the dead-letter queue of `schedules` does not exist
      to do: deploy the stack again with this version's template.yaml
    problem: messages of `ssl` that were given up: 1
      to do: see what they are with `vedette dlq show ssl`, fix the cause, then `vedette dlq redrive ssl`
    problem: no function receives from the queue `reconcile`: its event source is off
      to do: turn on the event source mapping, or deploy the stack again
    problem: the account may run 10 functions at once, and checks, alerts and reconciling alone may take 40: while they do, the API answers 503 to some requests, and checks come late
      to do: raise Lambda's quota `Concurrent executions` (a new account has 10), or deploy with less concurrency
    problem: schedules of tools that do not run or of deleted sites: 1
      to do: run `vedette reconcile` to rebuild them from the table
    ");
}

#[tokio::test]
async fn each_outpost_is_asked_once() {
    let deployment = Deployment::start().await;
    let regions = ["ap-south-1", "eu-west-1", "sa-east-1", "us-east-1", "us-west-2"];
    let outputs = [
        ("OutpostRegions", regions.join(",")),
        ("OutpostFunctionName", "vedette-outpost".to_owned()),
    ];
    let answers = [
        r#"{"silent":"forbidden"}"#,
        r#"{"silent":"unreadable"}"#,
        r#"{"saw":{"code":200,"response_time":1}}"#,
        "a stranger",
    ];
    {
        let mut account = deployment.aws.account();
        account.outputs.extend(outputs.map(|(name, value)| (name.to_owned(), value)));
        let answers = answers.map(str::to_owned);
        account.outposts = regions.map(str::to_owned).into_iter().zip(answers).collect();
    }
    let ran = deployment.doctor().await;
    assert_eq!((ran.code, ran.said.as_str()), (1, "there are 4 problems"), "{}", ran.out);
    assert_eq!(deployment.aws.account().calls_of("Invoke"), 5);
    let said: String =
        ran.out.split_inclusive('\n').filter(|line| line.contains("outpost")).collect();
    insta::assert_snapshot!(said, @r"
    outposts that answer: ap-south-1
    problem: the outpost in eu-west-1 has another version: outages are confirmed without it
      to do: deploy it with `make outpost REGION=eu-west-1`, look at its log there, check that these credentials may call it, or take the region out of the parameter `Outposts`
    problem: the outpost in sa-east-1 connects to an address that it must refuse
      to do: deploy it with `make outpost REGION=sa-east-1`, look at its log there, check that these credentials may call it, or take the region out of the parameter `Outposts`
    problem: the outpost in us-east-1 has another version: outages are confirmed without it
      to do: deploy it with `make outpost REGION=us-east-1`, look at its log there, check that these credentials may call it, or take the region out of the parameter `Outposts`
    problem: the outpost in us-west-2 does not answer
      to do: deploy it with `make outpost REGION=us-west-2`, look at its log there, check that these credentials may call it, or take the region out of the parameter `Outposts`
    ");
}

const STRAY: &str = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01-status";

#[tokio::test]
async fn what_may_not_be_looked_at_is_said_and_is_no_problem() {
    let deployment = Deployment::start().await;
    deployment.aws.account().refuse_after("lambda", 0, "AccessDeniedException");
    let ran = deployment.doctor().await;
    assert_eq!((ran.code, ran.said.as_str()), (0, ""), "{}", ran.out);
    let unseen = "not examined: the event source of `status` (AccessDeniedException: by a test)\n";
    assert!(ran.out.contains(unseen), "{}", ran.out);
    assert_eq!(ran.out.matches("not examined").count(), 9);
}

#[tokio::test]
async fn several_problems_are_counted() {
    let deployment = Deployment::start().await;
    deployment.aws.account().places = 10;
    deployment.aws.account().forgets_expired = false;
    let ran = deployment.run("--json doctor").await;
    assert_eq!((ran.code, ran.said.as_str()), (1, "there are 2 problems"));
    let health: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(health["deployment"]["places"], 10);
    assert_eq!(health["problems"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn buckets_that_nobody_sends_are_told_with_since_when() {
    let deployment = Deployment::start().await;
    let buckets = "buckets".to_owned();
    deployment.aws.account().outputs.insert("SchedulesMode".to_owned(), buckets);
    let ran = deployment.doctor().await;
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.contains("problem: the polling scheduler has never sent any runs\n"),
        "{}",
        ran.out
    );

    let store = deployment.store();
    let sent = |minute: i64| store.set_sent_minute(minute);
    let long_ago: jiff::Timestamp = "2024-02-29T12:34:00Z".parse().expect("an instant");
    sent(long_ago.as_second() / 60).await.expect("written");
    let ran = deployment.doctor().await;
    assert_eq!(ran.code, 1);
    let problem = "problem: the polling scheduler has sent no runs since 2024-02-29 12:34:00 UTC\n";
    assert!(ran.out.contains(problem), "{}", ran.out);

    // A command uses the machine's clock.
    sent(vedette_runtime::Clock::system().now().as_second() / 60).await.expect("written");
    let ran = deployment.doctor().await;
    assert_eq!((ran.code, ran.said.as_str()), (0, ""), "{}", ran.out);
}

#[test]
fn the_places_of_each_tool_are_compared_with_its_sites() {
    let mut load = Load::default();
    for _ in 0..5_000 {
        load.add(Tool::Status, 1);
        load.add(Tool::Dns, 60);
    }
    let places = |status: u64| BTreeMap::from([("status", status), ("dns", 2)]);
    let told = |places, schedules| {
        let mut health = Health::default();
        judge_load(&load, &places, schedules, &mut health);
        health.text()
    };
    insta::assert_snapshot!(told(places(2), Schedules::Each), @r"
    checks a month: 219600000
    cost of schedules: `Schedules=buckets` costs less from the first check on, here $318.42 a month; to change, deploy it and run `vedette reconcile`
    problem: at most 2 functions run status checks at once, and the sites need 7: checks come late
      to do: deploy with `StatusConcurrency=7`, after you have raised Lambda's quota if that is less
    ");
    insta::assert_snapshot!(told(places(7), Schedules::Polling), @r"
    checks a month: 219600000
    cost of schedules: buckets cost $318.42 a month less than `Schedules=each`
    ");
}
