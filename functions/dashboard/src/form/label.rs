//! The labels of settings, and their help texts.

/// The label of a field, and a help text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label<'a> {
    pub(crate) text: &'a str,
    /// Empty if the name says it all.
    pub(crate) help: &'a str,
}

impl<'a> From<&'a str> for Label<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, help: "" }
    }
}

impl<'a> From<(&'a str, &'a str)> for Label<'a> {
    fn from((text, help): (&'a str, &'a str)) -> Self {
        Self { text, help }
    }
}

/// The label of a tool's own setting, by its name in the API; `None` if it has no label here.
pub(super) fn of_setting(name: &str) -> Option<Label<'static>> {
    const NO_LIMIT: &str = "Leave empty for no limit.";
    const IN_A_ROW: &str = "Failed checks in a row.";
    let (text, help) = match name {
        "incident_status_codes" => (
            "Failure status codes",
            "Responses that count as a failure. A missing response always counts. A code that is not listed counts like 400 if it is a 4xx code, and like 500 if it is 5xx or higher.",
        ),
        "failures_to_open" => ("Failures to open an issue", IN_A_ROW),
        "successes_to_resolve" => ("Successes to resolve it", "Successful checks in a row."),
        "confirmation_retry_minutes" => (
            "Retry after a failure (minutes)",
            "Checks again sooner than the check interval, to confirm a failure.",
        ),
        "incident_follow_up_minutes" => (
            "Check while an issue is open (minutes)",
            "Checks again sooner than the check interval, to see when it is over.",
        ),
        "expiry_days" => ("Warn before expiry (days)", ""),
        "port" => ("Port", "Leave empty for 443."),
        "hard_failures_only" => {
            ("Only failed lookups open issues", "Changed or missing records don’t.")
        }
        "monitored_record_types" => ("Record types to monitor", ""),
        "min_broken_count" => ("Broken links that count as a failure", "In one crawl."),
        "consecutive_breaches_to_open" => ("Failures to open an issue", IN_A_ROW),
        "ignore_paths" => ("Paths to ignore", "One per line. * matches any text."),
        "ignore_external_links" => ("Ignore links to other hosts", ""),
        "ignore_redirects" => ("Ignore redirects", ""),
        "url" => ("Page to audit", "On the site’s own host. Leave empty for its root."),
        "min_score" => ("Minimum score", "From 0 to 100."),
        "max_ttfb_ms" => ("Maximum Time to First Byte (ms)", NO_LIMIT),
        "max_load_time_seconds" => ("Maximum Time to Interactive (s)", NO_LIMIT),
        _ => return None,
    };
    Some(Label { text, help })
}

/// The name of a site's field, or of a team's setting that is in no section, by its path in the audit log.
pub(crate) fn of_field(path: &str) -> Option<String> {
    let name = match path {
        "name" => "Name",
        "url" => "URL",
        "notes" => "Notes",
        "pinned" => "Keep at the top of lists",
        "js_rendered" => "Render pages in a browser",
        "learnt_dns_records" => "Known DNS records",
        "time_zone" => "Time zone",
        "expectations.method" => "Request method",
        "expectations.post.content_type" => "Content type of a POST",
        "expectations.post.body" => "Body of a POST",
        "expectations.expectation" => "Expectation",
        "expectations.issues.expectation.severity" => "Not as expected, severity",
        "expectations.issues.expectation.failures_to_open" => {
            "Not as expected, failures to open an issue"
        }
        "expectations.issues.expectation.successes_to_resolve" => {
            "Not as expected, successes to resolve it"
        }
        "expectations.issues.slow.severity" => "Slow, severity",
        "expectations.issues.slow.failures_to_open" => "Slow, failures to open an issue",
        "expectations.issues.slow.successes_to_resolve" => "Slow, successes to resolve it",
        _ => {
            let kind = path.strip_prefix("dns_expected_records.")?;
            return Some(format!("Expected {kind} records"));
        }
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use vedette_domain::checks::tool::Tool;
    use vedette_domain::sites::settings::own_settings;

    use super::of_setting;

    #[test]
    fn every_setting_has_words_of_its_own() {
        for setting in Tool::ALL.into_iter().flat_map(own_settings) {
            if setting.name == setting.kept_as {
                assert!(of_setting(setting.name).is_some(), "{}", setting.name);
            }
        }
    }
}
