//! A block of packed checks: what is read is written again as it was.

#![no_main]

use vedette_domain::checks::history::block::Block;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(block) = Block::read(data) else {
        return;
    };
    let checks: Vec<_> = block.checks().collect();
    let (first, rest) = checks.split_first().expect("a block is never empty");
    let Ok(mut again) = Block::begin(first) else {
        return;
    };
    for check in rest {
        if again.push(check).is_err() {
            return;
        }
    }
    let read = Block::read(again.as_bytes()).expect("what was written can be read");
    assert!(read.checks().eq(checks));
});
