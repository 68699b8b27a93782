//! Dead letters on an SQS emulator: listed, shown and sent again, with failures in between.

use serde_json::json;
use vedette_testkit::aws::Sent;

use crate::testing::Deployment;

const TEAM: &str = "7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13";
const SITE: &str = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";

/// The body of a scheduled check.
fn scheduled(minute: u32) -> String {
    let slot = format!("2026-11-20T09:{minute:02}:00Z");
    json!({ "team": TEAM, "site": SITE, "tool": "status", "reason": "scheduled", "slot": slot })
        .to_string()
}

/// A deployment with dead letters in three queues: 25 checks, a sync, and a message that a schedule could not send.
async fn with_dead_letters() -> Deployment {
    let deployment = Deployment::start().await;
    let mut account = deployment.aws.account();
    for minute in 0..25 {
        let sent = account.put_message("status-dlq", &scheduled(minute), Some(TEAM));
        sent.received = 5;
    }
    let sync = json!({ "sync": { "team": TEAM, "site": SITE } }).to_string();
    account.put_message("reconcile-dlq", &sync, Some(TEAM));
    let parameters = json!({
        "QueueUrl": format!("{}status", vedette_testkit::aws::QUEUE_URL_PREFIX),
        "MessageBody": scheduled(30),
        "MessageGroupId": TEAM,
    });
    let sent = account.put_message("schedules-dlq", &parameters.to_string(), None);
    let told = [("ERROR_CODE", "THROTTLING"), ("ERROR_MESSAGE", "Rate exceeded")];
    sent.attributes = told.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    drop(account);
    deployment
}

impl Deployment {
    /// Ids of messages and whether they can be received.
    fn queue(&self, name: &str) -> Vec<Sent> {
        self.aws.account().queues[name].clone()
    }

    fn bodies(&self, name: &str) -> Vec<String> {
        self.queue(name).into_iter().map(|sent| sent.body).collect()
    }
}

