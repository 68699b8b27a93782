//! The outages of a team's sites: which of them a client asks for, and what is known about them.

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};
use vedette_domain::accounts::account::User;
use vedette_domain::checks::history::day_start;
use vedette_domain::checks::report::Span;
use vedette_domain::id::{SiteId, UserId};
use vedette_domain::issues::Responder;
use vedette_domain::issues::outage::{Cause, OutageFigures, OutageRecord};
use vedette_domain::sites::selector::Selector;
use vedette_domain::sites::tag::Tags;
use vedette_store::{Directory, DirectoryRow, Store, StoreError, TeamWithSettings};

use crate::query::Query;
use crate::validation::{Errors, ValidationError};

/// The most days that a request covers.
pub const DAYS_MAX: u16 = 92;
/// The days if the request names none.
pub const DAYS_DEFAULT: u16 = 30;
/// The most outages of a request, the newest ones.
pub const OUTAGES_MAX: usize = 1_000;
/// The most records that are read, as an outage may have begun before the days of the request. They take about 90 read
/// units on AWS.
const READ_MAX: usize = 2 * OUTAGES_MAX;

/// Which outages to show: those that overlap some UTC days.
#[derive(Debug, Clone)]
pub struct OutageFilter {
    /// A part of the name or URL of the site, or its id.
    pub site: Option<String>,
    /// The tags of the site.
    pub selector: Option<Selector>,
    /// The kind of failure.
    pub cause: Option<Cause>,
    /// The days.
    pub span: Span,
}

impl OutageFilter {
    /// Reads `site`, `selector`, `cause`, `from` and `to`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the query.
    pub fn parse(query: &Query, today: Date) -> Result<Self, ValidationError> {
        let mut errors = Errors::new();
        let filter = Self::read(query, today, &mut errors);
        errors.finish(filter)
    }

    /// Reads the same, beside other parameters.
    pub fn read(query: &Query, today: Date, errors: &mut Errors) -> Option<Self> {
        let cause = match query.search("cause") {
            Some(_) => query.one_of("cause", Cause::parse, errors),
            None => None,
        };
        let selector = query.parsed("selector", Selector::parse, errors);
        let to = query.date("to", errors);
        let from = query.date("from", errors);
        let to = to.unwrap_or(today);
        let from = from.unwrap_or_else(|| Span::until(to, DAYS_DEFAULT).from);
        let span = Span { from, to };
        if errors.is_empty() && span.to < span.from {
            errors.push("to", "The to field must be a date on or after from.");
        }
        if errors.is_empty() && (span.to - span.from).get_days() >= i32::from(DAYS_MAX) {
            errors.push("from", format!("At most {DAYS_MAX} days can be read at a time."));
        }
        let site = query.search("site").map(str::to_lowercase);
        Some(Self { site, selector, cause, span })
    }

    /// When its days begin and end.
    fn period(&self) -> (Timestamp, Timestamp) {
        (day_start(self.span.from), day_start(self.span.to.saturating_add(1.day())))
    }

    fn admits(&self, outage: &OutageRecord, site: &DirectoryRow) -> bool {
        let matches = |wanted: &String| {
            let texts = [site.name.to_lowercase(), site.url.to_string().to_lowercase()];
            texts.iter().any(|text| text.contains(wanted)) || site.id.to_string() == *wanted
        };
        self.cause.is_none_or(|cause| cause == outage.cause)
            && self.site.as_ref().is_none_or(matches)
    }
}

/// An outage with its site as it is now.
#[derive(Debug)]
pub struct FoundOutage {
    /// The outage.
    pub outage: OutageRecord,
    /// The name of the site.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// Its tags.
    pub tags: Tags,
}

/// The outages that a filter admits.
#[derive(Debug)]
pub struct Outages {
    /// The newest first.
    pub found: Vec<FoundOutage>,
    /// Whether there are more than [`OUTAGES_MAX`], or may be.
    pub has_more: bool,
    /// Their number, downtime and means.
    pub figures: OutageFigures,
    /// Those who acknowledged or resolved some of them.
    pub users: BTreeMap<UserId, User>,
}

impl Outages {
    /// Reads them. `directory` reads the team's sites.
    ///
    /// # Errors
    ///
    /// A fault of the table.
    pub async fn load<D: Deref<Target = Directory>>(
        store: &Store,
        team: &TeamWithSettings,
        directory: impl Future<Output = Result<D, StoreError>>,
        filter: &OutageFilter,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let (from, to) = filter.period();
        let (directory, (all, is_cut)) =
            futures::try_join!(directory, store.outages_within(team, (from, to), READ_MAX, now),)?;
        let selector = filter.selector.as_ref().map(|selector| selector.numbered(&directory.tags));
        let selector = selector.unwrap_or_default();
        let is_selected = |row: &&DirectoryRow| selector.matches(&row.tags);
        let sites: HashMap<SiteId, &DirectoryRow> =
            directory.rows.iter().filter(is_selected).map(|row| (row.id, row)).collect();
        let mut found: Vec<_> = all
            .into_iter()
            .filter_map(|outage| {
                let site = sites.get(&outage.site)?;
                filter.admits(&outage, site).then(|| FoundOutage {
                    name: site.name.clone(),
                    url: site.url.to_string(),
                    tags: directory.tags_of(site).into_iter().cloned().collect(),
                    outage,
                })
            })
            .collect();
        let has_more = is_cut || found.len() > OUTAGES_MAX;
        found.truncate(OUTAGES_MAX);
        let figures = OutageFigures::of(found.iter().map(|found| &found.outage), (from, to), now);
        let users = store.users(people(&found)).await?;
        Ok(Self { figures, found, has_more, users })
    }

    /// The name of somebody who acknowledged an outage.
    pub fn responder(&self, by: Responder) -> &str {
        by.member().map_or("A reader of a channel", |user| self.name_of(user))
    }

    /// The name of somebody who acknowledged or resolved an outage.
    pub fn name_of(&self, user: UserId) -> &str {
        self.users.get(&user).map_or("Somebody", |user| user.name.as_str())
    }
}

/// Those who acknowledged or resolved some outages.
fn people(found: &[FoundOutage]) -> Vec<UserId> {
    let acknowledged = found.iter().filter_map(|found| found.outage.acknowledged);
    let resolved = found.iter().filter_map(|found| found.outage.resolved_by);
    acknowledged.filter_map(|taken| taken.by.member()).chain(resolved).collect()
}
