//! A base URL and a reference, a line each.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| vedette_probe::fuzzing::reference(data));
