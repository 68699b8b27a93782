//! A site that is older than a tool starts with the tool when it is synced, and is then like any other site.

use serde_json::json;
use vedette_domain::checks::check::{CheckError, Finish};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::CheckId;
use vedette_runs::Recorded;

use crate::census::assert_balanced;
use crate::scene::Scene;

/// Stands for a tool that was added later: its item is removed.
const LATER: Tool = Tool::Performance;

#[tokio::test]
async fn a_tool_begins_on_a_site_that_is_older() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let (test, partition) = (&scene.service.test, site.partition());
    let store = &test.app.store;
    let whole = store.site(partition).await.expect("read").expect("a site");
    let pk = format!("S#{:016x}", partition.0);
    test.table.remove(&pk, &format!("T#{LATER}")).await;
    assert_eq!(store.site_tool(partition, LATER).await.expect("read"), None);

    store.begin_tools(&whole.site, [LATER]).await.expect("begun");
    let begun = store.site(partition).await.expect("read").expect("whole again");
    assert_eq!(begun.site, whole.site);
    assert_eq!(begun.tools[&LATER], ToolState::new());
    assert_eq!(begun.tools[&Tool::Status], whole.tools[&Tool::Status]);

    // Its first run is counted, and nothing begins again.
    let check = CheckId::automatic(site, LATER, RunReason::Scheduled, test.now());
    let error = CheckError { message: String::new(), code: String::new(), data: json!(null) };
    let recorded = test.end_run(site, check, Finish::Failed(error)).await;
    assert!(matches!(recorded, Recorded::Saved { .. }), "{recorded:?}");
    let counted = store.site_tool(partition, LATER).await.expect("read").expect("a tool");
    store.begin_tools(&whole.site, [LATER]).await.expect("nothing to do");
    let kept = store.site_tool(partition, LATER).await.expect("read").expect("a tool");
    assert_eq!(kept, counted);
    assert_balanced(&scene.service).await;

    // It is deleted with its site, and does not start on a site that is gone.
    let deleted = scene.client().delete(&format!("/sites/{site}")).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    scene.service.consume().await;
    let refused = store.begin_tools(&whole.site, [LATER]).await.expect_err("gone");
    assert!(refused.is_conflict(), "{refused:?}");
    let left = test.table.dump().await;
    assert!(left.keys().all(|(found, _)| *found != pk), "{left:?}");
}

#[tokio::test]
async fn no_tool_begins_on_a_site_that_was_changed_meanwhile() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let (test, partition) = (&scene.service.test, site.partition());
    let store = &test.app.store;
    let (read, _) = scene.stored(site).await;
    test.table.remove(&format!("S#{:016x}", partition.0), &format!("T#{LATER}")).await;
    test.table.set(&format!("S#{:016x}", partition.0), "A", "cfg", "99").await;
    let refused = store.begin_tools(&read, [LATER]).await.expect_err("changed");
    assert!(refused.is_conflict(), "{refused:?}");
    assert_eq!(store.site_tool(partition, LATER).await.expect("read"), None);
}
