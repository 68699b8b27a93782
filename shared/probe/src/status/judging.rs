//! Compares a response with what is expected of it, while its body arrives.

use encoding_rs::{Decoder, Encoding, UTF_8};
use hyper::header::HeaderMap;
use vedette_domain::checks::check::StatusResult;
use vedette_domain::checks::evidence::Redaction;
use vedette_domain::expectations::{BodyReader, Expectations, Seen, Unmet};

use crate::http::MediaType;
use crate::http::charset::Sniffer;
use crate::http::coding::{Coding, Undecodable, codings, unpack};

/// The most bytes of an encoded body that are kept until it can be decoded. No coding is asked for, so few servers use
/// one.
const PACKED_MAX: usize = 64 * 1024;

/// A response that is being compared with expectations.
pub(super) struct Judging<'a> {
    expectations: &'a Expectations,
    text: Text<'a>,
    codings: Result<Vec<Coding>, Undecodable>,
    /// The encoded body so far.
    packed: Vec<u8>,
}

impl<'a> Judging<'a> {
    /// Begins with the head of the response.
    pub(super) fn new(expectations: &'a Expectations, headers: &HeaderMap) -> Self {
        let reader = BodyReader::new(expectations);
        let charset = Charset::Unknown(Sniffer::new(MediaType::of(headers)));
        Self {
            expectations,
            text: Text { reader, charset },
            codings: codings(headers),
            packed: Vec::new(),
        }
    }

    /// How many bytes of the body are needed.
    pub(super) fn wanted(&self) -> usize {
        let wanted = self.text.reader.wanted();
        match &self.codings {
            Ok(codings) if codings.is_empty() => wanted,
            // One byte more than is kept shows whether the body is longer.
            Ok(_) => wanted.min(PACKED_MAX + 1),
            Err(_) => 0,
        }
    }

    /// Takes the next part of the body.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.wanted() == 0 {
            return;
        }
        if self.codings.as_ref().is_ok_and(Vec::is_empty) {
            self.text.push(bytes);
        } else {
            let room = (PACKED_MAX + 1).saturating_sub(self.packed.len());
            self.packed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// What the response does not meet. `cut` says why a part of its body is missing, and `redaction` finds what
    /// the request contained.
    pub(super) fn end(
        self,
        result: &StatusResult,
        headers: &HeaderMap,
        cut: Option<String>,
        redaction: &Redaction,
    ) -> Vec<Unmet> {
        let Self { expectations, mut text, codings, packed } = self;
        let cut = match codings {
            Err(error) => Some(error.to_string()),
            Ok(codings) => {
                let room = text.reader.wanted();
                // Without codings, everything has been read already.
                let decoded = unpack(&codings, &packed, room, |bytes| text.push(bytes));
                cut.or_else(|| match decoded {
                    _ if packed.len() > PACKED_MAX => {
                        Some("more than 64 KB of encoded body".to_owned())
                    }
                    decoded => decoded.err().map(|error| error.to_string()),
                })
            }
        };
        let mut body = text.end();
        if let Some(why) = cut {
            body.cut(why);
        }
        let header = |name: &str| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            headers.get_all(name).iter().map(|value| text(value.as_bytes())).collect()
        };
        expectations.judge(&Seen {
            response_time: result.response_time,
            header: &header,
            body: &body,
            redaction,
        })
    }
}

/// A body without content coding, which is converted to UTF-8 while it arrives.
struct Text<'a> {
    reader: BodyReader<'a>,
    charset: Charset,
}

/// The character encoding of a body.
enum Charset {
    /// Until its beginning is there.
    Unknown(Sniffer),
    /// No decoder is needed for UTF-8.
    Known(Option<Decoder>),
}

impl<'a> Text<'a> {
    fn push(&mut self, bytes: &[u8]) {
        match &mut self.charset {
            Charset::Unknown(sniffer) => {
                if let Some((encoding, beginning)) = sniffer.push(bytes) {
                    self.begin(encoding, &beginning);
                }
            }
            Charset::Known(None) => self.reader.push(bytes),
            Charset::Known(Some(decoder)) => {
                let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or_default();
                let mut text = String::with_capacity(room);
                let _ = decoder.decode_to_string(bytes, &mut text, false);
                self.reader.push(text.as_bytes());
            }
        }
    }

    fn begin(&mut self, encoding: &'static Encoding, beginning: &[u8]) {
        let decoder = (encoding != UTF_8).then(|| encoding.new_decoder_with_bom_removal());
        self.charset = Charset::Known(decoder);
        self.push(beginning);
    }

    /// The body, which has ended.
    fn end(mut self) -> BodyReader<'a> {
        if let Charset::Unknown(sniffer) = &mut self.charset {
            let (encoding, beginning) = sniffer.end();
            self.begin(encoding, &beginning);
        }
        self.reader
    }
}
