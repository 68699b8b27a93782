//! Sitemaps (sitemaps.org): XML, an index of further ones, or one URL a line.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::canonical::MAX_URL;

/// Bytes of one sitemap that are read, unpacked.
pub(super) const SIZE_LIMIT: usize = 10 * 1024 * 1024;

/// Sitemaps that are read of one site.
pub(super) const FILES_LIMIT: usize = 20;

/// URLs that are taken from one sitemap: as many as the protocol allows it.
pub(super) const URLS_LIMIT: usize = 50_000;

/// Tags, texts or lines that are read at a time.
const STEP: usize = 1_000;

/// Bytes of a location, as written; a longer one is no URL that is checked.
const LOCATION_LIMIT: usize = 4 * MAX_URL;

/// Bytes of URLs that are taken from all the sitemaps of a site.
pub(super) const TEXT_LIMIT: usize = 8 * 1024 * 1024;

/// What a sitemap names, as written.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sitemap {
    pub(super) pages: Vec<String>,
    pub(super) sitemaps: Vec<String>,
}

/// Reads a sitemap step by step; from a broken one what comes before the fault, and nothing from
/// what is none.
pub(super) enum Reading<'t> {
    Xml(Xml<'t>),
    Lines(Found, std::str::Lines<'t>),
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Found {
    sitemap: Sitemap,
    /// Bytes of its pages.
    bytes: usize,
}

/// An XML sitemap, read up to somewhere.
pub(super) struct Xml<'t> {
    reader: Reader<&'t [u8]>,
    found: Found,
    in_index: bool,
    location: Option<String>,
}

impl<'t> Reading<'t> {
    /// Reads the text of a sitemap; see [`text`].
    pub(super) fn new(text: &'t str) -> Self {
        if !text.trim_start().starts_with('<') {
            return Self::Lines(Found::default(), text.lines());
        }
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        reader.config_mut().allow_dangling_amp = true;
        Self::Xml(Xml { reader, found: Found::default(), in_index: false, location: None })
    }

    /// Reads on for a while; says whether there is more.
    pub(super) fn step(&mut self) -> bool {
        (0..STEP).all(|_| match self {
            Self::Xml(xml) => xml.read(),
            Self::Lines(found, lines) => lines.next().is_some_and(|line| found.line(line.trim())),
        })
    }

    /// What was found.
    pub(super) fn finish(self) -> Sitemap {
        match self {
            Self::Xml(Xml { found, .. }) | Self::Lines(found, _) => found.sitemap,
        }
    }
}

/// The text of a sitemap, which is always UTF-8.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    String::from_utf8_lossy(bytes.strip_prefix(MARK).unwrap_or(bytes))
}

impl Found {
    /// Takes in a page; says whether there is room for more.
    fn page(&mut self, url: &str) -> bool {
        self.bytes += url.len();
        let has_room = self.bytes <= TEXT_LIMIT && self.sitemap.pages.len() < URLS_LIMIT;
        if has_room {
            self.sitemap.pages.push(url.to_owned());
        }
        has_room
    }

    /// Takes in a further sitemap; says whether there is room for more.
    fn sitemap(&mut self, url: &str) -> bool {
        self.sitemap.sitemaps.push(url.to_owned());
        self.sitemap.sitemaps.len() < FILES_LIMIT
    }

    fn line(&mut self, line: &str) -> bool {
        let is_url = line.starts_with("http://") || line.starts_with("https://");
        !is_url || self.page(line)
    }
}

