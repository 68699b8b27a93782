//! Extracts the links of an HTML page while it arrives.

mod attributes;

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use encoding_rs::{Decoder, Encoding, UTF_8};
use indexmap::{IndexMap, IndexSet};
use lol_html::html_content::TextChunk;
use lol_html::send::{Element, ElementContentHandlers, HtmlRewriter, Settings};
use lol_html::{AsciiCompatibleEncoding, MemorySettings, Selector};
use url::Url;

use self::attributes::{is_shadow_root, read_anchor, read_base, read_element};
use super::canonical::{Base, Reference, link_and_fragment};
use crate::http::MediaType;
use crate::http::charset::Sniffer;

/// The elements that are looked at. The parser skips all other tags.
struct Selectors {
    /// Most links.
    anchors: Selector,
    /// Other elements with links.
    others: Selector,
    base: Selector,
    template: Selector,
    noscript: Selector,
}

static SELECTORS: LazyLock<Option<Selectors>> = LazyLock::new(|| {
    let selector = |names| Selector::from_str(names).ok();
    Some(Selectors {
        anchors: selector("a, area")?,
        others: selector(
            "link, img, image, use, source, script, iframe, frame, embed, object, video, audio, track, \
             input, meta",
        )?,
        base: selector("base")?,
        template: selector("template")?,
        noscript: selector("noscript")?,
    })
});

/// `noscript` elements of a page that are read: each needs a parser of its own.
const NOSCRIPTS_LIMIT: usize = 1_000;

/// Bytes that the parser may use: for a tag that arrives in pieces, and for open elements, about
/// thirty thousand.
const PARSER_MEMORY: usize = 4 * 1024 * 1024;

/// Distinct links taken from a page, and bytes of their canonical URLs.
const LINKS_LIMIT: usize = 20_000;
const TEXT_LIMIT: usize = 2 * 1024 * 1024;

/// What a link refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A document, which may have more links.
    Page,
    /// A resource of the page.
    Part,
}

/// The links of a page in document order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PageLinks {
    /// Whether the page may have more.
    pub(super) is_cut: bool,
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

    fn push(&mut self, text: &str, kind: Kind, valid: bool) {
        self.text.push_str(text);
        self.ends.push((self.text.len(), kind, valid));
    }
}

/// Whether more links, or more bytes of them, are taken from no page.
const fn is_full(links: usize, text: usize) -> bool {
    links >= LINKS_LIMIT || text >= TEXT_LIMIT
}

/// The references in a page, as written.
#[derive(Default)]
struct Written {
    /// Each once, without its fragment; and the fragment that it has where it comes first.
    references: IndexMap<(Box<str>, Kind), Box<str>>,
    /// Their bytes.
    text: usize,
    /// `href` of the first `base` element.
    base: Option<String>,
    /// Whether the page may have more.
    is_cut: bool,
    /// `noscript` elements so far.
    noscripts: usize,
}

impl Written {
    fn add(&mut self, reference: &str, kind: Kind) {
        let Some((link, fragment)) = link_and_fragment(reference) else { return };
        let key = (Box::from(link), kind);
        if self.references.contains_key(&key) {
            return;
        }
        if is_full(self.references.len(), self.text) {
            self.is_cut = true;
            return;
        }
        self.text += link.len() + fragment.len();
        self.references.insert(key, fragment.into());
    }
}

/// Extracts the links of a page chunk by chunk.
pub(super) struct Extractor {
    written: Arc<Mutex<Written>>,
    encoding: &'static Encoding,
    reader: Reader,
}

/// A parser whose output is discarded.
type Parser = HtmlRewriter<'static, fn(&[u8])>;

enum Reader {
    /// Until the beginning reveals the encoding.
    Unstarted(Sniffer),
    Running {
        parser: Box<Parser>,
        /// For encodings that are not ASCII-compatible.
        decoder: Option<Decoder>,
    },
    /// The page exceeded a limit; the links so far are kept.
    Ended,
}

impl Extractor {
    /// For a page that is declared to be of this type.
    pub(super) fn new(media_type: MediaType) -> Self {
        let reader = Reader::Unstarted(Sniffer::new(media_type));
        Self { written: Arc::default(), encoding: UTF_8, reader }
    }

