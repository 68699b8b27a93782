//! A resolver's answer, as a DNS message.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| vedette_probe::fuzzing::answer(data));
