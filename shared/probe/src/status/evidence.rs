//! The evidence of a probe, without secrets.

use std::iter;

use hyper::header::{HeaderMap, SET_COOKIE};
use ring::digest;
use serde_bytes::ByteArray;
use vedette_domain::checks::check::StatusResult;
use vedette_domain::checks::evidence::{
    Evidence, EvidenceBody, EvidenceHeader, EvidenceRequest, HEADERS_KEPT, REDACTED, Redaction,
};
use vedette_domain::text::disrupts_line;

use super::{BodyRead, Seen};

/// Replaces a character that a terminal or a page would not show.
const UNSHOWN: char = '\u{fffd}';

/// Collects the evidence of a probe. The texts of `result` have been redacted already.
pub(super) fn collect(
    result: &StatusResult,
    Seen { trace, response }: Seen,
    body: &[u8],
    redaction: &Redaction,
) -> Evidence {
    let codes = trace.codes().into_iter().map(Some).chain(iter::repeat(None));
    let urls = iter::once(&result.url).chain(&result.redirects);
    let requests = urls.zip(codes).map(|(url, code)| EvidenceRequest { url: url.clone(), code });
    let mut evidence = Evidence {
        requests: requests.collect(),
        address: trace.address(),
        status_line: None,
        headers: Vec::new(),
        lacks_headers: false,
        body: None,
        error: result.error.as_deref().map(printable),
        timing: trace.timing(),
    };
    if let Some((version, status, headers, read)) = response {
        let reason = status.canonical_reason().unwrap_or_default();
        let line = format!("{version:?} {} {reason}", status.as_str());
        evidence.status_line = Some(line.trim_end().to_owned());
        evidence.headers = kept(&headers, redaction);
        evidence.lacks_headers = evidence.headers.len() < headers.len();
        evidence.body = Some(body_of(body, read, redaction));
    }
    evidence
}

/// The headers, up to the limit.
fn kept(headers: &HeaderMap, redaction: &Redaction) -> Vec<EvidenceHeader> {
    let mut room = HEADERS_KEPT;
    let shown = headers.iter().map(|(name, value)| {
        let value = match *name == SET_COOKIE {
            true => REDACTED.to_owned(),
            false => printable(&redaction.apply(&String::from_utf8_lossy(value.as_bytes()))),
        };
        EvidenceHeader { name: redaction.apply(name.as_str()), value }
    });
    let fits = |header: &EvidenceHeader| {
        let left = room.checked_sub(header.name.len() + header.value.len());
        room = left.unwrap_or(room);
        left.is_some()
    };
    shown.filter(fits).collect()
}

fn body_of(body: &[u8], read: BodyRead, redaction: &Redaction) -> EvidenceBody {
    let BodyRead { bytes, sha256, is_whole } = read;
    let is_beginning = !is_whole || (body.len() as u64) < bytes;
    let text = text_of(body, is_beginning).map(|text| {
        let text = match is_beginning {
            true => redaction.apply_to_beginning(text),
            false => redaction.apply(text),
        };
        printable(&text)
    });
    // A digest of the secret would show whether a guess is right.
    let sha256 = match redaction.is_empty() {
        true => Some(sha256.finish()),
        false => text.as_ref().map(|text| digest::digest(&digest::SHA256, text.as_bytes())),
    };
    let sha256 = sha256.and_then(|digest| digest.as_ref().try_into().ok()).map(ByteArray::new);
    EvidenceBody { is_cut: is_beginning || text.is_none(), text, bytes, sha256 }
}