    /// Parses the next chunk.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        match &mut self.reader {
            Reader::Unstarted(sniffer) => {
                if let Some((encoding, beginning)) = sniffer.push(bytes) {
                    self.start(encoding);
                    self.write(&beginning);
                }
            }
            Reader::Running { parser, decoder } => {
                let outcome = match decoder {
                    Some(decoder) => {
                        let capacity = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(0);
                        let mut text = String::with_capacity(capacity);
                        let _ = decoder.decode_to_string(bytes, &mut text, false);
                        parser.write(text.as_bytes())
                    }
                    None => parser.write(bytes),
                };
                let mut written = lock(&self.written);
                written.is_cut |= outcome.is_err();
                if written.is_cut {
                    self.reader = Reader::Ended;
                }
            }
            Reader::Ended => {}
        }
    }

    fn start(&mut self, encoding: &'static Encoding) {
        self.encoding = encoding;
        let (compatible, decoder) = match AsciiCompatibleEncoding::new(encoding) {
            Some(compatible) => (compatible, None),
            None => {
                (AsciiCompatibleEncoding::utf_8(), Some(encoding.new_decoder_with_bom_removal()))
            }
        };
        self.reader = match page_parser(&self.written, compatible) {
            Some(parser) => Reader::Running { parser: Box::new(parser), decoder },
            None => Reader::Ended,
        };
    }

    /// The links of the page at `url`, in canonical form.
    pub(super) fn finish(mut self, url: &Url) -> PageLinks {
        if let Reader::Unstarted(sniffer) = &mut self.reader {
            let (encoding, beginning) = sniffer.end();
            self.start(encoding);
            self.write(&beginning);
        }
        // An unfinished tag at the end is ignored.
        drop(self.reader);
        let written = std::mem::take(&mut *lock(&self.written));
        let base = Base::new(url, written.base.as_deref(), self.encoding);
        let (mut found, mut text, mut is_cut) = (IndexSet::new(), 0, written.is_cut);
        for ((reference, kind), fragment) in written.references {
            let link = match base.resolve(&reference) {
                Reference::Web(url) => (url, kind, true),
                Reference::Invalid(text) => (text + &fragment, kind, false),
                Reference::Fragment | Reference::OtherScheme | Reference::TooLong => continue,
            };
            let length = link.0.len();
            if is_full(found.len(), text) && !found.contains(&link) {
                is_cut = true;
                break;
            }
            if found.insert(link) {
                text += length;
            }
        }
        let mut links = PageLinks {
            is_cut,
            text: String::with_capacity(text),
            ends: Vec::with_capacity(found.len()),
        };
        found.iter().for_each(|(url, kind, valid)| links.push(url, *kind, *valid));
        links
    }
}

/// Parses a page in `encoding`.
fn page_parser(written: &Arc<Mutex<Written>>, encoding: AsciiCompatibleEncoding) -> Option<Parser> {
    let selectors = SELECTORS.as_ref()?;
    let (settings, open) = settings(written, selectors);
    let base = on_element(written, &open, read_base);
    let noscript = ElementContentHandlers::default().text(on_noscript(written, open));
    let settings = settings
        .append_element_content_handler((Cow::Borrowed(&selectors.base), base))
        .append_element_content_handler((Cow::Borrowed(&selectors.noscript), noscript))
        .with_encoding(encoding);
    Some(HtmlRewriter::new(settings, |_| {}))
}

/// What any parser looks at, and its number of open `template` elements. Their content is not part of the page.
fn settings(
    written: &Arc<Mutex<Written>>,
    selectors: &'static Selectors,
) -> (Settings<'static, 'static>, Arc<AtomicUsize>) {
    let open = Arc::<AtomicUsize>::default();
    let templates = Arc::clone(&open);
    let template =
        ElementContentHandlers::default().element(move |template: &mut Element<'_, '_>| {
            if template.can_have_content() && !is_shadow_root(template) {
                templates.fetch_add(1, Ordering::Relaxed);
                let templates = Arc::clone(&templates);
                template.on_end_tag(lol_html::end_tag!(move |_| {
                    templates.fetch_sub(1, Ordering::Relaxed);
                    Ok(())
                }))?;
            }
            Ok(())
        });
    let anchors = on_element(written, &open, read_anchor);
    let others = on_element(written, &open, read_element);
    let settings = Settings::new_send()
        .append_element_content_handler((Cow::Borrowed(&selectors.template), template))
        .append_element_content_handler((Cow::Borrowed(&selectors.anchors), anchors))
        .append_element_content_handler((Cow::Borrowed(&selectors.others), others))
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(PARSER_MEMORY))
        // Like browsers, accept any page.
        .with_strict(false);
    (settings, open)
}

/// Calls `read` with each element outside of templates.
fn on_element(
    written: &Arc<Mutex<Written>>,
    templates: &Arc<AtomicUsize>,
    read: fn(&Element<'_, '_>, &mut Written),
) -> ElementContentHandlers<'static> {
    let (written, templates) = (Arc::clone(written), Arc::clone(templates));
    ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
        if templates.load(Ordering::Relaxed) == 0 {
            read(element, &mut lock(&written));
        }
        Ok(())
    })
}

/// Parses what is in `noscript` elements, which is plain text for the parser of the page. A `base` element has no effect
/// there, because browsers that run scripts do not see it.
fn on_noscript(
    written: &Arc<Mutex<Written>>,
    templates: Arc<AtomicUsize>,
) -> impl FnMut(&mut TextChunk<'_>) -> lol_html::HandlerResult + Send + 'static {
    let written = Arc::clone(written);
    let mut parser: Option<Box<Parser>> = None;
    move |chunk| {
        if parser.is_none() && !chunk.as_str().is_empty() && templates.load(Ordering::Relaxed) == 0
        {
            let mut page = lock(&written);
            page.noscripts += 1;
            if page.noscripts > NOSCRIPTS_LIMIT {
                page.is_cut = true;
                return Ok(());
            }
            drop(page);
            parser = SELECTORS
                .as_ref()
                .map(|selectors| Box::new(Parser::new(settings(&written, selectors).0, |_| {})));
        }
        let outcome = parser.as_mut().map(|parser| parser.write(chunk.as_str().as_bytes()));
        if let Some(Err(_)) = outcome {
            lock(&written).is_cut = true;
        }
        if chunk.last_in_text_node() {
            parser = None;
        }
        Ok(())
    }
}

fn lock(written: &Mutex<Written>) -> std::sync::MutexGuard<'_, Written> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
