//! Reads documents of one and of several files, good and bad ones.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{DEPTH_MAX, EXPANDED_TEXT_MAX, KEY_MAX, NODES_MAX, PROBLEMS_MAX};

/// What is a secret in these tests.
fn secrecy(path: &str) -> Secrecy {
    let is_secret = path.ends_with(".url") || path.ends_with(".a.b/c~d");
    match path.starts_with("channels.") {
        true if is_secret => Secrecy::Secret,
        true if path.ends_with(".header") => Secrecy::Either,
        _ => Secrecy::Public,
    }
}

fn read_all(texts: &[&str]) -> Result<TeamDocument, Vec<String>> {
    let names: Vec<String> = (0..texts.len()).map(|n| format!("{n}.yaml")).collect();
    let sources: Vec<DocumentFile<'_>> =
        names.iter().zip(texts).map(|(name, text)| DocumentFile { name, text }).collect();
    TeamDocument::read(&sources, secrecy)
        .map_err(|problems| problems.iter().map(DocumentProblem::to_string).collect())
}

fn read(text: &str) -> TeamDocument {
    read_all(&[text]).expect(text)
}

#[test]
fn a_field_that_may_be_a_secret_has_a_value_or_a_reference() {
    let mut document = read("channels:\n  - header: {env: HEADER}\n  - header: plain\n");
    assert_eq!(document.secrets().count(), 1);
    document.resolve(|_, _| Ok(Some("value".to_owned()))).expect("a value");
    assert_eq!(document.value()["channels"], json!([{ "header": "value" }, { "header": "plain" }]));
}

fn problems(text: &str) -> Vec<String> {
    read_all(&[text]).map(|document| document.fields).expect_err(text)
}

/// The only problem, without the name of the file.
fn problem(text: &str) -> String {
    let problems = problems(text);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].trim_start_matches("0.yaml:").to_owned()
}

fn value(text: &str) -> Value {
    Value::Object(read(text).fields)
}

fn place(document: &TeamDocument, path: &str) -> String {
    document.place(path).to_string()
}

#[test]
fn scalars_are_those_of_the_core_schema() {
    for (text, expected) in [
        ("yes", json!("yes")),
        ("no", json!("no")),
        ("on", json!("on")),
        ("Off", json!("Off")),
        ("y", json!("y")),
        ("true", json!(true)),
        ("False", json!(false)),
        ("null", json!(null)),
        ("~", json!(null)),
        ("", json!(null)),
        ("12", json!(12)),
        ("-12", json!(-12)),
        ("18446744073709551615", json!(u64::MAX)),
        ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ("0x1F", json!(31)),
        ("1.50", json!(1.5)),
        ("1e3", json!(1000.0)),
        ("007", json!("007")),
        ("1_000", json!("1_000")),
        ("12:30", json!("12:30")),
        ("190:20:30", json!("190:20:30")),
        ("2026-11-29", json!("2026-11-29")),
        ("2026-11-29T02:00", json!("2026-11-29T02:00")),
        ("2026-11-29 02:00:00", json!("2026-11-29 02:00:00")),
        ("'12'", json!("12")),
        ("\"a\\tb\"", json!("a\tb")),
        ("!!str 12", json!("12")),
        ("inf", json!("inf")),
        ("https://example.com/#a", json!("https://example.com/#a")),
    ] {
        assert_eq!(value(&format!("a: {text}"))["a"], expected, "{text}");
    }
}

#[test]
fn values_have_places() {
    let text = "\
# A comment.
name: shop
settings:
  cadence: {minutes: 5, days: [mon, tue]}
sites:
  - key: a
    notes: |
      One.
    request_headers:
      X-A.b: é x
      X-A: y
  -
    key: b
";
    for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
        let document = read(&text);
        for (path, expected) in [
            ("name", "2:7"),
            ("settings", "4:3"),
            ("settings.cadence", "4:12"),
            ("settings.cadence.minutes", "4:22"),
            ("settings.cadence.days", "4:31"),
            ("settings.cadence.days.1", "4:37"),
            ("sites", "6:3"),
            ("sites.0", "6:5"),
            ("sites.0.key", "6:10"),
            ("sites.0.notes", "8:7"),
            // A key with a dot.
            ("sites.0.request_headers.X-A.b", "10:14"),
            ("sites.0.request_headers.X-A", "11:12"),
            ("sites.1.key", "13:10"),
            // What is missing is missing in the innermost object that is there.
            ("sites.0.url", "6:5"),
            ("sites.0.monitoring_settings.tools.status", "6:5"),
            ("sites.0.request_headers.X", "10:7"),
            ("sites.1.url", "13:5"),
            ("sites.2.url", "6:3"),
            ("settings.cadence.minutes.x", "4:22"),
            ("channels.0", "1:1"),
            ("", "1:1"),
        ] {
            assert_eq!(place(&document, path), format!("0.yaml:{expected}"), "{path}");
        }
    }
}

