//! Decides from the team's directory which sites a list shows, and in which order.

use std::cmp::Reverse;

use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::history::Retention;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::checks::tool_state::Newest;
use vedette_domain::id::SiteId;
use vedette_domain::sites::selector::Selector;
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::tag::Tag;
use vedette_domain::sites::tag_dictionary::TagDictionary;
use vedette_store::DirectoryRow;

/// The filters and the order of a list of sites.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Part of the name or of the canonical URL, ignoring case.
    pub(super) search: Option<String>,
    /// Only sites that have this tag.
    pub(super) tag: Option<Tag>,
    /// Only sites whose tags match.
    pub(super) selector: Option<Selector>,
    /// Only pinned sites, or only sites that are not pinned.
    pub(super) pinned: Option<bool>,
    /// Only sites that have the tool enabled.
    pub(super) tool: Option<Tool>,
    /// Only sites whose newest check is in this state: the newest check of `tool`, or of any tool if none is named.
    pub(super) status: Option<CheckStatus>,
    /// The order.
    pub(super) sort: Sort,
}

/// The order of a list of sites. The UUID decides between equals. An order with a minus is the reverse of the one
/// without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Sort {
    /// `created_at`: oldest first.
    Oldest,
    /// `-created_at`: newest first.
    #[default]
    Newest,
    /// `name`, ignoring case.
    Name,
    /// `-name`.
    NameReversed,
    /// `pinned`: pinned sites first, newest first among them and among the others.
    Pinned,
}

impl Sort {
    /// The orders by their names, the default first.
    const NAMED: [(&'static str, Self); 5] = [
        ("-created_at", Self::Newest),
        ("created_at", Self::Oldest),
        ("name", Self::Name),
        ("-name", Self::NameReversed),
        ("pinned", Self::Pinned),
    ];

    /// The order of this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, sort)| sort)
    }

    fn sort(self, rows: &mut [DirectoryRow]) {
        let by_age = |row: &DirectoryRow| (row.created_at, row.id);
        match self {
            Self::Oldest => rows.sort_unstable_by_key(by_age),
            Self::Newest => rows.sort_unstable_by_key(|row| Reverse(by_age(row))),
            Self::Name => rows.sort_by_cached_key(by_name),
            Self::NameReversed => rows.sort_by_cached_key(|row| Reverse(by_name(row))),
            Self::Pinned => {
                rows.sort_unstable_by_key(|row| Reverse((row.pinned, by_age(row))));
            }
        }
    }
}

/// The names of the orders, the default first.
pub fn site_sorts() -> [&'static str; 5] {
    Sort::NAMED.map(|(name, _)| name)
}

fn by_name(row: &DirectoryRow) -> (String, SiteId) {
    (row.name.to_lowercase(), row.id)
}

impl Listing {
    /// Whether the list depends on the tags of sites.
    pub(super) const fn is_by_tags(&self) -> bool {
        self.tag.is_some() || self.selector.is_some()
    }

    /// The sites in the list, in its order, out of all sites of a team with these settings. `tags` are the team's, if
    /// the list depends on them.
    pub(super) fn of(
        &self,
        mut rows: Vec<DirectoryRow>,
        tags: &TagDictionary,
        team: &Settings,
        plan: Plan,
        retention: Retention,
    ) -> Vec<DirectoryRow> {
        let search = self.search.as_deref().map(str::to_lowercase);
        let tag = self.tag.as_ref().map(|tag| tags.number(tag));
        let selector = self.selector.as_ref().map(|selector| selector.numbered(tags));
        let selector = selector.unwrap_or_default();
        rows.retain(|row| {
            tag.is_none_or(|tag| tag.is_some_and(|tag| row.tags.contains(&tag)))
                && selector.matches(&row.tags)
                && search.as_deref().is_none_or(|part| row.contains(part))
                && self.pinned.is_none_or(|pinned| row.pinned == pinned)
                && self.tool.is_none_or(|tool| row.is_enabled(tool, team, plan))
                && self.status.is_none_or(|status| self.has_status(row, status, retention))
        });
        self.sort.sort(&mut rows);
        rows
    }

