//! Cases below HTTP: what a server sends instead of TLS.

use crate::server::{Piece, Script, bytes, flood};

const ENDLESS: u64 = 1024 * 1024 * 1024 * 1024;

/// Content types of TLS records.
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("a record").to_be_bytes();
    [&[kind, 3, 3], &length[..], content].concat()
}

/// A ServerHello of TLS 1.2 with ECDHE-ECDSA-AES128-GCM-SHA256.
fn server_hello() -> Vec<u8> {
    let mut hello = vec![3, 3];
    hello.extend_from_slice(&[7; 32]);
    // No session; the suite; no compression; extended master secret.
    hello.extend_from_slice(&[0, 0xc0, 0x2b, 0, 0, 4, 0, 23, 0, 0]);
    handshake(2, &hello)
}

fn handshake(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("a message").to_be_bytes();
    [&[kind], &length[1..], body].concat()
}

pub(crate) fn cases() -> Vec<Script> {
    vec![
        ("nothing", || vec![Piece::Hang]),
        ("a hello comes a byte a second", || {
            vec![Piece::Slowly(record(HANDSHAKE, &server_hello()))]
        }),
        ("random bytes without end", || {
            let noise = (0..65_536_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8);
            vec![flood(noise.collect::<Vec<_>>(), ENDLESS)]
        }),
        ("HTTP without TLS", || vec![bytes("HTTP/1.1 400 Bad Request\r\n\r\n")]),
        ("empty records without end", || vec![flood(record(HANDSHAKE, &[]), ENDLESS)]),
        ("empty data without end", || vec![flood(record(APPLICATION_DATA, &[]), ENDLESS)]),
        ("warnings without end", || vec![flood(record(ALERT, &[1, 90]), ENDLESS)]),
        ("changes of cipher without end", || {
            vec![flood(record(CHANGE_CIPHER_SPEC, &[1]), ENDLESS)]
        }),
        ("renegotiation without end", || vec![flood(record(HANDSHAKE, &[0, 0, 0, 0]), ENDLESS)]),
        ("a record of 64 KB", || vec![bytes([HANDSHAKE, 3, 3, 255, 255]), flood([0], ENDLESS)]),
        ("a message of 16 MB", || {
            let length = record(HANDSHAKE, &[11, 255, 255, 255]);
            vec![bytes(length), flood(record(HANDSHAKE, &[0; 16_000]), ENDLESS)]
        }),
        ("a hello, and the end", || vec![bytes(record(HANDSHAKE, &server_hello()))]),
        ("a hello, and silence", || vec![bytes(record(HANDSHAKE, &server_hello())), Piece::Hang]),
        ("hellos without end", || vec![flood(record(HANDSHAKE, &server_hello()), ENDLESS)]),
        ("a hello, and a chain of 1 MB", || {
            let certificate = [&[0, 0x10, 0][..], &[0x30; 0x1000]].concat();
            let list = certificate.repeat(256);
            let length = u32::try_from(list.len()).expect("a list").to_be_bytes();
            let message = handshake(11, &[&length[1..], &list].concat());
            let records = message.chunks(16_000).flat_map(|part| record(HANDSHAKE, part));
            let records: Vec<u8> = records.collect();
            vec![bytes(record(HANDSHAKE, &server_hello())), bytes(records), Piece::Hang]
        }),
        ("a hello, and a certificate of noise", || {
            let noise: Vec<u8> = (0..4_000_u32).map(|n| ((n * n) >> 3) as u8).collect();
            let list = [&[0, 0x0f, 0xa3, 0, 0x0f, 0xa0][..], &noise].concat();
            let certificate = record(HANDSHAKE, &handshake(11, &list));
            vec![bytes(record(HANDSHAKE, &server_hello())), bytes(certificate), Piece::Hang]
        }),
    ]
}
