//! `POST /issues/{issue}/notes`: what members write about an issue.

use serde_json::json;
use vedette_domain::accounts::audit::IssueDecision;
use vedette_tests::Service;

use super::{decisions, opened};
use crate::support::assert_invalid;

#[tokio::test]
async fn the_newest_notes_are_kept_with_their_writers() {
    let (service, owner) = Service::with_team().await;
    let (issue, _target) = opened(&service, &owner).await;
    let client = service.client(&owner);
    let path = format!("/issues/{issue}/notes");
    let answer = client.post(&path, &json!({ "note": " The disk\r\nis full. " })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let [note] = &answer.body["data"]["notes"].as_array().expect("notes")[..] else {
        panic!("{answer:?}")
    };
    assert_eq!(note["note"], "The disk\nis full.");
    assert_eq!(
        (&note["created_at"], &note["user"]["name"]),
        (&json!("2026-11-20T09:54:00+00:00"), &json!("Ada"))
    );
    for number in 0..10 {
        // Entries of the audit log that are the same in all respects would be one.
        service.advance_minutes(1);
        client.post(&path, &json!({ "note": number.to_string() })).await;
    }
    let issue = client.get(&format!("/issues/{issue}")).await;
    let notes = issue.body["data"]["notes"].as_array().expect("notes");
    assert_eq!((notes.len(), &notes[0]["note"]), (10, &json!("0")));
    assert_eq!(decisions(&service, &owner).await, vec![IssueDecision::Noted; 11]);
}

#[tokio::test]
async fn a_note_says_something() {
    let (service, owner) = Service::with_team().await;
    let (issue, _target) = opened(&service, &owner).await;
    let client = service.client(&owner);
    let path = format!("/issues/{issue}/notes");
    for (note, why) in [
        (json!(" "), "The note field is required.".to_owned()),
        (
            json!("ü".repeat(501)),
            "The note field must not be longer than 500 characters.".to_owned(),
        ),
        (json!(7), "The note field must be a string.".to_owned()),
    ] {
        assert_invalid(&client.post(&path, &json!({ "note": note })).await, "note", &why);
    }
    assert_eq!(decisions(&service, &owner).await, []);
}
