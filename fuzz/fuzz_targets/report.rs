//! A report of Lighthouse or PageSpeed Insights, in JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| vedette_probe::fuzzing::report(data));
