//! The Atom feed of a page's incidents.

use atom_syndication::{Content, Entry, Feed, FixedDateTime, Generator, Link, Person, Text};
use chrono::DateTime;
use jiff::Timestamp;
use vedette_domain::status_pages::PublishedIncident;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, text};

use super::PublicContext;
use super::context::Shown;

/// The feed, with the newest incident first.
pub(super) async fn feed(context: PublicContext<'_>) -> Result<Response, ApiError> {
    context
        .show(|shown| {
            let written = of(shown).write_to(Vec::new()).map_err(ApiError::internal)?;
            let written = String::from_utf8(written).map_err(ApiError::internal)?;
            Ok(text(written, "application/atom+xml; charset=utf-8"))
        })
        .await
}

pub(super) fn of(shown: &Shown) -> Feed {
    let (page, url) = (&shown.page, shown.url());
    let entries: Vec<Entry> =
        page.incidents.iter().map(|incident| entry(shown, incident)).collect();
    let newest = entries.iter().map(|entry| entry.updated).max();
    Feed {
        title: Text::plain(readable(&format!("{} status", page.name))),
        id: url.clone(),
        updated: newest.unwrap_or_else(|| date(page.generated_at)),
        authors: vec![Person { name: readable(&page.name), ..Person::default() }],
        generator: Some(Generator { value: "Vedette".to_owned(), ..Generator::default() }),
        links: vec![
            link("self", format!("{}{}", shown.base, shown.feed()), "application/atom+xml"),
            link("alternate", url, "text/html"),
        ],
        entries,
        ..Feed::default()
    }
}

fn entry(shown: &Shown, incident: &PublishedIncident) -> Entry {
    let newest = incident.updates.first().map_or(incident.started_at, |update| update.at);
    let updates = incident.updates.iter().map(|update| {
        let at = shown.page.zone.minute(update.at);
        format!("{}, {at}: {}", update.status.title(), update.text)
    });
    let content = Content {
        value: Some(readable(&updates.collect::<Vec<_>>().join("\n\n"))),
        content_type: Some("text".to_owned()),
        ..Content::default()
    };
    Entry {
        title: Text::plain(readable(&incident.title)),
        id: format!("urn:uuid:{}", incident.id),
        updated: date(newest),
        published: Some(date(incident.started_at)),
        links: vec![link("alternate", shown.url_of(incident.id), "text/html")],
        content: Some(content),
        ..Entry::default()
    }
}

fn link(rel: &str, href: String, media_type: &str) -> Link {
    let (rel, mime_type) = (rel.to_owned(), Some(media_type.to_owned()));
    Link { rel, href, mime_type, ..Link::default() }
}

/// In whole seconds, as the rest of what readers see. Feeds have no dates before the year 0; nothing happened so early.
fn date(at: Timestamp) -> FixedDateTime {
    DateTime::from_timestamp(at.as_second().max(0), 0).unwrap_or_default().fixed_offset()
}

/// A text without the characters that XML cannot contain, not even escaped (XML 1.0, 2.2).
pub(super) fn readable(text: &str) -> String {
    let kept = |letter: char| match letter {
        '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'.. => letter,
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.chars().map(kept).collect()
}
