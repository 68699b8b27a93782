//! The rules of this repository, as tests.

mod all_variants;
mod module_graph;
mod release;
mod supply;
mod template;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use vedette_api::{FALLBACK, ROUTES};
use vedette_dashboard::{PAGES, PUBLIC_PAGES, SETUP_PAGES};
use vedette_domain::accounts::plan::{Plan, cadence_wording};
use vedette_domain::alerts::channel::ChannelKind;
use vedette_domain::checks::tool::Tool;
use vedette_domain::sites::settings::Settings;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files below a folder of the repository with this ending.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The packages that a package is built from: its `[dependencies]`.
fn dependencies(manifest: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(manifest).expect("a manifest");
    let manifest: toml::Table = text.parse().expect("TOML");
    manifest["dependencies"].as_table().expect("a table").keys().cloned().collect()
}

#[test]
fn dependencies_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("shared/domain", &[][..]),
        ("shared/ops", &[]),
        ("shared/store", &["domain", "ops"]),
        ("shared/embedded", &["domain", "ops", "store"]),
        ("shared/probe", &["domain", "ops"]),
        ("shared/runtime", &["domain", "ops", "store"]),
        ("shared/runs", &["domain", "store", "runtime"]),
        ("shared/actions", &["domain", "ops", "store", "runtime", "runs"]),
        ("shared/http", &["actions", "domain", "ops", "store"]),
        ("shared/routing", &["domain", "store", "http", "runtime"]),
        (
            "functions/api",
            // It looks up DNS records of sites, and records the runs that jobs report.
            &["actions", "domain", "ops", "store", "probe", "http", "routing", "runs", "runtime"],
        ),
        ("functions/checker", &["domain", "ops", "store", "probe", "runs", "runtime"]),
        (
            "functions/dashboard",
            &["actions", "domain", "ops", "store", "probe", "http", "routing", "runtime"],
        ),
        // Email is sent with the notifier's mail transports.
        ("functions/mailer", &["domain", "store", "notifier", "runtime"]),
        ("functions/notifier", &["actions", "domain", "ops", "store", "probe", "http", "runtime"]),
        ("functions/reconciler", &["domain", "ops", "store", "runs", "runtime"]),
    ]);
    for (folder, allowed) in allowed {
        let found = dependencies(&root().join(folder).join("Cargo.toml"));
        let found: Vec<_> = found.iter().filter_map(|name| name.strip_prefix("vedette-")).collect();
        let wrong: Vec<_> = found.iter().filter(|name| !allowed.contains(name)).collect();
        assert!(wrong.is_empty(), "{folder} must not depend on {wrong:?}");
    }
}

/// The packages of the repository that a package is built from, those of its dependencies included.
fn built_from(package: &str) -> BTreeSet<String> {
    let manifests = ["shared", "functions", "infra"].map(|folder| files(folder, "Cargo.toml"));
    let packages: BTreeMap<String, BTreeSet<String>> = manifests
        .iter()
        .flatten()
        .map(|path| {
            let manifest: toml::Table = read(path).parse().expect("TOML");
            let name = manifest["package"]["name"].as_str().expect("a name").to_owned();
            (name, dependencies(path))
        })
        .collect();
    let (mut found, mut left) = (BTreeSet::new(), vec![package.to_owned()]);
    while let Some(package) = left.pop() {
        let known = packages[&package].iter().filter(|name| packages.contains_key(*name));
        left.extend(known.filter(|name| found.insert((*name).clone())).cloned());
    }
    found
}

#[test]
fn actions_and_what_works_in_the_background_know_nothing_of_http() {
    for package in ["vedette-actions", "vedette-reconciler", "vedette-checker"] {
        let found = built_from(package);
        assert!(!found.contains("vedette-http"), "{package} is built from {found:?}");
    }
}

#[test]
fn no_layer_depends_on_one_above_it() {
    let layers = ["shared", "functions", "infra"];
    let names = layers.map(|folder| {
        let names = files(folder, "Cargo.toml").into_iter().map(|path| {
            let manifest: toml::Table = read(&path).parse().expect("TOML");
            manifest["package"]["name"].as_str().expect("a name").to_owned()
        });
        // Only tests are built from it.
        names.filter(|name| name != "vedette-testkit").collect::<Vec<_>>()
    });
    for (layer, packages) in names.iter().enumerate() {
        let above: BTreeSet<&String> = names[layer + 1..].iter().flatten().collect();
        for package in packages {
            let found = built_from(package);
            let wrong: Vec<_> = found.iter().filter(|name| above.contains(name)).collect();
            assert!(wrong.is_empty(), "{package} must not be built from {wrong:?}");
        }
    }
}

