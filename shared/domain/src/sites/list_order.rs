//! The orders of a list of sites.

use std::cmp::Reverse;

use crate::checks::tool::Tool;

/// What a list of sites is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortKey {
    /// Its state, worst first.
    State,
    /// Its name.
    Name,
    /// When it was added, newest first.
    Added,
    /// How fast it answers, slowest first.
    Response,
    /// Its uptime, lowest first.
    Uptime,
    /// When its certificate ends, soonest first.
    Certificate,
    /// When it was last checked, longest ago first.
    Checked,
}

impl SortKey {
    /// All of them, in the order of the columns.
    pub const ALL: [Self; 7] = [
        Self::State,
        Self::Name,
        Self::Added,
        Self::Response,
        Self::Uptime,
        Self::Certificate,
        Self::Checked,
    ];

    /// The most sites that are sorted by what checks say, because each of them is read.
    pub const BY_CHECKS_MAX: usize = 500;

    /// The tool whose checks say it; `None` if the directory of the sites and the index of issues do.
    pub const fn tool(self) -> Option<Tool> {
        match self {
            Self::State | Self::Name | Self::Added => None,
            Self::Response | Self::Uptime | Self::Checked => Some(Tool::Status),
            Self::Certificate => Some(Tool::Ssl),
        }
    }

    /// Whether a list of so many sites can be sorted by it.
    pub const fn sorts(self, sites: usize) -> bool {
        self.tool().is_none() || sites <= Self::BY_CHECKS_MAX
    }

    /// The value in URLs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Name => "name",
            Self::Added => "added",
            Self::Response => "response",
            Self::Uptime => "uptime",
            Self::Certificate => "certificate",
            Self::Checked => "checked",
        }
    }

    /// Whether lower values come first, unless the order is reversed.
    const fn ascends(self) -> bool {
        !matches!(self, Self::Added | Self::Response)
    }
}

/// An order of a list of sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListOrder {
    /// What the list is sorted by.
    pub key: SortKey,
    /// Whether the order is the opposite of the usual one.
    pub is_reversed: bool,
}

impl Default for ListOrder {
    fn default() -> Self {
        Self::by(SortKey::State)
    }
}

impl ListOrder {
    /// The usual order by a key.
    pub const fn by(key: SortKey) -> Self {
        Self { key, is_reversed: false }
    }

    /// The order with this value in URLs: a key, after a hyphen if the order is reversed.
    pub fn parse(value: &str) -> Option<Self> {
        let (key, is_reversed) = match value.strip_prefix('-') {
            Some(key) => (key, true),
            None => (value, false),
        };
        let key = SortKey::ALL.into_iter().find(|known| known.as_str() == key)?;
        Some(Self { key, is_reversed })
    }

    /// The value in URLs.
    pub fn text(self) -> String {
        format!("{}{}", if self.is_reversed { "-" } else { "" }, self.key.as_str())
    }

    /// The order that the heading of a column leads to: by its key, or reversed if the list is sorted by it already.
    #[must_use]
    pub fn toward(self, key: SortKey) -> Self {
        Self { key, is_reversed: key == self.key && !self.is_reversed }
    }

    /// Whether lower values come first.
    pub const fn ascends(self) -> bool {
        self.key.ascends() != self.is_reversed
    }

    /// Sorts by a value. Items with the same value keep their order, and those without one come last in either
    /// direction.
    pub fn arrange<T, V: Ord>(self, items: &mut [T], value: impl Fn(&T) -> Option<V>) {
        let keyed = |item: &T| {
            let value = value(item);
            (value.is_none(), value)
        };
        if self.ascends() {
            items.sort_by_cached_key(keyed);
        } else {
            items.sort_by_cached_key(|item| {
                let (is_unknown, value) = keyed(item);
                (is_unknown, Reverse(value))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_sorts_by_its_value_and_puts_what_is_unknown_last() {
        let sites = [("a", Some(2)), ("b", None), ("c", Some(3)), ("d", Some(2)), ("e", Some(1))];
        for (order, expected) in [
            ("uptime", ["e", "a", "d", "c", "b"]),
            ("-uptime", ["c", "a", "d", "e", "b"]),
            ("response", ["c", "a", "d", "e", "b"]),
            ("-response", ["e", "a", "d", "c", "b"]),
            ("added", ["c", "a", "d", "e", "b"]),
            ("checked", ["e", "a", "d", "c", "b"]),
        ] {
            let mut sorted = sites;
            ListOrder::parse(order).expect(order).arrange(&mut sorted, |(_, value)| *value);
            assert_eq!(sorted.map(|(name, _)| name), expected, "{order}");
        }
    }

    #[test]
    fn an_order_has_one_text_and_each_column_can_be_turned_around() {
        for key in SortKey::ALL {
            let usual = ListOrder::by(key);
            let turned = usual.toward(key);
            assert_eq!(turned.text(), format!("-{}", usual.text()));
            assert_eq!(turned.toward(key), usual);
            assert_ne!(turned.ascends(), usual.ascends());
            for order in [usual, turned] {
                assert_eq!(ListOrder::parse(&order.text()), Some(order));
            }
        }
        let by_name = ListOrder::parse("-name").expect("an order").toward(SortKey::Uptime);
        assert_eq!(by_name, ListOrder::by(SortKey::Uptime));
        for text in ["", "-", "--name", "Name", "size"] {
            assert_eq!(ListOrder::parse(text), None, "{text}");
        }
    }

    #[test]
    fn long_lists_are_sorted_by_what_the_directory_knows() {
        use SortKey::{Added, Name, State};
        for key in SortKey::ALL {
            assert!(key.sorts(500));
            assert_eq!(key.sorts(501), [State, Name, Added].contains(&key));
        }
    }
}
