//! Content codings: decodes gzip, deflate and Brotli within limits.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::bufread::GzDecoder;
use flate2::write::{DeflateDecoder, ZlibDecoder};

/// The codings that a crawl accepts. Brotli is decoded if a server uses it anyway, but its window
/// costs up to 16 MiB, and gzip does as well for links.
pub(crate) const ACCEPTED: &str = "gzip, deflate";

/// Members of a gzip body that are decoded. Parallel compressors write one for each 64 KiB or more.
/// Each costs a decoder of some tens of kilobytes, and may be empty.
const MEMBERS: usize = 1_000;

/// The content coding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    /// One that we cannot decode.
    Unknown,
}

impl Coding {
    /// Parses a `Content-Encoding` header. Several codings at once are unknown: nobody uses them.
    pub(crate) fn of(header: Option<&[u8]>) -> Self {
        let name = header.unwrap_or_default().trim_ascii().to_ascii_lowercase();
        match name.as_slice() {
            b"" | b"identity" => Self::Identity,
            b"gzip" | b"x-gzip" => Self::Gzip,
            b"deflate" => Self::Deflate,
            b"br" => Self::Brotli,
            _ => Self::Unknown,
        }
    }
}

/// Decodes `body` into `sink`, up to `limit` bytes: a few compressed bytes can expand to gigabytes.
/// Of a truncated or corrupt body, it decodes what it can.
pub(crate) fn unpack(coding: Coding, body: &[u8], limit: usize, sink: impl FnMut(&[u8])) {
    let output = Bounded { left: limit, sink };
    // An error ends decoding: at the limit, or where a body is corrupt.
    match coding {
        Coding::Identity => drop({ output }.write_all(body)),
        Coding::Gzip => gunzip(output, body),
        // `deflate` means the zlib format, but some servers send raw deflate.
        Coding::Deflate if is_zlib(body) => write(ZlibDecoder::new(output), body),
        Coding::Deflate => write(DeflateDecoder::new(output), body),
        Coding::Brotli => write(DecompressorWriter::new(output, 4096), body),
        Coding::Unknown => {}
    }
}

fn gunzip(mut output: impl Write, mut body: &[u8]) {
    for _ in 0..MEMBERS {
        let unpacked = io::copy(&mut GzDecoder::new(&mut body), &mut output);
        if unpacked.is_err() || body.is_empty() {
            return;
        }
    }
}

fn write(mut decoder: impl Write, body: &[u8]) {
    if decoder.write_all(body).is_ok() {
        let _ = decoder.flush();
    }
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

    fn unpacked(coding: Coding, body: &[u8], limit: usize) -> Vec<u8> {
        let mut out = Vec::new();
        unpack(coding, body, limit, |bytes| out.extend_from_slice(bytes));
        out
    }

    #[test]
    fn every_coding_is_unpacked() {
        let text = b"<a href=/x>x</a>".repeat(10_000);
        let half = gzip(&text).len() / 2;
        for (coding, body) in [
            (Coding::Identity, text.clone()),
            (Coding::Gzip, gzip(&text)),
            (Coding::Deflate, zlib(&text)),
            (Coding::Deflate, deflate(&text)),
            (Coding::Brotli, brotli(&text)),
        ] {
            assert!(unpacked(coding, &body, 1 << 20) == text, "{coding:?}");
            assert!(unpacked(coding, &body, 1_000) == text[..1_000], "{coding:?}");
        }
        let members = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(unpacked(Coding::Gzip, &members, 100), b"one two");
        assert!(text.starts_with(&unpacked(Coding::Gzip, &gzip(&text)[..half], 1 << 20)));
        assert_eq!(unpacked(Coding::Gzip, &gzip(b"x").repeat(2 * MEMBERS), 1 << 20).len(), MEMBERS);
    }

    #[test]
    fn what_is_not_packed_as_it_says_gives_nothing() {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Unknown] {
            let out = unpacked(coding, b"<!doctype html><a href=/x>", 1_000);
            assert!(!out.starts_with(b"<!doctype"), "{coding:?}");
            assert!(unpacked(coding, b"", 1_000).is_empty());
        }
    }

    #[test]
    fn a_bomb_goes_off_within_the_limit() {
        let zeros = vec![0; 64 << 20];
        for (coding, body) in [(Coding::Gzip, gzip(&zeros)), (Coding::Brotli, brotli(&zeros))] {
            assert!(body.len() < 100_000);
            let mut largest = 0;
            let mut total = 0;
            unpack(coding, &body, 1 << 20, |bytes| {
                largest = largest.max(bytes.len());
                total += bytes.len();
            });
            assert_eq!(total, 1 << 20);
            assert!(largest <= 64 * 1024);
        }
    }

    #[test]
    fn the_header_names_the_coding() {
        for (header, coding) in [
            (None, Coding::Identity),
            (Some(&b" GZip "[..]), Coding::Gzip),
            (Some(b"br"), Coding::Brotli),
            (Some(b"deflate"), Coding::Deflate),
            (Some(b"gzip, br"), Coding::Unknown),
            (Some(b"zstd"), Coding::Unknown),
        ] {
            assert_eq!(Coding::of(header), coding);
        }
    }
}
