//! A JSON pointer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| vedette_probe::fuzzing::pointer(data));
