//! Pages of collections: `data`, `links`, `meta`.

use lambda_http::http::StatusCode;
use serde::Serialize;
use url::form_urlencoded;

use crate::query::Query;
use crate::response::{Response, json};
use crate::validation::{Errors, ValidationError};

/// The maximum number of entries on a page.
pub const PER_PAGE_MAX: u64 = 100;
/// The highest page number, which the numbers of every client can represent exactly.
pub const PAGE_MAX: u64 = 1 << 53;
/// The number of entries on a page if the client does not ask for one.
pub const PER_PAGE_DEFAULT: u64 = 25;

/// The page that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    number: u64,
    per_page: u64,
}

impl PageRequest {
    /// Reads `page` and `per_page`.
    pub fn parse(query: &Query, errors: &mut Errors) -> Self {
        // Pages past the end are empty.
        let number = query.integer("page", 1..=PAGE_MAX, errors).unwrap_or(1);
        Self { number, per_page: per_page(query, errors) }
    }

    /// The page's number, counted from 1.
    pub const fn number(self) -> u64 {
        self.number
    }

    /// Entries before the page.
    pub const fn offset(self) -> u64 {
        (self.number - 1) * self.per_page
    }

    /// The maximum number of entries on the page.
    pub const fn limit(self) -> u64 {
        self.per_page
    }

    /// The page's part of a complete list.
    pub fn slice<T>(self, all: &[T]) -> &[T] {
        let start = usize::try_from(self.offset()).unwrap_or(usize::MAX).min(all.len());
        let end = start.saturating_add(usize::try_from(self.per_page).unwrap_or(usize::MAX));
        &all[start..end.min(all.len())]
    }
}

/// The number of entries on a page that a client asks for.
fn per_page(query: &Query, errors: &mut Errors) -> u64 {
    query.integer("per_page", 1..=PER_PAGE_MAX, errors).unwrap_or(PER_PAGE_DEFAULT)
}

/// One page of a collection.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct ListBody<'a, T> {
    /// The page's entries.
    data: &'a [T],
    /// Other pages, with the same filters.
    links: Links,
    /// The page's place in the collection.
    meta: Meta<'a>,
}

/// Other pages of a collection.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PageLinks"))]
struct Links {
    /// The first page.
    first: String,
    /// The last page.
    last: String,
    /// The previous page; null on the first page.
    prev: Option<String>,
    /// The next page; null on the last page and beyond it.
    next: Option<String>,
}

/// A page's place in its collection.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PageMeta"))]
struct Meta<'a> {
    /// The page's number.
    current_page: u64,
    /// The number of its first entry, counted from 1; null if it is empty.
    from: Option<u64>,
    /// The number of the last page; 1 for an empty collection.
    last_page: u64,
    /// The collection's URL without a query.
    path: &'a str,
    /// The maximum number of entries on a page.
    per_page: u64,
    /// The number of its last entry; null if it is empty.
    to: Option<u64>,
    /// The number of entries in the whole collection.
    total: u64,
}

/// 200 with one page of a collection of `total` entries; `path` is the collection's URL without a
/// query.
pub fn page<T: Serialize>(
    data: &[T],
    total: u64,
    page: PageRequest,
    query: &Query,
    path: &str,
) -> Response {
    let last_page = total.div_ceil(page.per_page).max(1);
    let link = |number: u64| {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(query.known_pairs().filter(|(name, _)| *name != "page"));
        pairs.append_pair("page", &number.to_string());
        format!("{path}?{}", pairs.finish())
    };
    let shown = data.len() as u64;
    let from = (shown > 0).then(|| page.offset() + 1);
    let collection = ListBody {
        data,
        links: Links {
            first: link(1),
            last: link(last_page),
            prev: (page.number > 1).then(|| link(page.number - 1)),
            next: (page.number < last_page).then(|| link(page.number + 1)),
        },
        meta: Meta {
            current_page: page.number,
            from,
            last_page,
            path,
            per_page: page.per_page,
            to: from.map(|from| from + shown - 1),
            total,
        },
    };
    json(StatusCode::OK, &collection)
}

/// The page that a client requests of a collection that grows at its beginning and is not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorRequest {
    /// Where the page before it ended; `None` for the first page.
    pub before: Option<String>,
    per_page: u64,
}

/// Longer than any cursor, in bytes.
pub const CURSOR_MAX: usize = 128;

