//! Extracts the links of an HTML page while it arrives.

mod attributes;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use encoding_rs::{Decoder, Encoding, UTF_8};
use lol_html::send::{Element, ElementContentHandlers, HtmlRewriter, Settings};
use lol_html::{AsciiCompatibleEncoding, MemorySettings, Selector};
use url::Url;

pub(super) use self::attributes::charset;
use self::attributes::{read_anchor, read_element};
use super::canonical::{Base, Reference};

/// Anchors: most links.
static ANCHORS: LazyLock<Option<Selector>> = LazyLock::new(|| "a, area".parse().ok());

/// Other elements with links. The parser skips all other tags.
static OTHERS: LazyLock<Option<Selector>> = LazyLock::new(|| {
    "link, img, source, script, iframe, frame, embed, object, video, audio, track, input, base, meta"
        .parse()
        .ok()
});

/// Bytes that the parser may use: for a tag that arrives in pieces, and for open elements, about
/// thirty thousand.
const PARSER_MEMORY: usize = 4 * 1024 * 1024;

/// Links taken from a page, and bytes of their canonical URLs.
const LINKS_LIMIT: usize = 20_000;
const TEXT_LIMIT: usize = 2 * 1024 * 1024;

/// What a link refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A document, which may have more links.
    Page,
    /// A resource of the page.
    Part,
}

/// The links of a page in document order, with duplicates.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PageLinks {
    /// All URLs, concatenated.
    text: String,
    /// The end of each in `text`, its kind, and whether it is valid.
    ends: Vec<(usize, Kind, bool)>,
}

/// A link of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageLink<'a> {
    /// Its canonical URL, or what was written if that is not a URL.
    pub(super) url: &'a str,
    pub(super) kind: Kind,
    /// Whether it is a URL.
    pub(super) valid: bool,
}

impl PageLinks {
    pub(super) fn iter(&self) -> impl Iterator<Item = PageLink<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, ..)| *end));
        starts.zip(&self.ends).map(|(start, (end, kind, valid))| PageLink {
            url: &self.text[start..*end],
            kind: *kind,
            valid: *valid,
        })
    }

    /// Its size in bytes.
    pub(super) fn size(&self) -> usize {
        self.text.len() + self.ends.len() * size_of::<(usize, Kind, bool)>()
    }

    fn is_full(&self) -> bool {
        self.ends.len() >= LINKS_LIMIT || self.text.len() >= TEXT_LIMIT
    }

    fn push(&mut self, text: &str, kind: Kind, valid: bool) {
        self.text.push_str(text);
        self.ends.push((self.text.len(), kind, valid));
    }
}

/// The references in a page, as written.
#[derive(Default)]
struct Written {
    references: PageLinks,
    /// `href` of the first `base` element.
    base: Option<String>,
    /// The encoding that the page declares.
    encoding: Option<&'static Encoding>,
}

/// Extracts the links of a page chunk by chunk.
pub(super) struct Extractor {
    written: Arc<Mutex<Written>>,
    /// The encoding that the server declares.
    declared: Option<&'static Encoding>,
    reader: Reader,
}

/// A parser whose output is discarded.
type Parser = HtmlRewriter<'static, fn(&[u8])>;

enum Reader {
    /// Until the first bytes reveal the encoding.
    Unstarted,
    Running {
        rewriter: Box<Parser>,
        /// For encodings that are not ASCII-compatible.
        decoder: Option<Decoder>,
    },
    /// The page exceeded a limit of the parser; the links so far are kept.
    Ended,
}

impl Extractor {
    /// For a page whose `Content-Type` declares the charset `declared`.
    pub(super) fn new(declared: Option<&str>) -> Self {
        Self {
            written: Arc::default(),
            declared: declared.and_then(|label| Encoding::for_label(label.as_bytes())),
            reader: Reader::Unstarted,
        }
    }

    /// Parses the next chunk.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if matches!(self.reader, Reader::Unstarted) {
            self.start(bytes);
        }
        let Reader::Running { rewriter, decoder } = &mut self.reader else {
            return;
        };
        let outcome = match decoder {
            Some(decoder) => {
                let capacity = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(0);
                let mut text = String::with_capacity(capacity);
                let _ = decoder.decode_to_string(bytes, &mut text, false);
                rewriter.write(text.as_bytes())
            }
            None => rewriter.write(bytes),
        };
        if outcome.is_err() || self.lock().references.is_full() {
            self.reader = Reader::Ended;
        }
    }

    /// A byte order mark takes precedence, then the server's declaration, then the page's own.
    fn start(&mut self, first: &[u8]) {
        if let Some((encoding, _)) = Encoding::for_bom(first) {
            self.declared = Some(encoding);
        }
        let (encoding, decoder) = match self.declared.map(AsciiCompatibleEncoding::new) {
            Some(Some(encoding)) => (encoding, None),
            Some(None) => {
                (AsciiCompatibleEncoding::utf_8(), self.declared.map(Encoding::new_decoder))
            }
            None => (AsciiCompatibleEncoding::utf_8(), None),
        };
        let (Some(anchors), Some(others)) = (ANCHORS.as_ref(), OTHERS.as_ref()) else {
            self.reader = Reader::Ended;
            return;
        };
        let settings = Settings::new_send()
            .append_element_content_handler((Cow::Borrowed(anchors), self.handler(read_anchor)))
            .append_element_content_handler((Cow::Borrowed(others), self.handler(read_element)))
            .with_encoding(encoding)
            .with_adjust_charset_on_meta_tag(self.declared.is_none())
            .with_memory_settings(
                MemorySettings::new().with_max_allowed_memory_usage(PARSER_MEMORY),
            )
            // Like browsers, accept any page.
            .with_strict(false);
        let sink: fn(&[u8]) = |_| {};
        let rewriter = Box::new(HtmlRewriter::new(settings, sink));
        self.reader = Reader::Running { rewriter, decoder };
    }

    /// Calls `read` with each element.
    fn handler(&self, read: fn(&Element<'_, '_>, &mut Written)) -> ElementContentHandlers<'static> {
        let written = Arc::clone(&self.written);
        let handler = move |element: &mut Element<'_, '_>| {
            read(element, &mut lock(&written));
            Ok(())
        };
        ElementContentHandlers::default().element(handler)
    }

    /// The links of the page at `url`, in canonical form.
    pub(super) fn finish(mut self, url: &Url) -> PageLinks {
        if let Reader::Running { rewriter, .. } = std::mem::replace(&mut self.reader, Reader::Ended)
        {
            // An unfinished tag at the end is ignored.
            let _ = rewriter.end();
        }
        let written = std::mem::take(&mut *self.lock());
        let encoding = self.declared.or(written.encoding).unwrap_or(UTF_8);
        let base = Base::new(url, written.base.as_deref(), encoding);
        let mut links = PageLinks {
            text: String::with_capacity(2 * written.references.text.len()),
            ends: Vec::with_capacity(written.references.ends.len()),
        };
        for PageLink { url: reference, kind, .. } in written.references.iter() {
            match base.resolve(reference) {
                Reference::Web(url) => links.push(&url, kind, true),
                Reference::Invalid(text) => links.push(&text, kind, false),
                Reference::Fragment | Reference::OtherScheme | Reference::TooLong => {}
            }
            if links.is_full() {
                break;
            }
        }
        links
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Written> {
        lock(&self.written)
    }
}

fn lock(written: &Mutex<Written>) -> std::sync::MutexGuard<'_, Written> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
