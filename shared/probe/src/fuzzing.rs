//! The parsers of untrusted bytes, for the fuzz targets in `fuzz/` and the test below.
//!
//! Each function takes arbitrary bytes, and asserts what must hold for the result. Not part of the
//! crate's interface.

use vedette_domain::checks::check::lighthouse;
use vedette_domain::checks::evidence::Redaction;
use vedette_domain::expectations::{
    BodyReader, Expectation, Expectations, JSON_MAX, JsonPointer, Seen, json as bounded,
};
use vedette_domain::text::disrupts_line;

pub use crate::dns::fuzzing::answer;
pub use crate::links::fuzzing::{page, reference, robots, sitemap};
pub use crate::ssl::fuzzing::certificate;

/// Parses a Lighthouse report, also inside a response of PageSpeed Insights.
pub fn report(data: &[u8]) {
    let Ok(value) = serde_json::from_slice(data) else {
        return;
    };
    for metrics in [lighthouse::report(&value), lighthouse::pagespeed(&value)] {
        match metrics {
            Ok(metrics) => assert!(serde_json::to_string(&metrics).is_ok()),
            Err(error) => assert_eq!(error.code, lighthouse::AUDIT_FAILED),
        }
    }
}

/// Reads a body of which texts and JSON are expected, in two parts. The first line says what.
pub fn json(data: &[u8]) {
    let parsed = bounded::parse(data);
    assert!(parsed.is_err() || data.len() <= JSON_MAX);
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (text, body) = data.split_at(end);
    let text = String::from_utf8_lossy(text).into_owned();
    let mut expectations = vec![
        Expectation::BodyContains { text: text.clone() },
        Expectation::BodyLacks { text: text.clone() },
    ];
    expectations.extend(
        JsonPointer::parse(&text)
            .ok()
            .map(|pointer| Expectation::JsonEquals { pointer, value: text.as_str().into() }),
    );
    let expectations = Expectations { expectations, ..Expectations::default() };
    let mut reader = BodyReader::new(&expectations);
    let (first, second) = body.split_at(body.len() / 2);
    reader.push(first);
    reader.push(second);
    let seen = Seen {
        response_time: 0.0,
        header: &|_| Vec::new(),
        body: &reader,
        redaction: &Redaction::default(),
    };
    let unmet = expectations.judge(&seen);
    // The text is there or not, so one of the two is unmet.
    assert!(!unmet.is_empty());
    for unmet in unmet {
        assert!(unmet.message.chars().count() <= 400, "{}", unmet.message);
        assert!(!unmet.message.contains(disrupts_line), "{:?}", unmet.message);
    }
}

/// Parses a JSON pointer, and follows it in a document that has its first part.
pub fn pointer(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(pointer) = JsonPointer::parse(text) else { return };
    assert_eq!(pointer.as_str(), text);
    let name = text.split('/').nth(1).unwrap_or_default().replace("~1", "/").replace("~0", "~");
    let document = serde_json::json!({ name: [{ "a": 1 }] });
    if let Ok(read) = bounded::parse(document.to_string().as_bytes()) {
        assert_eq!(read.find(&pointer).is_some(), document.pointer(text).is_some(), "{text:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    type Target = (&'static str, fn(&[u8]));

    #[test]
    fn the_seeds_of_the_fuzzer_are_accepted() {
        let targets: [Target; 9] = [
            ("answer", super::answer),
            ("certificate", super::certificate),
            ("json", super::json),
            ("page", super::page),
            ("pointer", super::pointer),
            ("reference", super::reference),
            ("report", super::report),
            ("robots", super::robots),
            ("sitemap", super::sitemap),
        ];
        let seeds = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds"));
        for (name, target) in targets {
            let files = std::fs::read_dir(seeds.join(name)).expect("a folder of seeds");
            let mut count = 0;
            for file in files {
                target(&std::fs::read(file.expect("a seed").path()).expect("a seed"));
                count += 1;
            }
            assert!(count > 1, "{name} has too few seeds");
            for bytes in [&b""[..], b"\0", b"\xff\xff", &[b'{'; 1_000]] {
                target(bytes);
            }
        }
    }
}
