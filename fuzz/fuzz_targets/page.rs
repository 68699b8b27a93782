//! An HTML page; see the function for the first two bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| vedette_probe::fuzzing::page(data));
