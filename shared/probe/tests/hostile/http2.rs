//! Cases within HTTP/2: frames for clients that have negotiated it.

use crate::server::{Piece, Script, bytes, flood};

const ENDLESS: u64 = 1024 * 1024 * 1024 * 1024;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn settings() -> Piece {
    bytes(frame(SETTINGS, 0, 0, &[]))
}

/// `:status: 200`, from HPACK's static table.
const OK: [u8; 1] = [0x88];

/// `a: <4,000 bytes>`, which is remembered and then referenced again and again.
fn hpack_bomb() -> Vec<u8> {
    let mut block = vec![0x88, 0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
    block.extend_from_slice(&[b'x'; 4_000]);
    block.extend_from_slice(&[0xbe; 12_000]);
    block
}

pub(crate) fn cases() -> Vec<Script> {
    vec![
        ("nothing", || vec![Piece::Hang]),
        ("random bytes", || {
            let noise = (0..65_536_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8);
            vec![flood(noise.collect::<Vec<_>>(), ENDLESS)]
        }),
        ("HTTP/1.1", || vec![bytes("HTTP/1.1 200 OK\r\n\r\n"), Piece::Hang]),
        ("settings, and silence", || vec![settings(), Piece::Hang]),
        ("settings without end", || vec![flood(frame(SETTINGS, 0, 0, &[]), ENDLESS)]),
        ("settings of everything, without end", || {
            let all = [0, 3, 0, 0, 0, 1, 0, 4, 0x7f, 255, 255, 255, 0, 1, 0, 0, 0, 0];
            vec![flood(frame(SETTINGS, 0, 0, &all), ENDLESS)]
        }),
        ("pings without end", || vec![settings(), flood(frame(PING, 0, 0, &[7; 8]), ENDLESS)]),
        ("resets without end", || {
            vec![settings(), flood(frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]), ENDLESS)]
        }),
        ("the end", || vec![settings(), bytes(frame(GOAWAY, 0, 0, &[0; 8])), Piece::Hang]),
        ("the end without end", || {
            vec![settings(), flood(frame(GOAWAY, 0, 0, &[0xff; 8]), ENDLESS)]
        }),
        ("window updates without end", || {
            vec![settings(), flood(frame(WINDOW_UPDATE, 0, 0, &[0x7f, 255, 255, 255]), ENDLESS)]
        }),
        ("promises without end", || {
            vec![settings(), flood(frame(PUSH_PROMISE, 4, 1, &[0, 0, 0, 2, 0x82]), ENDLESS)]
        }),
        ("headers that go on without end", || {
            let first = frame(HEADERS, 0, 1, &OK);
            vec![settings(), bytes(first), flood(frame(CONTINUATION, 0, 1, &[0; 64]), ENDLESS)]
        }),
        ("empty continuations without end", || {
            let first = frame(HEADERS, 0, 1, &OK);
            vec![settings(), bytes(first), flood(frame(CONTINUATION, 0, 1, &[]), ENDLESS)]
        }),
        ("a header that is remembered", || {
            vec![settings(), bytes(frame(HEADERS, END_HEADERS, 1, &hpack_bomb())), Piece::Hang]
        }),
        ("interim answers without end", || {
            // `:status: 103`, spelled out.
            let head = [0x08, 3, b'1', b'0', b'3'];
            vec![settings(), flood(frame(HEADERS, END_HEADERS, 1, &head), ENDLESS)]
        }),
        ("interim answers with a link, without end", || {
            // With a `link` of 4,000 bytes.
            let head = [&[0x08, 3][..], b"103", &[0x0f, 0x1e, 0x7f, 0xa1, 0x1e], &[b'x'; 4_000]];
            vec![settings(), flood(frame(HEADERS, END_HEADERS, 1, &head.concat()), ENDLESS)]
        }),
        ("a body of empty frames without end", || {
            let head = frame(HEADERS, END_HEADERS, 1, &OK);
            vec![settings(), bytes(head), flood(frame(DATA, 0, 1, &[]), ENDLESS)]
        }),
        ("a body of padding without end", || {
            let padded = [&[200][..], &[0; 200]].concat();
            let head = frame(HEADERS, END_HEADERS, 1, &OK);
            vec![settings(), bytes(head), flood(frame(DATA, 8, 1, &padded), ENDLESS)]
        }),
        ("a body beyond the window", || {
            let head = frame(HEADERS, END_HEADERS, 1, &OK);
            vec![settings(), bytes(head), flood(frame(DATA, 0, 1, &[b' '; 16_384]), ENDLESS)]
        }),
        ("a frame of 16 MB", || {
            let head = frame(HEADERS, END_HEADERS, 1, &OK);
            vec![
                settings(),
                bytes(head),
                bytes([255, 255, 255, DATA, 0, 0, 0, 0, 1]),
                flood([0], ENDLESS),
            ]
        }),
        ("frames of no kind without end", || {
            vec![settings(), flood(frame(99, 255, 7, &[0; 100]), ENDLESS)]
        }),
    ]
}
