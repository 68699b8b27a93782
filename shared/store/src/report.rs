//! Reports: the figures of a period, in parts, and when the next report is made.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use vedette_domain::id::TeamId;
use vedette_domain::reports::{MonitorFigures, PeriodFigures, ReportHeader, ReportPeriod};
use vedette_domain::status_pages::Mailing;

use crate::item::{Stored, document_item, expiring, item, outstanding, readable, stored};
use crate::keys;
use crate::subscription::request_mailing;
use crate::table::{Condition, Range, Sort, Store};
use crate::{Audit, StoreError};

stored!(document: ReportHeader, ReportPart);

/// Reports are kept for 13 months, so that each can be compared with the same period of the year before.
const REPORTS_KEPT: SignedDuration = SignedDuration::from_hours(400 * 24);

/// The figures of some monitors of a team, in the order of their partitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportPart {
    /// Its place among the parts of the report, from 0.
    pub number: u32,
    /// The monitors.
    pub monitors: Vec<MonitorFigures>,
}

/// That a team has reports.
#[derive(Serialize)]
struct ReportSchedule {
    team: TeamId,
}

impl Store {
    /// The reports of a team, the newest first.
    pub async fn reports(&self, team: TeamId) -> Result<Vec<ReportHeader>, StoreError> {
        let pk = keys::report_partition(team);
        let found = self.query(Range::new(&pk, Sort::Prefix(keys::REPORT.to_owned()))).await?;
        let mut reports: Vec<ReportHeader> =
            found.into_iter().filter_map(|item| readable(item, Stored::read)).collect();
        reports.sort_unstable_by_key(|report| std::cmp::Reverse((report.made_at, report.period)));
        Ok(reports)
    }

    /// What a report says of itself; `None` if it was not made.
    pub async fn report(
        &self,
        team: TeamId,
        period: ReportPeriod,
    ) -> Result<Option<ReportHeader>, StoreError> {
        self.get(&keys::report(team, period)).await?.map(Stored::read).transpose()
    }

    /// The figures of a report; `None` if it was not made.
    pub async fn period_figures(
        &self,
        team: TeamId,
        period: ReportPeriod,
    ) -> Result<Option<PeriodFigures>, StoreError> {
        let Some(header) = self.report(team, period).await? else { return Ok(None) };
        let pk = keys::report_partition(team);
        let parts =
            self.query(Range::new(&pk, Sort::Prefix(keys::report_part_prefix(period)))).await?;
        let mut monitors = Vec::new();
        for part in parts {
            monitors.append(&mut ReportPart::read(part)?.monitors);
        }
        Ok(Some(PeriodFigures { header, monitors }))
    }

    /// The figures of a report, and those of the period before, with which it is compared; `None` if it was not made.
    pub async fn compared_figures(
        &self,
        team: TeamId,
        period: ReportPeriod,
    ) -> Result<Option<(PeriodFigures, Option<PeriodFigures>)>, StoreError> {
        let (figures, before) = futures::try_join!(
            self.period_figures(team, period),
            self.period_figures(team, period.before()),
        )?;
        Ok(figures.map(|figures| (figures, before)))
    }

    /// The last part of a report that is being made.
    pub async fn last_report_part(
        &self,
        team: TeamId,
        period: ReportPeriod,
    ) -> Result<Option<ReportPart>, StoreError> {
        let pk = keys::report_partition(team);
        let sort = Sort::Prefix(keys::report_part_prefix(period));
        let last = Range { newest_first: true, limit: Some(1), ..Range::new(&pk, sort) };
        self.query(last).await?.pop().map(Stored::read).transpose()
    }

    /// Adds a part to a report that is being made.
    ///
    /// # Errors
    ///
    /// A conflict when another process has added it.
    pub async fn add_report_part(
        &self,
        team: TeamId,
        period: ReportPeriod,
        part: &ReportPart,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let stored = document_item(&keys::report_part(team, period, part.number), part)?;
        self.put(expiring(stored, kept_until(now)), Condition::Absent).await
    }

    /// Saves a report whose parts are complete, and requests the mailing that sends it.
    ///
    /// # Errors
    ///
    /// A conflict when another process has saved it.
    pub async fn add_report(
        &self,
        team: TeamId,
        report: &ReportHeader,
        mailing: Option<&Mailing>,
    ) -> Result<(), StoreError> {
        let (stored, at) =
            (document_item(&keys::report(team, report.period), report)?, report.made_at);
        let stored = expiring(stored, kept_until(at));
        let mut transaction = self.transaction().put(stored, Condition::Absent);
        if let Some(mailing) = mailing {
            transaction = request_mailing(transaction, mailing, at)?;
        }
        transaction.commit(Audit::None).await
    }

    /// Has the reconciler look at the reports of a team at an instant.
    pub async fn schedule_reports(&self, team: TeamId, due: Timestamp) -> Result<(), StoreError> {
        let key = keys::report_schedule(team);
        let stored = item(&key, &ReportSchedule { team })?;
        let next = outstanding(stored, keys::team_shard(team), Some(due));
        // Every night, this is already so.
        match self.get(&key).await? {
            Some(scheduled) if scheduled == next => Ok(()),
            _ => self.put(next, Condition::Always).await,
        }
    }
}

fn kept_until(made_at: Timestamp) -> Timestamp {
    made_at.saturating_add(REPORTS_KEPT).unwrap_or(Timestamp::MAX)
}
