//! Which attributes of which elements are links.

use std::borrow::Cow;

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
    if let Some(href) = href(anchor) {
        // A download is not a page to search.
        let kind = if anchor.has_attribute("download") { Kind::Part } else { Kind::Page };
        add(&href, kind, written);
    }
}

/// The `href` of an element that may be in SVG, where the attribute had a prefix at first.
fn href(element: &Element<'_, '_>) -> Option<String> {
    element.get_attribute("href").or_else(|| element.get_attribute("xlink:href"))
}

/// Adds the links of another element.
pub(super) fn read_element(element: &Element<'_, '_>, written: &mut Written) {
    let mut reference = |value: Option<String>, kind| {
        if let Some(value) = value {
            add(&value, kind, written);
        }
    };
    let attribute = |name| element.get_attribute(name);
    match element.tag_name().as_str() {
        "iframe" | "frame" => reference(attribute("src"), Kind::Page),
        "link" if is_fetched(element) => {
            reference(attribute("href"), Kind::Part);
            add_set(attribute("imagesrcset"), written);
        }
        "script" | "embed" | "audio" | "track" | "input" => {
            reference(attribute("src"), Kind::Part);
        }
        "object" => reference(attribute("data"), Kind::Part),
        "video" => {
            reference(attribute("src"), Kind::Part);
            reference(attribute("poster"), Kind::Part);
        }
        // Outside of SVG, browsers take `image` for `img`.
        "img" | "image" | "source" => {
            reference(attribute("src"), Kind::Part);
            if element.tag_name() == "image" {
                reference(href(element), Kind::Part);
            }
            add_set(attribute("srcset"), written);
        }
        "use" => reference(href(element), Kind::Part),
        "meta" => read_refresh(element, written),
        _ => {}
    }
}

/// Notes the first base of the page.
pub(super) fn read_base(base: &Element<'_, '_>, written: &mut Written) {
    if written.base.is_none() {
        written.base = base.get_attribute("href").map(|href| decoded(&href).into_owned());
    }
}

/// Whether the content of a template is shown: as the shadow tree of the element around it.
pub(super) fn is_shadow_root(template: &Element<'_, '_>) -> bool {
    let mode = template.get_attribute("shadowrootmode").unwrap_or_default();
    ["open", "closed"].iter().any(|shown| mode.eq_ignore_ascii_case(shown))
}

fn is_fetched(link: &Element<'_, '_>) -> bool {
    let rel = link.get_attribute("rel").unwrap_or_default();
    rel.split_ascii_whitespace()
        .any(|word| FETCHED.iter().any(|fetched| word.eq_ignore_ascii_case(fetched)))
}

fn read_refresh(meta: &Element<'_, '_>, written: &mut Written) {
    let equivalent = meta.get_attribute("http-equiv").unwrap_or_default();
    if equivalent.eq_ignore_ascii_case("refresh") {
        let content = meta.get_attribute("content").unwrap_or_default();
        if let Some(url) = refresh(&decoded(&content)) {
            written.add(url, Kind::Page);
        }
    }
}

fn add(value: &str, kind: Kind, written: &mut Written) {
    written.add(&decoded(value), kind);
}

/// Adds the links of a `srcset`, of which one element can have a million.
fn add_set(set: Option<String>, written: &mut Written) {
    for url in srcset(&set.unwrap_or_default()) {
        if written.is_cut {
            return;
        }
        add(url, Kind::Part, written);
    }
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
