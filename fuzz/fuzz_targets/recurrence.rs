//! When a maintenance window recurs.

#![no_main]

use vedette_domain::maintenance::Recurrence;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(rule) = Recurrence::parse(text) {
        assert_eq!(Recurrence::parse(&rule.to_string()), Ok(rule));
    }
});
