//! Documents from the command line.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::testing::{Bench, Ran};

const DOCUMENT: &str = "\
name: shop
defaults:
  sites:
    tags: [env:prod]
sites:
  - key: home
    url: https://shop.example.com
  - key: blog
    url: https://blog.example.com
    tags: [legacy]
channels:
  - key: ops
    kind: slack
    name: Ops
    url: {file: slack-url}
    selector: env:prod
";

/// A team, a folder with a document, and the name of its file.
async fn arranged() -> (Bench, String, tempfile::TempDir, String) {
    let bench = Bench::new().await;
    bench.user("ada").await;
    let team = bench.team("ada", "agency").await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("vedette.yaml");
    fs::write(&file, DOCUMENT).expect("written");
    let file = file.display().to_string();
    (bench, team, folder, file)
}

fn write(folder: &Path, file: &str, text: &str) {
    fs::write(folder.join(file), text).expect("written");
}

async fn apply(bench: &Bench, team: &str, file: &str, options: &[&str]) -> Ran {
    bench.run_words([&["apply", "-f", file, "--team", team], options].concat()).await
}

#[tokio::test]
async fn a_document_is_shown_applied_and_applied_again() {
    let (bench, team, folder, file) = arranged().await;
    let planned = apply(&bench, &team, &file, &["--dry-run", "--exit-code"]).await;
    assert_eq!((planned.code, planned.said.as_str()), (4, "changes to apply: 3"));
    insta::assert_snapshot!(planned.out, @r#"
    + channel ops (Ops)
        kind: "slack"
        name: "Ops"
        selector: "env:prod"
        url: "set"
    + site blog (blog.example.com)
        tags: ["legacy"]
        url: "https://blog.example.com"
    + site home (shop.example.com)
        tags: ["env:prod"]
        url: "https://shop.example.com"

    3 to create, 0 to update, 0 to delete, 0 to adopt.
    Checks a month: 0 before, 18848 after.
    Channel Ops: gains shop.example.com.
    "#);
    let refused = apply(&bench, &team, &file, &[]).await;
    let unread = "slack-url cannot be read: No such file or directory (os error 2).";
    assert_eq!((refused.code, refused.said), (2, format!("{file}:15:10: {unread}")));
    write(folder.path(), "slack-url", "https://hooks.slack.com/services/T0/B0/secret\n");
    let applied = apply(&bench, &team, &file, &[]).await;
    assert_eq!(applied.code, 0, "{}", applied.said);
    assert!(
        applied.out.contains("3 created, 0 updated, 0 deleted, 0 adopted.\n"),
        "{}",
        applied.out
    );
    assert!(!applied.out.contains("secret"), "{}", applied.out);
    let again = apply(&bench, &team, &file, &["--dry-run", "--exit-code"]).await;
    assert_eq!(
        (again.code, again.out.as_str()),
        (0, "No changes.\nChecks a month: 18848 before, 18848 after.\n")
    );

    let changed =
        DOCUMENT.replace("[legacy]", "[env:prod]").replace("    name: Ops\n", "    name: Pager\n");
    write(folder.path(), "vedette.yaml", &changed);
    write(folder.path(), "slack-url", "https://hooks.slack.com/services/T0/B0/other");
    let planned = apply(&bench, &team, &file, &["--dry-run"]).await;
    insta::assert_snapshot!(planned.out, @r#"
    ~ channel ops (Pager)
        name: "Ops" → "Pager"
        url: changed
    ~ site blog (blog.example.com)
        tags: ["legacy"] → ["env:prod"]

    0 to create, 2 to update, 0 to delete, 0 to adopt.
    Checks a month: 18848 before, 18848 after.
    Channel Pager: gains blog.example.com.
    "#);
}

#[tokio::test]
async fn everything_that_is_wrong_is_said_at_its_place() {
    let (bench, team, folder, file) = arranged().await;
    let wrong = DOCUMENT
        .replace("tags: [legacy]", "tag: [legacy]")
        .replace("url: https://shop.example.com", "url: shop")
        .replace("selector: env:prod", "selector: ','");
    write(folder.path(), "vedette.yaml", &wrong);
    let validated = bench.run_words(vec!["validate", "-f", &file]).await;
    assert_eq!(validated.code, 2);
    let said = validated.said.replace(&file, "vedette.yaml");
    insta::assert_snapshot!(said, @r"
    vedette.yaml:7:10: The url must start with http:// or https://.
    vedette.yaml:10:10: The sites.1.tag field is not known.
    vedette.yaml:16:15: The channels.0.selector field must be a selector such as env:prod, team in (shop,web), !legacy.
    ");
    // The service says the same.
    let planned = apply(&bench, &team, &file, &["--dry-run"]).await;
    assert_eq!(planned.said.replace(&file, "vedette.yaml"), said);
    // So does the reader, before anything else.
    write(
        folder.path(),
        "vedette.yaml",
        &DOCUMENT.replace("{file: slack-url}", "https://hooks.slack.com/s3cret"),
    );
    let literal = bench.run_words(vec!["validate", "-f", &file]).await;
    assert!(
        literal.said.contains(":15:10: The channels.0.url field is a secret"),
        "{}",
        literal.said
    );
    assert!(!literal.said.contains("s3cret"), "{}", literal.said);
    write(folder.path(), "vedette.yaml", DOCUMENT);
    let valid = bench.run_words(vec!["validate", "-f", &file]).await;
    assert_eq!((valid.code, valid.out.as_str()), (0, "The document shop is valid.\n"));
}

#[tokio::test]
async fn a_document_may_have_several_files() {
    let (bench, team, folder, _) = arranged().await;
    write(folder.path(), "sites.yml", "sites:\n  - {key: docs, url: 'https://docs.example.com'}\n");
    write(folder.path(), "notes.txt", "not read");
    let path = folder.path().display().to_string();
    let planned = apply(&bench, &team, &path, &["--dry-run", "--json"]).await;
    let planned = planned.document("apply");
    let keys = planned["changes"].as_array().expect("changes").iter();
    let keys: Vec<_> = keys.map(|change| change["key"].clone()).collect();
    assert_eq!(keys, [json!("ops"), json!("blog"), json!("docs"), json!("home")]);
    let empty = tempfile::tempdir().expect("a folder");
    let none = empty.path().display().to_string();
    let refused = apply(&bench, &team, &none, &["--dry-run"]).await;
    assert_eq!(refused.said, format!("{none} has no .yaml or .yml files"));
}

#[tokio::test]
async fn an_export_is_a_document_that_manages_the_team() {
    let (bench, team, folder, _) = arranged().await;
    bench
        .json(&format!(
            "site add --team {team} https://shop.example.com --name Shop --tag env:prod"
        ))
        .await;
    let exported = bench.run(&format!("export --team {team} --adopt")).await;
    insta::assert_snapshot!(exported.out, @r"
    name: shop

    settings:
      monitoring_settings: {}
      time_zone: UTC

    sites:
      - key: shop.example.com
        name: Shop
        url: https://shop.example.com
        tags: [env:prod]
    ");
    write(folder.path(), "vedette.yaml", &exported.out);
    let file = folder.path().join("vedette.yaml").display().to_string();
    let again = apply(&bench, &team, &file, &["--dry-run", "--exit-code"]).await;
    assert_eq!((again.code, again.said.as_str()), (0, ""));
    assert!(again.out.starts_with("No changes.\n"), "{}", again.out);
}

#[tokio::test]
async fn pruning_is_asked_for() {
    let (bench, team, folder, file) = arranged().await;
    write(folder.path(), "slack-url", "https://hooks.slack.com/services/T0/B0/secret");
    apply(&bench, &team, &file, &[]).await;
    let short = DOCUMENT.split("  - key: blog").next().expect("a beginning");
    write(folder.path(), "vedette.yaml", &format!("{short}channels: []\n"));
    let kept = apply(&bench, &team, &file, &[]).await;
    let left = "No longer in the document (--prune deletes them): Ops, blog.example.com.\n";
    assert!(kept.out.contains(left), "{}", kept.out);
    let refused = apply(&bench, &team, &file, &["--prune", "--prune-max", "1"]).await;
    assert!(refused.said.contains("The limit is 1."), "{}", refused.said);
    let pruned = apply(&bench, &team, &file, &["--prune"]).await;
    insta::assert_snapshot!(pruned.out, @r"
    - site blog (blog.example.com)
    - channel ops (Ops)

    0 created, 0 updated, 2 deleted, 0 adopted.
    Checks a month: 18848 before, 9424 after.
    Channel Ops: loses shop.example.com.
    ");
}
