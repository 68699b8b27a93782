//! Content codings: decodes gzip, deflate and Brotli within limits.

use std::fmt;
use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::bufread::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};

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

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Identity => "text",
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "Brotli",
            Self::Unknown => "unknown",
        })
    }
}

/// A body is truncated, or is not encoded as its header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Corrupt;

/// Decodes `body` into `sink`, up to `limit` bytes: a few compressed bytes can expand to gigabytes.
///
/// # Errors
/// When the body is corrupt before the limit. What comes before that is decoded.
pub(crate) fn unpack(
    coding: Coding,
    body: &[u8],
    limit: usize,
    sink: impl FnMut(&[u8]),
) -> Result<(), Corrupt> {
    let mut output = Bounded { left: limit, is_full: false, sink };
    let ended = match coding {
        Coding::Identity => output.write_all(body),
        // No coding makes anything this short, but a response without a body may name one.
        _ if body.is_empty() => Ok(()),
        Coding::Gzip => gunzip(&mut output, body),
        // `deflate` means the zlib format, but some servers send raw deflate.
        Coding::Deflate => inflate(&mut output, body, is_zlib(body)),
        Coding::Brotli => unbrotli(&mut output, body),
        Coding::Unknown => return Err(Corrupt),
    };
    // An error ends decoding: at the limit, or where a body is corrupt.
    match ended {
        Err(_) if !output.is_full => Err(Corrupt),
        _ => Ok(()),
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
        let _ = unpack(coding, body, limit, |bytes| out.extend_from_slice(bytes));
        out
    }

    #[test]
    fn a_corrupt_body_is_known_as_such_and_a_long_or_empty_one_is_not() {
        let text = b"<a href=/x>x</a>".repeat(10_000);
        let state = |coding, body: &[u8], limit| unpack(coding, body, limit, |_| {});
        for (coding, body) in [
            (Coding::Gzip, gzip(&text)),
            (Coding::Deflate, zlib(&text)),
            (Coding::Deflate, deflate(&text)),
            (Coding::Brotli, brotli(&text)),
        ] {
            for limit in [1_000, text.len(), 1 << 20] {
                assert_eq!(state(coding, &body, limit), Ok(()), "{coding:?} {limit}");
            }
            assert_eq!(state(coding, b"", 1_000), Ok(()), "{coding:?}");
            let half = &body[..body.len() / 2];
            assert_eq!(state(coding, half, 1 << 20), Err(Corrupt), "{coding:?} truncated");
            let last = &body[..body.len() - 1];
            assert_eq!(state(coding, last, 1 << 20), Err(Corrupt), "{coding:?} without its end");
            // A Brotli stream this short gives nothing before its end.
            if coding != Coding::Brotli {
                assert_eq!(state(coding, half, 10), Ok(()), "{coding:?}: enough came before");
            }
            let plain = state(coding, b"<!doctype html><a href=/x>", 1_000);
            assert_eq!(plain, Err(Corrupt), "{coding:?} without encoding");
        }
        let members = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(state(Coding::Gzip, &members, 100), Ok(()));
        assert_eq!(state(Coding::Unknown, b"x", 100), Err(Corrupt));
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
            let unpacked = unpack(coding, &body, 1 << 20, |bytes| {
                largest = largest.max(bytes.len());
                total += bytes.len();
            });
            assert_eq!(unpacked, Ok(()));
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