    fn has_status(&self, row: &DirectoryRow, status: CheckStatus, retention: Retention) -> bool {
        let is_it = |newest: &Newest| newest.status == status && newest.shows(retention);
        match self.tool {
            Some(tool) => row.newest.get(&tool).is_some_and(is_it),
            None => row.newest.values().any(is_it),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::civil::{Date, date};
    use vedette_domain::sites::site_url::SiteUrl;

    use super::*;

    const TODAY: Date = date(2026, 11, 20);

    /// A site whose number is also its id and the minute of its creation.
    fn row(number: u8, name: &str, url: &str) -> DirectoryRow {
        let id = format!("00000000-0000-4000-8000-0000000000{number:02}");
        let created_at = format!("2026-11-20T09:{number:02}:00Z");
        DirectoryRow {
            id: SiteId::parse(&id).expect("an id"),
            name: name.to_owned(),
            url: SiteUrl::parse(url).expect("a URL"),
            pinned: false,
            created_at: created_at.parse().expect("a timestamp"),
            enabled: [].into(),
            tags: vec![],
            is_checked: false,
            newest: [].into(),
        }
    }

    /// The names of the sites in a list.
    fn names(listing: &Listing, rows: &[DirectoryRow], team: &Settings) -> Vec<String> {
        let retention = Retention { today: TODAY, days: 30 };
        let tags = TagDictionary::default();
        let shown = listing.of(rows.to_vec(), &tags, team, Plan::Agency, retention);
        shown.into_iter().map(|row| row.name).collect()
    }

    fn shown(listing: &Listing, rows: &[DirectoryRow]) -> Vec<String> {
        names(listing, rows, &Settings::defaults(Plan::Agency))
    }

    #[test]
    fn a_search_is_part_of_name_or_url_in_any_case() {
        let rows = [
            row(1, "Shop", "https://example.com/50%_off"),
            row(2, "Straße Ä", "https://example.org/Path"),
            row(3, "100_percent", "https://a.test"),
        ];
        for (search, expected) in [
            ("shop", vec!["Shop"]),
            ("SHOP", vec!["Shop"]),
            ("ä", vec!["Straße Ä"]),
            ("EXAMPLE", vec!["Shop", "Straße Ä"]),
            ("https://", vec!["Shop", "Straße Ä", "100_percent"]),
            ("/path", vec!["Straße Ä"]),
            // Neither is a wildcard.
            ("%", vec!["Shop"]),
            ("_", vec!["Shop", "100_percent"]),
            ("_off", vec!["Shop"]),
            ("s%p", vec![]),
            ("sh_p", vec![]),
            (".*", vec![]),
        ] {
            let search = Some(search.to_owned());
            let listing = Listing { search, sort: Sort::Oldest, ..Listing::default() };
            assert_eq!(shown(&listing, &rows), expected, "{listing:?}");
        }
    }

    #[test]
    fn orders_go_by_creation_name_or_pin_and_then_by_uuid() {
        let minute = |row: DirectoryRow, minute: u8| {
            let created_at: Timestamp =
                format!("2026-11-20T09:{minute:02}:00Z").parse().expect("a timestamp");
            DirectoryRow { created_at, ..row }
        };
        let rows = [
            minute(row(3, "b", "https://a.test/1"), 10),
            DirectoryRow { pinned: true, ..minute(row(1, "B", "https://a.test/2"), 10) },
            minute(row(4, "a", "https://a.test/3"), 20),
            DirectoryRow { pinned: true, ..minute(row(2, "C", "https://a.test/4"), 5) },
        ];
        for (name, expected) in [
            ("created_at", ["C", "B", "b", "a"]),
            ("-created_at", ["a", "b", "B", "C"]),
            ("name", ["a", "B", "b", "C"]),
            ("-name", ["C", "b", "B", "a"]),
            ("pinned", ["B", "C", "a", "b"]),
        ] {
            let sort = Sort::parse(name).expect("an order");
            let listing = Listing { sort, ..Listing::default() };
            assert_eq!(shown(&listing, &rows), expected, "{name}");
        }
        assert_eq!(Sort::default(), Sort::Newest);
        for name in ["-pinned", "", "url", "Name", "--name", "+name", "created_at,name"] {
            assert_eq!(Sort::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_tool_is_enabled_by_the_site_or_else_by_its_team() {
        let with = |number, name: &str, dns: Option<bool>| DirectoryRow {
            enabled: dns.map(|dns| (Tool::Dns, dns)).into_iter().collect(),
            ..row(number, name, &format!("https://a.test/{number}"))
        };
        let rows = [with(1, "on", Some(true)), with(2, "off", Some(false)), with(3, "team", None)];
        let listing = |tool| Listing { tool: Some(tool), sort: Sort::Oldest, ..Listing::default() };
        let mut team = Settings::defaults(Plan::Agency);
        assert_eq!(names(&listing(Tool::Dns), &rows, &team), ["on", "team"]);
        assert_eq!(names(&listing(Tool::Ssl), &rows, &team), ["on", "off", "team"]);
        team.tools.dns.enabled = false;
        assert_eq!(names(&listing(Tool::Dns), &rows, &team), ["on"]);
    }

    #[test]
    fn a_status_is_that_of_any_newest_check_or_of_the_tools_own() {
        use CheckStatus::{Completed, Failed, Pending, Skipped};
        let newest = |status| Newest { status, date: TODAY, days: Some(30) };
        let with = |number, name: &str, latest: &[(Tool, CheckStatus)]| DirectoryRow {
            newest: latest.iter().map(|&(tool, status)| (tool, newest(status))).collect(),
            ..row(number, name, &format!("https://a.test/{number}"))
        };
        let disabled = DirectoryRow {
            enabled: [(Tool::Dns, false)].into(),
            ..with(4, "disabled", &[(Tool::Dns, Failed)])
        };
        let rows = [
            with(1, "mixed", &[(Tool::Status, Completed), (Tool::Dns, Failed)]),
            with(2, "calm", &[(Tool::Status, Completed), (Tool::Dns, Completed)]),
            with(3, "new", &[]),
            disabled,
        ];
        for (tool, status, expected) in [
            (None, Completed, vec!["mixed", "calm"]),
            (None, Failed, vec!["mixed", "disabled"]),
            (None, Pending, vec![]),
            (Some(Tool::Status), Completed, vec!["mixed", "calm"]),
            (Some(Tool::Dns), Completed, vec!["calm"]),
            (Some(Tool::Dns), Failed, vec!["mixed"]),
            (Some(Tool::Status), Failed, vec![]),
            (Some(Tool::Ssl), Skipped, vec![]),
        ] {
            let status = Some(status);
            let listing = Listing { tool, status, sort: Sort::Oldest, ..Listing::default() };
            assert_eq!(shown(&listing, &rows), expected, "{listing:?}");
        }
    }

    #[test]
    fn a_newest_check_past_retention_has_no_status() {
        let with = |number, date| {
            let newest = Newest { status: CheckStatus::Completed, date, days: Some(90) };
            let newest = [(Tool::Status, newest)].into();
            DirectoryRow { newest, ..row(number, "site", &format!("https://a.test/{number}")) }
        };
        let rows = [with(1, date(2026, 10, 21)), with(2, date(2026, 10, 22))];
        let listing = Listing { status: Some(CheckStatus::Completed), ..Listing::default() };
        let retention = Retention { today: TODAY, days: 30 };
        let settings = Settings::defaults(Plan::Agency);
        let tags = TagDictionary::default();
        let shown = listing.of(rows.to_vec(), &tags, &settings, Plan::Agency, retention);
        assert_eq!(shown.iter().map(|row| row.id).collect::<Vec<_>>(), [rows[1].id]);
    }

    #[test]
    fn filters_hold_together() {
        let pinned = |row| DirectoryRow { pinned: true, ..row };
        let rows = [
            pinned(row(1, "shop", "https://a.test/1")),
            row(2, "shop two", "https://a.test/2"),
            pinned(row(3, "blog", "https://a.test/3")),
        ];
        for (search, pinned, expected) in [
            (None, None, vec!["blog", "shop two", "shop"]),
            (None, Some(true), vec!["blog", "shop"]),
            (None, Some(false), vec!["shop two"]),
            (Some("shop"), Some(true), vec!["shop"]),
            (Some("blog"), Some(false), vec![]),
        ] {
            let search = search.map(str::to_owned);
            let listing = Listing { search, pinned, ..Listing::default() };
            assert_eq!(shown(&listing, &rows), expected, "{listing:?}");
        }
    }
}
