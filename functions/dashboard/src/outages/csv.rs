//! Outages as CSV.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::time::wire;
use vedette_http::outages::{FoundOutage, Outages};

use crate::sites::tags;

/// A line for each outage, newest first. An outage that goes on has no end, and its length so far.
pub(super) fn csv(outages: &Outages, now: Timestamp) -> String {
    let mut csv = String::from(
        "start,end,seconds,site,url,tags,cause,detail,acknowledged_by,acknowledged_after,resolved_by,\
         issue\r\n",
    );
    for FoundOutage { outage, name, url, tags } in &outages.found {
        let by = |user| quoted(outages.name_of(user));
        let taker = |by| quoted(outages.responder(by));
        // Writing to a string cannot fail.
        let _ = write!(
            csv,
            "{},{},{},{},{},{},{},{},{},{},{},{}\r\n",
            wire(outage.began_at),
            outage.ended_at.map(wire).unwrap_or_default(),
            outage.problem().lasted(now).as_secs(),
            quoted(name),
            quoted(url),
            quoted(&tags::joined(tags)),
            outage.cause.as_str(),
            quoted(&outage.detail),
            outage.acknowledged.map(|taken| taker(taken.by)).unwrap_or_default(),
            outage.acknowledged_after().map(seconds).unwrap_or_default(),
            outage.resolved_by.map(by).unwrap_or_default(),
            outage.issue,
        );
    }
    csv
}

fn seconds(duration: SignedDuration) -> String {
    duration.as_secs().to_string()
}

/// A text as a field. Spreadsheets take a text that begins with one of these signs for a formula, unless an apostrophe
/// comes first (OWASP, "CSV Injection").
pub(crate) fn quoted(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = text.replace('"', "\"\"");
    format!("\"{}{text}\"", if is_formula { "'" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_text_stays_in_its_field_and_is_no_formula() {
        for (text, field) in [
            ("Shop", "\"Shop\""),
            ("a,\"b\"\r\nc", "\"a,\"\"b\"\"\r\nc\""),
            ("=1+1", "\"'=1+1\""),
            ("@x", "\"'@x\""),
        ] {
            assert_eq!(quoted(text), field);
        }
    }
}
