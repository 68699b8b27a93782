//! Data folders of earlier formats, which this version opens and continues to use.
//!
//! Each folder has the table of a small service with two sites: one is up, and a person has resolved its issue; the
//! other one is down, and a person has acknowledged its issue. Earlier versions wrote these tables: format 2 was
//! written by commit 25e8c5a, which introduced it, format 3 by commit 2b7bdd5, and format 4 by the first commit that
//! can make backups.

use std::fs;
use std::path::Path;

use flate2::read::GzDecoder;
use jiff::Timestamp;
use serde_json::Value;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::issues::{Fingerprint, IssueStatus};
use vedette_embedded::{BackupDestination, Cancellation, Database, Fsync, Reached, back_up, reach};
use vedette_store::{SiteWithTools, Store};

use crate::start;

/// A table of each of these formats.
pub(crate) const TABLES: [(&str, &[u8]); 4] = [
    ("1", include_bytes!("data/format-1.db.gz")),
    ("2", include_bytes!("data/format-2.db.gz")),
    ("3", include_bytes!("data/format-3.db.gz")),
    ("4", include_bytes!("data/format-4.db.gz")),
];

/// Puts a table into a folder.
pub(crate) fn restore(folder: &Path, (format, packed): (&str, &[u8])) {
    let mut table = fs::File::create(folder.join("vedette.db")).expect("a file");
    std::io::copy(&mut GzDecoder::new(packed), &mut table).expect("unpacked");
    fs::write(folder.join("format"), format).expect("written");
}

async fn site(store: &Store, name: &str) -> SiteWithTools {
    let team = store.all_teams().await.expect("teams")[0];
    let rows = store.directory(team, 10).await.expect("a directory");
    let row = rows.iter().find(|row| row.name == name).expect("a site");
    store.site(row.id.partition()).await.expect("read").expect("a site")
}

#[tokio::test]
async fn every_item_of_an_older_folder_is_read() {
    for table in TABLES {
        every_item_is_read(table).await;
    }
}

async fn every_item_is_read(table: (&str, &[u8])) {
    let folder = tempfile::tempdir().expect("a folder");
    restore(folder.path(), table);
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
    for table in TABLES {
        goes_on(table).await;
    }
}

/// A backup of the folder has the same format as the folder, and the service can open it, too.
#[tokio::test]
async fn a_folder_of_each_format_is_backed_up_and_restored() {
    for table in TABLES {
        let folder = tempfile::tempdir().expect("a folder");
        restore(folder.path(), table);
        let elsewhere = tempfile::tempdir().expect("a folder");
        let file = elsewhere.path().join("backup.db");
        let destination = BackupDestination::File(file.clone());
        let made = back_up(
            folder.path(),
            &destination,
            "0.1.0",
            Timestamp::UNIX_EPOCH,
            &Cancellation::default(),
        )
        .expect("made");
        assert_eq!((made.record.format.to_string().as_str(), made.record.sites), (table.0, 2));
        let again = tempfile::tempdir().expect("a folder");
        let Ok(Reached::Free(alone)) = reach(again.path()).await else { panic!("nobody has it") };
        alone.restore(&file, true).expect("restored");
        assert_eq!(fs::read_to_string(again.path().join("format")).expect("read"), table.0);
        let database = Database::open(&alone, Fsync::Always).await.expect("opened");
        assert_eq!(site(&database.store(), "Down").await.site.notes.as_deref(), Some("kept"));
        database.close().await;
    }
}

async fn goes_on(table: (&str, &[u8])) {
    let folder = tempfile::tempdir().expect("a folder");
    restore(folder.path(), table);
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
