//! `GET /teams/{team}/heartbeats/{heartbeat}/runs`: what a job has reported.

use jiff::SignedDuration;
use serde_json::Value;
use vedette_tests::Service;

use super::{added, frequent, ping};
use crate::support::{assert_paged, rows};

#[tokio::test]
async fn runs_have_their_outcome_duration_exit_status_and_output_the_newest_first() {
    let (service, owner) = Service::with_team().await;
    let (heartbeat, key) = added(&service, &owner, &frequent("Backup")).await;
    let client = service.client(&owner);
    let path = format!("{heartbeat}/runs");
    assert!(rows(&client.get(&path).await).is_empty());
    for (kind, body) in
        [("", ""), ("/log", "half done"), ("/log", ""), ("/start", "ignored"), ("/0", "")]
    {
        service.test.advance(SignedDuration::from_millis(1_500));
        ping(&service, &format!("{key}{kind}"), body).await;
    }
    ping(&service, &format!("{key}/3"), "No space left").await;
    let all = assert_paged(&client, &path, "", &[1, 2, 3]).await;
    let shown = |mut run: Value| {
        run["uuid"].take();
        vedette_testkit::laid_out(&run)
    };
    insta::assert_snapshot!(all.into_iter().map(shown).collect::<Vec<_>>().join("\n"), @r#"
    {
      "duration_seconds": null,
      "exit_status": 3,
      "outcome": "failure",
      "output": "No space left",
      "timestamp": "2026-11-20T09:54:07+00:00",
      "uuid": null
    }
    {
      "duration_seconds": 1.5,
      "exit_status": 0,
      "outcome": "success",
      "output": null,
      "timestamp": "2026-11-20T09:54:07+00:00",
      "uuid": null
    }
    {
      "duration_seconds": null,
      "exit_status": null,
      "outcome": "log",
      "output": "half done",
      "timestamp": "2026-11-20T09:54:03+00:00",
      "uuid": null
    }
    {
      "duration_seconds": null,
      "exit_status": null,
      "outcome": "success",
      "output": null,
      "timestamp": "2026-11-20T09:54:01+00:00",
      "uuid": null
    }
    "#);
}