impl Xml<'_> {
    /// Takes in what comes next; says whether to go on.
    fn read(&mut self) -> bool {
        match self.reader.read_event() {
            Ok(Event::Start(element)) => match element.local_name().as_ref() {
                "sitemap" => self.in_index = true,
                "url" => self.in_index = false,
                // Pictures and videos have a location too, in a namespace of their own.
                "loc" if element.name().prefix().is_none() => self.location = Some(String::new()),
                _ => {}
            },
            Ok(Event::Text(text)) => append(&mut self.location, &text.into_inner()),
            Ok(Event::CData(text)) => append(&mut self.location, &text.into_inner()),
            Ok(Event::GeneralRef(name)) => append(&mut self.location, &format!("&{};", &*name)),
            Ok(Event::End(element)) if element.local_name().as_ref() == "loc" => {
                if let Some(location) = self.location.take() {
                    let url = htmlize::unescape(location.trim());
                    return if self.in_index {
                        self.found.sitemap(&url)
                    } else {
                        self.found.page(&url)
                    };
                }
            }
            Ok(Event::Eof) | Err(_) => return false,
            Ok(_) => {}
        }
        true
    }
}

/// Adds to a location, and gives up one that is too long.
fn append(location: &mut Option<String>, text: &str) {
    if let Some(written) = location {
        if written.len() + text.len() > LOCATION_LIMIT {
            *location = None;
        } else {
            written.push_str(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Sitemap {
        let text = text(bytes);
        let mut reading = Reading::new(&text);
        while reading.step() {}
        reading.finish()
    }

    #[test]
    fn sitemaps_are_read_in_all_their_forms() {
        for (text, pages, sitemaps) in [
            (
                "<?xml version='1.0' encoding='UTF-8'?>\n<urlset \
                 xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\n<url>\n<loc>\n \
                 https://example.com/?a=1&amp;b=2 </loc><lastmod>2026-11-20</lastmod></url>\
                 <url><loc><![CDATA[https://example.com/x]]></loc></url></urlset>",
                &["https://example.com/?a=1&b=2", "https://example.com/x"][..],
                &[][..],
            ),
            (
                "<sitemapindex><sitemap><loc>/a.xml</loc></sitemap><sitemap><loc>/b.xml.gz</loc>\
                 </sitemap></sitemapindex>",
                &[],
                &["/a.xml", "/b.xml.gz"],
            ),
            (
                "<s:urlset xmlns:i='x'><url><loc>/x</loc><i:image><i:loc>/y.png</i:loc></i:image>\
                 </url></s:urlset>",
                &["/x"],
                &[],
            ),
            (
                "\u{feff}https://example.com/x\r\n\r\nhttp://example.com/y\nz\n",
                &["https://example.com/x", "http://example.com/y"],
                &[],
            ),
            ("<urlset><url><loc>/x</loc></url><url><loc>/y</loc", &["/x"], &[]),
            ("<urlset><url><loc>/x</url></urlset>", &[], &[]),
            ("<!doctype html><title>Not found</title><p>loc", &[], &[]),
            ("", &[], &[]),
        ] {
            let sitemap = parse(text.as_bytes());
            assert_eq!(
                (&sitemap.pages[..], &sitemap.sitemaps[..]),
                (
                    &pages.iter().map(|page| (*page).to_owned()).collect::<Vec<_>>()[..],
                    &sitemaps.iter().map(|page| (*page).to_owned()).collect::<Vec<_>>()[..],
                )
            );
        }
    }

    #[test]
    fn entities_do_not_multiply() {
        let text = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]>\
                    <urlset><url><loc>/&b;</loc></url></urlset>";
        assert_eq!(parse(text.as_bytes()).pages, ["/&b;"]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let long = format!("http://example.com/{}\n", "x".repeat(1_000)).repeat(10_000);
        let bytes: usize = parse(long.as_bytes()).pages.iter().map(String::len).sum();
        assert!(bytes <= TEXT_LIMIT && bytes > TEXT_LIMIT - 2_000);
        let many = "<sitemap><loc>/x</loc></sitemap>".repeat(FILES_LIMIT + 1);
        assert_eq!(parse(many.as_bytes()).sitemaps.len(), FILES_LIMIT);
        let empty = "<loc></loc>".repeat(URLS_LIMIT + 1);
        assert_eq!(parse(empty.as_bytes()).pages.len(), URLS_LIMIT);
        let endless = format!("<loc>/{}</loc><loc>/x</loc>", "&amp;".repeat(LOCATION_LIMIT));
        assert_eq!(parse(endless.as_bytes()).pages, ["/x"]);
    }
}
