//! The pages of a list whose length is known, with their numbers and sizes.

use std::ops::Range;

use maud::{Markup, html};
use vedette_http::query::Query;
use vedette_http::validation::Errors;

use crate::words::grouped;

/// The sizes that can be chosen. The first one is the usual one.
pub(crate) const SIZES: [usize; 3] = [25, 50, 100];

/// The page of a list that a request names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WantedPage {
    number: usize,
    size: usize,
}

impl WantedPage {
    /// Reads `page` and `size`. An unknown size is the usual one.
    pub(crate) fn parse(query: &Query) -> Self {
        let given = |name| query.integer(name, 1..=u64::MAX, &mut Errors::new());
        let given = |name| given(name).map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let size = given("size").filter(|size| SIZES.contains(size)).unwrap_or(SIZES[0]);
        Self { number: given("page").unwrap_or(1), size }
    }

    /// Its size, if it is not the usual one.
    pub(crate) fn unusual_size(self) -> Option<usize> {
        Some(self.size).filter(|size| *size != SIZES[0])
    }

    /// The page in a list of this length. A page after the last one shows the last one.
    pub(crate) fn of(self, total: usize) -> Paging {
        let Self { number, size } = self;
        Paging { number: number.min(total.div_ceil(size).max(1)), size, total }
    }
}

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paging {
    /// From 1.
    number: usize,
    size: usize,
    /// The length of the list.
    total: usize,
}

impl Paging {
    /// How many items a page has.
    pub(crate) const fn size(self) -> usize {
        self.size
    }

    /// The places of its items in the list, from 0.
    pub(crate) fn range(self) -> Range<usize> {
        let start = (self.number - 1) * self.size;
        start..self.total.min(start + self.size)
    }

    const fn last(self) -> usize {
        self.total.div_ceil(self.size)
    }

    /// The numbers that are shown: the first page, this one with its neighbors, and the last; `None` where some are left
    /// out.
    fn numbers(self) -> Vec<Option<usize>> {
        let mut numbers: Vec<Option<usize>> = Vec::new();
        let mut before = 0;
        for number in [1, self.number.saturating_sub(1), self.number, self.number + 1, self.last()]
        {
            if number <= before || number > self.last() {
                continue;
            }
            if number > before + 1 {
                numbers.push(None);
            }
            numbers.push(Some(number));
            before = number;
        }
        numbers
    }

    /// Links to the other pages and sizes, if the list is longer than the smallest page. `address` is that of a page
    /// with a size, each of which is part of the query only if it is not the usual one.
    pub(crate) fn links(self, address: &dyn Fn(&str) -> String) -> Markup {
        let to = |number: usize, size: usize| {
            let page = if number == 1 { String::new() } else { format!("&page={number}") };
            address(&(size_query(size) + &page))
        };
        let Range { start, end } = self.range();
        html! {
            @if self.total > SIZES[0] {
                nav.pages.screen aria-label="Pages" {
                    div.row {
                        span.quiet.small { (grouped(start as u64 + 1)) "–" (grouped(end as u64)) " of " (grouped(self.total as u64)) }
                        div.seg role="group" aria-label="Rows on a page" {
                            @for size in SIZES {
                                // The page that shows the first of these rows.
                                a href=(to(start / size + 1, size)) aria-current=[(size == self.size).then_some("true")] {
                                    (size) span.hide { " on a page" }
                                }
                            }
                        }
                    }
                    @if self.last() > 1 {
                        ul {
                            @if self.number > 1 {
                                li { a rel="prev" href=(to(self.number - 1, self.size)) { "‹" span.hide { "Previous page" } } }
                            }
                            @for number in self.numbers() {
                                @if let Some(number) = number {
                                    li {
                                        a href=(to(number, self.size)) aria-current=[(number == self.number).then_some("page")] {
                                            span.hide { "Page " } (grouped(number as u64))
                                        }
                                    }
                                } @else {
                                    li aria-hidden="true" { span { "…" } }
                                }
                            }
                            @if self.number < self.last() {
                                li { a rel="next" href=(to(self.number + 1, self.size)) { "›" span.hide { "Next page" } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The part of a query that keeps a size: nothing for the usual one.
pub(crate) fn size_query(size: usize) -> String {
    if size == SIZES[0] { String::new() } else { format!("&size={size}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_page_is_asked_for_is_one_of_the_list() {
        for (query, total, number, range) in [
            ("", 0, 1, 0..0),
            ("", 60, 1, 0..25),
            ("page=2", 60, 2, 25..50),
            ("page=3", 60, 3, 50..60),
            ("page=4", 60, 3, 50..60),
            ("page=4", 0, 1, 0..0),
            ("page=2&size=50", 60, 2, 50..60),
            ("page=1&size=100", 60, 1, 0..60),
            ("page=99999999999999999999999999", 60, 3, 50..60),
            ("size=99999999999999999999999999", 60, 1, 0..25),
            ("page=0", 60, 1, 0..25),
            ("page=-1", 60, 1, 0..25),
            ("page=x&size=x", 60, 1, 0..25),
            ("size=60", 60, 1, 0..25),
            ("size=0", 60, 1, 0..25),
        ] {
            let paging = WantedPage::parse(&Query::parse(Some(query))).of(total);
            assert_eq!((paging.number, paging.range()), (number, range), "{query} of {total}");
        }
    }

    #[test]
    fn the_first_the_last_and_the_neighbors_have_numbers() {
        let shown = |number: usize, total| {
            let numbers = Paging { number, size: 25, total }.numbers();
            let shown =
                numbers.into_iter().map(|one| one.map_or("…".to_owned(), |one| one.to_string()));
            shown.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(1, 25), "1");
        assert_eq!(shown(1, 1_909), "1 2 … 77");
        assert_eq!(shown(3, 1_909), "1 2 3 4 … 77");
        assert_eq!(shown(40, 1_909), "1 … 39 40 41 … 77");
        assert_eq!(shown(76, 1_909), "1 … 75 76 77");
        assert_eq!(shown(77, 1_909), "1 … 76 77");
    }
}
