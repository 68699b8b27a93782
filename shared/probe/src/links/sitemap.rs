//! Sitemaps (sitemaps.org): XML, an index of further ones, or one URL a line.

use encoding_rs::UTF_8;
use quick_xml::Reader;
use quick_xml::events::Event;

/// Bytes of one sitemap that are read, unpacked.
pub(super) const SIZE_LIMIT: usize = 10 * 1024 * 1024;

/// Sitemaps that are read of one site.
pub(super) const FILES_LIMIT: usize = 20;

/// Bytes of URLs that are taken from all the sitemaps of a site.
pub(super) const TEXT_LIMIT: usize = 8 * 1024 * 1024;

/// What a sitemap names, as written.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sitemap {
    pub(super) pages: Vec<String>,
    pub(super) sitemaps: Vec<String>,
}

/// Reads a sitemap; from a broken one what comes before the fault, and nothing from what is none.
pub(super) fn parse(bytes: &[u8]) -> Sitemap {
    let (text, ..) = UTF_8.decode(bytes);
    if text.trim_start().starts_with('<') {
        parse_xml(&text)
    } else {
        let lines = text.lines().map(str::trim);
        let pages =
            lines.filter(|line| line.starts_with("http://") || line.starts_with("https://"));
        bounded(pages.map(str::to_owned).collect(), Vec::new())
    }
}

fn parse_xml(text: &str) -> Sitemap {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    reader.config_mut().allow_dangling_amp = true;
    let (mut pages, mut sitemaps) = (Vec::new(), Vec::new());
    let mut in_index = false;
    let mut location: Option<String> = None;
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => match element.local_name().as_ref() {
                "sitemap" => in_index = true,
                "url" => in_index = false,
                // Pictures and videos have a location too, in a namespace of their own.
                "loc" if element.name().prefix().is_none() => location = Some(String::new()),
                _ => {}
            },
            Ok(Event::Text(text)) => append(&mut location, &text.into_inner()),
            Ok(Event::CData(text)) => append(&mut location, &text.into_inner()),
            Ok(Event::GeneralRef(name)) => append(&mut location, &format!("&{};", &*name)),
            Ok(Event::End(element)) if element.local_name().as_ref() == "loc" => {
                if let Some(location) = location.take() {
                    let list = if in_index { &mut sitemaps } else { &mut pages };
                    list.push(htmlize::unescape(location.trim()).into_owned());
                }
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    bounded(pages, sitemaps)
}

fn append(location: &mut Option<String>, text: &str) {
    if let Some(location) = location {
        location.push_str(text);
    }
}

fn bounded(mut pages: Vec<String>, mut sitemaps: Vec<String>) -> Sitemap {
    let mut bytes = 0;
    let kept = pages.iter().take_while(|page| {
        bytes += page.len();
        bytes <= TEXT_LIMIT
    });
    pages.truncate(kept.count());
    sitemaps.truncate(FILES_LIMIT);
    Sitemap { pages, sitemaps }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
