//! What is installed to build, test and deploy Vedette: each package is pinned by a hash, and none runs a script of its
//! own.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{files, read};

const TOOLS: &str = "infra/tools";

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The requirements of a lock file of pip, each with its hashes in one line.
fn requirements(lock: &str) -> Vec<String> {
    let joined = lock.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn packages_from_pypi_are_locked_by_hash() {
    let wanted = files(TOOLS, ".in");
    let locks: BTreeSet<_> = files(TOOLS, ".txt").into_iter().collect();
    assert_eq!(locks, wanted.iter().map(|path| path.with_extension("txt")).collect());
    for path in wanted {
        let lock = text(&path.with_extension("txt"));
        assert!(!lock.contains("://"), "{} names an index", path.display());
        let locked = requirements(&lock);
        for requirement in &locked {
            let is_exact = requirement.split_once("==").is_some_and(|(name, _)| !name.is_empty());
            assert!(is_exact && requirement.contains("--hash=sha256:"), "{requirement}");
        }
        for named in requirements(&text(&path)) {
            assert!(named.contains("=="), "{named} is of no exact version");
            let is_locked = locked.iter().any(|one| one.starts_with(&format!("{named} ")));
            assert!(is_locked, "run `make lock`: {} has no {named}", path.display());
        }
    }
}

#[test]
fn packages_from_npm_are_locked_by_hash() {
    let mut folders = files(TOOLS, "/package.json");
    folders.push(crate::root().join("infra/lighthouse/package.json"));
    assert!(folders.len() > 5, "{folders:?}");
    for path in folders {
        let folder = path.parent().expect("a folder");
        let json = |name: &str| -> Value {
            serde_json::from_str(&text(&folder.join(name))).expect("JSON")
        };
        let (manifest, lock) = (json("package.json"), json("package-lock.json"));
        for kind in ["dependencies", "optionalDependencies"] {
            assert_eq!(manifest[kind], lock["packages"][""][kind], "run `make lock`: {folder:?}");
            for (name, version) in manifest[kind].as_object().into_iter().flatten() {
                let version = version.as_str().expect("a version");
                assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{name} {version}");
            }
        }
        for (name, package) in lock["packages"].as_object().expect("packages") {
            let is_hashed =
                package["integrity"].as_str().is_some_and(|hash| hash.starts_with("sha512-"));
            assert!(is_hashed || name.is_empty(), "{folder:?}: {name} has no hash");
            assert!(package["resolved"].is_null(), "{folder:?}: {name} names a registry");
        }
    }
}

/// The lines of a shell script, each with the lines that continue it.
fn commands(path: &str) -> Vec<String> {
    let text = read(path).replace("\\\n", " ");
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn packages_are_installed_only_by_lock_file() {
    for path in ["Makefile", "infra/browser-image/install", "tests/clients/run", "tests/image/root"]
    {
        for command in commands(path) {
            if command.contains("pip install") {
                for option in ["--require-hashes", "--no-deps", "--only-binary :all:"] {
                    assert!(command.contains(option), "{path}: {command} lacks {option}");
                }
            }
            let installs = ["npm ci ", "npm install", "npm update", "--package-lock-only"];
            if installs.iter().any(|part| command.contains(part)) {
                let is_locked =
                    command.contains("npm ci ") || command.contains("--package-lock-only");
                assert!(is_locked, "{path}: {command} is not of a lock file");
                assert!(command.contains("--ignore-scripts"), "{path}: {command} runs scripts");
            }
            assert!(!command.contains("npx "), "{path}: {command}");
        }
    }
    let from_npm = |path: &str| commands(path).iter().any(|line| line.contains("npm ci "));
    assert!(from_npm("Makefile") && from_npm("infra/browser-image/install"));
}

#[test]
fn the_image_is_made_from_a_base_that_cannot_change() {
    let dockerfile = commands("infra/browser-image/Dockerfile");
    let base = dockerfile.iter().find_map(|line| line.strip_prefix("FROM ")).expect("a base");
    let (_, digest) = base.split_once("@sha256:").expect("a digest");
    assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{base}");
    // The ignore file must let in what the Dockerfile copies.
    let let_in = read("infra/browser-image/Dockerfile.dockerignore");
    for line in dockerfile.iter().filter_map(|line| line.strip_prefix("COPY ")) {
        let (sources, _) = line.rsplit_once(' ').expect("a target");
        for source in sources.split(' ') {
            assert!(let_in.lines().any(|line| line == format!("!{source}")), "{source}");
        }
    }
}