impl CursorRequest {
    /// Reads `before` and `per_page`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the query.
    pub fn parse(query: &Query) -> Result<Self, ValidationError> {
        let mut errors = Errors::new();
        let per_page = per_page(query, &mut errors);
        let before = query.search("before").map(str::to_owned);
        if before.as_ref().is_some_and(|before| before.len() > CURSOR_MAX) {
            errors.push("before", "The before field must be from the link to the next page.");
        }
        errors.finish(Some(Self { before, per_page }))
    }

    /// The maximum number of entries on the page.
    pub fn limit(&self) -> usize {
        usize::try_from(self.per_page).unwrap_or(usize::MAX)
    }
}

/// One page of a collection that is read from its newest entry on.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct CursorBody<'a, T> {
    /// The page's entries, newest first.
    data: &'a [T],
    /// Other pages.
    links: CursorLinks,
}

/// Other pages of a collection that is read from its newest entry on.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CursorLinks {
    /// The page with the newest entries.
    first: String,
    /// The page with older entries; null on the last page.
    next: Option<String>,
}

/// 200 with one page of a collection; `next` is where it ends if there is more. `path` is the collection's URL without a
/// query.
pub fn cursor_page<T: Serialize>(
    data: &[T],
    next: Option<&str>,
    page: &CursorRequest,
    path: &str,
) -> Response {
    let link = |before: Option<&str>| {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        pairs.append_pair("per_page", &page.per_page.to_string());
        pairs.extend_pairs(before.map(|before| ("before", before)));
        format!("{path}?{}", pairs.finish())
    };
    let links = CursorLinks { first: link(None), next: next.map(|next| link(Some(next))) };
    json(StatusCode::OK, &CursorBody { data, links })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(raw: &str, total: u64) -> serde_json::Value {
        let query = Query::parse(Some(raw));
        let mut errors = Errors::new();
        query.one_of("type", |text| Some(text.to_owned()), &mut errors);
        let asked = PageRequest::parse(&query, &mut errors);
        assert!(errors.is_empty());
        let all: Vec<u64> = (1..=total).collect();
        let response = page(asked.slice(&all), total, asked, &query, "https://api.test/checks");
        let lambda_http::Body::Text(body) = response.into_body() else { panic!("text") };
        serde_json::from_str(&body).expect("json")
    }

    #[test]
    fn a_page_in_the_middle_links_to_its_neighbors() {
        let body = shown("type=a%26b&page=2&ignored=1&per_page=2", 5);
        insta::assert_json_snapshot!(body, @r#"
        {
          "data": [
            3,
            4
          ],
          "links": {
            "first": "https://api.test/checks?type=a%26b&per_page=2&page=1",
            "last": "https://api.test/checks?type=a%26b&per_page=2&page=3",
            "next": "https://api.test/checks?type=a%26b&per_page=2&page=3",
            "prev": "https://api.test/checks?type=a%26b&per_page=2&page=1"
          },
          "meta": {
            "current_page": 2,
            "from": 3,
            "last_page": 3,
            "path": "https://api.test/checks",
            "per_page": 2,
            "to": 4,
            "total": 5
          }
        }
        "#);
    }

    #[test]
    fn empty_lists_and_pages_past_the_end_have_no_bounds() {
        let body = shown("", 0);
        assert_eq!(body["meta"]["last_page"], 1);
        assert_eq!(body["meta"]["per_page"], 25);
        assert!(body["meta"]["from"].is_null() && body["meta"]["to"].is_null());
        assert!(body["links"]["prev"].is_null() && body["links"]["next"].is_null());
        let body = shown("page=9007199254740992&per_page=100", 5);
        assert_eq!(body["data"], serde_json::json!([]));
        let prev = "https://api.test/checks?per_page=100&page=9007199254740991";
        assert_eq!(body["links"]["prev"], prev);
        assert!(body["meta"]["from"].is_null() && body["links"]["next"].is_null());
    }

    #[test]
    fn a_page_has_a_number_that_every_client_can_hold() {
        for (raw, message) in [
            ("page=0", "The page field must be at least 1."),
            ("page=9007199254740993", "The page field must not be greater than 9007199254740992."),
            ("page=1e3", "The page field must be an integer."),
        ] {
            let mut errors = Errors::new();
            let page = PageRequest::parse(&Query::parse(Some(raw)), &mut errors);
            let refused = errors.finish(Some(page)).expect_err(raw);
            assert_eq!(refused.message(), message);
        }
    }
}
