//! The outages of a team's sites, as a page and as CSV.

mod csv;
mod page;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};
use vedette_domain::accounts::account::User;
use vedette_domain::checks::history::{day_of, day_start};
use vedette_domain::checks::report::Span;
use vedette_domain::id::{IssueId, SiteId, UserId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::outage::{Cause, OutageFigures, OutageRecord};
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};
use vedette_store::{DirectoryRow, IndexRow, TeamWithSettings};

use crate::RequestContext;
use crate::form::FormInput;
use crate::paging::WantedPage;
use crate::reports::attached;

/// The most days that a request covers.
const DAYS_MAX: u16 = 92;
/// The days if the request names none.
const DAYS_DEFAULT: u16 = 30;
/// The most outages of a request, the newest ones.
const OUTAGES_MAX: usize = 1_000;
/// The most records that are read, as an outage may have begun before the days of the request, up to [`DAYS_MAX`] days
/// earlier. They take about 90 read units on AWS.
const READ_MAX: usize = 2 * OUTAGES_MAX;

/// Shows the outages.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let sent = context.head.uri.query();
    let query = Query::parse(sent);
    match Filter::parse(&query, day_of(context.member()?.caller.now)) {
        Ok(filter) => {
            let outages = Outages::load(context, &team, &filter).await?;
            let paging = WantedPage::parse(&query).of(outages.found.len());
            Ok(page::page(context, &team, &filter, &outages, paging))
        }
        Err(refusal) => {
            let input = FormInput::sent(sent.unwrap_or_default().as_bytes()).refused(refusal);
            Ok(page::refused(context, &team, &input))
        }
    }
}

/// The outages as CSV.
pub(crate) async fn csv(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let now = context.member()?.caller.now;
    let filter = Filter::parse(&Query::parse(context.head.uri.query()), day_of(now))?;
    let outages = Outages::load(context, &team, &filter).await?;
    let Span { from, to } = filter.span;
    attached(csv::csv(&outages, now), &format!("outages-{from}-{to}.csv"))
}

/// Which outages to show: those that overlap some UTC days.
struct Filter {
    /// A part of the name or URL of the site, or its id.
    site: Option<String>,
    cause: Option<Cause>,
    span: Span,
}

impl Filter {
    fn parse(query: &Query, today: Date) -> Result<Self, ValidationError> {
        let mut errors = Errors::new();
        let cause = match query.search("cause") {
            Some(_) => query.one_of("cause", Cause::parse, &mut errors),
            None => None,
        };
        let to = query.date("to", &mut errors);
        let from = query.date("from", &mut errors);
        let to = to.unwrap_or(today);
        let from = from.unwrap_or_else(|| Span::until(to, DAYS_DEFAULT).from);
        let span = Span { from, to };
        if errors.is_empty() && span.to < span.from {
            errors.push("to", "The to field must be a date on or after from.");
        }
        if errors.is_empty() && (span.to - span.from).get_days() >= i32::from(DAYS_MAX) {
            errors.push("from", format!("The page covers at most {DAYS_MAX} days."));
        }
        let site = query.search("site").map(str::to_lowercase);
        errors.finish(Some(Self { site, cause, span }))
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
        let (from, to) = self.period();
        outage.problem().overlaps(from, to)
            && self.cause.is_none_or(|cause| cause == outage.cause)
            && self.site.as_ref().is_none_or(matches)
    }
}

/// The outages that a filter admits.
struct Outages {
    /// Each with the name and the URL of its site, newest first.
    found: Vec<(OutageRecord, String, String)>,
    /// Whether there are more than [`OUTAGES_MAX`], or may be.
    has_more: bool,
    figures: OutageFigures,
    /// Those who acknowledged or resolved some of them.
    users: BTreeMap<UserId, User>,
}

impl Outages {
    async fn load(
        context: RequestContext<'_>,
        team: &TeamWithSettings,
        filter: &Filter,
    ) -> Result<Self, ApiError> {
        let (store, now) = (&context.app.store, context.member()?.caller.now);
        let (from, to) = filter.period();
        let earliest = day_start(filter.span.from.saturating_sub(i64::from(DAYS_MAX).days()));
        let (sites, trouble, stored) = futures::try_join!(
            context.dashboard.directories.read(store, &team.team, now),
            store.trouble(team.id()),
            store.outages(team.id(), (earliest, to), READ_MAX),
        )?;
        let is_cut = stored.len() == READ_MAX
            && stored.last().is_some_and(|oldest| oldest.opened_at >= from);
        let open = store.issues_with_sites(open(trouble.issues)).await?;
        let open = open.values().filter_map(|of| {
            let outage = OutageRecord::of(&of.issue, of.site.id)?;
            Some(outage.or_ended(of.monitoring_ended_at()))
        });
        // What an issue says is newer than its stored record, which does not have the acknowledgement yet.
        let all: BTreeMap<(Reverse<Timestamp>, IssueId), OutageRecord> = stored
            .into_iter()
            .chain(open)
            .map(|outage| ((Reverse(outage.opened_at), outage.issue), outage))
            .collect();
        let sites: HashMap<SiteId, &DirectoryRow> = sites.iter().map(|row| (row.id, row)).collect();
        let retention = team.retention(now);
        let mut found: Vec<_> = all
            .into_values()
            .filter(|outage| retention.reaches(day_of(outage.ended_at.unwrap_or(now))))
            .filter_map(|outage| {
                let site = sites.get(&outage.site)?;
                let is_found = filter.admits(&outage, site);
                is_found.then(|| (outage, site.name.clone(), site.url.to_string()))
            })
            .collect();
        let has_more = is_cut || found.len() > OUTAGES_MAX;
        found.truncate(OUTAGES_MAX);
        let figures = OutageFigures::of(found.iter().map(|(outage, ..)| outage), (from, to), now);
        let users = store.users(people(&found)).await?;
        Ok(Self { figures, found, has_more, users })
    }

    fn name_of(&self, user: UserId) -> &str {
        self.users.get(&user).map_or("Somebody", |user| user.name.as_str())
    }
}

/// Those who acknowledged or resolved some outages.
fn people(found: &[(OutageRecord, String, String)]) -> Vec<UserId> {
    let acknowledged = found.iter().filter_map(|(outage, ..)| outage.acknowledged);
    let resolved = found.iter().filter_map(|(outage, ..)| outage.resolved_by);
    acknowledged.map(|taken| taken.by).chain(resolved).collect()
}

/// The issues of the outages that are going on, at most [`OUTAGES_MAX`], the newest ones.
fn open(mut active: Vec<IndexRow>) -> impl Iterator<Item = IssueId> {
    active.retain(|row| row.fingerprint == Fingerprint::StatusDown);
    active.sort_by_key(|row| Reverse((row.opened_at, row.id)));
    active.into_iter().take(OUTAGES_MAX).map(|row| row.id)
}