#[tokio::test]
async fn queues_are_listed_with_what_is_in_them() {
    let deployment = with_dead_letters().await;
    let ran = deployment.run("dlq list").await;
    assert_eq!((ran.code, ran.said.as_str()), (0, ""));
    insta::assert_snapshot!(ran.out, @r"
    QUEUE         MESSAGES  OLDEST
    status        25        2026-11-20 09:54:01 UTC
    ssl           0         -
    dns           0         -
    broken-links  0         -
    performance   0         -
    reconcile     1         2026-11-20 09:54:26 UTC
    alerts        0         -
    letters       0         -
    schedules     1         2026-11-20 09:54:27 UTC
    ");
    assert!(deployment.queue("status-dlq").iter().all(Sent::is_visible), "all are given back");
}

#[tokio::test]
async fn messages_are_shown_in_words_and_stay() {
    let deployment = with_dead_letters().await;
    let ran = deployment.run("dlq show --limit 2").await;
    assert_eq!((ran.code, ran.said.as_str()), (0, ""));
    insta::assert_snapshot!(ran.out, @r"
    QUEUE      SENT                     RECEIVED  WHAT                                                 SITE                                  CHECK                                 WHY                        MESSAGE
    status     2026-11-20 09:54:01 UTC  6         status check (scheduled) of 2026-11-20 09:00:00 UTC  0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01  01a1f82f-1e80-8080-8a55-6c1f3b7d9e01  -                          message-1
    status     2026-11-20 09:54:02 UTC  6         status check (scheduled) of 2026-11-20 09:01:00 UTC  0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01  01a1f830-08e0-8080-8a55-6c1f3b7d9e01  -                          message-2
    reconcile  2026-11-20 09:54:26 UTC  1         sync of a site's schedules                           0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01  -                                     -                          message-26
    schedules  2026-11-20 09:54:27 UTC  1         status check (scheduled) of 2026-11-20 09:30:00 UTC  0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01  01a1f84a-95c0-8080-8a55-6c1f3b7d9e01  THROTTLING: Rate exceeded  message-27
    ");
    let all = deployment.json("dlq show status --limit 100").await;
    assert_eq!(all.as_array().map(Vec::len), Some(25));
    assert_eq!(all[0]["check"], "01a1f82f-1e80-8080-8a55-6c1f3b7d9e01");
    let queue = deployment.queue("status-dlq");
    assert_eq!(queue.len(), 25);
    assert!(queue.iter().all(Sent::is_visible), "nobody waits for them");
    // For a message that is not ours, the beginning is shown.
    deployment.aws.account().put_message("dns-dlq", "\u{1b}[31m{", None);
    let ran = deployment.run("dlq show dns").await;
    assert!(ran.out.contains("not a message of this service: \u{fffd}[31m{"), "{}", ran.out);
}

#[tokio::test]
async fn peeked_messages_are_returned_if_peeking_fails() {
    let deployment = with_dead_letters().await;
    deployment.aws.account().refuse_after("ReceiveMessage", 1, "OverLimit");
    let said = deployment.refused("dlq show status --limit 100").await;
    assert_eq!(said, "the dead letters of status: OverLimit: by a test");
    assert!(deployment.queue("status-dlq").iter().all(Sent::is_visible));
}

#[tokio::test]
async fn messages_are_sent_again_in_the_name_of_their_team() {
    for moves_messages in [true, false] {
        let deployment = with_dead_letters().await;
        deployment.aws.account().moves_messages = moves_messages;
        let ran = deployment.run("dlq redrive").await;
        assert_eq!((ran.code, ran.said.as_str()), (0, ""), "{moves_messages}");
        let expected = "status: 25 sent again\nreconcile: 1 sent again\nschedules: 1 sent again\n";
        assert_eq!(ran.out, expected);
        for name in ["status-dlq", "reconcile-dlq", "schedules-dlq"] {
            assert_eq!(deployment.bodies(name), [""; 0], "{name}");
        }
        let mut again = deployment.bodies("status");
        again.sort();
        let mut expected: Vec<String> = (0..25).chain([30]).map(scheduled).collect();
        expected.sort();
        assert_eq!(again, expected, "{moves_messages}");
        let queue = deployment.queue("status");
        assert!(queue.iter().all(|sent| sent.group.as_deref() == Some(TEAM)));
        let calls = deployment.aws.account().calls_of("StartMessageMoveTask");
        assert_eq!(calls, 2, "schedules have no queue that SQS would move their messages to");
        let ran = deployment.run("dlq redrive").await;
        assert_eq!((ran.code, ran.out.as_str()), (0, "There are no dead letters.\n"));
    }
}

#[tokio::test]
async fn an_interrupted_redrive_repeats_messages_and_loses_none() {
    for (operation, twice) in [("SendMessage", 0), ("DeleteMessage", 1)] {
        let deployment = with_dead_letters().await;
        deployment.aws.account().refuse_after(operation, 7, "InternalError");
        let said = deployment.refused("dlq redrive status").await;
        assert_eq!(
            said,
            "the dead letters of status: InternalError: by a test; messages sent again before that: 7"
        );
        assert_eq!(deployment.bodies("status").len(), 7 + twice, "{operation}");
        assert_eq!(deployment.bodies("status-dlq").len(), 25 - 7, "{operation}");

        deployment.aws.account().refusing.clear();
        deployment.aws.account().show_all();
        deployment.json("dlq redrive status").await;
        assert_eq!(deployment.bodies("status-dlq").len(), 0);
        let again: std::collections::BTreeSet<_> =
            deployment.bodies("status").into_iter().collect();
        assert_eq!(again, (0..25).map(scheduled).collect(), "{operation}: none is lost");
    }
}

#[tokio::test]
async fn a_schedules_message_for_a_queue_elsewhere_is_left() {
    let deployment = Deployment::start().await;
    let elsewhere = json!({
        "QueueUrl": "https://sqs.eu-central-1.amazonaws.com/999999999999/theirs",
        "MessageBody": scheduled(1),
    });
    deployment.aws.account().put_message("schedules-dlq", &elsewhere.to_string(), None);
    let said = deployment.refused("dlq redrive schedules").await;
    assert_eq!(
        said,
        "the dead letters of schedules: not of this deployment and left: 1; sent again: 0"
    );
    assert_eq!(deployment.bodies("schedules-dlq").len(), 1);
}

#[tokio::test]
async fn a_service_on_this_machine_has_no_dead_letters() {
    let ran = crate::testing::Bench::new().await.run("dlq list").await;
    assert_eq!(ran.code, 2);
    let ran = Deployment::start().await.run("dlq show shop").await;
    assert_eq!(ran.code, 2, "there is no such queue");
}

#[tokio::test]
async fn a_queue_that_fails_keeps_no_other_from_being_sent_again() {
    let deployment = with_dead_letters().await;
    assert!(deployment.aws.account().queues.remove("ssl-dlq").is_some());
    let ran = deployment.run("dlq redrive").await;
    let sent = "status: 25 sent again\nreconcile: 1 sent again\nschedules: 1 sent again\n";
    assert_eq!((ran.code, ran.out.as_str()), (1, sent));
    assert!(ran.said.starts_with("the dead letters of ssl: "), "{}", ran.said);
}