#[test]
fn files_form_one_document() {
    let document = read_all(&[
        "name: shop\nsites:\n- {key: a}\n",
        "sites:\n- {key: b}\n- {key: c}\nsettings: {a: 1}\n",
        "name: shop\nunknown: [1]\ngroups: []\n",
    ])
    .expect("a document");
    let expected = json!({
        "name": "shop",
        "sites": [{"key": "a"}, {"key": "b"}, {"key": "c"}],
        "settings": {"a": 1},
        "unknown": [1],
        "groups": [],
    });
    assert_eq!(Value::Object(document.value().clone()), expected);
    assert_eq!(place(&document, "sites.0.key"), "0.yaml:3:9");
    assert_eq!(place(&document, "sites.2.key"), "1.yaml:3:9");
    assert_eq!(place(&document, "settings"), "1.yaml:4:11");

    let problems = read_all(&["name: a\nsettings: {}", "name: b\nsettings: {}\nsites: 1\ngroups:"])
        .expect_err("two names");
    assert_eq!(
        problems,
        [
            "1.yaml:1:7: The name field is also at 0.yaml:1:7. Remove one of them.",
            "1.yaml:2:11: The settings field is also at 0.yaml:2:11. Remove one of them.",
            "1.yaml:3:8: The sites field must be a list.",
            "1.yaml:4:7: The groups field must be a list.",
        ]
    );
    assert!(read_all(&[]).expect("no files").value().is_empty());
}

#[test]
fn defaults_fill_what_the_objects_of_their_file_lack() {
    let text = "\
defaults:
  sites:
    tags: [x]
    monitoring: {status: {cadence: 5, timeout: 10}, links: null}
  channels:
    url: {env: DEFAULT}
sites:
  - key: a
    monitoring: {status: {cadence: 1}}
  - key: b
    tags: []
    monitoring: null
  - 5
channels:
  - {}
  - url: {file: own}
";
    let document = read_all(&[text, "sites: [{key: c}]"]).expect("a document");
    let expected = json!({
        "sites": [
            {"key": "a", "tags": ["x"], "monitoring": {"status": {"cadence": 1, "timeout": 10}, "links": null}},
            {"key": "b", "tags": [], "monitoring": null},
            5,
            {"key": "c"},
        ],
        "channels": [{"url": {"env": "DEFAULT"}}, {"url": {"file": "own"}}],
    });
    assert_eq!(Value::Object(document.value().clone()), expected);
    for (path, expected) in [
        ("sites.0.tags.0", "3:12"),
        ("sites.0.monitoring.status.cadence", "9:36"),
        ("sites.0.monitoring.status.timeout", "4:48"),
        ("channels.0.url", "6:10"),
    ] {
        assert_eq!(place(&document, path), format!("0.yaml:{expected}"), "{path}");
    }

    for (text, expected) in [
        ("defaults: []", "1:11: The defaults field must be a mapping of lists to fields."),
        ("defaults:", "1:9: The defaults field must be a mapping of lists to fields."),
        ("defaults: {sites: }", "1:17: The defaults.sites field must be a mapping of fields."),
        (
            "defaults: {sites: {key: a}}",
            "1:25: Remove the defaults.sites.key field: keys must be unique.",
        ),
        (
            "defaults: {groups: {}}",
            "1:20: There are no defaults for groups, only for sites, channels, maintenance_windows, \
             status_pages.",
        ),
        // A mistake in defaults is reported once.
        (
            "defaults: {sites: {a: {env: X}}}\nsites: [{}, {}]",
            "1:23: The sites.0.a field cannot refer to an environment variable, because it is not a \
             secret. Write its value here.",
        ),
    ] {
        assert_eq!(problem(text), expected);
    }
}

