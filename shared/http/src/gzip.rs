//! gzip, in both directions.

use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use lambda_http::http::HeaderMap;
use lambda_http::http::header::ACCEPT_ENCODING;

use crate::header;

/// Whether an encoding is gzip, including its older name (RFC 9110, 8.4.1.3).
pub(crate) fn is(encoding: &str) -> bool {
    ["gzip", "x-gzip"].iter().any(|name| encoding.eq_ignore_ascii_case(name))
}

/// Whether a client prefers a compressed response (RFC 9110, 12.5.3).
pub(crate) fn is_preferred(headers: &HeaderMap) -> bool {
    let (mut packed, mut plain, mut others) = (None, None, None);
    for element in header::list(headers, &ACCEPT_ENCODING) {
        let (encoding, parameter) = element.split_once(';').unwrap_or((element, "q=1"));
        let weight = match encoding.trim() {
            encoding if is(encoding) => &mut packed,
            encoding if encoding.eq_ignore_ascii_case("identity") => &mut plain,
            "*" => &mut others,
            _ => continue,
        };
        *weight = Some(weight_of(parameter));
    }
    let packed = packed.or(others).unwrap_or_default();
    packed > 0.0 && packed >= plain.unwrap_or_default()
}

/// The weight in `q=0.5`; an invalid one counts as 0.
fn weight_of(parameter: &str) -> f32 {
    let (name, weight) = parameter.split_once('=').unwrap_or_default();
    let is_weight = name.trim().eq_ignore_ascii_case("q");
    let weight = weight.trim().parse().ok().filter(|weight| (0.0..=1.0).contains(weight));
    weight.filter(|_| is_weight).unwrap_or_default()
}

/// Compresses a response at the fast level, which is nearly as good for JSON.
pub(crate) fn pack(body: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = packed.write_all(body);
    packed.finish().unwrap_or_default()
}

/// Decompresses a body, and stops after `limit` bytes.
pub(crate) fn unpack(packed: &[u8], limit: usize) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(packed).take(limit as u64).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use lambda_http::http::HeaderValue;

    use super::*;

    #[test]
    fn an_answer_is_compressed_for_whom_it_is_better() {
        for (accepted, expected) in [
            (&[][..], false),
            (&[""], false),
            (&["gzip"], true),
            (&["GZIP"], true),
            (&["x-gzip"], true),
            (&["gzip, deflate, br, zstd"], true),
            (&["br", "gzip"], true),
            (&["deflate, br"], false),
            (&["identity"], false),
            (&["*"], true),
            (&["*;q=0"], false),
            (&["gzip;q=0"], false),
            (&["gzip;q=0.000, *"], false),
            (&["gzip;q=0.5"], true),
            (&["gzip ; Q=0.5"], true),
            (&["gzip;q=0.5, identity"], false),
            (&["gzip;q=0.5, identity;q=0.5"], true),
            (&["gzip, identity;q=0"], true),
            (&["gzip;q=2"], false),
            (&["gzip;q=nan"], false),
            (&["gzip;q="], false),
            (&["gzip;level=1"], false),
            (&["gzipped"], false),
        ] {
            let mut headers = HeaderMap::new();
            for line in accepted {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(line));
            }
            assert_eq!(is_preferred(&headers), expected, "{accepted:?}");
        }
    }
}
