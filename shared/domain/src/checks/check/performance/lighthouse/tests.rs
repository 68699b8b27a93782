//! Reports of Lighthouse and answers of PageSpeed Insights, and what is read from them.

use proptest::prelude::*;

use super::*;
use crate::checks::check::performance::{FieldData, PerformanceResult};

/// A real report of a page with an unused script, an unused style sheet and no cache headers, without the parts that
/// are not read here.
fn fixture() -> Value {
    serde_json::from_str(include_str!("../fixtures/lighthouse-13.5.0.json")).expect("a report")
}

fn metric(value: f64, display_value: &str, score: f64) -> LabMetric {
    LabMetric {
        value: Some(value),
        display_value: Some(display_value.to_owned()),
        score: Some(score),
    }
}

#[test]
fn a_real_report_is_read() {
    let metrics = report(&fixture()).expect("a report");
    assert_eq!(metrics.performance_score, Some(89));
    let expected = CoreWebVitals {
        lcp: metric(3060.46, "3.1 s", 0.76),
        fcp: metric(2910.46, "2.9 s", 0.53),
        cls: metric(0.0, "0", 1.0),
        tbt: metric(0.0, "0 ms", 1.0),
        ttfb: metric(4.0, "Root document took 0 ms", 1.0),
        speed_index: metric(2910.46, "2.9 s", 0.95),
        interactive: metric(3060.46, "3.1 s", 0.95),
    };
    assert_eq!(metrics.core_web_vitals, expected);
    assert_eq!((metrics.real_user_metrics, metrics.origin_metrics), (None, None));
    let found: Vec<_> = metrics
        .opportunities
        .iter()
        .map(|found| (found.id.as_str(), found.savings.ms, found.savings.bytes, found.score))
        .collect();
    let expected = [
        ("render-blocking-insight", Some(2250.0), None, 0.0),
        ("cache-insight", Some(2100.0), Some(442_816), 0.0),
        ("unused-javascript", Some(800.0), Some(292_225), 0.0),
        ("unused-css-rules", Some(600.0), Some(129_780), 0.0),
        ("unminified-javascript", Some(150.0), Some(30_000), 0.0),
        ("document-latency-insight", None, Some(1885), 0.5),
        ("network-dependency-tree-insight", None, None, 0.0),
        ("bootup-time", None, None, 0.5),
        ("mainthread-work-breakdown", None, None, 0.5),
    ];
    assert_eq!(found, expected);
    let unused = &metrics.opportunities[2];
    assert_eq!(unused.title, "Reduce unused JavaScript");
    assert_eq!(unused.savings.text.as_deref(), Some("Est savings of 285 KiB"));
}

#[test]
fn an_audit_without_a_result_fails_with_lighthouses_code() {
    let mut given = fixture();
    given["runtimeError"] = json!({"code": "NO_FCP", "message": "The page did not paint."});
    let error = report(&given).expect_err("no result");
    assert_eq!((&*error.code, &*error.message), (AUDIT_FAILED, "The page did not paint."));
    assert_eq!(error.data, json!({"reason": "NO_FCP"}));
    given["runtimeError"] = json!({"code": "NO_ERROR", "message": ""});
    assert!(report(&given).is_ok());
    for given in [json!(null), json!([]), json!({}), json!({"categories": {"performance": 1}})] {
        let error = report(&given).expect_err("no report");
        assert_eq!(error.data, json!({"reason": "NO_REPORT"}), "{given}");
    }
}

#[test]
fn missing_or_invalid_figures_count_as_not_measured() {
    let mut given = fixture();
    given["categories"]["performance"]["score"] = json!(null);
    given["audits"]["interactive"] = json!({"score": null, "scoreDisplayMode": "error"});
    given["audits"]["speed-index"]["numericValue"] = json!("fast");
    given["audits"]["speed-index"]["score"] = json!(7);
    given["audits"]["server-response-time"] = json!(12);
    given["audits"]["unused-javascript"]["score"] = json!(null);
    given["audits"]["render-blocking-insight"]["metricSavings"] = json!({"CLS": 99, "LCP": "x"});
    given["audits"]["cache-insight"]["details"]["debugData"]["wastedBytes"] = json!(-1);
    let metrics = report(&given).expect("a report");
    assert_eq!(metrics.performance_score, None);
    let vitals = &metrics.core_web_vitals;
    assert_eq!(vitals.interactive, LabMetric::default());
    assert_eq!(vitals.ttfb, LabMetric::default());
    assert_eq!((vitals.speed_index.value, vitals.speed_index.score), (None, None));
    assert_eq!(vitals.lcp, metric(3060.46, "3.1 s", 0.76));
    let savings = |id| metrics.opportunities.iter().find(|o| o.id == id).map(|o| &o.savings);
    assert_eq!(savings("unused-javascript"), None);
    assert_eq!(savings("render-blocking-insight").expect("there").ms, None);
    assert_eq!(savings("cache-insight").expect("there").bytes, None);
}