#[test]
fn aliases_and_merge_keys_have_the_places_of_their_anchors() {
    let text = "settings: &a {x: 1, y: {z: 2}}\nother: *a\nmerged:\n  <<: *a\n  x: 3\n";
    let document = read(text);
    let expected = json!({
        "settings": {"x": 1, "y": {"z": 2}},
        "other": {"x": 1, "y": {"z": 2}},
        "merged": {"x": 3, "y": {"z": 2}},
    });
    assert_eq!(Value::Object(document.value().clone()), expected);
    assert_eq!(place(&document, "other.x"), "0.yaml:1:18");
    assert_eq!(place(&document, "merged.x"), "0.yaml:5:6");
    assert_eq!(place(&document, "merged.y.z"), "0.yaml:1:28");
}

#[test]
fn secrets_are_references() {
    let text = "\
channels:
  - url: {env: SLACK_URL}
    a: {b/c~d: {file: ../token}}
  - url: {env: UNKNOWN}
  - url:
  - {name: none}
";
    let mut document = read(text);
    let secrets = document.secrets();
    let found: Vec<_> = secrets.map(|(path, _, place)| format!("{path} {place}")).collect();
    assert_eq!(
        found,
        [
            "channels.0.url 0.yaml:2:10",
            "channels.0.a.b/c~d 0.yaml:3:16",
            "channels.1.url 0.yaml:4:10"
        ]
    );
    let problems = document
        .resolve(|reference, place| match reference {
            Reference::Env(name) if name == "SLACK_URL" => Ok(Some("https://slack".to_owned())),
            Reference::Env(_) => Ok(None),
            Reference::File(path) => Err(format!("The file {path} of {} is missing.", place.file)),
        })
        .expect_err("a missing file");
    assert_eq!(
        problems.iter().map(DocumentProblem::to_string).collect::<Vec<_>>(),
        ["0.yaml:3:16: The file ../token of 0.yaml is missing."]
    );
    let resolved = document.resolve(|reference, _| match reference {
        Reference::File(_) => Ok(Some("token".to_owned())),
        Reference::Env(_) => Ok(None),
    });
    assert_eq!(resolved, Ok(()));
    let expected = json!([
        {"url": "https://slack", "a": {"b/c~d": "token"}},
        {"url": {"env": "UNKNOWN"}},
        {"url": null},
        {"name": "none"},
    ]);
    assert_eq!(document.value()["channels"], expected);
    assert!(!format!("{document:?}").contains("slack"));
}

#[test]
fn a_document_must_not_contain_secrets() {
    let literal = "The channels.0.url field is a secret, and a document must not contain secrets. \
                   Write {env: NAME} for the value of an environment variable, or {file: PATH} for \
                   the content of a file.";
    let either = "The channels.0.url field must be {env: NAME} or {file: PATH}, with a string.";
    let variable = "The channels.0.url.env field must be the name of an environment variable: at \
                    most 255 letters, digits and underscores, and no digit at the beginning.";
    let file = "The channels.0.url.file field must be the path of a file.";
    let longest = "a".repeat(255);
    for (value, expected) in [
        ("hunter2", literal),
        ("4711", literal),
        ("[hunter2]", literal),
        ("{}", either),
        ("{env: X, file: hunter2}", either),
        ("{hunter2: X}", either),
        ("{env: 4711}", either),
        ("{env: {env: X}}", either),
        ("{env: hunter-2}", variable),
        ("{env: 2hunter}", variable),
        ("{env: ''}", variable),
        (&format!("{{env: {longest}a}}"), variable),
        ("{file: ''}", file),
    ] {
        let text = format!("channels:\n- url: {value}");
        assert_eq!(problem(&text), format!("2:8: {expected}"), "{value}");
    }
    read(&format!("channels: [{{url: {{env: {longest}}}}}]"));

    // Elsewhere, only what looks like a reference to a variable is refused.
    assert_eq!(
        problem("settings: {a: {env: NAME}}"),
        "1:15: The settings.a field cannot refer to an environment variable, because it is not a \
         secret. Write its value here."
    );
    for text in ["{env: a-b}", "{env: [X]}", "{env: X, b: 1}", "{file: x}"] {
        read(&format!("settings: {text}"));
    }
}

