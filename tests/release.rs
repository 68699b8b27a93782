//! A release gives the unreleased changes and all packages its version (`infra/dist/release.py`).

use std::path::Path;
use std::process::{Command, Output};
use std::{fs, str};

use crate::root;

/// A copy of what a release reads and changes.
fn copied() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("infra/dist")).expect("created");
    for path in ["infra/dist/release.py", "Cargo.toml", "CHANGELOG.md"] {
        fs::copy(root().join(path), folder.path().join(path)).expect(path);
    }
    folder
}

fn release(folder: &Path, arguments: &[&str]) -> Output {
    let script = folder.join("infra/dist/release.py");
    Command::new("python3").arg(script).args(arguments).output().expect("python3")
}

fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let refused = release(folder, arguments);
    assert!(!refused.status.success());
    String::from_utf8(refused.stderr).expect("text").trim().to_owned()
}

#[test]
fn unreleased_changes_become_those_of_a_version() {
    let folder = copied();
    let read = |path: &str| fs::read_to_string(folder.path().join(path)).expect(path);
    let before = read("CHANGELOG.md");
    let (_, changes) = before.split_once("## [Unreleased]\n").expect("changes");
    let changes = changes.split("\n## ").next().expect("changes").trim();
    assert!(!changes.is_empty());

    assert!(release(folder.path(), &["cut", "99.0.0", "2030-01-31"]).status.success());
    let heading = "## [Unreleased]\n\n## [99.0.0] - 2030-01-31\n";
    assert!(read("CHANGELOG.md").contains(heading));
    assert!(read("Cargo.toml").contains("\nversion = \"99.0.0\"\n"));
    let notes = release(folder.path(), &["notes", "99.0.0"]);
    assert_eq!(str::from_utf8(&notes.stdout).expect("text").trim(), changes);

    let again = refusal(folder.path(), &["cut", "99.0.0", "2030-01-31"]);
    assert_eq!(again, "version 99.0.0 has been released");
    let empty = refusal(folder.path(), &["cut", "99.0.1", "2030-01-31"]);
    assert_eq!(empty, "the changelog has no unreleased changes");
    assert_eq!(refusal(folder.path(), &["cut", "1.0", "2030-01-31"]), "not a version: 1.0");
}

#[test]
fn artifacts_of_all_platforms_are_collected_and_must_not_differ() {
    let folder = copied();
    let artifacts = folder.path().join("artifacts");
    for platform in ["one", "two"] {
        let made = artifacts.join(platform);
        fs::create_dir_all(&made).expect("created");
        fs::write(made.join("for-all.tgz"), "the same").expect("written");
        fs::write(made.join(format!("for-{platform}.tgz")), platform).expect("written");
        fs::write(made.join("SHA256SUMS"), platform).expect("written");
    }
    let path = artifacts.to_str().expect("a path");
    assert!(release(folder.path(), &["collect", path]).status.success());
    let sums = fs::read_to_string(artifacts.join("SHA256SUMS")).expect("sums");
    let names: Vec<&str> = sums.lines().filter_map(|line| line.split("  ").nth(1)).collect();
    assert_eq!(names, ["for-all.tgz", "for-one.tgz", "for-two.tgz"]);

    fs::write(artifacts.join("two/for-all.tgz"), "not the same").expect("written");
    let refused = refusal(folder.path(), &["collect", path]);
    assert_eq!(refused, "for-all.tgz differs from platform to platform");
}
