//! Whether on-demand checks may be queued: the rules of `POST /sites/{site}/checks`.

use std::error::Error;
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::accounts::plan::{Plan, cadence_wording};
use crate::checks::tool::Tool;
use crate::checks::tool_state::ToolState;
use crate::clock::is_ahead;

/// A requested tool, with its state on the site.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The tool.
    pub tool: Tool,
    /// Its state on the site.
    pub state: &'a ToolState,
    /// Whether the site's settings enable it.
    pub enabled: bool,
}

/// Why none of the checks is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDemandRefusal {
    /// No tool is requested, because the site has none enabled.
    NoneEnabled,
    /// The plan does not include the tool.
    NotAllowed(Tool),
    /// The tool is not enabled on the site.
    NotEnabled(Tool),
    /// The month's quota is not enough for all of them.
    Quota,
    /// An on-demand check of the tool is still pending.
    Pending(Tool),
    /// The tool's on-demand cadence has not passed.
    Cadence(Tool),
}

impl fmt::Display for OnDemandRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneEnabled => f.write_str("No checks are enabled for this site."),
            Self::NotAllowed(tool) => {
                write!(f, "{} checks are not available on your current plan.", tool.label())
            }
            Self::NotEnabled(tool) => {
                write!(f, "{} checks are not enabled for this site.", tool.label())
            }
            Self::Quota => {
                f.write_str("Your current plan has reached its monthly on-demand check limit.")
            }
            Self::Pending(tool) => write!(f, "This site already has a pending {tool} check."),
            Self::Cadence(tool) => write!(
                f,
                "{} checks can only be run every {} for this site.",
                tool.label(),
                cadence_wording(tool.on_demand_cadence_minutes()),
            ),
        }
    }
}

impl Error for OnDemandRefusal {}

/// Decides whether all of the tools may be queued. Checks first whether there are any, then whether they are enabled
/// and allowed, then the quota for all of them, then pending checks, then the cadence.
///
/// # Errors
///
/// The first rule that a tool breaks.
pub fn check_rules(
    asked: &[Asked<'_>],
    plan: Plan,
    used: u32,
    now: Timestamp,
) -> Result<(), OnDemandRefusal> {
    if asked.is_empty() {
        return Err(OnDemandRefusal::NoneEnabled);
    }
    for Asked { tool, enabled, .. } in asked {
        if !plan.allows(*tool) {
            return Err(OnDemandRefusal::NotAllowed(*tool));
        }
        if !enabled {
            return Err(OnDemandRefusal::NotEnabled(*tool));
        }
    }
    let wanted = u32::try_from(asked.len()).unwrap_or(u32::MAX);
    if used.saturating_add(wanted) > plan.limits().manual_checks_per_month {
        return Err(OnDemandRefusal::Quota);
    }
    if let Some(asked) = asked.iter().find(|asked| asked.state.pending.is_some()) {
        return Err(OnDemandRefusal::Pending(asked.tool));
    }
    match asked.iter().find(|asked| !has_cadence_passed(asked, now)) {
        Some(asked) => Err(OnDemandRefusal::Cadence(asked.tool)),
        None => Ok(()),
    }
}

fn has_cadence_passed(asked: &Asked<'_>, now: Timestamp) -> bool {
    let cadence = SignedDuration::from_mins(i64::from(asked.tool.on_demand_cadence_minutes()));
    // A check in the future was ordered before the clock was set back.
    let last = asked.state.last_on_demand.filter(|last| !is_ahead(*last, now));
    last.is_none_or(|last| now.duration_since(last) >= cadence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{CheckId, SiteId};

    fn now() -> Timestamp {
        "2026-11-20T09:54:00Z".parse().expect("a timestamp")
    }

    fn ordered(seconds_ago: i64) -> ToolState {
        let last = now() - SignedDuration::from_secs(seconds_ago);
        ToolState { last_on_demand: Some(last), ..ToolState::new() }
    }

    fn pending() -> ToolState {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let check = CheckId::on_demand(site, Tool::Status, now(), 0);
        ToolState { pending: Some(check), ..ordered(3_600) }
    }

    fn answer(tools: &[(Tool, &ToolState, bool)], used: u32) -> String {
        let asked: Vec<_> =
            tools.iter().map(|&(tool, state, enabled)| Asked { tool, state, enabled }).collect();
        match check_rules(&asked, Plan::Starter, used, now()) {
            Ok(()) => "queued".to_owned(),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[test]
    fn an_order_from_before_the_clock_was_set_back_holds_up_no_other() {
        for (seconds_ago, refused) in
            [(0, true), (-30, true), (-3_600, false), (-31_536_000, false)]
        {
            let state = ordered(seconds_ago);
            let refusal = answer(&[(Tool::Performance, &state, true)], 0);
            assert_eq!(refusal != "queued", refused, "{seconds_ago}: {refusal}");
        }
    }

    #[test]
    fn the_first_broken_rule_is_named() {
        let free = ToolState::new();
        let pending = pending();
        for (tools, used, said) in [
            (vec![], 0, "No checks are enabled for this site."),
            (vec![(Tool::Status, &free, true)], 0, "queued"),
            (vec![(Tool::Ssl, &free, false)], 50, "SSL checks are not enabled for this site."),
            (
                vec![(Tool::Status, &pending, true)],
                50,
                "Your current plan has reached its monthly on-demand check limit.",
            ),
            (vec![(Tool::Status, &free, true)], 49, "queued"),
            (
                vec![(Tool::Status, &free, true), (Tool::Ssl, &free, true)],
                49,
                "Your current plan has reached its monthly on-demand check limit.",
            ),
            (
                vec![(Tool::Ssl, &ordered(5), true), (Tool::BrokenLinks, &pending, true)],
                0,
                "This site already has a pending broken-links check.",
            ),
            (
                vec![(Tool::Status, &ordered(59), true)],
                0,
                "Status checks can only be run every minute for this site.",
            ),
            (vec![(Tool::Status, &ordered(60), true)], 0, "queued"),
            (
                vec![(Tool::BrokenLinks, &ordered(299), true)],
                0,
                "Broken links checks can only be run every 5 minutes for this site.",
            ),
            (vec![(Tool::Performance, &ordered(300), true)], 0, "queued"),
        ] {
            assert_eq!(answer(&tools, used), said);
        }
    }
}