#[test]
fn errors_of_syntax_have_places_and_never_repeat_a_value() {
    let tag = "This value cannot be read. If it is a string that begins with !, quote it. Remove other tags.";
    let documents =
        "A file must contain one YAML document. Move what follows --- or ... to another.";
    let control = "A text must not contain control characters. Remove them.";
    let finite = "The number must be finite, and less than 1.8e308.";
    let key = "A key must be a string. Quote it.";
    let mapping = "The file must be a mapping with fields such as sites.";
    let empty = "The file is empty. Write a field, such as sites, or remove the file.";
    for (text, place, expected) in [
        ("", "1:1", empty),
        ("# nothing\n", "2:1", empty),
        ("\u{feff}", "1:1", empty),
        ("hunter2", "1:1", mapping),
        ("- a", "1:1", mapping),
        ("a: 1\n---\nb: 2", "3:1", documents),
        ("a: 1\n...\nhunter2: [", "3:1", documents),
        ("a: !hunter2 x", "1:13", tag),
        ("a: !!hunter2 x", "1:14", tag),
        (
            "a: *hunter2",
            "1:4",
            "There is no anchor with this name above. If this is a string, quote it.",
        ),
        ("a: &a [*a]", "1:8", "A value must not contain an alias of itself."),
        ("<<: hunter2", "1:5", "The value of << must be a mapping, or a list of mappings."),
        (
            "a: b: c",
            "1:5",
            "The file is not valid YAML: mapping values are not allowed in this context.",
        ),
        ("a:\n  - [hunter2", "2:5", "The file is not valid YAML: unclosed bracket '['."),
        ("a: \"hunter2", "1:4", "The file is not valid YAML: unclosed quote."),
        ("a: x\u{1}y", "1:4", "The file is not valid YAML: unexpected character: `\\u{1}'."),
        ("a: \"\\0\"", "1:4", control),
        ("a: [b, \"\\x7f\"]", "1:8", control),
        ("a: .nan", "1:4", finite),
        ("a: -.inf", "1:4", finite),
        ("a: 1e999", "1:4", finite),
        ("a: {1: b}", "1:5", key),
        ("a: {true: b}", "1:5", key),
        ("~: b", "1:1", key),
        ("[a]: b", "1:1", key),
        ("? {a: b}\n: c", "1:3", key),
        ("\"a\\nb\": c", "1:1", "A key must not contain line breaks or control characters."),
        ("a: 1\nb: 2\na: 3", "3:1", "The key a occurs twice. Remove one of them."),
        ("a: {b: 1, 'b': 1}", "1:11", "The key b occurs twice. Remove one of them."),
    ] {
        assert_eq!(problem(text), format!("{place}: {expected}"), "{text:?}");
    }
    let key = "k".repeat(KEY_MAX);
    read(&format!("{key}: 1"));
    assert_eq!(
        problem(&format!("{key}k: 1")),
        "1:1: A key must not be longer than 255 characters."
    );
}

#[test]
fn all_problems_are_reported_at_once_in_the_order_of_lines() {
    let first = "\
defaults: {groups: {}}
sites:
  - url: .inf
    url: x
  - {a: {env: X}}
channels:
  - url: hunter2
";
    let found = read_all(&[first, "a: [", "groups: 1"]).expect_err("problems");
    let places: Vec<&str> = found.iter().filter_map(|problem| problem.split(": ").next()).collect();
    assert_eq!(
        places,
        [
            "0.yaml:1:20",
            "0.yaml:3:10",
            "0.yaml:4:5",
            "0.yaml:5:9",
            "0.yaml:7:10",
            "1.yaml:1:4",
            "2.yaml:1:9"
        ]
    );
    assert!(!found.join("\n").contains("hunter2"));
    let many = format!("a: [{}]", ".nan, ".repeat(PROBLEMS_MAX + 1));
    assert_eq!(problems(&many).len(), PROBLEMS_MAX);
}

