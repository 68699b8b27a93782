//! A body of which texts and JSON are expected; the first line says what.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| vedette_probe::fuzzing::json(data));