#[test]
fn long_reports_are_cut() {
    let references: Vec<_> =
        (0..500).map(|i| json!({"id": format!("a{i}"), "group": "insights"})).collect();
    let audits: serde_json::Map<_, _> = (0..500)
        .map(|i| (format!("a{i}"), json!({"score": 0, "title": "ü".repeat(5000)})))
        .collect();
    let given = json!({
        "categories": {"performance": {"score": 0.005, "auditRefs": references}},
        "audits": audits,
    });
    let metrics = report(&given).expect("a report");
    assert_eq!(metrics.performance_score, Some(1));
    assert_eq!(metrics.opportunities.len(), OPPORTUNITIES);
    assert_eq!(metrics.opportunities[0].title.chars().count(), Text::LONG.0);
}

/// An answer in the shape of PageSpeed Insights 5.
fn experience(id: &str) -> Value {
    json!({
        "id": id,
        "metrics": {"LARGEST_CONTENTFUL_PAINT_MS": {
            "percentile": 2100,
            "distributions": [
                {"min": 0, "max": 2500, "proportion": 0.8212},
                {"min": 4000, "proportion": 0.1},
            ],
            "category": "FAST",
        }},
        "overall_category": "FAST",
        "initial_url": "https://shop.example/",
    })
}

#[test]
fn pagespeed_adds_what_visitors_saw() {
    let (page, origin) = ("https://shop.example/", "https://shop.example");
    let id = |data: &Option<FieldData>| {
        data.as_ref().map(|data| (data.id.clone().expect("an id"), data.origin_fallback))
    };
    let no_visitors = json!({"initial_url": page});
    for (given, real_user, of_origin) in [
        (
            json!({"loadingExperience": experience(page), "originLoadingExperience": experience(origin)}),
            Some((page.to_owned(), false)),
            Some((origin.to_owned(), false)),
        ),
        (
            json!({"loadingExperience": no_visitors, "originLoadingExperience": experience(origin)}),
            Some((origin.to_owned(), true)),
            Some((origin.to_owned(), false)),
        ),
        (json!({"loadingExperience": no_visitors}), None, None),
        (json!({"loadingExperience": 5, "originLoadingExperience": {"metrics": {}}}), None, None),
    ] {
        let mut given = given;
        given["lighthouseResult"] = fixture();
        let metrics = pagespeed(&given).expect("a report");
        assert_eq!(metrics.performance_score, Some(89));
        assert_eq!(
            (id(&metrics.real_user_metrics), id(&metrics.origin_metrics)),
            (real_user, of_origin)
        );
    }
    let given = json!({"lighthouseResult": fixture(), "loadingExperience": experience(page)});
    let field = pagespeed(&given).expect("a report").real_user_metrics.expect("field data");
    let expected = json!({
        "id": page,
        "overall_category": "FAST",
        "metrics": {"LARGEST_CONTENTFUL_PAINT_MS": {
            "percentile": 2100.0,
            "category": "FAST",
            "distributions": [
                {"min": 0.0, "max": 2500.0, "proportion": 0.821},
                {"min": 4000.0, "max": null, "proportion": 0.1},
            ],
        }},
        "origin_fallback": false,
    });
    assert_eq!(serde_json::to_value(field).expect("json"), expected);
    assert!(pagespeed(&fixture()).is_err(), "a report without its envelope");
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof![
            Just("performance"),
            Just("auditRefs"),
            Just("details"),
            Just("metrics"),
            Just("metricSavings"),
            Just("id"),
            Just("group"),
            Just("score"),
            Just("x"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key.prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Paths from the top of a real report to the values that are read, and beyond.
fn read_places() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "/runtimeError",
        "/runtimeError/code",
        "/categories",
        "/categories/performance",
        "/categories/performance/score",
        "/categories/performance/auditRefs",
        "/categories/performance/auditRefs/20",
        "/audits",
        "/audits/interactive",
        "/audits/interactive/numericValue",
        "/audits/cache-insight/score",
        "/audits/cache-insight/title",
        "/audits/cache-insight/metricSavings",
        "/audits/cache-insight/metricSavings/LCP",
        "/audits/cache-insight/details",
        "/audits/cache-insight/details/debugData/wastedBytes",
        "/audits/unused-javascript/details/overallSavingsMs",
    ])
}

proptest! {
    #[test]
    fn no_report_panics(place in read_places(), odd in anything()) {
        let mut given = fixture();
        if let Some(value) = given.pointer_mut(place) {
            *value = odd.clone();
        }
        let envelope = json!({
            "lighthouseResult": given,
            "loadingExperience": odd,
            "originLoadingExperience": {"metrics": odd},
        });
        for read in [report(&given), report(&odd), pagespeed(&envelope), pagespeed(&odd)] {
            let Ok(speed_metrics) = read else { continue };
            prop_assert!(speed_metrics.performance_score.is_none_or(|score| score <= 100));
            // The result can be stored and read back.
            let result = PerformanceResult { response_time: 1.0, url: "u".to_owned(), speed_metrics };
            let json = serde_json::to_string(&result).expect("json");
            prop_assert!(serde_json::from_str::<PerformanceResult>(&json).is_ok(), "{}", json);
        }
    }
}
