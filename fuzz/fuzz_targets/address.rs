//! The last part of the URL of a status page.

#![no_main]

use vedette_domain::alerts::link;
use vedette_domain::status_pages::PageAddress;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(address) = PageAddress::parse(text) {
        // It stands in keys of the table and in URLs as it is.
        let is_plain = |byte: u8| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
        assert!(text.bytes().all(is_plain) && text.len() <= 32);
        assert_eq!(link::status_page("", &address), format!("/status/{text}"));
    }
});
