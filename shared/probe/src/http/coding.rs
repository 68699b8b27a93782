//! Content codings: decodes gzip, deflate and Brotli, also one inside another, within limits.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::bufread::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use hyper::header::{CONTENT_ENCODING, HeaderMap};

/// The codings that a crawl accepts. Brotli is decoded if a server uses it anyway, but its window
/// costs up to 16 MiB, and gzip does as well for links.
pub(crate) const ACCEPTED: &str = "gzip, deflate";

/// Members of a gzip body that are decoded. Parallel compressors write one for each 64 KiB or more.
/// Each costs a decoder of some tens of kilobytes, and may be empty.
const MEMBERS: usize = 1_000;

/// The most codings of one body that are decoded, as in curl.
const CODINGS_MAX: usize = 5;

/// The codings in IANA's registry of HTTP content codings that we cannot decode.
const UNSUPPORTED: [&str; 8] =
    ["aes128gcm", "compress", "dcb", "dcz", "exi", "pack200-gzip", "x-compress", "zstd"];

/// A content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "Brotli",
        })
    }
}

/// Why a body cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Undecodable {
    /// A registered coding that we cannot decode.
    #[error("a body in the content encoding {0}, which Vedette cannot decode")]
    Unsupported(&'static str),
    /// More codings than [`CODINGS_MAX`].
    #[error("a body that is encoded more than {CODINGS_MAX} times")]
    TooMany,
    /// The body is truncated, or is not encoded as its header says.
    #[error("a body that is not valid {0}")]
    Corrupt(Coding),
}

/// The codings in the `Content-Encoding` headers, in the order in which they were applied. Like browsers, we ignore what
/// is not registered, such as `utf-8`.
///
/// # Errors
/// When the body cannot be decoded.
pub(crate) fn codings(headers: &HeaderMap) -> Result<Vec<Coding>, Undecodable> {
    let mut codings = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
            if is("gzip") || is("x-gzip") {
                codings.push(Coding::Gzip);
            } else if is("deflate") {
                codings.push(Coding::Deflate);
            } else if is("br") {
                codings.push(Coding::Brotli);
            } else if let Some(known) = UNSUPPORTED.into_iter().find(|known| is(known)) {
                return Err(Undecodable::Unsupported(known));
            }
        }
    }
    if codings.len() > CODINGS_MAX { Err(Undecodable::TooMany) } else { Ok(codings) }
}

/// Decodes `body` into `sink`, up to `limit` bytes: a few compressed bytes can expand to gigabytes. Returns whether that
/// was all.
///
/// # Errors
/// When the body is corrupt before the limit. What comes before that is decoded.
pub(crate) fn unpack(
    codings: &[Coding],
    body: &[u8],
    limit: usize,
    sink: impl FnMut(&[u8]),
) -> Result<bool, Undecodable> {
    let [coding, outer @ ..] = codings else {
        let mut output = Bounded { left: limit, is_full: false, sink };
        return Ok(output.write_all(body).is_ok());
    };
    // The coding that was applied last comes off first. What it leaves may be cut at the limit, too.
    let (mut packed, mut unpacked) = (Cow::Borrowed(body), Ok(true));
    for coding in outer.iter().rev() {
        let mut inner = Vec::new();
        let ended = decode(*coding, &packed, limit, |bytes| inner.extend_from_slice(bytes));
        unpacked = unpacked.and_then(|is_all| Ok(ended? && is_all));
        packed = inner.into();
    }
    let ended = decode(*coding, &packed, limit, sink);
    unpacked.and_then(|is_all| Ok(ended? && is_all))
}

/// Takes one coding off; see [`unpack`].
fn decode(
    coding: Coding,
    body: &[u8],
    limit: usize,
    sink: impl FnMut(&[u8]),
) -> Result<bool, Undecodable> {
    let mut output = Bounded { left: limit, is_full: false, sink };
    let ended = match coding {
        // No coding makes anything this short, but a response without a body may name one.
        _ if body.is_empty() => Ok(()),
        Coding::Gzip => gunzip(&mut output, body),
        // `deflate` means the zlib format, but some servers send raw deflate.
        Coding::Deflate => inflate(&mut output, body, is_zlib(body)),
        Coding::Brotli => unbrotli(&mut output, body),
    };
    // An error ends decoding: at the limit, or where a body is corrupt.
    match ended {
        Err(_) if !output.is_full => Err(Undecodable::Corrupt(coding)),
        _ => Ok(!output.is_full),
    }
}

