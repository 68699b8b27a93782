//! Which attributes of which elements are links.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use lol_html::send::Element;

use super::{Kind, Written};

/// Values of `rel` whose target is fetched. Of the others, `preconnect` and `dns-prefetch` name
/// only a host, and `pingback` and the like are service endpoints that reject visitors.
const FETCHED: [&str; 17] = [
    "stylesheet",
    "icon",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "mask-icon",
    "manifest",
    "canonical",
    "alternate",
    "next",
    "prev",
    "preload",
    "modulepreload",
    "prefetch",
    "amphtml",
    "license",
    "help",
    "author",
];

/// Adds the link of an anchor.
pub(super) fn read_anchor(anchor: &Element<'_, '_>, written: &mut Written) {
    if let Some(href) = anchor.get_attribute("href")
        && !written.references.is_full()
    {
        // A download is not a page to search.
        let kind = if anchor.has_attribute("download") { Kind::Part } else { Kind::Page };
        add(&href, kind, written);
    }
}

/// Adds the links of another element.
pub(super) fn read_element(element: &Element<'_, '_>, written: &mut Written) {
    if written.references.is_full() {
        return;
    }
    let mut reference = |name: &str, kind| {
        if let Some(value) = element.get_attribute(name) {
            add(&value, kind, written);
        }
    };
    match element.tag_name().as_str() {
        "iframe" | "frame" => reference("src", Kind::Page),
        "link" if is_fetched(element) => reference("href", Kind::Part),
        "script" | "embed" | "audio" | "track" | "input" => reference("src", Kind::Part),
        "object" => reference("data", Kind::Part),
        "video" => {
            reference("src", Kind::Part);
            reference("poster", Kind::Part);
        }
        "img" | "source" => {
            reference("src", Kind::Part);
            if let Some(set) = element.get_attribute("srcset") {
                for url in srcset(&set) {
                    add(url, Kind::Part, written);
                }
            }
        }
        "base" if written.base.is_none() => {
            written.base = element.get_attribute("href").map(|href| decoded(&href).into_owned());
        }
        "meta" => read_meta(element, written),
        _ => {}
    }
}

fn is_fetched(link: &Element<'_, '_>) -> bool {
    let rel = link.get_attribute("rel").unwrap_or_default();
    rel.split_ascii_whitespace()
        .any(|word| FETCHED.iter().any(|fetched| word.eq_ignore_ascii_case(fetched)))
}

fn read_meta(meta: &Element<'_, '_>, written: &mut Written) {
    if let Some(label) = meta.get_attribute("charset") {
        name_encoding(&label, written);
    }
    let Some(equivalent) = meta.get_attribute("http-equiv") else {
        return;
    };
    let content = meta.get_attribute("content").unwrap_or_default();
    if equivalent.eq_ignore_ascii_case("refresh") {
        if let Some(url) = refresh(&decoded(&content)) {
            written.references.push(url, Kind::Page, true);
        }
    } else if equivalent.eq_ignore_ascii_case("content-type")
        && let Some(label) = charset(&content)
    {
        name_encoding(label, written);
    }
}

fn name_encoding(label: &str, written: &mut Written) {
    if written.encoding.is_none() {
        // A page that can name its encoding in ASCII is not UTF-16.
        written.encoding = Encoding::for_label(label.as_bytes())
            .map(|encoding| if encoding.is_ascii_compatible() { encoding } else { UTF_8 });
    }
}

fn add(value: &str, kind: Kind, written: &mut Written) {
    // One element can have a million of them.
    if written.references.is_full() {
        return;
    }
    written.references.push(&decoded(value), kind, true);
}

/// The value of an attribute with character references decoded.
fn decoded(value: &str) -> Cow<'_, str> {
    if value.contains('&') { htmlize::unescape_attribute(value) } else { Cow::Borrowed(value) }
}

/// The URLs in a `srcset` attribute, by the standard's algorithm without the descriptors.
pub(super) fn srcset(set: &str) -> impl Iterator<Item = &str> {
    let mut rest = set;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (candidate, after) = rest.split_at(end);
        let url = candidate.trim_end_matches(',');
        rest = if url.len() < candidate.len() { after } else { skip_descriptors(after) };
        (!url.is_empty()).then_some(url)
    })
}

/// The text after the comma that ends the descriptors; commas in parentheses do not.
fn skip_descriptors(text: &str) -> &str {
    let mut in_parentheses = false;
    for (at, c) in text.char_indices() {
        match c {
            '(' => in_parentheses = true,
            ')' => in_parentheses = false,
            ',' if !in_parentheses => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

/// The URL in the content of `<meta http-equiv="refresh">`, such as `5; url='/next'`.
pub(super) fn refresh(content: &str) -> Option<&str> {
    let (_, rest) = content.split_once([';', ','])?;
    let rest = rest.trim_start();
    let url = match rest.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("url") => {
            rest[3..].trim_start().strip_prefix('=').map_or(rest, str::trim_start)
        }
        _ => rest,
    };
    let url = match url.chars().next() {
        Some(quote @ ('"' | '\'')) => url[1..].split(quote).next().unwrap_or_default(),
        _ => url.trim_end(),
    };
    (!url.is_empty()).then_some(url)
}

/// The charset in a content type, such as `text/html; charset="utf-8"`.
pub(in crate::links) fn charset(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })
}
