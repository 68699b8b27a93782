//! The tags of sites, and the dictionary of the team that counts them.

use futures::future::join_all;
use serde_json::{Value, json};
use vedette_testkit::{ApiResponse, Fault};

use super::{Scene, URL};
use crate::support::{assert_invalid, new_site};

impl Scene {
    async fn tag(&self, tags: &[&str]) -> ApiResponse {
        self.patch_with("tags", &json!(tags)).await
    }

    /// The team's tags by number, with how many sites have them.
    async fn dictionary(&self) -> Vec<(u16, String, u32)> {
        let tags = self.service.test.app.store.tags(self.owner.team).await.expect("read");
        let entries = tags.entries();
        entries.map(|(number, entry)| (number, entry.tag.to_string(), entry.sites)).collect()
    }
}

fn entry(number: u16, tag: &str, sites: u32) -> (u16, String, u32) {
    (number, tag.to_owned(), sites)
}

#[tokio::test]
async fn tags_are_stored_in_lower_case_and_sorted_and_a_row_has_their_numbers() {
    let scene = Scene::start().await;
    let (cfg, _) = scene.versions().await;
    let answer = scene.tag(&["team:shop", " Env:Prod ", "legacy", "env:prod"]).await;
    assert_eq!(answer.body["data"]["tags"], json!(["env:prod", "legacy", "team:shop"]));
    let all = [entry(0, "env:prod", 1), entry(1, "legacy", 1), entry(2, "team:shop", 1)];
    assert_eq!(scene.dictionary().await, all);
    assert_eq!(scene.listed().await.tags, [0, 1, 2]);
    assert_eq!(scene.versions().await.0, cfg, "it is checked as before");

    // Another change of the row keeps its tags, and so does a new URL.
    scene.patch_with("pinned", &json!(true)).await;
    assert_eq!(scene.listed().await.tags, [0, 1, 2]);
    let moved = scene.patch(&json!({ "url": "https://example.com/moved" })).await;
    assert_eq!(moved.body["data"]["tags"], json!(["env:prod", "legacy", "team:shop"]));
    assert_eq!((scene.listed().await.tags, scene.dictionary().await), (vec![0, 1, 2], all.into()));

    let moved = json!({ "url": "https://example.com/again", "tags": ["legacy", "new"] });
    scene.patch(&moved).await;
    assert_eq!(scene.listed().await.tags, [0, 1]);
    assert_eq!(scene.dictionary().await, [entry(0, "new", 1), entry(1, "legacy", 1)]);
    let none = scene.patch(&json!({ "url": "https://example.com/again", "tags": [] })).await;
    assert_eq!(none.body["data"].get("tags"), None);
    assert_eq!((scene.listed().await.tags, scene.dictionary().await), (vec![], vec![]));
}

#[tokio::test]
async fn what_is_not_a_list_of_tags_is_refused_and_changes_nothing() {
    let scene = Scene::start().await;
    scene.tag(&["legacy"]).await;
    let syntax = "must be a tag such as legacy or env:prod, of letters, digits and -_. (and / after the colon)";
    let eleven: Vec<_> = (0..11).map(|n| n.to_string()).collect();
    for (sent, field, message) in [
        (json!("legacy"), "tags", "must be an array"),
        (json!(null), "tags", "must not be empty"),
        (json!([5]), "tags.0", "must be a string"),
        (json!(["a", "b c"]), "tags.1", syntax),
        (json!(["!legacy"]), "tags.0", syntax),
        (json!([""]), "tags.0", "must not be empty"),
        (json!(["a".repeat(51)]), "tags.0", "must not be longer than 50 characters"),
        (json!(eleven), "tags", "must not have more than 10 items"),
    ] {
        let answer = scene.patch_with("tags", &sent).await;
        assert_invalid(&answer, field, &format!("The {field} field {message}."));
    }
    assert_eq!(scene.dictionary().await, [entry(0, "legacy", 1)]);
}

#[tokio::test]
async fn a_team_has_at_most_500_different_tags() {
    let scene = Scene::start().await;
    let path = format!("/teams/{}/sites", scene.owner.team);
    let client = scene.service.client(&scene.owner);
    let tags = |from: usize| (from..from + 10).map(|n| format!("n:{n}")).collect::<Vec<_>>();
    for n in 0..50 {
        let body = json!({ "url": format!("https://example.com/{n}"), "tags": tags(10 * n) });
        assert_eq!(client.post(&path, &body).await.status, 201);
    }
    let message = "The team already uses 500 different tags.";
    assert_invalid(&scene.tag(&["one-more"]).await, "tags", message);
    let body = json!({ "url": "https://example.com/more", "tags": ["one-more"] });
    assert_invalid(&client.post(&path, &body).await, "tags", message);
    assert_eq!(scene.tag(&["n:0", "n:499"]).await.status, 200, "known tags are not new");
    assert_eq!(scene.dictionary().await.len(), 500);
}

#[tokio::test]
async fn tags_are_counted_when_sites_change_at_the_same_time_or_are_deleted() {
    let scene = Scene::start().await;
    let mut sites = vec![(scene.site, URL.to_owned())];
    for n in 0..7 {
        let url = format!("https://example.com/{n}");
        sites.push((new_site(&scene.service, &scene.owner, &url).await, url));
    }
    let client = scene.service.client(&scene.owner);
    let tag = async |tags: Value| {
        join_all(sites.iter().map(|(site, url)| {
            let body = json!({ "url": url, "tags": tags });
            let client = &client;
            async move {
                let mut answer = client.patch(&format!("/sites/{site}"), &body).await;
                // Eight writers of one item may conflict more often than a request retries.
                while answer.status == 503 {
                    answer = client.patch(&format!("/sites/{site}"), &body).await;
                }
                assert_eq!(answer.status, 200, "{answer:?}");
            }
        }))
        .await;
    };
    tag(json!(["a", "b"])).await;
    assert_eq!(scene.dictionary().await, [entry(0, "a", 8), entry(1, "b", 8)]);
    tag(json!(["b", "c"])).await;
    let counts: Vec<_> =
        scene.dictionary().await.into_iter().map(|(_, tag, sites)| (tag, sites)).collect();
    assert_eq!(counts.iter().map(|(_, sites)| sites).collect::<Vec<_>>(), [&8, &8]);
    assert!(counts.iter().any(|(tag, _)| tag == "c"), "{counts:?}");
    for (site, _) in &sites {
        client.delete(&format!("/sites/{site}")).await;
    }
    assert_eq!(scene.dictionary().await, []);
}

#[tokio::test]
async fn a_lost_answer_counts_no_tag_twice() {
    let scene = Scene::start().await;
    // One of the writes of a request is the transaction.
    for (write, tag) in (1..).zip(["a", "b", "c", "d"]) {
        scene.service.test.faults().on_write(write, Fault::LoseAnswer);
        assert_eq!(scene.tag(&[tag]).await.status, 200);
        scene.service.test.faults().forget();
        assert_eq!(scene.dictionary().await, [entry(0, tag, 1)]);
    }
}