fn gunzip(output: &mut impl Write, mut body: &[u8]) -> io::Result<()> {
    for _ in 0..MEMBERS {
        io::copy(&mut GzDecoder::new(&mut body), output)?;
        if body.is_empty() {
            break;
        }
    }
    Ok(())
}

fn inflate(output: &mut impl Write, body: &[u8], is_zlib: bool) -> io::Result<()> {
    let mut decoder = Decompress::new(is_zlib);
    let mut buffer = [0; 4096];
    loop {
        let (read, written) = (decoder.total_in(), decoder.total_out());
        let left = body.get(usize::try_from(read).unwrap_or(usize::MAX)..).unwrap_or_default();
        let status = decoder.decompress(left, &mut buffer, FlushDecompress::None)?;
        let got = usize::try_from(decoder.total_out() - written).unwrap_or(buffer.len());
        output.write_all(&buffer[..got])?;
        match status {
            Status::StreamEnd => return Ok(()),
            _ if got == 0 && decoder.total_in() == read => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Status::Ok | Status::BufError => {}
        }
    }
}

fn unbrotli(output: &mut impl Write, body: &[u8]) -> io::Result<()> {
    let mut decoder = DecompressorWriter::new(output, 4096);
    decoder.write_all(body)?;
    decoder.close()
}

/// RFC 1950: method 8, and a checksum over the first two bytes.
fn is_zlib(body: &[u8]) -> bool {
    match body {
        [first, second, ..] => {
            first & 0x0f == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31)
        }
        _ => false,
    }
}

/// Passes bytes on until the limit, which is an error.
struct Bounded<F> {
    left: usize,
    is_full: bool,
    sink: F,
}