/// The body as text, if it is UTF-8 without zero bytes, so neither an image nor compressed. A beginning may end inside
/// a character.
fn text_of(body: &[u8], is_beginning: bool) -> Option<&str> {
    let text = match str::from_utf8(body) {
        Ok(text) => text,
        Err(error) if is_beginning && error.error_len().is_none() => {
            str::from_utf8(&body[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

/// Makes characters visible that would change how the text is displayed: those that break a line or change the direction
/// of the text, including direction marks.
fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        '\r' => '\n',
        '\u{200e}' | '\u{200f}' => UNSHOWN,
        _ if disrupts_line(c) => UNSHOWN,
        _ => c,
    };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;
    use hyper::header::{HeaderName, HeaderValue};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: usize, is_whole: bool) -> BodyRead {
        BodyRead { bytes: bytes as u64, is_whole, ..BodyRead::new() }
    }

    #[test]
    fn headers_lose_secrets_and_stay_within_their_limit() {
        let redaction = Redaction::of("Bearer of-the-site");
        let mut headers = HeaderMap::new();
        let mut header = |name: &'static str, value: &[u8]| {
            let value = HeaderValue::from_bytes(value).expect("a value");
            headers.append(HeaderName::from_static(name), value);
        };
        header("set-cookie", b"session=of-a-stranger");
        header("set-cookie", b"other=of-a-stranger");
        header("x-echo", b"token=OF-THE-SITE");
        header("x-bytes", b"\xff\xfe");
        header("x-long", &[b'x'; HEADERS_KEPT]);
        let shown: Vec<(String, String)> = kept(&headers, &redaction)
            .into_iter()
            .map(|EvidenceHeader { name, value }| (name, value))
            .collect();
        let expected = [
            ("set-cookie", REDACTED),
            ("set-cookie", REDACTED),
            ("x-echo", "token=[redacted]"),
            ("x-bytes", "\u{fffd}\u{fffd}"),
        ];
        assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn the_digest_of_a_body_tells_nothing_about_a_secret() {
        let hash = |body: &[u8], redaction: &Redaction| {
            let mut read = read(body.len(), true);
            read.sha256.update(body);
            body_of(body, read, redaction).sha256_hex()
        };
        let of =
            |text: &str| HEXLOWER.encode(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        let (none, secret) = (Redaction::default(), Redaction::of("Bearer of-the-site"));
        assert_eq!(hash(b"sent of-the-site", &none), Some(of("sent of-the-site")));
        assert_eq!(hash(b"sent of-the-site", &secret), Some(of("sent [redacted]")));
        assert_eq!(hash(b"\0of-the-site", &none), Some(of("\0of-the-site")));
        assert_eq!(hash(b"\0of-the-site", &secret), None);
    }

    #[test]
    fn a_body_that_is_no_text_is_not_kept() {
        for bytes in [&b"\x89PNG\r\n\x1a\n\0\0"[..], b"\x1f\x8b\x08", b"abc\0def", b"\xff"] {
            let body = body_of(bytes, read(bytes.len(), true), &Redaction::default());
            assert_eq!((body.text, body.is_cut), (None, true));
        }
        // A beginning may end inside a character.
        let body = body_of(b"pass\xc3", read(9_000, false), &Redaction::default());
        assert_eq!((body.text.as_deref(), body.is_cut), (Some("pass"), true));
        let body = body_of(
            "\u{202e}\u{7}a\r\nb\rc\u{2028}d".as_bytes(),
            read(9, true),
            &Redaction::default(),
        );
        assert_eq!(body.text.as_deref(), Some("\u{fffd}\u{fffd}a\nb\nc\u{fffd}d"));
    }

    proptest! {
        /// Whatever a target sends, the evidence that is kept can be displayed and contains no secret.
        #[test]
        fn any_body_is_taken(
            before in vec(any::<u8>(), 0..64),
            after in vec(any::<u8>(), 0..64),
            end in 0_usize..160,
            is_whole in any::<bool>(),
        ) {
            let mut bytes = [&before[..], b"0f-the-Site", &after[..]].concat();
            bytes.truncate(end);
            let body = body_of(&bytes, read(bytes.len(), is_whole), &Redaction::of("Bearer 0f-the-site"));
            let text = body.text.unwrap_or_default();
            prop_assert!(!text.contains(|c: char| disrupts_line(c) && !matches!(c, '\n' | '\t')), "{text:?}");
            prop_assert!(!text.contains("0f-the-Site"), "{text:?}");
        }
    }
}
