use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;

fn at(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(1_763_683_200_000 + millisecond).expect("a timestamp")
}

fn answer(code: u16, response_time: f64) -> StatusResult {
    let url = format!("https://www.example.com/{}", "a".repeat(76));
    StatusResult {
        up: code < 400,
        code,
        effective_url: url.clone(),
        url,
        response_time,
        redirected: false,
        redirect_count: 0,
        redirects: Vec::new(),
        error: None,
        phases: None,
        judged: None,
    }
}

fn check(millisecond: i64, code: u16, response_time: f64) -> PackedCheck {
    let slot = at(millisecond);
    let completed_at = slot + SignedDuration::from_millis(1_234);
    let phases = Some(Phases { lookup: Some(12), connect: Some(21), tls: Some(43) });
    let result = StatusResult { phases, ..answer(code, response_time) };
    PackedCheck { slot, completed_at, has_failed: Some(code >= 400), result }
}

/// One of twelve different answers of a site.
fn shape(index: u16) -> StatusResult {
    let redirects: Vec<String> =
        (0..index % 3).map(|n| format!("https://example.com/{n}")).collect();
    StatusResult {
        effective_url: redirects.last().cloned().unwrap_or_default(),
        redirected: !redirects.is_empty(),
        redirect_count: u32::from(index % 3),
        redirects,
        error: index.is_multiple_of(4).then(|| format!("no answer {index}")),
        ..answer(200 + index, 0.0)
    }
}

/// What a block of a version keeps of a check.
fn kept(version: BlockVersion, check: &PackedCheck) -> PackedCheck {
    match version {
        BlockVersion::One => {
            let result = StatusResult { phases: None, ..check.result.clone() };
            PackedCheck { has_failed: None, result, ..check.clone() }
        }
        BlockVersion::Two => check.clone(),
    }
}

#[test]
fn a_check_a_minute_takes_few_bytes() {
    for interval in [60_000, 300_000] {
        let mut block = Block::begin(BlockVersion::Two, &check(0, 200, 123.45)).expect("packed");
        let first = block.as_bytes().len();
        assert!(first < 130, "{first}");
        for n in 1..24_i32 {
            let check = check(i64::from(n) * interval, 200, f64::from(10_000 + n * 997) / 100.0);
            block.push(&check).expect("it is packed");
        }
        // The second check adds the interval as well. Three bytes are for the phases.
        let added = block.as_bytes().len() - first;
        assert!(added <= 23 * (8 + 3) + 3, "{added}");
    }
}

#[test]
fn a_check_that_cannot_be_packed_leaves_the_block_unchanged() {
    let mut block = Block::begin(BlockVersion::Two, &check(0, 200, 1.5)).expect("it is packed");
    for code in 201..208 {
        block.push(&check(i64::from(code), code, 1.5)).expect("it is packed");
    }
    let mut redirected = check(900, 200, 1.5);
    redirected.result.redirects = vec![String::new(); REDIRECTS_MAX + 1];
    assert_eq!(Block::begin(BlockVersion::Two, &redirected), Err(Refused::Redirects));
    let before = block.clone();
    for (refused, check) in [
        (Refused::Order, check(207, 200, 1.5)),
        (Refused::Order, check(-60_000, 200, 1.5)),
        (Refused::Shapes, check(900, 208, 1.5)),
        (Refused::ResponseTime, check(900, 200, 1.555)),
        (Refused::ResponseTime, check(900, 200, -1.5)),
        (Refused::ResponseTime, check(900, 200, f64::NAN)),
        (Refused::ResponseTime, check(900, 200, 1e9)),
    ] {
        assert_eq!(block.push(&check), Err(refused), "{check:?}");
        assert_eq!(block, before);
    }
    block.push(&check(900, 203, 1.5)).expect("a known shape is packed");
}