impl<F: FnMut(&[u8])> Write for Bounded<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.left);
        if taken > 0 {
            (self.sink)(&bytes[..taken]);
        }
        self.left -= taken;
        if taken < bytes.len() {
            self.is_full = true;
            return Err(io::Error::other("the limit is reached"));
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use hyper::header::HeaderValue;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        let parameters = brotli::enc::BrotliEncoderParams { quality: 5, ..Default::default() };
        brotli::BrotliCompress(&mut &bytes[..], &mut packed, &parameters).expect("memory");
        packed
    }

    fn unpacked(codings: &[Coding], body: &[u8], limit: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let _ = unpack(codings, body, limit, |bytes| out.extend_from_slice(bytes));
        out
    }

    #[test]
    fn a_corrupt_body_is_known_as_such_and_a_long_or_empty_one_is_not() {
        let text = b"<a href=/x>x</a>".repeat(10_000);
        for (coding, body) in [
            (Coding::Gzip, gzip(&text)),
            (Coding::Deflate, zlib(&text)),
            (Coding::Deflate, deflate(&text)),
            (Coding::Brotli, brotli(&text)),
        ] {
            let state = |body: &[u8], limit| unpack(&[coding], body, limit, |_| {});
            let corrupt = Err(Undecodable::Corrupt(coding));
            for (limit, is_all) in [(1_000, false), (text.len(), true), (1 << 20, true)] {
                assert_eq!(state(&body, limit), Ok(is_all), "{coding:?} {limit}");
            }
            assert_eq!(state(b"", 1_000), Ok(true), "{coding:?}");
            let half = &body[..body.len() / 2];
            assert_eq!(state(half, 1 << 20), corrupt, "{coding:?} truncated");
            let last = &body[..body.len() - 1];
            assert_eq!(state(last, 1 << 20), corrupt, "{coding:?} without its end");
            // A Brotli stream this short gives nothing before its end.
            if coding != Coding::Brotli {
                assert_eq!(state(half, 10), Ok(false), "{coding:?}: enough came before");
            }
            let plain = state(b"<!doctype html><a href=/x>", 1_000);
            assert_eq!(plain, corrupt, "{coding:?} without encoding");
        }
        let members = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(unpack(&[Coding::Gzip], &members, 100, |_| {}), Ok(true));
        assert_eq!(unpack(&[], b"text", 4, |_| {}), Ok(true));
        assert_eq!(unpack(&[], b"text", 3, |_| {}), Ok(false));
    }

    #[test]
    fn every_coding_is_unpacked() {
        let text = b"<a href=/x>x</a>".repeat(10_000);
        let half = gzip(&text).len() / 2;
        for (codings, body) in [
            (&[][..], text.clone()),
            (&[Coding::Gzip], gzip(&text)),
            (&[Coding::Deflate], zlib(&text)),
            (&[Coding::Deflate], deflate(&text)),
            (&[Coding::Brotli], brotli(&text)),
            (&[Coding::Gzip, Coding::Brotli], brotli(&gzip(&text))),
            (&[Coding::Deflate, Coding::Brotli, Coding::Gzip], gzip(&brotli(&zlib(&text)))),
        ] {
            assert!(unpacked(codings, &body, 1 << 20) == text, "{codings:?}");
            assert!(unpacked(codings, &body, 1_000) == text[..1_000], "{codings:?}");
        }
        let members = [gzip(b"one "), gzip(b"two")].concat();
        let coding = &[Coding::Gzip];
        assert_eq!(unpacked(coding, &members, 100), b"one two");
        assert!(text.starts_with(&unpacked(coding, &gzip(&text)[..half], 1 << 20)));
        assert_eq!(unpacked(coding, &gzip(b"x").repeat(2 * MEMBERS), 1 << 20).len(), MEMBERS);
    }

    #[test]
    fn a_body_that_does_not_match_its_content_encoding_is_empty() {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli] {
            let out = unpacked(&[coding], b"<!doctype html><a href=/x>", 1_000);
            assert!(!out.starts_with(b"<!doctype"), "{coding:?}");
            assert!(unpacked(&[coding], b"", 1_000).is_empty());
        }
        let twice = &[Coding::Gzip, Coding::Brotli];
        for (body, corrupt) in
            [(gzip(b"x"), Coding::Brotli), (brotli(b"<!doctype html>"), Coding::Gzip)]
        {
            assert_eq!(unpack(twice, &body, 9, |_| {}), Err(Undecodable::Corrupt(corrupt)));
        }
    }

    #[test]
    fn a_bomb_goes_off_within_the_limit() {
        let zeros = vec![0; 64 << 20];
        let twice = gzip(&gzip(&zeros));
        for (codings, body, is_readable) in [
            (&[Coding::Gzip][..], gzip(&zeros), true),
            (&[Coding::Brotli], brotli(&zeros), true),
            (&[Coding::Gzip, Coding::Gzip], twice.clone(), true),
            (&[Coding::Gzip; CODINGS_MAX], gzip(&gzip(&gzip(&twice))), true),
            // The limit applies to each step.
            (&[Coding::Gzip, Coding::Brotli], brotli(&zeros), false),
        ] {
            assert!(body.len() < 100_000);
            let mut largest = 0;
            let mut total = 0;
            let unpacked = unpack(codings, &body, 1 << 20, |bytes| {
                largest = largest.max(bytes.len());
                total += bytes.len();
            });
            assert_eq!(unpacked.is_ok(), is_readable);
            assert_ne!(unpacked, Ok(true));
            assert_eq!(total, if is_readable { 1 << 20 } else { 0 });
            assert!(largest <= 64 * 1024);
        }
    }

    #[test]
    fn the_headers_name_the_codings() {
        use Coding::{Brotli, Deflate, Gzip};
        let unsupported = |name| Err(Undecodable::Unsupported(name));
        for (values, expected) in [
            (&[][..], Ok(vec![])),
            (&[" GZip "], Ok(vec![Gzip])),
            (&["br"], Ok(vec![Brotli])),
            (&["deflate, x-gzip"], Ok(vec![Deflate, Gzip])),
            (&["deflate", "br"], Ok(vec![Deflate, Brotli])),
            (&["gzip, identity"], Ok(vec![Gzip])),
            (&["", "identity", ","], Ok(vec![])),
            (&["UTF-8"], Ok(vec![])),
            (&["none, aws-chunked, gzip"], Ok(vec![Gzip])),
            (&["zstd"], unsupported("zstd")),
            (&["gzip, Compress"], unsupported("compress")),
            (&["gzip,br,gzip", "br,gzip"], Ok(vec![Gzip, Brotli, Gzip, Brotli, Gzip])),
            (&["gzip,br,gzip", "br,gzip,br"], Err(Undecodable::TooMany)),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            assert_eq!(codings(&headers), expected, "{values:?}");
        }
    }
}
