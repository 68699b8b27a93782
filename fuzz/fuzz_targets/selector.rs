//! Which sites are meant, by their tags.

#![no_main]

use vedette_domain::sites::selector::Selector;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(selector) = Selector::parse(text) {
        assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
    }
});
