//! Text from strangers in an alert: on one line, in one direction, and not too long.

use icu_properties::CodePointSetData;
use icu_properties::props::BidiControl;

use super::{Alert, Link};

/// The end of a text that was cut.
const ELLIPSIS: char = '…';

impl Alert {
    /// The alert without anything that could break a line or change the direction of the text next to it. Only the
    /// runbook keeps its lines.
    pub(super) fn tamed(&self) -> Self {
        let mut alert = self.clone();
        let texts = [&mut alert.state, &mut alert.name].into_iter();
        let texts = texts.chain(&mut alert.lines).chain(&mut alert.site_url);
        let texts = texts.chain(alert.facts.iter_mut().map(|fact| &mut fact.value));
        let links = alert.link.iter_mut().chain(&mut alert.respond);
        for text in texts.chain(links.map(|link| &mut link.url)) {
            *text = one_line(text);
        }
        alert.lines.retain(|line| !line.is_empty());
        alert.facts.retain(|fact| !fact.value.is_empty());
        alert.runbook = alert.runbook.as_deref().map(lines).filter(|text| !text.is_empty());
        alert
    }

    /// Its lines, details and notes, without markup. What it does not have is empty.
    pub(super) fn texts(&self) -> [String; 3] {
        let details = self.details().map(|(label, value)| format!("{label}: {value}"));
        let notes = self.runbook.as_ref().map(|runbook| format!("Notes:\n{runbook}"));
        let details = details.collect::<Vec<_>>().join("\n");
        [self.lines.join("\n"), details, notes.unwrap_or_default()]
    }

    /// Everything but the title and the links, without markup.
    pub(super) fn plain(&self) -> String {
        paragraphs(self.texts())
    }

    /// Its links.
    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        self.link.iter().chain(&self.respond)
    }

    /// The links with their URLs, without markup; empty if there are none.
    pub(super) fn plain_links(&self) -> String {
        let links = self.links().map(Link::plain);
        links.collect::<Vec<_>>().join("\n")
    }

    /// The details, including the monitored URL.
    pub(super) fn details(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let url = self.site_url.iter().map(|url| ("URL", url.as_str()));
        url.chain(self.facts.iter().map(|fact| (fact.label, fact.value.as_str())))
    }
}

impl Link {
    /// The link with its URL, without markup.
    pub(super) fn plain(&self) -> String {
        format!("{}: {}", self.text, self.url)
    }
}

/// Texts with an empty line between them, without those that are empty.
pub(super) fn paragraphs(texts: impl IntoIterator<Item = String>) -> String {
    let texts = texts.into_iter().filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}

/// A text on one line. Direction marks are removed: the direction of a name follows from its letters, and a mark
/// without its end would turn everything after it. Several spaces become one, because they would not survive in an
/// email's subject.
pub(super) fn one_line(text: &str) -> String {
    let turns = CodePointSetData::new::<BidiControl>();
    let kept = text.chars().filter(|c| !turns.contains(*c));
    let spaced: String = kept.map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text with its line breaks, each line as [`one_line`] leaves it.
fn lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(one_line).collect();
    lines.join("\n").trim().to_owned()
}

/// The beginning of a text, as long as the `size` of its characters stays within `limit`, with an ellipsis if something
/// was cut.
pub(super) fn cut(text: &str, limit: usize, size: impl Fn(char) -> usize) -> String {
    if text.chars().map(&size).sum::<usize>() <= limit {
        return text.to_owned();
    }
    let Some(mut left) = limit.checked_sub(size(ELLIPSIS)) else {
        return String::new();
    };
    let fits = |c: &char| {
        let rest = left.checked_sub(size(*c));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.truncate(kept.trim_end().len());
    kept.push(ELLIPSIS);
    kept
}

/// The bytes of a character in JSON. In a tamed alert, line breaks are the only characters that are written as escape
/// sequences.
pub(super) const fn json_size(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' => 2,
        _ => c.len_utf8(),
    }
}

/// A text in which nothing is a tag.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match entity(c) {
            Some(entity) => escaped.push_str(entity),
            None => escaped.push(c),
        }
    }
    escaped
}

/// What a character becomes so that it is no part of a tag, if it could be.
pub(super) const fn entity(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}

/// A text in which no name after an `@` notifies anybody: an invisible character separates them.
pub(super) fn unmentioned(text: &str) -> String {
    text.replace('@', "@\u{2060}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_line_breaks_stays_on_one_line() {
        for (text, line) in [
            ("Shop\r\nBcc: all@example.com", "Shop Bcc: all@example.com"),
            ("\u{202e}pohS\u{2066} now\u{200f}", "pohS now"),
            ("a\u{2028}b\u{2029}c\0d\u{85}e", "a b c d e"),
            ("\u{5d7}\u{5e0}\u{5d5}\u{5ea}", "\u{5d7}\u{5e0}\u{5d5}\u{5ea}"),
            ("\u{1f468}\u{200d}\u{1f469}", "\u{1f468}\u{200d}\u{1f469}"),
        ] {
            assert_eq!(one_line(text), line);
        }
        assert_eq!(lines(" one\r\ntwo\u{202e}\n\nthree\n"), "one\ntwo\n\nthree");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("äöü", 6, char::len_utf8), "äöü");
        assert_eq!(cut("äöü!", 6, char::len_utf8), "ä…");
        assert_eq!(cut("one two", 5, |_| 1), "one…");
        assert_eq!(cut("ab", 1, |_| 1), "…");
        assert_eq!(cut("ab", 2, char::len_utf8), "ab");
        assert_eq!(cut("abc", 2, char::len_utf8), "");
    }
}
