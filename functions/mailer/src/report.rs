//! A report, as it is emailed.

use jiff::Timestamp;
use vedette_domain::alerts::link;
use vedette_domain::alerts::mail::{ReportMail, TransactionalMail, TransactionalMailKind};
use vedette_domain::id::TeamId;
use vedette_domain::reports::{PeriodFigures, ReportPeriod, TeamReport};
use vedette_runtime::App;
use vedette_store::{StoreError, TeamWithSettings};

/// A report that was made, and the figures with which it is compared.
pub(crate) struct MadeReport {
    team: TeamWithSettings,
    figures: PeriodFigures,
    before: Option<PeriodFigures>,
}

impl MadeReport {
    /// `None` if it was not made.
    pub(crate) async fn read(
        app: &App,
        team: TeamId,
        period: ReportPeriod,
    ) -> Result<Option<Self>, StoreError> {
        let (team, compared) = futures::try_join!(
            app.store.team(team, app.clock.now()),
            app.store.compared_figures(team, period),
        )?;
        let read = team.zip(compared);
        Ok(read.map(|(team, (figures, before))| Self { team, figures, before }))
    }

    /// When it was made.
    pub(crate) const fn made_at(&self) -> Timestamp {
        self.figures.header.made_at
    }

    /// Its period.
    pub(crate) const fn period(&self) -> ReportPeriod {
        self.figures.header.period
    }

    /// The report about the whole team or a group; `None` if there was no such group.
    pub(crate) fn report(&self, group: Option<&str>) -> Option<TeamReport> {
        TeamReport::of(&self.figures, self.before.as_ref(), group)
    }

    /// The email with a report.
    pub(crate) fn mail(
        &self,
        base: &str,
        report: TeamReport,
        unsubscribe_url: Option<String>,
    ) -> TransactionalMail {
        let group = report.group.as_deref();
        let url = link::report(base, self.team.id(), report.header.period, group);
        let mail = ReportMail { team: self.team.team.name.clone(), report };
        let kind = TransactionalMailKind::Report(Box::new(mail));
        TransactionalMail { kind, url, unsubscribe_url }
    }
}
