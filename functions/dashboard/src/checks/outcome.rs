//! The outcomes of checks, in words that say what counts: only failed checks count toward issues and downtime.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vedette_domain::checks::check::{Check, StatusResult, ToolResult};
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::issues::evaluate::{any_down, evaluate};
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::site::Site;

use crate::look::Look;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckOutcome {
    /// It ran, and the site was as expected.
    Ok,
    /// It ran, and the site was not as expected.
    Failed,
    /// It could not run, which says nothing about the site.
    NotRun,
    /// Vedette did not try.
    Skipped,
}

impl CheckOutcome {
    pub(super) const ALL: [Self; 4] = [Self::Ok, Self::Failed, Self::NotRun, Self::Skipped];

    /// Its value in the URL.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::NotRun => "not-run",
            Self::Skipped => "skipped",
        }
    }

    pub(super) fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == value)
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Failed => "Failed",
            Self::NotRun => "Could not run",
            Self::Skipped => "Skipped",
        }
    }

    pub(super) const fn look(self) -> Look {
        match self {
            Self::Ok => Look::Up,
            Self::Failed => Look::Down,
            Self::NotRun => Look::NotRun,
            Self::Skipped => Look::Skipped,
        }
    }

    /// The state of the checks that have it. Checks that are OK and failed ones have the same state.
    pub(super) const fn status(self) -> CheckStatus {
        match self {
            Self::Ok | Self::Failed => CheckStatus::Completed,
            Self::NotRun => CheckStatus::Failed,
            Self::Skipped => CheckStatus::Skipped,
        }
    }

    /// The outcome of a check of a site; `None` until it ends. If the check does not say whether it failed, the present
    /// settings decide.
    pub(super) fn of(
        check: &Check,
        site: &Site,
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Self> {
        match check.status {
            CheckStatus::Pending => None,
            CheckStatus::Skipped => Some(Self::Skipped),
            CheckStatus::Failed => Some(Self::NotRun),
            CheckStatus::Completed => {
                let Site { expected_records, expectations, .. } = site;
                let judge = |result: ToolResult| {
                    evaluate(&result, settings, expected_records, expectations, None, now)
                };
                let judged = || any_down(&result(check).map(judge).unwrap_or_default());
                let has_failed = check.has_failed.unwrap_or_else(judged);
                Some(if has_failed { Self::Failed } else { Self::Ok })
            }
        }
    }
}

/// The result of a check, if it has the current form.
fn result(check: &Check) -> Option<ToolResult> {
    let result = check.result.clone()?;
    match check.id.tool() {
        Tool::Status => {
            let result: StatusResult = read(result)?;
            let judged = Some(check.unmet.clone());
            Some(ToolResult::Status(StatusResult { judged, ..result }))
        }
        Tool::Ssl => read(result).map(ToolResult::Ssl),
        Tool::Dns => read(result).map(ToolResult::Dns),
        Tool::BrokenLinks => read(result).map(ToolResult::BrokenLinks),
        Tool::Performance => read(result).map(ToolResult::Performance),
        Tool::Heartbeat => read(result).map(ToolResult::Heartbeat),
    }
}

fn read<R: DeserializeOwned>(result: Value) -> Option<R> {
    serde_json::from_value(result).ok()
}