/// What random files consist of.
const PIECES: [&str; 33] = [
    "a",
    "b: ",
    "- ",
    "? ",
    "\n",
    "  ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "&a ",
    "*a",
    "<<: ",
    "'",
    "\"",
    "|",
    ">",
    "!",
    "!!",
    "#",
    "%",
    "---",
    "...",
    "\\",
    "\r",
    "\t",
    "\0",
    "é",
    "sites:\n",
    "defaults:",
    "env: ",
    "\u{feff}",
];

proptest! {
    #[test]
    fn no_text_makes_reading_panic(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
    ) {
        let text = pieces.concat();
        // Whether there are problems does not matter here. Each has a place in the file.
        let read = TeamDocument::read(&[DocumentFile { name: "", text: &text }], secrecy);
        for problem in read.err().into_iter().flatten() {
            let lines = text.split(['\n', '\r']).count() as u64 + 1;
            prop_assert!((1..=lines).contains(&problem.place.line) && problem.place.column >= 1, "{}", problem);
        }
    }
}

/// Lists in lists, with so many levels below the root.
fn nested(levels: usize) -> String {
    format!("a: {}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn nesting_is_limited() {
    read(&nested(DEPTH_MAX - 1));
    let too_deep = ": The file must not be nested deeper than 32 levels.";
    // Each level of aliases adds to those of its anchor.
    let aliases: String = (1..20).fold("a0: &a0 [[[[1]]]]\n".to_owned(), |text, n| {
        text + &format!("a{n}: &a{n} [[[[*a{}]]]]\n", n - 1)
    });
    let blocks: String = (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    for text in [nested(DEPTH_MAX), aliases, blocks, format!("a:\n {}", "- ".repeat(100_000))] {
        let found = problem(&text);
        assert!(found.ends_with(too_deep), "{found}");
    }
    // The parser itself stops here.
    for text in ["[".repeat(100_000), "{a: ".repeat(100_000), "? ".repeat(100_000)] {
        assert_eq!(problems(&text).len(), 1);
    }
}

#[test]
fn a_large_text_is_refused_at_once() {
    let text = "- a\n".repeat(2_500_000);
    let start = Instant::now();
    assert_eq!(problem(&text), "1:1: The files of a document must not exceed 1 MiB in total.");
    assert!(start.elapsed() < Duration::from_millis(100));
    // It is the sum that counts.
    let half = format!("a: 1 #{}", "x".repeat(TEXT_MAX / 2 - 6));
    assert!(read_all(&[&half]).is_ok());
    assert_eq!(read_all(&[&half, &format!("{half}x")]).expect_err("too large").len(), 1);
}

#[test]
fn what_aliases_and_defaults_expand_to_is_limited() {
    let too_large = too_large();
    let laughs = (1..9).fold("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, n| {
        text + &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "))
    });
    let long = format!("a: &a {}\nb: [{}]", "x".repeat(EXPANDED_TEXT_MAX / 8), "*a, ".repeat(10));
    let texts = "x".repeat(EXPANDED_TEXT_MAX / 8);
    let text_defaults =
        format!("defaults: {{sites: {{a: {texts}}}}}\nsites: [{}]", "{}, ".repeat(10));
    let defaults = format!(
        "defaults: {{sites: {{a: [{}]}}}}\nsites: [{}]",
        "1, ".repeat(NODES_MAX / 100),
        "{}, ".repeat(100)
    );
    for text in [laughs, long, text_defaults, defaults] {
        let found = problem(&text);
        assert!(found.ends_with(&too_large), "{found}");
    }
    // Each path of a secret has all keys above it.
    let key = "k".repeat(KEY_MAX);
    let above = format!("{{{key}: ").repeat(20);
    let secrets = "{url: {env: X}}, ".repeat(1000);
    let paths = format!("channels: [{above}[{secrets}]{}]", "}".repeat(20));
    assert!(problems(&paths)[0].ends_with(&too_large));
    // The root, the list, and its items, of which another file has some.
    let many = format!("a: [{}]", "1, ".repeat(NODES_MAX - 2));
    assert!(read_all(&[&many]).is_ok());
    let found = read_all(&[&many, "b: 1"]).expect_err("too many");
    assert_eq!(found, [format!("1.yaml:1:1: {too_large}")]);
}