/// Otherwise, they would be built separately, together with their dependencies once more.
#[test]
fn all_functions_are_built_together() {
    let workspace: toml::Table = read("Cargo.toml").parse().expect("TOML");
    let together = &workspace["workspace"]["metadata"]["lambda"]["build"]["packages"];
    let together = together.as_array().expect("packages").iter().filter_map(toml::Value::as_str);
    let functions = files("functions", "Cargo.toml").into_iter().map(|manifest| {
        let manifest: toml::Table = read(manifest).parse().expect("TOML");
        manifest["package"]["name"].as_str().expect("a name").to_owned()
    });
    let functions: BTreeSet<String> = functions.collect();
    assert_eq!(together.map(str::to_owned).collect::<BTreeSet<_>>(), functions);
}

#[test]
fn the_domain_does_no_io() {
    let found = dependencies(&root().join("shared/domain/Cargo.toml"));
    for name in found {
        let does_io = name.starts_with("aws") || name.contains("lambda") || name.contains("http");
        let is_runtime = ["tokio", "hyper", "reqwest", "tracing", "getrandom"].contains(&&*name);
        assert!(!does_io && !is_runtime, "the domain must not depend on {name}");
    }
}

#[test]
fn openapi_json_describes_the_routes() {
    let document: serde_json::Value = serde_json::from_str(&read("openapi.json")).expect("json");
    let paths = document["paths"].as_object().expect("paths");
    let described: BTreeSet<_> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flat_map(serde_json::Map::iter);
            methods.filter_map(move |(method, operation)| {
                let name = operation["operationId"].as_str()?;
                Some((name.to_owned(), method.to_uppercase(), format!("/api/v1{path}")))
            })
        })
        .collect();
    let routes: BTreeSet<_> = ROUTES
        .iter()
        .map(|route| (route.name.to_owned(), route.method.to_owned(), route.path.to_owned()))
        .collect();
    assert_eq!(described, routes, "run `make openapi`");
}

#[test]
fn each_route_has_a_file_a_test_and_an_event() {
    let names = ROUTES.iter().map(|route| route.name);
    for name in names.clone() {
        let file = name.replace('.', "/").replace('-', "_");
        for path in [format!("functions/api/src/{file}.rs"), format!("tests/routes/{file}.rs")] {
            assert!(root().join(&path).is_file(), "{path} is missing");
        }
    }
    let events: BTreeSet<_> = files("events/api", ".json")
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    let expected: BTreeSet<_> = names.chain([FALLBACK.name]).map(str::to_owned).collect();
    assert_eq!(events, expected);
}

#[test]
fn each_page_has_a_test() {
    let pages = PAGES.iter().chain(SETUP_PAGES).map(|page| page.name);
    for name in pages.chain(PUBLIC_PAGES.iter().map(|page| page.name)) {
        let (resource, _) = name.split_once('.').expect("a resource");
        let path = format!("tests/pages/{}.rs", resource.replace('-', "_"));
        assert!(root().join(&path).is_file(), "{path} is missing, for {name}");
    }
}

