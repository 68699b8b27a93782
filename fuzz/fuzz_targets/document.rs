//! A document that describes a team, in YAML.

#![no_main]

use vedette_document::{DocumentFile, Secrecy, TeamDocument, write};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = |text| {
        TeamDocument::read(&[DocumentFile { name: "vedette.yaml", text }], |path| {
            if path.ends_with(".url") { Secrecy::Either } else { Secrecy::Public }
        })
    };
    if let Ok(document) = read(text) {
        let written = write(document.value());
        // What was as long as it may be can be longer in another form.
        if let Ok(again) = read(&written) {
            assert_eq!(again.value(), document.value());
        }
        assert_eq!(document.place("sites.0.url").file, "vedette.yaml");
    }
});
