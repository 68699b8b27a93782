//! Evaluates what a status check says about the expectations of its site.

use serde_json::json;

use super::{Evaluation, clipped, host};
use crate::checks::check::StatusResult;
use crate::expectations::{Expectations, Unmet};
use crate::issues::{Fingerprint, Outcome};

/// The most unmet expectations that an issue's context names.
const NAMED_MAX: usize = 3;

/// One evaluation for each fingerprint that the expectations decide, if they were judged.
pub(super) fn expected(
    result: &StatusResult,
    expectations: &Expectations,
) -> impl Iterator<Item = Evaluation> {
    let of = |fingerprint| {
        let unmet = result.judged.as_ref()?;
        expectations.decide(fingerprint).then(|| of_fingerprint(fingerprint, result, unmet))
    };
    [Fingerprint::StatusExpectation, Fingerprint::StatusSlow].into_iter().filter_map(of)
}

fn of_fingerprint(fingerprint: Fingerprint, result: &StatusResult, unmet: &[Unmet]) -> Evaluation {
    let host = host(&result.url);
    let unmet: Vec<&str> = unmet
        .iter()
        .filter(|unmet| unmet.fingerprint == fingerprint)
        .map(|unmet| unmet.message.as_str())
        .collect();
    let summary = match (unmet.as_slice(), fingerprint) {
        ([], Fingerprint::StatusSlow) => format!("{host} answers in time"),
        ([], _) => format!("{host} is as expected"),
        ([first, ..], Fingerprint::StatusSlow) => format!("{host} is slow: {first}"),
        ([only], _) => format!("{host} is not as expected: {only}"),
        ([first, rest @ ..], _) => {
            format!("{host} is not as expected: {first} (and {} more)", rest.len())
        }
    };
    Evaluation {
        fingerprint,
        outcome: Outcome::of(!unmet.is_empty()),
        summary,
        measured: json!({
            "code": result.code,
            "response_time": result.response_time,
            "effective_url": clipped(&result.effective_url),
            "unmet": unmet.iter().take(NAMED_MAX).collect::<Vec<_>>(),
        }),
    }
}

/// The evaluation that ends an issue about expectations that the site no longer has.
pub(crate) fn given_up(fingerprint: Fingerprint, host: &str) -> Evaluation {
    Evaluation {
        fingerprint,
        outcome: Outcome::Up,
        summary: format!("{host} no longer has this expectation"),
        measured: json!(null),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::expectations::{Expectation, JsonPointer};

    fn expectations() -> Expectations {
        let pointer = JsonPointer::parse("/status").expect("a pointer");
        Expectations {
            expectations: vec![
                Expectation::JsonEquals { pointer, value: json!("ok") },
                Expectation::BodyContains { text: "x".to_owned() },
            ],
            ..Expectations::default()
        }
    }

    /// Expectations that decide about both issues.
    pub(in super::super) fn of_each_kind() -> Expectations {
        let mut expectations = expectations();
        expectations.expectations.push(Expectation::ResponseTime { max_ms: 30 });
        expectations
    }

    fn unmet(fingerprint: Fingerprint, message: &str) -> Unmet {
        Unmet { fingerprint, message: message.to_owned() }
    }

    fn judged(judged: Option<Vec<Unmet>>) -> StatusResult {
        StatusResult {
            up: true,
            code: 200,
            url: "https://example.com/health".to_owned(),
            effective_url: "https://example.com/health".to_owned(),
            response_time: 41.5,
            redirected: false,
            redirect_count: 0,
            redirects: Vec::new(),
            error: None,
            phases: None,
            judged,
        }
    }

    #[test]
    fn expectations_are_evaluated_only_if_they_were_judged() {
        let two = [Fingerprint::StatusExpectation, Fingerprint::StatusSlow];
        let [expectation, slow] = two;
        let of_both = of_each_kind();
        for (expectations, judged_as, summaries) in [
            (&expectations(), None, &[][..]),
            (&Expectations::default(), Some(vec![]), &[]),
            (&expectations(), Some(vec![]), &["example.com is as expected"]),
            (
                &of_both,
                Some(vec![]),
                &["example.com is as expected", "example.com answers in time"],
            ),
            (
                &expectations(),
                Some(vec![unmet(expectation, "expected \"ok\" at /status, got \"degraded\"")]),
                &["example.com is not as expected: expected \"ok\" at /status, got \"degraded\""],
            ),
            (
                &of_both,
                Some(vec![
                    unmet(expectation, "one"),
                    unmet(slow, "late"),
                    unmet(expectation, "two"),
                ]),
                &["example.com is not as expected: one (and 1 more)", "example.com is slow: late"],
            ),
        ] {
            let result = judged(judged_as);
            let evaluated: Vec<_> = expected(&result, expectations).collect();
            let said: Vec<_> = evaluated.iter().map(|one| one.summary.as_str()).collect();
            assert_eq!(said, summaries);
            for evaluation in &evaluated {
                let is_down = evaluation.summary.contains(": ");
                assert_eq!(evaluation.outcome, Outcome::of(is_down));
                assert!(evaluation.has_past(), "{}", evaluation.summary);
            }
        }
    }

    #[test]
    fn the_context_names_the_first_and_stays_small() {
        let long = "x".repeat(300);
        let result = judged(Some(vec![unmet(Fingerprint::StatusExpectation, &long); 10]));
        let expectations = expectations();
        let evaluation = expected(&result, &expectations).next().expect("an evaluation");
        assert_eq!(evaluation.measured["unmet"].as_array().map(Vec::len), Some(NAMED_MAX));
        assert!(evaluation.measured.to_string().len() < 1_200);
        assert!(evaluation.summary.ends_with(" (and 9 more)"));
    }
}