#[test]
fn keys_are_written_in_one_module() {
    let prefixes = [
        "\"S#", "\"T#", "\"F#", "\"H#", "\"I#", "\"N#", "\"L#", "\"K#", "\"R#", "\"E#", "\"W#",
        "\"J#",
    ];
    for path in files("shared/store/src", ".rs") {
        let is_child = path.parent().is_some_and(|folder| folder.ends_with("keys"));
        if path.ends_with("keys.rs") || is_child {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source");
        for prefix in prefixes {
            assert!(!text.contains(prefix), "{} writes a key with {prefix}", path.display());
        }
    }
}

#[test]
fn the_reference_names_every_variable() {
    let reference = read("docs/reference/configuration.md");
    for folder in ["shared", "functions", "infra"] {
        for path in files(folder, ".rs") {
            // Variables that only tests read are not configuration.
            if path.strip_prefix(root()).expect("ours").iter().any(|part| part == "tests") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source");
            for part in text.split("\"VEDETTE_").skip(1) {
                let rest: String =
                    part.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
                let name = format!("VEDETTE_{rest}");
                assert!(reference.contains(&name), "no row for {name}, see {path:?}");
            }
        }
    }
}

/// A walkthrough that names a function links to its file.
#[test]
fn the_architecture_points_to_functions_that_exist() {
    let page = read("ARCHITECTURE.md");
    let mut pointers = 0;
    for (before, after) in page.match_indices("`](").map(|(at, _)| page.split_at(at)) {
        let (_, name) = before.rsplit_once("[`").expect("a name");
        let name = name.rsplit("::").next().unwrap_or(name);
        let (path, _) = after["`](".len()..].split_once(')').expect("a path");
        if !path.ends_with(".rs") {
            continue;
        }
        let text = read(path);
        let declared =
            ["fn", "const", "static", "struct", "enum"].map(|kind| format!("{kind} {name}"));
        let is_there = declared.iter().any(|declared| {
            text.match_indices(declared.as_str()).any(|(at, _)| {
                let next = text[at + declared.len()..].chars().next();
                next.is_some_and(|next| !next.is_alphanumeric() && next != '_')
            })
        });
        assert!(is_there, "{path} has no {name}");
        pointers += 1;
    }
    assert!(pointers > 15, "{pointers} pointers");
}

/// The functions of each access pattern, by the crate that has them.
#[test]
fn access_patterns_name_functions_that_exist() {
    let page = read("shared/store/ACCESS_PATTERNS.md");
    let sources = |folder: &str| files(folder, ".rs").iter().map(read).collect::<String>();
    let folders = [
        ("Store", "shared/store/src"),
        ("actions", "shared/actions/src"),
        ("domain", "shared/domain/src"),
        ("http", "shared/http/src"),
        ("reconciler", "functions/reconciler/src"),
        ("runs", "shared/runs/src"),
        ("vedette_mailer", "functions/mailer/src"),
    ];
    let folders = folders.map(|(name, folder)| (name, sources(folder)));
    let mut named = 0;
    for code in page.split('`').skip(1).step_by(2) {
        let Some((place, name)) = code.rsplit_once("::") else { continue };
        let owner = place.split("::").next().unwrap_or(place);
        let (_, text) = folders.iter().find(|(name, _)| *name == owner).expect(code);
        let is_there = [format!("fn {name}("), format!("fn {name}<"), format!("mod {name};")];
        assert!(is_there.iter().any(|form| text.contains(form.as_str())), "there is no {code}");
        named += 1;
    }
    assert!(named > 50, "{named} functions");
}

#[test]
fn the_reference_has_a_row_for_each_tool() {
    let reference = read("docs/reference/tools.md");
    for tool in Tool::ALL {
        assert!(reference.contains(&format!("\n| `{tool}` |")), "no row for {tool}");
    }
}

/// The table of plans says what [`Plan::limits`] allows.
#[test]
fn the_reference_says_what_plans_allow() {
    let reference = read("docs/reference/plans.md");
    let limits = Plan::ALL.map(Plan::limits);
    let unlimited = |limit: Option<u32>| limit.map_or("unlimited".to_owned(), thousands);
    let unit = |count: u32, unit: &str| match count {
        1 => format!("1 {unit}"),
        count => format!("{} {unit}s", thousands(count)),
    };
    let rows = [
        ("sites", limits.map(|plan| unlimited(plan.sites))),
        ("seats", limits.map(|plan| unlimited(plan.seats))),
        ("on-demand checks a month", limits.map(|plan| thousands(plan.manual_checks_per_month))),
        ("fastest cadence", limits.map(|plan| unit(plan.minimum_cadence_minutes, "minute"))),
        ("history", limits.map(|plan| unit(plan.history_retention_days, "day"))),
    ];
    let heading = format!("| | {} |", Plan::ALL.map(Plan::as_str).join(" | "));
    assert!(reference.lines().any(|line| line == heading), "plans.md lacks {heading}");
    for (name, values) in rows {
        let row = format!("| {name} | {} |", values.join(" | "));
        assert!(reference.lines().any(|line| line == row), "plans.md lacks {row}");
    }
}

/// A count below a million with a comma before the last three digits.
fn thousands(count: u32) -> String {
    match (count / 1_000, count % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

/// The error codes are the constants of `probe` and `domain` whose name is their value.
#[test]
fn the_guide_explains_each_error_code_of_a_check() {
    let guide = read("docs/guides/troubleshooting.md");
    let mut codes = 0;
    for path in ["shared/probe/src", "shared/domain/src/checks/check"]
        .iter()
        .flat_map(|folder| files(folder, ".rs"))
    {
        for line in read(&path).lines() {
            let constant = line.trim().strip_prefix("pub const ");
            let Some((name, value)) = constant.and_then(|one| one.split_once(": &str = ")) else {
                continue;
            };
            let code = value.trim_matches(['"', ';']);
            if name.to_lowercase() == code {
                codes += 1;
                let row = format!("| `{code}` |");
                assert!(guide.contains(&row), "troubleshooting.md has no row for {code}");
            }
        }
    }
    assert!(codes > 8, "{codes} codes");
}

#[test]
fn the_guide_names_every_kind_of_channel() {
    let guide = read("docs/guides/alerts.md");
    let rows: Vec<&str> = guide.lines().filter(|line| line.starts_with("| `")).collect();
    for kind in ChannelKind::ALL {
        let name = format!("`{kind}`");
        let is_named = rows.iter().any(|row| row.split(" | ").next().unwrap_or("").contains(&name));
        assert!(is_named, "no row for {kind}");
    }
}

#[test]
fn the_story_of_alerts_has_every_kind_of_channel() {
    let story = read("tests/alerts/story.py") + &read("tests/alerts/receivers.py");
    for kind in ChannelKind::ALL {
        assert!(story.contains(&format!("\"{kind}\"")), "tests/alerts adds no {kind}");
    }
}

#[test]
fn the_stories_on_aws_use_every_tool() {
    for story in ["tests/aws/story.py", "tests/aws/move.py"] {
        let text = read(story);
        let tools = text.lines().find(|line| line.starts_with("TOOLS = ")).expect("the tools");
        for tool in Tool::ALL {
            assert!(tools.contains(&format!("\"{tool}\"")), "{story} leaves out {tool}");
        }
    }
}

#[test]
fn the_guide_says_how_soon_people_hear_of_an_outage() {
    let guide = read("docs/guides/alerts.md");
    for plan in Plan::ALL {
        let status = Settings::defaults(plan).tools.status;
        let (cadence, retry) = (status.cadence_minutes, status.settings.confirmation_retry_minutes);
        let soonest = (status.settings.failures_to_open.get() - 1) * retry;
        let row = format!(
            "| {} | every {} | {retry} minutes | {soonest} to {} minutes |",
            plan.as_str(),
            cadence_wording(cadence),
            soonest + cadence
        );
        assert!(guide.contains(&row), "{row}");
    }
}

#[test]
fn modules_are_named_by_their_files() {
    let folders = ["functions", "infra", "shared", "tests", "fuzz"];
    let found = folders.map(|folder| files(folder, "/mod.rs")).concat();
    assert!(found.is_empty(), "x/mod.rs is called x.rs here: {found:?}");
}

/// A file that nothing declares is not compiled, and its tests do not run.
#[test]
fn every_file_is_declared_as_a_module() {
    let folders = ["functions", "infra", "shared", "tests"];
    let ours = folders.map(|folder| files(folder, ".rs")).concat();
    let is_foreign =
        |path: &PathBuf| path.components().any(|part| part.as_os_str() == "node_modules");
    let mut beside: BTreeMap<PathBuf, String> = BTreeMap::new();
    for path in ours.iter().filter(|path| !is_foreign(path)) {
        let text = read(path);
        // A module is declared by a file next to it, or by the file that has the name of its folder.
        for folder in [path.parent().expect("a folder").to_owned(), path.with_extension("")] {
            beside.entry(folder).or_default().push_str(&text);
        }
    }
    for path in ours.iter().filter(|path| !is_foreign(path)) {
        let (folder, name) = (path.parent().expect("a folder"), name_of(path));
        let file = format!("{name}.rs\"");
        let is_target = ["main", "lib", "build"].contains(&name.as_str())
            || ["tests", "bin", "examples"].contains(&name_of(folder).as_str())
                && folder.parent().is_some_and(|package| package.join("Cargo.toml").exists())
            || fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains(&file));
        let declaration = format!("mod {name};");
        let is_declared = beside.get(folder).is_some_and(|text| text.contains(&declaration));
        assert!(is_target || is_declared, "no module declares {}", path.display());
    }
}

/// The name of a file or folder, without what follows a dot.
fn name_of(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// If two things had the same name, readers would have to look it up at each use.
#[test]
fn no_two_public_types_share_a_name() {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let tests = root().join("shared/testkit");
    let ours = [files("shared", ".rs"), files("functions", ".rs")].concat();
    for path in ours.into_iter().filter(|path| !path.starts_with(&tests)) {
        for line in read(&path).lines() {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let is_type = words.next() == Some("pub")
                && matches!(words.next(), Some("struct" | "enum" | "trait"));
            if let Some(name) = words.next().filter(|_| is_type) {
                places.entry(name.to_owned()).or_default().push(path.clone());
            }
        }
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}
