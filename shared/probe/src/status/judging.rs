//! Compares a response with what is expected of it, while its body arrives.

use encoding_rs::{Decoder, Encoding, UTF_8};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use vedette_domain::checks::check::StatusResult;
use vedette_domain::checks::evidence::Redaction;
use vedette_domain::expectations::{BodyReader, Expectations, Seen, Unmet};

use crate::http::coding::{Coding, Corrupt, unpack};

/// The most bytes of an encoded body that are kept until it can be decoded. No coding is asked for, so few servers use
/// one.
const PACKED_MAX: usize = 64 * 1024;

/// A response that is being compared with expectations.
pub(super) struct Judging<'a> {
    expectations: &'a Expectations,
    reader: BodyReader<'a>,
    coding: Coding,
    /// The encoded body so far.
    packed: Vec<u8>,
    /// Converts the body into UTF-8, if its headers name another character encoding.
    charset: Option<Decoder>,
}

impl<'a> Judging<'a> {
    /// Begins with the head of the response.
    pub(super) fn new(expectations: &'a Expectations, headers: &HeaderMap) -> Self {
        let coding = headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes);
        Self {
            expectations,
            reader: BodyReader::new(expectations),
            coding: Coding::of(coding),
            packed: Vec::new(),
            charset: charset(headers),
        }
    }

    /// How many bytes of the body are needed.
    pub(super) fn wanted(&self) -> usize {
        match self.coding {
            Coding::Identity => self.reader.wanted(),
            // One byte more than is kept shows whether the body is longer.
            _ => self.reader.wanted().min(PACKED_MAX + 1),
        }
    }

    /// Takes the next part of the body.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.coding == Coding::Identity {
            push_text(&mut self.reader, self.charset.as_mut(), bytes);
        } else if self.reader.wanted() > 0 {
            let room = (PACKED_MAX + 1).saturating_sub(self.packed.len());
            self.packed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// What the response does not meet. `cut` says why a part of its body is missing, and `redaction` finds what
    /// the request contained.
    pub(super) fn end(
        mut self,
        result: &StatusResult,
        headers: &HeaderMap,
        cut: Option<String>,
        redaction: &Redaction,
    ) -> Vec<Unmet> {
        let (reader, charset) = (&mut self.reader, &mut self.charset);
        let room = reader.wanted();
        let unpacked = unpack(self.coding, &self.packed, room, |bytes| {
            push_text(reader, charset.as_mut(), bytes);
        });
        let coded = match self.coding {
            Coding::Identity => None,
            Coding::Unknown => Some("a body in an unknown content encoding".to_owned()),
            _ if self.packed.len() > PACKED_MAX => {
                Some("more than 64 KB of encoded body".to_owned())
            }
            coding => unpacked.err().map(|Corrupt| format!("a body that is not valid {coding}")),
        };
        if let Some(why) = cut.or(coded) {
            self.reader.cut(why);
        }
        let header = |name: &str| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            headers.get_all(name).iter().map(|value| text(value.as_bytes())).collect()
        };
        self.expectations.judge(&Seen {
            response_time: result.response_time,
            header: &header,
            body: &self.reader,
            redaction,
        })
    }
}

fn push_text(reader: &mut BodyReader<'_>, charset: Option<&mut Decoder>, bytes: &[u8]) {
    let Some(decoder) = charset else { return reader.push(bytes) };
    let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or_default();
    let mut text = String::with_capacity(room);
    let _ = decoder.decode_to_string(bytes, &mut text, false);
    reader.push(text.as_bytes());
}

/// The decoder of a body that is not in UTF-8, according to its headers.
fn charset(headers: &HeaderMap) -> Option<Decoder> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let mut parameters = value.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let (_, label) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    let encoding = Encoding::for_label(label.trim().trim_matches('"').as_bytes())?;
    (encoding != UTF_8).then(|| encoding.new_decoder_without_bom_handling())
}
