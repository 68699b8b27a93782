//! Sitemaps (sitemaps.org): XML, an index of other sitemaps, or one URL per line.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::canonical::MAX_URL;

/// Decoded bytes of a sitemap that are read.
pub(super) const SIZE_LIMIT: usize = 10 * 1024 * 1024;

/// Sitemaps read per site.
pub(super) const FILES_LIMIT: usize = 20;

/// URLs taken from one sitemap: as many as the protocol allows.
pub(super) const URLS_LIMIT: usize = 50_000;

/// Tags, texts or lines parsed per step.
const STEP: usize = 1_000;

/// Bytes of a location, as written; a longer one is not a URL that is checked.
const LOCATION_LIMIT: usize = 4 * MAX_URL;

/// Bytes of URLs taken from all sitemaps of a site.
pub(super) const TEXT_LIMIT: usize = 8 * 1024 * 1024;

/// The locations in a sitemap, as written.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sitemap {
    pub(super) pages: Vec<String>,
    pub(super) sitemaps: Vec<String>,
}

/// Parses a sitemap step by step. Of an invalid one, it returns what precedes the fault.
pub(super) enum SitemapParser<'t> {
    Xml(Xml<'t>),
    Lines(Collected, std::str::Lines<'t>),
}

/// The locations found so far.
#[derive(Default)]
pub(super) struct Collected {
    sitemap: Sitemap,
    /// Bytes of its pages.
    bytes: usize,
}

/// A partly parsed XML sitemap.
pub(super) struct Xml<'t> {
    reader: Reader<&'t [u8]>,
    collected: Collected,
    in_index: bool,
    location: Option<String>,
}

impl<'t> SitemapParser<'t> {
    /// Starts parsing the text of a sitemap; see [`text`].
    pub(super) fn new(text: &'t str) -> Self {
        if !text.trim_start().starts_with('<') {
            return Self::Lines(Collected::default(), text.lines());
        }
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        reader.config_mut().allow_dangling_amp = true;
        Self::Xml(Xml { reader, collected: Collected::default(), in_index: false, location: None })
    }

    /// Parses one step; returns whether there is more.
    pub(super) fn step(&mut self) -> bool {
        (0..STEP).all(|_| match self {
            Self::Xml(xml) => xml.read(),
            Self::Lines(collected, lines) => {
                lines.next().is_some_and(|line| collected.line(line.trim()))
            }
        })
    }

    /// The locations found.
    pub(super) fn finish(self) -> Sitemap {
        match self {
            Self::Xml(Xml { collected, .. }) | Self::Lines(collected, _) => collected.sitemap,
        }
    }
}

/// The text of a sitemap, which is always UTF-8.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    String::from_utf8_lossy(bytes.strip_prefix(MARK).unwrap_or(bytes))
}

impl Collected {
    /// Adds a page; returns whether there is room for more.
    fn page(&mut self, url: &str) -> bool {
        self.bytes += url.len();
        let has_room = self.bytes <= TEXT_LIMIT && self.sitemap.pages.len() < URLS_LIMIT;
        if has_room {
            self.sitemap.pages.push(url.to_owned());
        }
        has_room
    }

    /// Adds another sitemap; returns whether there is room for more.
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
    /// Processes the next event; returns whether to continue.
    fn read(&mut self) -> bool {
        match self.reader.read_event() {
            Ok(Event::Start(element)) => match element.local_name().as_ref() {
                "sitemap" => self.in_index = true,
                "url" => self.in_index = false,
                // Images and videos have locations, too, in their own namespaces.
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
                        self.collected.sitemap(&url)
                    } else {
                        self.collected.page(&url)
                    };
                }
            }
            Ok(Event::Eof) | Err(_) => return false,
            Ok(_) => {}
        }
        true
    }
}

/// Appends to a location, and drops one that is too long.
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
        let mut reading = SitemapParser::new(&text);
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
            ("<!doctype html><title>Not collected</title><p>loc", &[], &[]),
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
    fn a_sitemap_takes_bounded_memory() {
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