#[test]
fn a_damaged_block_is_refused() {
    let block = Block::begin(BlockVersion::Two, &check(0, 200, 1.5)).expect("it is packed");
    let bytes = block.as_bytes();
    assert_eq!(Block::read(&[]), Err(Unreadable::CutOff));
    for length in 1..bytes.len() {
        assert_eq!(Block::read(&bytes[..length]), Err(Unreadable::CutOff), "{length}");
    }
    let mut later = bytes.to_vec();
    later[0] = 3;
    assert_eq!(Block::read(&later), Err(Unreadable::Version(3)));
    let mut unknown_shape = bytes.to_vec();
    unknown_shape.push(2);
    assert_eq!(Block::read(&unknown_shape), Err(Unreadable::Malformed));
    let same_slot = [bytes, &[0, 0, 0, 0]].concat();
    assert_eq!(Block::read(&same_slot), Err(Unreadable::Malformed));
}

/// Whether a check failed, and its phases.
fn times() -> impl Strategy<Value = (bool, Option<Phases>)> {
    let phases = any::<[Option<u32>; 3]>().prop_map(|[lookup, connect, tls]| {
        let phases = Phases { lookup, connect, tls };
        (phases != Phases::default()).then_some(phases)
    });
    (any::<bool>(), phases)
}

proptest! {
    /// For any gaps, clock and answers: what was added is read back, and nothing else.
    #[test]
    fn any_row_of_checks_reads_back(
        checks in prop::collection::vec(
            (-1_000..400_000_i64, -5_000..200_000_i64, any::<u32>(), 0..12_u16, times()), 1..80,
        ),
        version in prop::sample::select(vec![BlockVersion::One, BlockVersion::Two]),
    ) {
        let mut slot = 0;
        let mut packed: Vec<PackedCheck> = Vec::new();
        let mut block: Option<Block> = None;
        for (gap, delay, hundredths, index, (has_failed, phases)) in checks {
            slot += gap;
            let check = PackedCheck {
                slot: at(slot),
                completed_at: at(slot + delay),
                has_failed: Some(has_failed),
                result: StatusResult {
                    response_time: f64::from(hundredths) / 100.0,
                    phases,
                    ..shape(index)
                },
            };
            let pushed = match &mut block {
                Some(block) => block.push(&check),
                None => Block::begin(version, &check).map(|begun| block = Some(begun)),
            };
            match pushed {
                Ok(()) => packed.push(kept(version, &check)),
                Err(Refused::Order) => {
                    prop_assert!(packed.last().is_some_and(|last| check.slot <= last.slot));
                }
                Err(Refused::Shapes) => prop_assert!(packed.len() >= SHAPES_MAX),
                Err(refused) => prop_assert!(false, "{}", refused),
            }
        }
        let block = block.expect("the first check is packed");
        prop_assert_eq!(block.checks().collect::<Vec<_>>(), packed);
        prop_assert_eq!(Block::read(block.as_bytes()), Ok(block));
    }

    /// Any bytes are either read or rejected, and what is read can be added to.
    #[test]
    fn any_bytes_are_read_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        version in 0..3_u8,
    ) {
        if let Some(first) = bytes.first_mut().filter(|_| version > 0) {
            *first = version;
        }
        if let Ok(block) = Block::read(&bytes) {
            prop_assert_eq!(block.checks().count(), block.records.len());
            prop_assert!(block.records.is_sorted_by_key(|record| record.slot));
        }
    }

    /// A block with one damaged byte is either read or rejected.
    #[test]
    fn a_damaged_byte_is_read_or_refused(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut block = Block::begin(BlockVersion::Two, &check(0, 200, 1.5)).expect("it is packed");
        block.push(&check(60_000, 503, 2.25)).expect("it is packed");
        let mut bytes = block.as_bytes().to_vec();
        *place.get_mut(&mut bytes) = byte;
        if let Ok(block) = Block::read(&bytes) {
            prop_assert!(block.records.is_sorted_by_key(|record| record.slot));
        }
    }
}

#[test]
fn the_seeds_of_the_fuzzer_are_read_or_refused() {
    let read = |name: &str| {
        let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/block/");
        let bytes = std::fs::read(format!("{seeds}{name}")).expect("a seed");
        Block::read(&bytes).map(|block| block.checks().count())
    };
    assert_eq!(read("three"), Ok(3));
    assert_eq!(read("cut"), Err(Unreadable::CutOff));
}
