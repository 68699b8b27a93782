//! Documents applied by processes that crash, and by many at once.

use futures::future::join_all;
use serde_json::{Value, json};
use vedette_testkit::Fault;

use crate::scene::Scene;

/// A document with every kind of object.
fn document(step: usize) -> Value {
    let name = format!("Name {step}");
    let zone = ["Europe/Berlin", "UTC"][step];
    let tag = ["env:prod", "env:test"][step];
    let key = ["old", "new"][step];
    json!({
        "name": "shop",
        "settings": { "time_zone": zone },
        "sites": [
            { "key": "home", "url": format!("https://shop.example/{step}"), "tags": [tag] },
            { "key": key, "url": format!("https://{step}.example") },
        ],
        "heartbeats": [
            { "key": "dump", "name": name, "tags": [tag] },
            { "key": format!("{key}-job"), "name": format!("Job {step}"), "cron": "30 2 * * *" },
        ],
        "channels": [{
            "key": "ops", "kind": "slack", "name": name,
            "url": format!("https://hooks.slack.com/services/T/B/{step}"),
        }],
        "groups": [{ "key": "group", "name": name, "selector": "env" }],
        "maintenance_windows": [{
            "key": "window", "name": name, "starts_at": "2027-01-04T02:00", "duration_minutes": 30,
            "sites": ["home"],
        }],
        "status_pages": [{
            "key": "page", "name": name, "slug": format!("shop-{step}"),
            "groups": [{ "components": [{ "name": name, "site": "home" }] }],
        }],
    })
}

/// Applies a document until nothing is left.
async fn apply(scene: &Scene, step: usize) -> Value {
    let path = format!("/teams/{}/configuration", scene.owner.team);
    let order = json!({ "document": document(step), "prune": true });
    let answer = scene.client().post(&path, &order).await;
    assert_eq!((answer.status, &answer.body["data"]["left"]), (200, &json!(0)), "{}", answer.body);
    answer.body["data"].clone()
}

/// The document of the team. Its lists are in the order of keys: an export has them in the order of ids, which are
/// random.
async fn exported(scene: &Scene) -> Value {
    let path = format!("/teams/{}/configuration", scene.owner.team);
    let mut document = scene.client().get(&path).await.body["data"].clone();
    for list in document.as_object_mut().expect("a document").values_mut() {
        if let Value::Array(objects) = list {
            objects.sort_by_key(|object| object["key"].to_string());
        }
    }
    document
}

#[tokio::test]
async fn an_apply_that_ends_after_any_write_is_finished_by_the_next_one() {
    let calm = Scene::start().await;
    apply(&calm, 0).await;
    let before = calm.service.test.faults().writes();
    apply(&calm, 1).await;
    let writes = calm.service.test.faults().writes() - before;
    let expected = exported(&calm).await;
    assert!(writes > 10, "{writes}");
    for write in 1..=writes {
        for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::LoseAnswer, Fault::Conflict] {
            let scene = Scene::start().await;
            apply(&scene, 0).await;
            let faults = scene.service.test.faults().clone();
            faults.on_write(write, fault);
            let path = format!("/teams/{}/configuration", scene.owner.team);
            let order = json!({ "document": document(1), "prune": true });
            faults.until_crash(scene.client().post(&path, &order)).await;
            faults.forget();
            // Its lease ends by itself.
            scene.service.advance_minutes(2);
            apply(&scene, 1).await;
            assert_eq!(exported(&scene).await, expected, "{fault:?} at {write}");
            assert_eq!(apply(&scene, 1).await["changes"], json!([]), "{fault:?} at {write}");
        }
    }
}

#[tokio::test]
async fn of_ten_applies_at_once_one_decides() {
    let scene = Scene::start().await;
    let path = format!("/teams/{}/configuration", scene.owner.team);
    let orders: Vec<_> =
        (0..10).map(|number| json!({ "document": document(number % 2) })).collect();
    let client = scene.client();
    let answers = join_all(orders.iter().map(|order| client.post(&path, order))).await;
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&200), "{statuses:?}");
    let sites = exported(&scene).await["sites"].as_array().map(Vec::len);
    assert!(sites <= Some(3), "no site was created twice: {sites:?}");
    // If a request failed because of another one, its lease ends by itself.
    scene.service.advance_minutes(2);
    apply(&scene, 1).await;
    let once = Scene::start().await;
    apply(&once, 1).await;
    assert_eq!(exported(&scene).await, exported(&once).await);
}
