//! A data folder of an earlier version, which this one opens and goes on with.
//!
//! `data/format-1.db.gz` is the table of a small service of its time: a site that is up, whose
//! issue a person resolved, and one that is down, whose issue a person took.

use std::fs;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::issues::{Fingerprint, IssueStatus};
use vedette_embedded::{Database, Fsync, Reached, reach};
use vedette_store::{SiteWithTools, Store};

use crate::start;

/// Puts the old table into a folder.
fn restore(folder: &Path) {
    let packed = include_bytes!("data/format-1.db.gz");
    let mut table = fs::File::create(folder.join("vedette.db")).expect("a file");
    std::io::copy(&mut GzDecoder::new(&packed[..]), &mut table).expect("unpacked");
    fs::write(folder.join("format"), "1").expect("written");
}

async fn site(store: &Store, name: &str) -> SiteWithTools {
    let team = store.all_teams().await.expect("teams")[0];
    let rows = store.directory(team, 10).await.expect("a directory");
    let row = rows.iter().find(|row| row.name == name).expect("a site");
    store.site(row.id.partition()).await.expect("read").expect("a site")
}

#[tokio::test]
async fn every_item_of_an_older_folder_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    restore(folder.path());
    let Ok(Reached::Free(alone)) = reach(folder.path()).await else { panic!("nobody has it") };
    let database = Database::open(&alone, Fsync::Always).await.expect("opened");
    let store = database.store();

    for (name, up) in [("Shop", true), ("Down", false)] {
        let SiteWithTools { site, tools } = site(&store, name).await;
        for (tool, state) in tools.iter().filter(|(tool, _)| **tool != Tool::Performance) {
            if let Some(latest) = state.latest() {
                let stored = store.check(latest.id()).await.expect("read").expect("a check");
                assert_eq!((stored.check.id.tool(), stored.check.status), (*tool, latest.status));
            }
        }
        let status = &tools[&Tool::Status];
        let newest = status.automatic.expect("a check");
        assert_eq!(newest.status, CheckStatus::Completed);
        let stored = store.check(newest.id()).await.expect("read").expect("a check");
        assert_eq!(stored.check.result.expect("a result")["up"], up);
        let is_down = status.trackers[&Fingerprint::StatusDown].tracker.issue().is_some();
        assert_eq!(is_down, !up);
        assert!(status.day.is_some());

        let issues = store.issues_of_site(site.id.partition()).await.expect("read");
        let states: Vec<_> =
            issues.iter().map(|issue| (issue.id.fingerprint(), issue.status())).collect();
        let expected = if up {
            vec![(Fingerprint::SslInvalid, IssueStatus::Resolved)]
        } else {
            vec![
                (Fingerprint::SslInvalid, IssueStatus::Open),
                (Fingerprint::StatusDown, IssueStatus::Acknowledged),
            ]
        };
        assert_eq!(states, expected);
    }
    let team = store.all_teams().await.expect("teams")[0];
    let rows = store.directory_with_newest(team, 2).await.expect("a directory");
    for row in rows {
        let status = row.newest.get(&Tool::Status).map(|newest| newest.status);
        assert_eq!((status, row.is_checked), (Some(CheckStatus::Completed), true), "{}", row.name);
    }
    assert_eq!(site(&store, "Down").await.site.notes.as_deref(), Some("kept"));
    database.close().await;
}

#[tokio::test]
async fn a_service_goes_on_with_an_older_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    restore(folder.path());
    let (service, client) = start(folder.path()).await;
    let sites = client.get(&client.sites_path().await).await;
    let sites = sites.body["data"].as_array().expect("a list").clone();
    let names: Vec<&Value> = sites.iter().map(|site| &site["name"]).collect();
    assert_eq!(names, ["Down", "Shop"]);
    let down = sites[0]["uuid"].as_str().expect("an id");
    let checks = client.ended_checks(down, 1).await;
    assert_eq!(checks[0]["result"]["up"], false);
    let issues = client.get("/api/v1/issues?status=acknowledged").await;
    assert_eq!(issues.body["data"][0]["fingerprint"], "status:down");
    service.stop().await;
}
